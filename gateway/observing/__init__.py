"""Two renderings of the events: log lines and metrics."""
