"""From a price to noise, and from an accuracy to a price."""
