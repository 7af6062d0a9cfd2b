"""What a source's catalog says."""
