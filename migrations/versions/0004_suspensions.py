"""Stops of the source that count towards a suspension, and the acts that suspend and resume a subject.

Revision: 0004
Follows: 0003
"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

_TABLE = "suspensions"

# A line follows the one before it, of the same subject and dataset; only a question that was charged counts.
_FOLLOWS = """
CREATE FUNCTION gateway_suspension_follows() RETURNS trigger LANGUAGE plpgsql
SET search_path = public, pg_temp
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    stray record;
BEGIN
    SELECT fresh.subject, fresh.ordinal INTO stray FROM fresh
        WHERE (fresh.ordinal > 1 AND NOT EXISTS (
                SELECT FROM suspensions AS before
                WHERE before.subject = fresh.subject AND before.dataset = fresh.dataset
                    AND before.ordinal = fresh.ordinal - 1))
            OR (fresh.kind = 'counted' AND NOT EXISTS (
                SELECT FROM charges WHERE charges.query_id = fresh.query_id))
        LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'line % of the suspensions of % follows nothing', stray.ordinal, stray.subject
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NULL;
END $$
"""


def upgrade() -> None:
    op.create_table(
        _TABLE,
        sa.Column("subject", sa.Text, nullable=False),
        sa.Column("dataset", sa.Text, nullable=False),
        sa.Column("ordinal", sa.BigInteger, autoincrement=False, nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("actor", sa.Text, nullable=False),
        sa.Column("query_id", sa.Text),
        sa.PrimaryKeyConstraint("subject", "dataset", "ordinal", name="pk_suspensions"),
        sa.CheckConstraint("ordinal > 0", name=op.f("ck_suspensions_ordinal")),
        sa.CheckConstraint(
            "kind in ('counted', 'suspended', 'resumed')", name=op.f("ck_suspensions_kind")
        ),
        sa.CheckConstraint(
            "(kind = 'counted') = (query_id is not null)", name=op.f("ck_suspensions_query_id")
        ),
    )
    op.execute(_FOLLOWS)
    op.execute(
        f"CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {_TABLE}"
        " FOR EACH STATEMENT EXECUTE FUNCTION gateway_refuse_change()"
    )
    op.execute(
        f"CREATE TRIGGER follows AFTER INSERT ON {_TABLE} REFERENCING NEW TABLE AS fresh"
        " FOR EACH STATEMENT EXECUTE FUNCTION gateway_suspension_follows()"
    )


def downgrade() -> None:
    op.drop_table(_TABLE)
    op.execute("DROP FUNCTION gateway_suspension_follows()")
