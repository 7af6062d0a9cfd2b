"""What was asked and what was released: the auditor's history, and answers that are given again.

Revision: 0003
Follows: 0002
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_MOMENT = sa.DateTime(timezone=True)
_TABLES = ("asked_events", "released_contents")

# Both checks look at a whole statement's rows at once. The planner knows nothing of `fresh`; it must take the
# keys, never read the whole table.

# An event follows the one before it in its dataset; what is bought was charged; only what was bought is told,
# answered or lost.
_ASKED_FOLLOWS = """
CREATE FUNCTION gateway_asked_follows() RETURNS trigger LANGUAGE plpgsql
SET search_path = public, pg_temp
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    stray record;
BEGIN
    SELECT fresh.dataset, fresh.ordinal INTO stray FROM fresh
        WHERE (fresh.ordinal > 1 AND NOT EXISTS (
                SELECT FROM asked_events AS before
                WHERE before.dataset = fresh.dataset AND before.ordinal = fresh.ordinal - 1))
            OR (fresh.kind = 'bought' AND NOT EXISTS (
                SELECT FROM charges WHERE charges.query_id = fresh.query_id))
            OR (fresh.kind IN ('told', 'answered', 'lost') AND NOT EXISTS (
                SELECT FROM asked_events AS bought
                WHERE bought.kind = 'bought' AND bought.release = fresh.release
                    AND bought.dataset = fresh.dataset))
        LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'event % of % follows nothing', stray.ordinal, stray.dataset
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NULL;
END $$
"""

_CONTENT_FOLLOWS = """
CREATE FUNCTION gateway_content_follows() RETURNS trigger LANGUAGE plpgsql
SET search_path = public, pg_temp
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    stray text;
BEGIN
    SELECT fresh.release INTO stray FROM fresh
        WHERE NOT EXISTS (
            SELECT FROM asked_events AS bought
            WHERE bought.kind = 'bought' AND bought.release = fresh.release)
        LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'the content % was never bought', stray
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NULL;
END $$
"""


def upgrade() -> None:
    op.create_table(
        "asked_events",
        sa.Column("dataset", sa.Text, nullable=False),
        sa.Column("ordinal", sa.BigInteger, autoincrement=False, nullable=False),
        sa.Column("at", _MOMENT, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("subject", sa.Text),
        sa.Column("query_id", sa.Text),
        sa.Column("release", sa.Text),
        sa.Column("body", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("dataset", "ordinal", name="pk_asked_events"),
        sa.CheckConstraint("ordinal > 0", name=op.f("ck_asked_events_ordinal")),
        sa.CheckConstraint(
            "kind in ('bought', 'told', 'answered', 'lost', 'refreshed')",
            name=op.f("ck_asked_events_kind"),
        ),
        sa.CheckConstraint(
            "(kind = 'refreshed') = (release is null)", name=op.f("ck_asked_events_release")
        ),
        sa.CheckConstraint(
            "kind not in ('bought', 'told') or (subject is not null and query_id is not null)",
            name=op.f("ck_asked_events_subject"),
        ),
    )
    op.create_index(
        "ix_asked_events_release",
        "asked_events",
        ["release"],
        unique=True,
        postgresql_where=sa.text("kind = 'bought'"),
    )
    op.create_table(
        "released_contents",
        sa.Column("release", sa.Text, nullable=False),
        sa.Column("at", _MOMENT, nullable=False),
        sa.Column("content", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("release", name="pk_released_contents"),
    )
    for statement in (_ASKED_FOLLOWS, _CONTENT_FOLLOWS):
        op.execute(statement)
    for table in _TABLES:
        op.execute(
            f"CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {table}"
            " FOR EACH STATEMENT EXECUTE FUNCTION gateway_refuse_change()"
        )
    for table, check in zip(_TABLES, ("asked", "content"), strict=True):
        op.execute(
            f"CREATE TRIGGER follows AFTER INSERT ON {table} REFERENCING NEW TABLE AS fresh"
            f" FOR EACH STATEMENT EXECUTE FUNCTION gateway_{check}_follows()"
        )


def downgrade() -> None:
    for table in reversed(_TABLES):
        op.drop_table(table)
    for function in ("gateway_content_follows()", "gateway_asked_follows()"):
        op.execute(f"DROP FUNCTION {function}")
