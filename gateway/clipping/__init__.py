"""The clip of a release, chosen from a released histogram of norms."""
