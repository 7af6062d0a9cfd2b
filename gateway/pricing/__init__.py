"""From a price to noise, and back."""
