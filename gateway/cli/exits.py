"""How a failed command ends: one clear line, its hint, and an exit code."""

from gateway.errors import Code, GatewayError

# What the caller of the command has to set right; everything else is a failure of the work itself.
_USAGE = frozenset(
    {
        Code.SETTING_INVALID,
        Code.PORT_TAKEN,
        Code.HOME_UNUSABLE,
        Code.SUBJECTS_INVALID,
        Code.POLICY_INVALID,
        Code.SUBJECT_UNKNOWN,
        Code.KEY_UNKNOWN,
        Code.ARGUMENT_INVALID,
        Code.ANCHOR_UNAVAILABLE,
    }
)


def exit_code(error: GatewayError) -> int:
    return 2 if error.code in _USAGE else 1


def explain(error: GatewayError) -> str:
    hint = f"\n  hint: {error.hint}" if error.hint else ""
    return f"gateway: {plain(str(error))}{plain(hint, keep_newline=True)}"


def plain(text: str, *, keep_newline: bool = False) -> str:
    """No control character of a bad input reaches the terminal."""
    return "".join(
        sign
        if sign.isprintable() or (keep_newline and sign == "\n")
        else "\N{REPLACEMENT CHARACTER}"
        for sign in text
    )
