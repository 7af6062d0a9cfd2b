"""The `gateway` command: parse, call, print. Exit code 0 done, 1 refused or failed, 2 usage.

Commands are imported when they run, so that `--help` and `--version` answer at once.
"""

import gc
import importlib
import io
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from types import ModuleType

from gateway.cli.output import error_text, exit_code, unexpected_error_text
from gateway.cli.parser import build_parser
from gateway.errors import Code, GatewayError, OperatorError

__all__ = ["build_parser", "main"]

# objects until a collection of the youngest, and collections until one of the next generation
_COLLECTIONS = (20_000, 20, 20)
# bytes that are no text come as lone surrogates: a path may have them, a text of a question or a URL may not
_NO_TEXT = OperatorError(Code.ARGUMENT_INVALID, "an argument is not UTF-8")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    INVARIANT: every failure is one line with its hint, and never a traceback.
    """
    arguments = build_parser().parse_args(argv)
    try:
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="backslashreplace")  # a terminal need not know every sign
        command = _loaded(arguments.command_module)
        code: int = command.run(arguments)
        if sys.stdout is not None:  # it was closed before the command began
            sys.stdout.flush()
    except GatewayError as error:
        return _failed(error_text(error), exit_code(error))
    except UnicodeEncodeError:
        return _failed(error_text(_NO_TEXT), exit_code(_NO_TEXT))
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        _forget_output()  # the reader has left; nobody can be told
        return 1
    except Exception as error:  # noqa: BLE001 - the last line of defence of every command
        _forget_output()  # it may be what could not be written
        return _failed(unexpected_error_text(error), 1)
    return code


def _loaded(name: str) -> ModuleType:
    """The module of a command. Its imports stay, so no time is spent on garbage collection among them.

    Afterwards a collection comes less often than by Python's default, which takes a tenth of the time of an answer:
    frozen objects do not count when Python decides whether a full collection is due.
    """
    gc.disable()
    try:
        return importlib.import_module(f"gateway.cli.{name}")
    finally:
        gc.freeze()
        gc.set_threshold(*_COLLECTIONS)
        gc.enable()


def _failed(said: str, code: int) -> int:
    with suppress(OSError):  # there may be no reader
        print(said, file=sys.stderr)
    return code


def _forget_output() -> None:
    """Discard the buffered output, or Python would try to write it again at the end."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
