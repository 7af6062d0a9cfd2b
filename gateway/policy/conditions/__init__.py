"""Conditions of rules."""
