"""The `gateway` command: parse, call, print. Exit code 0 done, 1 refused or failed, 2 usage.

Commands are imported when they run, so that `--help` and `--version` answer at once.
"""

import importlib
import sys
from collections.abc import Sequence

from gateway.cli.exits import exit_code, explain
from gateway.cli.parser import build_parser
from gateway.errors import GatewayError

__all__ = ["build_parser", "main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command."""
    arguments = build_parser().parse_args(argv)
    command = importlib.import_module(f"gateway.cli.{arguments.command_module}")
    try:
        code: int = command.run(arguments)
    except GatewayError as error:
        print(explain(error), file=sys.stderr)
        return exit_code(error)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        sys.stderr.close()  # whoever read our output left; there is nobody to tell
        return 1
    return code
