"""The datasets that the gateway serves."""
