"""Superset for one person on this machine: its own database is a file, and nobody else talks to it."""

import os

SECRET_KEY = "known to everybody, and of use to nobody"  # it guards a file that lives for minutes
SQLALCHEMY_DATABASE_URI = f"sqlite:///{os.environ['SUPERSET_FILE']}"
RATELIMIT_ENABLED = False
TALISMAN_ENABLED = False
WTF_CSRF_ENABLED = False
