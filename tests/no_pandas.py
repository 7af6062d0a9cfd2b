"""Tells DuckDB's driver at once that pandas is not installed.

It asks for every value that is bound, and each time Python looks for pandas on all paths: that takes longer than most
statements of tests.
"""

import sys
from importlib.abc import MetaPathFinder
from importlib.util import find_spec


class _NoPandas(MetaPathFinder):
    def find_spec(self, fullname: str, path: object, target: object = None) -> None:
        del path, target
        if fullname == "pandas":
            raise ModuleNotFoundError(name=fullname)


def do_not_look_for_pandas() -> None:
    """Do not look for pandas on the disk again, unless it is there."""
    told = any(isinstance(one, _NoPandas) for one in sys.meta_path)
    if not told and find_spec("pandas") is None:
        sys.meta_path.insert(0, _NoPandas())
