"""Authentication: API keys, SCRAM log-ins, and the throttle of failed ones."""
