"""Asks the auditor 100,000 times by chance, and says where it had no verdict, or not the same one twice: minutes.

`python -m privacy.long_verdicts 100000 [FIRST]`
"""

import sys
from collections import Counter

from overlap.test_auditor import said


def main(many: int, first: int = 0) -> int:
    """How many situations had no verdict."""
    missing, verdicts = 0, Counter[str]()
    for seed in range(first, first + many):
        try:
            found = said(seed)
            assert seed % 10 or said(seed) == found, "another verdict at the second time"
        except Exception as error:  # noqa: BLE001 - every error is what is looked for
            missing += 1
            print(f"situation {seed}: {type(error).__name__}: {error}", flush=True)  # noqa: T201 - see above
        else:
            verdicts[found.split()[0]] += 1
    print(f"{many} situations, {missing} without a verdict: {dict(verdicts)}", flush=True)  # noqa: T201 - see above
    return missing


if __name__ == "__main__":
    sys.exit(bool(main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0)))
