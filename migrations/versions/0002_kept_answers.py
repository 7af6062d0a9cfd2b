"""Answers that a client may ask for again by its key.

Revision: 0002
Follows: 0001
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

# An answer stays for a day at least, whoever would have it gone: a key that is repeated gets it again.
_REFUSE_EARLY = """
CREATE FUNCTION gateway_refuse_early() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.at > now() - interval '24 hours' THEN
        RAISE EXCEPTION 'a row of % is not a day old: DELETE refused', TG_TABLE_NAME
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN OLD;
END $$
"""

# The application's login may delete nothing. It asks for this, which runs as the owner and removes the
# oldest of what is old enough; rows that somebody else is removing are left to them.
_FORGET = """
CREATE FUNCTION gateway_forget_answers(most integer) RETURNS void LANGUAGE sql SECURITY DEFINER
SET search_path = public, pg_temp AS $$
    DELETE FROM kept_answers WHERE query_id IN (
        SELECT query_id FROM kept_answers WHERE at <= now() - interval '24 hours'
        ORDER BY at LIMIT most FOR UPDATE SKIP LOCKED
    )
$$
"""


def upgrade() -> None:
    op.create_table(
        "kept_answers",
        sa.Column("query_id", sa.Text, nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("answer", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("query_id", name="pk_kept_answers"),
        sa.ForeignKeyConstraint(
            ["query_id"], ["charges.query_id"], name="fk_kept_answers_query_id"
        ),
    )
    op.create_index("ix_kept_answers_at", "kept_answers", ["at"])
    for statement in (_REFUSE_EARLY, _FORGET):
        op.execute(statement)
    op.execute("REVOKE ALL ON FUNCTION gateway_forget_answers(integer) FROM PUBLIC")
    op.execute(
        "CREATE TRIGGER append_only BEFORE UPDATE OR TRUNCATE ON kept_answers"
        " FOR EACH STATEMENT EXECUTE FUNCTION gateway_refuse_change()"
    )
    op.execute(
        "CREATE TRIGGER not_early BEFORE DELETE ON kept_answers"
        " FOR EACH ROW EXECUTE FUNCTION gateway_refuse_early()"
    )


def downgrade() -> None:
    op.drop_table("kept_answers")
    for function in ("gateway_forget_answers(integer)", "gateway_refuse_early()"):
        op.execute(f"DROP FUNCTION {function}")
