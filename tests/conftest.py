"""Fixtures are split by subject: `fix_<subject>.py`."""

pytest_plugins = ("fix_sample", "fix_state")
