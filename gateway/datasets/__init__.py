"""Datasets that are being served."""
