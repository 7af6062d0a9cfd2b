"""Seals on what later answers rest on: events, contents and kept answers.

Rows that are there have none: nobody can say whether they are as they were written. They stay in the histories that
questions are held against, and are not given again.

Revision: 0005
Follows: 0004
"""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

_TABLES = ("kept_answers", "asked_events", "released_contents")


def upgrade() -> None:
    for table in _TABLES:
        op.add_column(table, sa.Column("mac", sa.Text))


def downgrade() -> None:
    for table in reversed(_TABLES):
        op.drop_column(table, "mac")
