"""Policy diff: what a new policy permits that the old did not, and the reverse.

There are two views: by role, the permitted uses of columns, computed with both policies; and by setting, the
values that changed. A change that reveals more is wider.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from itertools import product

from gateway.catalog.domains import Anything
from gateway.catalog.tables import ColumnRef, Protection, Table
from gateway.policy.applicable import FRONT_ENDS, RequestContext
from gateway.policy.decide import usable_columns, usable_tables
from gateway.policy.field_types import format_duration
from gateway.policy.files.load import LoadedPolicies
from gateway.policy.policy import (
    AnswerSettings,
    Budget,
    Operation,
    Policy,
    ReportedRanges,
    Rule,
    UnreadableConditions,
)
from gateway.policy.subjects import Subject
from gateway.units import format_decimal

_NOON = RequestContext("", None, 12, 3, time=datetime(2025, 1, 1, 12, tzinfo=UTC))
"""On a Wednesday."""


@dataclass(frozen=True)
class Change:
    """`direction` is `wider`, `narrower`, or `changed` if neither can be said."""

    direction: str
    about: str
    message: str


def differences(old: LoadedPolicies, new: LoadedPolicies) -> list[Change]:
    """Everything that changed, roles first."""
    found: list[Change] = []
    for name in sorted({*old.policies, *new.policies}):
        before, after = old.policies.get(name), new.policies.get(name)
        if before is None:
            found.append(Change("wider", name, "the dataset is new"))
        elif after is None:
            found.append(Change("narrower", name, "the dataset is gone"))
        else:
            found += _roles(before, after, old, new)
            found += _settings(before, after)
            found += _tables(before, after)
            found += _rules(before, after)
    found += _subjects(old, new)
    return found


def _roles(
    before: Policy, after: Policy, old: LoadedPolicies, new: LoadedPolicies
) -> Iterator[Change]:
    """Changes for the subjects of each role; subjects that only one side has are left to `_subjects`."""
    roles: dict[str, tuple[set[str], set[str]]] = {}
    for name in sorted(old.subjects.keys() & new.subjects.keys()):
        subject = new.subjects[name]
        was = _abilities(before, old.subjects[name])
        now = _abilities(after, subject)
        gained, lost = roles.setdefault(subject.role or f"of {name}", (set(), set()))
        gained |= now - was
        lost |= was - now
    for role, (gained, lost) in roles.items():
        for ability in sorted(gained):
            yield Change("wider", f"{after.name}, role {role}", f"may now {ability}")
        for ability in sorted(lost):
            yield Change("narrower", f"{after.name}, role {role}", f"may no longer {ability}")


def _abilities(policy: Policy, subject: Subject) -> set[str]:
    found: set[str] = set()
    for front_end in FRONT_ENDS:
        for purpose in (None, *subject.purposes):
            for address, tls in product(_addresses(policy), (False, True)):
                here = replace(
                    _NOON, front_end=front_end, purpose=purpose, address=address, tls=tls
                )
                found |= {f"read {table}" for table in usable_tables(policy, subject, here)}
                for column, operations in usable_columns(policy, subject, here).items():
                    found |= {_ability(column, operation) for operation in operations}
    return found


def _addresses(policy: Policy) -> tuple[str | None, ...]:
    """An address of every network that a condition names, and one of none."""
    return (None, *sorted({one for rule in policy.rules for one in rule.when.addresses}))


def _ability(column: ColumnRef, operation: Operation) -> str:
    return f"{operation.replace('_', ' ')} {column}"


def _settings(before: Policy, after: Policy) -> Iterator[Change]:
    name = after.name
    if before.dataset.unit != after.dataset.unit:
        message = (
            f"the unit is `{after.dataset.unit}`, was `{before.dataset.unit}`: it cannot change"
        )
        yield Change("changed", name, message)
    if before.source.identity != after.source.identity:
        yield Change("changed", name, "the source is another")
    if before.dataset.search_path != after.dataset.search_path:
        message = "the search path is another: names without a schema may mean other tables"
        yield Change("changed", name, message)
    was, now = before.privacy, after.privacy
    for label, first, second in (
        ("the budget", was.budget.epsilon.value, now.budget.epsilon.value),
        ("delta", was.budget.delta.value, now.budget.delta.value),
        ("the highest price", was.highest_price.value, now.highest_price.value),
        ("the lowest price", was.lowest_price.value, now.lowest_price.value),
    ):
        if first != second:
            more = second > first
            direction = "wider" if more is not (label == "the lowest price") else "narrower"
            shown = f"{label} is {format_decimal(second)}, was {format_decimal(first)}"
            yield Change(direction, name, shown)
    if was.default_price != now.default_price:
        message = f"the default price is {now.default_price}, was {was.default_price}"
        yield Change("changed", name, message)
    if was.mechanism is not now.mechanism:
        yield Change("changed", name, f"the mechanism is {now.mechanism}")
    if was.teams != now.teams:
        yield Change("changed", name, "the budgets of teams are others")
    yield from _auditing(before, after)
    yield from _clipping(before, after)


def _auditing(before: Policy, after: Policy) -> Iterator[Change]:
    was, now, name = before.auditing, after.auditing, after.name
    for label in ("min_units", "narrow_cells"):
        first, second = getattr(was, label), getattr(now, label)
        if first != second:
            direction = "narrower" if second > first else "wider"
            yield Change(direction, name, f"`{label}` is {second}, was {first}")
    if was.opaque is not now.opaque:
        strict = list(UnreadableConditions)  # from the strictest to none
        narrower = strict.index(now.opaque) < strict.index(was.opaque)
        message = f"`opaque_predicates` is {now.opaque}, was {was.opaque}"
        yield Change("narrower" if narrower else "wider", name, message)
    if was.trust_groups != now.trust_groups:
        yield Change("changed", name, "the trust groups are others")
    if before.max_age != after.max_age:
        age, earlier = format_duration(after.max_age), format_duration(before.max_age)
        yield Change("changed", name, f"`max_age` is {age}, was {earlier}")
    if before.tell is not after.tell:
        direction = "wider" if after.tell is AnswerSettings.EVERYONE else "narrower"
        yield Change(direction, name, f"`tell` is {after.tell}, was {before.tell}")
    if before.sizes != after.sizes:
        yield Change("changed", name, "`limits` are others")
    first, second = before.timeouts_per_day, after.timeouts_per_day
    if first != second:
        direction = "wider" if second > first else "narrower"
        yield Change(direction, name, f"`timeouts_per_day` is {second}, was {first}")
    yield from _results(before, after)


def _clip_default(default: int | None) -> str:
    return "declared" if default is None else str(default)


def _clipping(before: Policy, after: Policy) -> Iterator[Change]:
    was, now = before.clipping, after.clipping
    for label, first, second in (
        ("price", str(was.price), str(now.price)),
        ("max_age", format_duration(was.max_age), format_duration(now.max_age)),
        ("default", _clip_default(was.default), _clip_default(now.default)),
        ("max", str(was.largest), str(now.largest)),
        ("exact", str(was.exact).lower(), str(now.exact).lower()),
    ):
        if first != second:
            yield Change("changed", after.name, f"`clip.{label}` is {second}, was {first}")


def _results(before: Policy, after: Policy) -> Iterator[Change]:
    """A number within its domain reveals less than the raw noisy one; a slower reply reveals less of time."""
    was, now, name = before.results, after.results, after.name
    for label, first, second in (
        ("clamp_results", was.clamp, now.clamp),
        ("suppress_small", was.suppress_small, now.suppress_small),
    ):
        if first is not second:
            message = f"`{label}` is {str(second).lower()}, was {str(first).lower()}"
            yield Change("narrower" if second else "wider", name, message)
    if was.reply_grid_ms != now.reply_grid_ms:
        narrower = (now.reply_grid_ms or 0) > (was.reply_grid_ms or 0)
        message = (
            f"`reply_grid_ms` is {now.reply_grid_ms or 'none'}, was {was.reply_grid_ms or 'none'}"
        )
        yield Change("narrower" if narrower else "wider", name, message)
    yield from _reported(name, was.reported, now.reported)


def _reported(name: str, was: ReportedRanges, now: ReportedRanges) -> Iterator[Change]:
    """Wider ranges reveal less."""
    pairs = [(f"{name}, results of counts", was.count, now.count)]
    pairs += [
        (f"{name}.{one}", was.columns.get(one), now.columns.get(one))
        for one in sorted({*was.columns, *now.columns})
    ]
    for about, first, second in pairs:
        if first != second:
            direction = "narrower" if (second or 0) > (first or 0) else "wider"
            message = f"reported in ranges of {_range(second)}, was {_range(first)}"
            yield Change(direction, about, message)


def _range(width: Fraction | None) -> str:
    return "none" if width is None else format_decimal(width)


def _tables(before: Policy, after: Policy) -> Iterator[Change]:
    was = {table.name: table for table in before.dataset.tables}
    now = {table.name: table for table in after.dataset.tables}
    for name in sorted({*was, *now}):
        about = f"{after.name}.{name}"
        if name not in was:
            yield Change("wider", about, "the table is new")
        elif name not in now:
            yield Change("narrower", about, "the table is gone")
        else:
            yield from _table(about, was[name], now[name])


def _table(about: str, was: Table, now: Table) -> Iterator[Change]:
    if was.public is not now.public:
        public = "the table is public: its rows are readable as they are"
        yield Change(
            *(("wider", about, public) if now.public else ("narrower", about, "it is protected"))
        )
    if was.protection is not None and now.protection is not None:
        if was.protection.unit_key != now.protection.unit_key:
            yield Change("changed", about, f"the unit key is `{now.protection.unit_key}`")
        yield from _contributions(about, was.protection, now.protection)
    if was.unused != now.unused:
        shown = ", ".join(f"`{one.name}`" for one in now.unused) or "none"
        yield Change("changed", about, f"the columns that no query reads are {shown}")
    for name in sorted({one.name for one in (*was.columns, *now.columns)}):
        first, second = was.column(name), now.column(name)
        if first is None or second is None:
            wider = first is None
            message = "the column is new" if wider else "the column is gone"
            yield Change("wider" if wider else "narrower", f"{about}.{name}", message)
        elif first != second:
            opened = isinstance(second.domain, Anything) and first.domain != second.domain
            message = "its domain is open" if opened else "it is declared otherwise"
            yield Change("changed", f"{about}.{name}", message)


def _contributions(about: str, was: Protection, now: Protection) -> Iterator[Change]:
    one_row = now.rows_per_unit == 1
    if one_row is not (was.rows_per_unit == 1):
        yield Change(
            "changed", about, f"a unit may have {'one row' if one_row else 'several rows'}"
        )
    for label in ("values_per_unit", "groups_per_unit"):
        first, second = getattr(was, label), getattr(now, label)
        if first != second:
            yield Change("changed", about, f"`{label}` is {second}, was {first}")


def _rules(before: Policy, after: Policy) -> Iterator[Change]:
    was = {rule.id: rule for rule in before.rules}
    now = {rule.id: rule for rule in after.rules}
    for name in sorted({*was, *now}):
        about = f"{after.name}, rule {name}"
        if name not in was:
            yield Change(
                _by_effect(now[name], more=True), about, f"it is new and {_does(now[name])}"
            )
        elif name not in now:
            yield Change(
                _by_effect(was[name], more=False), about, f"it is gone, and {_did(was[name])}"
            )
        else:
            yield from _rule(about, was[name], now[name])


def _rule(about: str, was: Rule, now: Rule) -> Iterator[Change]:
    if was.effect is not now.effect:
        yield Change(_by_effect(now, more=True), about, f"it {_does(now)} now")
        return
    if was.when.text != now.when.text:
        yield Change("changed", about, f"it applies when `{now.when.text}`")
    for table in sorted(was.tables ^ now.tables):
        more = table in now.tables
        yield Change(_by_effect(now, more=more), about, f"{table} is {'new' if more else 'gone'}")
    for operation in Operation:
        first = (was.use or {}).get(operation, frozenset())
        second = (now.use or {}).get(operation, frozenset())
        for column in sorted(first ^ second):
            more = column in second
            verb = "has" if more else "no longer has"
            yield Change(
                _by_effect(now, more=more), about, f"it {verb} {_ability(column, operation)}"
            )
    if (was.use is None) is not (now.use is None):
        message = "it is about every use" if now.use is None else "it is about some uses alone"
        yield Change(_by_effect(now, more=now.use is None), about, message)
    yield from _limits_of_columns(about, was, now)
    if was.rows != now.rows:
        yield Change("changed", about, "it speaks of other rows")
    if was.budget is not None and now.budget is not None and was.budget != now.budget:
        wider = now.budget.epsilon > was.budget.epsilon
        narrower = now.budget.epsilon < was.budget.epsilon
        direction = "wider" if wider else "narrower" if narrower else "changed"
        yield Change(
            direction, about, f"its budget is {_said(now.budget)}, was {_said(was.budget)}"
        )


def _limits_of_columns(about: str, was: Rule, now: Rule) -> Iterator[Change]:
    if was.levels != now.levels:
        yield Change("changed", about, "it permits columns by other levels")
    if was.together != now.together:
        yield Change(_restriction(was, now), about, "it restricts other combinations of columns")


def _restriction(was: Rule, now: Rule) -> str:
    if was.together is None:
        return "narrower"
    return "wider" if now.together is None else "changed"


def _subjects(old: LoadedPolicies, new: LoadedPolicies) -> Iterator[Change]:
    for name in sorted(new.subjects.keys() - old.subjects.keys()):
        yield Change("wider", f"subject {name}", "may log in")
    for name in sorted(old.subjects.keys() - new.subjects.keys()):
        yield Change("narrower", f"subject {name}", "may no longer log in")
    for name in sorted(old.subjects.keys() & new.subjects.keys()):
        if old.subjects[name] != new.subjects[name]:
            yield Change("changed", f"subject {name}", "has other attributes")


def _by_effect(rule: Rule, *, more: bool) -> str:
    """More of a permission is wider, more of a prohibition narrower."""
    return "wider" if (rule.effect == "permit") is more else "narrower"


def _does(rule: Rule) -> str:
    return "permits" if rule.effect == "permit" else "forbids"


def _did(rule: Rule) -> str:
    return "permitted" if rule.effect == "permit" else "forbade"


def _said(budget: Budget) -> str:
    rate = "" if budget.rate is None else f", {budget.rate.epsilon} a {budget.rate.every}"
    return f"epsilon {budget.epsilon}, delta {budget.delta}{rate}"
