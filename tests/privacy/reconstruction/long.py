"""The reconstruction attack at length: `python -m privacy.reconstruction.long QUESTIONS`, from `tests`.

More people, and budgets from a tenth to two, in both currencies, where questions are held against each other and
where they are not. For each line: how many bits are right, how many guessing alone would get, and how many the spent
epsilon explains. It fails when there are more, or when the attack finds less than 95 of 100 without noise. A false
alarm has a chance below 10^-6 for each line.
"""

import sys
from contextlib import ExitStack, closing
from itertools import islice

from fix_state import StateServer, scratch_server
from fix_twin import a_twin_home
from privacy.reconstruction.attack import Attacked, Way, attacked, learned
from privacy.reconstruction.guessing import guessed, most_right, most_right_at_rho, right
from privacy.reconstruction.people import AUDIT, NO_AUDIT, People
from privacy.reconstruction.subsets import subsets
from privacy.rest_sides import a_home

from gateway.state.open import embedded_urls, upgrade_state
from gateway.twin import open_twin

_PEOPLE = 400
_BUDGETS = ("0.1", "0.5", "1", "2")
_NEARLY_ALL = 0.95


def main(questions: int) -> int:
    """0 when everything is as it should be."""
    people = People.of(_PEOPLE, 10)
    wrong = int(not _without_noise(people))
    with ExitStack() as stack:
        home = stack.enter_context(a_home())
        (home / "state").mkdir(mode=0o711)
        lease = stack.enter_context(scratch_server(home / "state"))
        urls = embedded_urls(lease, home / "state")
        upgrade_state(urls)
        twin = stack.enter_context(open_twin(stack.enter_context(a_twin_home()), limit_s=20))
        ways = {
            f"{mechanism}_{'audited' if audit == AUDIT else 'alone'}_{number}": Way(
                mechanism, budget, f"{float(budget) / questions:.6f}", audit
            )
            for mechanism in ("laplace", "gaussian")
            for audit in (AUDIT, NO_AUDIT)
            for number, budget in enumerate(_BUDGETS)
        }
        server = stack.enter_context(closing(StateServer(lease, urls)))
        gateway = stack.enter_context(attacked(server, twin, home, people, ways))
        for name, way in ways.items():
            wrong += not _line(gateway, name, way, questions)
    print(f"{wrong} wrong")  # noqa: T201 - this is what it is for
    return min(wrong, 1)


def _without_noise(people: People) -> bool:
    asked = list(islice(subsets(people, 11), 3 * len(people)))
    counts = [float((one.members & people.secret).sum()) for one in asked]
    members = [one.members for one in asked]
    found = right(guessed(members, counts, [0.0] * len(asked)), people.secret)
    _tell("without noise", len(asked), "", found, "")
    return found > _NEARLY_ALL * len(people)


def _line(gateway: Attacked, name: str, way: Way, questions: int) -> bool:
    # of those that are audited many are refused, so more have to be tried
    found = learned(gateway, name, 3 * questions if way.audit == AUDIT else questions, seed=12)
    many = len(gateway.people)
    right_ = found.right(gateway.people) if found.counts else 0
    most = (
        most_right_at_rho(many, found.rho)
        if way.mechanism == "gaussian"
        else most_right(many, found.spent)
    )
    _tell(name, len(found.counts), found.reasons, right_, most, found.spent)
    return right_ <= most and (way.audit == AUDIT or len(found.counts) >= questions - 1)


def _tell(*told: object) -> None:
    print(*told, sep=" | ", flush=True)  # noqa: T201 - see above


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 400))
