"""Who is asking: API keys, their proofs on either front door, and what a failed log-in leads to."""
