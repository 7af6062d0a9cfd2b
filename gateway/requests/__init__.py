"""Requests and answers: their values, JSON forms, and stored answers for repeated keys."""
