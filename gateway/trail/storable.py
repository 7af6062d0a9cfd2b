"""A text as PostgreSQL can hold it beside the record that says it exactly."""


def storable(text: str | None) -> str | None:
    """PostgreSQL's text holds neither NUL nor lone surrogates; the body keeps them, escaped."""
    if text is None:
        return None
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode("utf-8")
