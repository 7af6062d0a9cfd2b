"""A privacy-preserving query gateway: ordinary SQL in, differentially private aggregates out."""

__version__ = "0.1.0"
