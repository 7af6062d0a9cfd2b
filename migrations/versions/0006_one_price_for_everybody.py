"""What one epsilon costs in a ledger, for everybody and for ever.

Ledgers that are there have no rate yet: the gateway fixes it, by the cap that is then in force, when it opens the policies
for the first time, and writes a record of the trail. Charges that are there keep their amounts.

Revision: 0006
Follows: 0005
"""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

_TABLE = "ledger_rates"
_AMOUNT = r"~ '^[0-9]+/[1-9][0-9]*$'"


def upgrade() -> None:
    op.create_table(
        _TABLE,
        sa.Column("ledger", sa.Text, nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("actor", sa.Text, nullable=False),
        sa.Column("rate", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("ledger", name="pk_ledger_rates"),
        sa.ForeignKeyConstraint(["ledger"], ["ledgers.name"], name="fk_ledger_rates_ledger"),
        sa.CheckConstraint(f"rate {_AMOUNT}", name=op.f("ck_ledger_rates_rate")),
    )
    op.execute(
        f"CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {_TABLE}"
        " FOR EACH STATEMENT EXECUTE FUNCTION gateway_refuse_change()"
    )


def downgrade() -> None:
    op.drop_table(_TABLE)
