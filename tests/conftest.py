"""Fixtures are split by subject: `fix_<subject>.py`."""

pytest_plugins = (
    "fix_state",  # first: others import from it, and pytest rewrites only what is not imported yet
    "fix_embedded",
    "fix_gateway",
    "fix_identity",
    "fix_ledger",
    "fix_journal",
    "fix_sample",
    "fix_twin",
)
