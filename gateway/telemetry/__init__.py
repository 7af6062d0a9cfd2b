"""Telemetry: events as log lines and as Prometheus metrics."""
