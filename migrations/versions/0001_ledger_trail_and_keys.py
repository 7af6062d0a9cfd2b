"""The ledger, the trail and the keys.

Revision: 0001
Follows: nothing
"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_MOMENT = sa.DateTime(timezone=True)
_AMOUNT = r"~ '^[0-9]+/[1-9][0-9]*$'"
_APPEND_ONLY = (
    "ledgers",
    "accounts",
    "account_limits",
    "charges",
    "ledger_entries",
    "trail_records",
    "scram_salts",
    "api_keys",
    "key_revocations",
)

_REFUSE_CHANGE = """
CREATE FUNCTION gateway_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'table % is append-only: % refused', TG_TABLE_NAME, TG_OP
        USING ERRCODE = 'insufficient_privilege';
END $$
"""

# A record may only follow its predecessor: the trail has no holes, whoever writes it.
_TRAIL_FOLLOWS = """
CREATE FUNCTION gateway_trail_follows() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.seq > 1 AND NOT EXISTS (SELECT FROM trail_records WHERE seq = NEW.seq - 1) THEN
        RAISE EXCEPTION 'trail record % has no predecessor', NEW.seq
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$
"""

# a/b + c/d = e/f in integers: a balance is what was there plus what was taken, exactly.
_SUM_HOLDS = """
CREATE FUNCTION gateway_sum_holds(before text, taken text, after text) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE STRICT AS $$
DECLARE
    b numeric := split_part(before, '/', 2); d numeric := split_part(taken, '/', 2);
    f numeric := split_part(after, '/', 2);
BEGIN
    RETURN (split_part(before, '/', 1)::numeric * d + split_part(taken, '/', 1)::numeric * b) * f
        = split_part(after, '/', 1)::numeric * b * d;
