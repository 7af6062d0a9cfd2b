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

# The two checks below look at a whole statement's rows at once: a batch of charges costs one query
# each. The planner knows nothing of `fresh`; it must take the key, never read the whole table.

# A record may only follow its predecessor: the trail has no holes, whoever writes it.
_TRAIL_FOLLOWS = """
CREATE FUNCTION gateway_trail_follows() RETURNS trigger LANGUAGE plpgsql
SET search_path = public, pg_temp
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    stray bigint;
BEGIN
    SELECT fresh.seq INTO stray FROM fresh
        LEFT JOIN trail_records AS before ON before.seq = fresh.seq - 1
        WHERE fresh.seq > 1 AND before.seq IS NULL LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'trail record % has no predecessor', stray
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NULL;
END $$
"""

# a/b + c/d = e/f in integers: a balance is what was there plus what was taken, exactly. Most charges
# take no delta; that case costs one comparison.
_SUM_HOLDS = """
CREATE FUNCTION gateway_sum_holds(before text, taken text, after text) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN taken = '0/1' THEN before = after ELSE
        (split_part(before, '/', 1)::numeric * split_part(taken, '/', 2)::numeric
            + split_part(taken, '/', 1)::numeric * split_part(before, '/', 2)::numeric)
            * split_part(after, '/', 2)::numeric
        = split_part(after, '/', 1)::numeric
            * split_part(before, '/', 2)::numeric * split_part(taken, '/', 2)::numeric
    END
$$
"""

# An entry follows the one before it in number, in time and in amount; the first one follows nothing.
_BALANCE_FOLLOWS = """
CREATE FUNCTION gateway_balance_follows() RETURNS trigger LANGUAGE plpgsql
SET search_path = public, pg_temp
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    stray record;
BEGIN
    SELECT fresh.account, fresh.ordinal INTO stray FROM fresh
        LEFT JOIN ledger_entries AS before ON before.account = fresh.account
            AND before.cell = fresh.cell AND before.ordinal = fresh.ordinal - 1
        WHERE fresh.ordinal < 1
            OR (fresh.ordinal > 1 AND before.ordinal IS NULL)
            OR before.at > fresh.at
            OR NOT gateway_sum_holds(
                coalesce(before.spent_after, '0/1'), fresh.amount, fresh.spent_after)
            OR NOT gateway_sum_holds(
                coalesce(before.delta_after, '0/1'), fresh.delta, fresh.delta_after)
        LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'entry % of % does not follow its predecessor', stray.ordinal, stray.account
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NULL;
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
        "CREATE TRIGGER follows AFTER INSERT ON trail_records REFERENCING NEW TABLE AS fresh"
        " FOR EACH STATEMENT EXECUTE FUNCTION gateway_trail_follows()"
    )
    op.execute(
        "CREATE TRIGGER follows AFTER INSERT ON ledger_entries REFERENCING NEW TABLE AS fresh"
        " FOR EACH STATEMENT EXECUTE FUNCTION gateway_balance_follows()"
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
    op.create_index("ix_ledger_entries_query_id", "ledger_entries", ["query_id"])


def _create_trail() -> None:
    op.create_table(
        "trail_records",
        sa.Column("seq", sa.BigInteger, autoincrement=False, nullable=False),
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
