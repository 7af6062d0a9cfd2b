"""The `gateway` command: parse, call, print. Exit code 0 done, 1 refused or failed, 2 usage.

Commands are imported when they run, so that `--help` and `--version` answer at once.
"""

import errno
import importlib
import io
import os
import sys
from collections.abc import Sequence
from contextlib import suppress

from gateway.cli.exits import exit_code, explain
from gateway.cli.parser import build_parser
from gateway.errors import GatewayError

__all__ = ["build_parser", "main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command."""
    arguments = build_parser().parse_args(argv)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a terminal need not know every sign
    command = importlib.import_module(f"gateway.cli.{arguments.command_module}")
    try:
        code: int = command.run(arguments)
        sys.stdout.flush()
    except GatewayError as error:
        print(explain(error), file=sys.stderr)
        return exit_code(error)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        _forget_output()  # whoever read it left; there is nobody to tell
        return 1
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        _forget_output()
        print("gateway: there is no space left where this is written to", file=sys.stderr)
        return 1
    return code


def _forget_output() -> None:
    """What is still in the buffer goes nowhere, or Python would try again at the end."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