END $$
"""

_BALANCE_FOLLOWS = """
CREATE FUNCTION gateway_balance_follows() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    previous ledger_entries;
BEGIN
    IF NEW.ordinal > 1 THEN
        SELECT * INTO previous FROM ledger_entries
            WHERE account = NEW.account AND cell = NEW.cell AND ordinal = NEW.ordinal - 1;
        IF NOT FOUND OR previous.at > NEW.at THEN
            RAISE EXCEPTION 'entry % of % does not follow its predecessor', NEW.ordinal, NEW.account
                USING ERRCODE = 'integrity_constraint_violation';
        END IF;
    ELSIF NEW.ordinal = 1 THEN
        previous.spent_after := '0/1';
        previous.delta_after := '0/1';
    ELSE
        RAISE EXCEPTION 'entries of % are numbered from 1', NEW.account
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF NOT gateway_sum_holds(previous.spent_after, NEW.amount, NEW.spent_after)
        OR NOT gateway_sum_holds(previous.delta_after, NEW.delta, NEW.delta_after) THEN
        RAISE EXCEPTION 'entry % of % does not add up', NEW.ordinal, NEW.account
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$
"""


def upgrade() -> None:
    _create_ledger()
    _create_trail()
    _create_keys()
    for statement in (_REFUSE_CHANGE, _TRAIL_FOLLOWS, _SUM_HOLDS, _BALANCE_FOLLOWS):
        op.execute(statement)
    for table in _APPEND_ONLY:
        op.execute(
            f"CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {table}"
            " FOR EACH STATEMENT EXECUTE FUNCTION gateway_refuse_change()"
        )
    op.execute(
        "CREATE TRIGGER follows BEFORE INSERT ON trail_records"
        " FOR EACH ROW EXECUTE FUNCTION gateway_trail_follows()"
    )
    op.execute(
        "CREATE TRIGGER follows BEFORE INSERT ON ledger_entries"
        " FOR EACH ROW EXECUTE FUNCTION gateway_balance_follows()"
    )


def downgrade() -> None:
    for table in (
        "key_uses",
        "key_revocations",
        "api_keys",
        "scram_salts",
        "trail_records",
        "ledger_entries",
        "charges",
        "account_limits",
        "accounts",
        "ledgers",
    ):
        op.drop_table(table)
    for function in (
        "gateway_balance_follows()",
        "gateway_sum_holds(text, text, text)",
        "gateway_trail_follows()",
        "gateway_refuse_change()",
    ):
        op.execute(f"DROP FUNCTION {function}")


def _create_ledger() -> None:
    op.create_table(
        "ledgers",
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("unit", sa.Text, nullable=False),
        sa.Column("currency", sa.Text, nullable=False),
        sa.Column("opened_at", _MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_ledgers"),
        sa.UniqueConstraint("source", "unit", name="uq_ledgers_source_unit"),
        sa.CheckConstraint("currency in ('pure', 'zcdp')", name=op.f("ck_ledgers_currency")),
    )
    op.create_table(
        "accounts",
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("ledger", sa.Text, nullable=False),
        sa.Column("parent", sa.Text),
        sa.Column("opened_at", _MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_accounts"),
        sa.ForeignKeyConstraint(["ledger"], ["ledgers.name"], name="fk_accounts_ledger"),
        sa.ForeignKeyConstraint(["parent"], ["accounts.name"], name="fk_accounts_parent"),
    )
    op.create_table(
        "account_limits",
        sa.Column("account", sa.Text, nullable=False),
        sa.Column("ordinal", sa.BigInteger, nullable=False),
        sa.Column("at", _MOMENT, nullable=False),
        sa.Column("actor", sa.Text, nullable=False),
        sa.Column("epsilon", sa.Text, nullable=False),
        sa.Column("delta", sa.Text, nullable=False),
        sa.Column("window_every", sa.Text),
        sa.Column("window_epsilon", sa.Text),
        sa.PrimaryKeyConstraint("account", "ordinal", name="pk_account_limits"),
        sa.ForeignKeyConstraint(["account"], ["accounts.name"], name="fk_account_limits_account"),
        *_amounts("account_limits", "epsilon", "delta", "window_epsilon"),
        sa.CheckConstraint(
            "window_every in ('day', 'week', 'month')",
            name=op.f("ck_account_limits_window_every"),
        ),
        sa.CheckConstraint(
            "(window_every is null) = (window_epsilon is null)",
            name=op.f("ck_account_limits_window"),
        ),
    )
    op.create_table(
        "charges",
        sa.Column("query_id", sa.Text, nullable=False),
        sa.Column("at", _MOMENT, nullable=False),
        sa.Column("subject", sa.Text, nullable=False),
        sa.Column("ledger", sa.Text, nullable=False),
        sa.Column("price", sa.Text, nullable=False),
        sa.Column("amount", sa.Text, nullable=False),
        sa.Column("delta", sa.Text, nullable=False),
        sa.Column("measurements", sa.Text, nullable=False),
        sa.Column("idempotency_key", sa.Text),
        sa.Column("request_digest", sa.Text),
        sa.PrimaryKeyConstraint("query_id", name="pk_charges"),
        sa.ForeignKeyConstraint(["ledger"], ["ledgers.name"], name="fk_charges_ledger"),
        sa.UniqueConstraint(
            "subject", "idempotency_key", name="uq_charges_subject_idempotency_key"
        ),
        *_amounts("charges", "price", "amount", "delta"),
        sa.CheckConstraint(
            "(idempotency_key is null) = (request_digest is null)",
            name=op.f("ck_charges_idempotency"),
        ),
    )
    op.create_table(
        "ledger_entries",
        sa.Column("account", sa.Text, nullable=False),
        sa.Column("cell", sa.Text, nullable=False, server_default="*"),
        sa.Column("ordinal", sa.BigInteger, nullable=False),
        sa.Column("query_id", sa.Text, nullable=False),
        sa.Column("at", _MOMENT, nullable=False),
        sa.Column("amount", sa.Text, nullable=False),
        sa.Column("spent_after", sa.Text, nullable=False),
        sa.Column("delta", sa.Text, nullable=False),
        sa.Column("delta_after", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("account", "cell", "ordinal", name="pk_ledger_entries"),
        sa.ForeignKeyConstraint(["account"], ["accounts.name"], name="fk_ledger_entries_account"),
        sa.ForeignKeyConstraint(
            ["query_id"], ["charges.query_id"], name="fk_ledger_entries_query_id"
        ),
        *_amounts("ledger_entries", "amount", "spent_after", "delta", "delta_after"),
    )
    op.create_index(
        "ix_ledger_entries_account_cell_at", "ledger_entries", ["account", "cell", "at"]
    )
    op.create_index("ix_ledger_entries_query_id", "ledger_entries", ["query_id"])


def _create_trail() -> None:
    op.create_table(
        "trail_records",
        sa.Column("seq", sa.BigInteger, nullable=False),
        sa.Column("at", _MOMENT, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("subject", sa.Text),
        sa.Column("dataset", sa.Text),
        sa.Column("query_id", sa.Text),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("mac", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("seq", name="pk_trail_records"),
        sa.CheckConstraint("seq > 0", name=op.f("ck_trail_records_seq")),
        sa.CheckConstraint("mac ~ '^[0-9a-f]{64}$'", name=op.f("ck_trail_records_mac")),
    )
    op.create_index("ix_trail_records_subject_seq", "trail_records", ["subject", "seq"])
    op.create_index("ix_trail_records_query_id", "trail_records", ["query_id"])


def _create_keys() -> None:
    op.create_table(
        "scram_salts",
        sa.Column("subject", sa.Text, nullable=False),
        sa.Column("salt", sa.LargeBinary, nullable=False),
        sa.Column("iterations", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("subject", name="pk_scram_salts"),
    )
    op.create_table(
        "api_keys",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("subject", sa.Text, nullable=False),
        sa.Column("secret_hash", sa.LargeBinary, nullable=False),
        sa.Column("stored_key", sa.LargeBinary, nullable=False),
        sa.Column("server_key", sa.LargeBinary, nullable=False),
        sa.Column("created_at", _MOMENT, nullable=False),
        sa.Column("created_by", sa.Text, nullable=False),
        sa.Column("expires_at", _MOMENT),
        sa.PrimaryKeyConstraint("id", name="pk_api_keys"),
        sa.ForeignKeyConstraint(["subject"], ["scram_salts.subject"], name="fk_api_keys_subject"),
    )
    op.create_index("ix_api_keys_subject", "api_keys", ["subject"])
    op.create_table(
        "key_revocations",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("at", _MOMENT, nullable=False),
        sa.Column("actor", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_key_revocations"),
        sa.ForeignKeyConstraint(["id"], ["api_keys.id"], name="fk_key_revocations_id"),
    )
    op.create_table(
        "key_uses",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("last_used_at", _MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_key_uses"),
        sa.ForeignKeyConstraint(["id"], ["api_keys.id"], name="fk_key_uses_id"),
    )


def _amounts(table: str, *columns: str) -> list[sa.CheckConstraint]:
    return [
        sa.CheckConstraint(f"{column} {_AMOUNT}", name=op.f(f"ck_{table}_{column}"))
        for column in columns
    ]
