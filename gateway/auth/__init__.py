"""API keys and log-ins."""
