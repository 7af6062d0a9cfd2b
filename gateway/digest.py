"""The SHA-256 digest of a text, by which equal texts are known again without keeping them."""

from hashlib import sha256


def digest(text: str) -> str:
    """In hexadecimal digits. Halves of surrogate pairs, which are no Unicode, have a digest too."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
