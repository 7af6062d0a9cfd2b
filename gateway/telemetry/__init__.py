"""Events as log lines and as metrics."""
