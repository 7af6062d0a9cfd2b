"""Conditions of rules: their lexer, parser, and evaluation by a CEL library."""
