"""Run migrations on the connection that `gateway.state.schema` hands over; there is no other way in."""

from alembic import context

from gateway.state.tables import METADATA

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=METADATA,
    transaction_per_migration=False,
)
with context.begin_transaction():
    context.run_migrations()
