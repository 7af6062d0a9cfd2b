"""Another gateway on the same state: for each statement that it reads it says what it was answered.

`python -m endtoend.reuse.second_gateway HOME DATASET`; the sources are in the environment.
"""

import json
import os
import sys
from contextlib import closing
from pathlib import Path

from gateway.admin.instance import open_foundation
from gateway.app import open_policies, open_query_service, open_twin_of
from gateway.cancellation import CancelEvent
from gateway.config import SettingsConflict
from gateway.requests.request import Request


def _serve(home: Path, dataset: str) -> None:
    settings = SettingsConflict(home=home / "state", policies=home / "policies")
    with open_foundation(settings) as foundation, open_twin_of(settings) as twin:
        policies = open_policies(foundation, environment=os.environ)
        twin.wait_until_started()
        with closing(open_query_service(foundation, policies, twin, "rest")) as asking:
            alice = policies.value.subjects["alice"]
            _say("ready")
            for line in sys.stdin:
                request = Request(line.strip(), dataset=dataset)
                answer = asking.answer(alice, request, CancelEvent())
                _say([[list(row) for row in answer.rows], str(answer.charged.value)])


def _say(said: object) -> None:
    sys.stdout.write(json.dumps(said) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    _serve(Path(sys.argv[1]), sys.argv[2])
