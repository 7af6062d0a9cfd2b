"""Access rules of a policy file: names and conditions of `access` are checked and resolved."""

from collections.abc import Mapping
from dataclasses import dataclass

from gateway.catalog.tables import Column, ColumnClass, ColumnRef, Dataset
from gateway.catalog.unused_types import UnusedColumn
from gateway.policy.conditions.condition import Condition, compile_condition
from gateway.policy.conditions.parser import InvalidCondition
from gateway.policy.files.together import parse_together
from gateway.policy.levels import ColumnLevel, Levels
from gateway.policy.model import BudgetModel, RuleModel, UseModel
from gateway.policy.policy import Budget, Effect, Operation, Rate, Rule
from gateway.policy.row_rules import RowRule, parse_row_rule
from gateway.policy.validate import Complaints, FieldPath, suggestion
from gateway.policy.yaml import quote_word


@dataclass(frozen=True)
class Declared:
    """What the rest of the file declares, and rules speak of."""

    dataset: Dataset
    ledger: Budget
    levels: Mapping[ColumnRef, Levels]


def parse_rules(
    models: list[RuleModel],
    dataset: Dataset,
    ledger: Budget,
    levels: Mapping[ColumnRef, Levels],
    complaints: Complaints,
) -> tuple[Rule, ...]:
    """The rules; one with a problem is left out, and then the file is refused."""
    seen: set[str] = set()
    rules = []
    for place, model in enumerate(models):
        path: FieldPath = ("access", place)
        if model.id in seen:
            complaints.add((*path, "id"), f"rule {quote_word(model.id)} is declared twice")
        seen.add(model.id)
        rule = _rule(model, Declared(dataset, ledger, levels), path, complaints)
        if rule is not None:
            rules.append(rule)
    if not models:
        complaints.warn(
            ("access",), "no rule permits anything, so no query is possible", at_key=True
        )
    return tuple(rules)


def _rule(
    model: RuleModel,
    declared: Declared,
    path: FieldPath,
    complaints: Complaints,
) -> Rule | None:
    dataset, levels = declared.dataset, declared.levels
    before = len(complaints.problems)
    when = _condition(model.when, (*path, "when"), complaints)
    tables = _tables(model, dataset, path, complaints)
    _fit_for_effect(model, path, complaints)
    use = None if model.use is None else _use(model.use, dataset, tables, path, complaints)
    finest = {} if model.use is None else _finest_levels(model, tables, levels, path, complaints)
    rows = _rows(model, dataset, tables, path, complaints)
    together = None
    if model.together is not None:
        together = parse_together(model.together, dataset, (*path, "together"), complaints)
    budget = None
    if model.budget is not None:
        budget = analyst_budget(model.budget, declared.ledger, (*path, "budget"), complaints)
    if when is None or len(complaints.problems) > before:
        return None
    if use is None and model.effect == "permit":
        use = {}
    return Rule(model.id, Effect(model.effect), when, tables, use, rows, budget, together, finest)


def analyst_budget(
    model: BudgetModel, ledger: Budget, path: FieldPath, complaints: Complaints
) -> Budget:
    """The budget of one analyst or team, checked against the dataset's."""
    if model.epsilon > ledger.epsilon:
        complaints.warn((*path, "epsilon"), "this is more than the budget of the dataset")
    if model.delta is not None and model.delta > ledger.delta:
        complaints.add((*path, "delta"), "delta is above that of the dataset")
    rate = None
    if model.window is not None:
        rate = Rate(model.window.every, model.window.epsilon)
        if rate.epsilon > model.epsilon:
            complaints.warn((*path, "window"), "a period may spend more than the whole lifetime")
    return Budget(model.epsilon, ledger.delta if model.delta is None else model.delta, rate)


def _condition(text: str, path: FieldPath, complaints: Complaints) -> Condition | None:
    try:
        return compile_condition(text)
    except InvalidCondition as error:
        complaints.add(path, str(error), error.hint, inside=error.column)
        return None


def _tables(
    model: RuleModel, dataset: Dataset, path: FieldPath, complaints: Complaints
) -> frozenset[str]:
    known = [table.name for table in dataset.tables]
    if model.tables is None:
        if model.effect == "permit":
            hint = f"write `tables: [{known[0]}]`"
            complaints.add(path, "a permit needs `tables`", hint)
        return frozenset(known)
    for place, name in enumerate(model.tables):
        here = (*path, "tables", place)
        if name not in known:
            complaints.add(
                here, f"table {quote_word(name)} does not exist", suggestion(name, known)
            )
        elif name in model.tables[:place]:
            complaints.add(here, f"{quote_word(name)} is given twice")
    return frozenset(model.tables) & frozenset(known)


def _fit_for_effect(model: RuleModel, path: FieldPath, complaints: Complaints) -> None:
    if model.effect == "permit":
        if model.budget is None:
            hint = "write `budget: {epsilon: 1}`, the amount that each analyst may spend under this rule"
            complaints.add(path, "a permit needs a `budget`", hint)
        return
    if model.use is not None and not any(getattr(model.use, one) for one in Operation):
        hint = "leave `use` out to forbid every use of the tables"
        complaints.add((*path, "use"), "this rule forbids nothing", hint, at_key=True)
    if model.budget is not None:
        complaints.add((*path, "budget"), "a forbid must not have a `budget`", at_key=True)
    if model.together is not None:
        hint = "a permit has `together`: it restricts what the permit grants"
        complaints.add((*path, "together"), "a forbid must not have `together`", hint, at_key=True)
    if model.rows:
        hint = "permit the rows that may be read instead"
        complaints.add((*path, "rows"), "a forbid must not have `rows`", hint, at_key=True)


def _use(
    model: UseModel,
    dataset: Dataset,
    tables: frozenset[str],
    path: FieldPath,
    complaints: Complaints,
) -> Mapping[Operation, frozenset[ColumnRef]]:
    found: dict[Operation, frozenset[ColumnRef]] = {}
    for operation in Operation:
        columns: set[ColumnRef] = set()
        for place, entry in enumerate(getattr(model, operation)):
            here = (*path, "use", operation.value, place)
            columns |= _selected(entry.word, dataset, tables, here, complaints)
        found[operation] = frozenset(columns)
    return found


def _finest_levels(
    model: RuleModel,
    tables: frozenset[str],
    levels: Mapping[ColumnRef, Levels],
    path: FieldPath,
    complaints: Complaints,
) -> Mapping[Operation, Mapping[ColumnRef, ColumnLevel]]:
    """The columns of `use` with a level.

    INVARIANT: such an entry restricts the column, also where a class or `*` names it in the same list.
    """
    found: dict[Operation, dict[ColumnRef, ColumnLevel]] = {}
    for operation in Operation:
        entries = getattr(model.use, operation)
        for place, entry in enumerate(entries):
            here = (*path, "use", operation.value, place)
            if entry.level is None:
                continue
            if model.effect == "forbid":
                complaints.add(
                    here, "a forbid forbids columns, not levels", "write the column alone"
                )
            if any(one.word == entry.word for one in (*entries[:place], *entries[place + 1 :])):
                complaints.add(here, f"{quote_word(entry.word)} is given twice")
            table, _, name = entry.word.rpartition(".")
            column = ColumnRef(table, name)
            there = levels.get(column)
            if there is None:
                message = f"{quote_word(entry.word)} is no column with `levels`"
                complaints.add(here, message, suggestion(entry.word, map(str, levels)))
                continue
            names = [one.name for one in there]
            if entry.level not in names:
                message = f"{quote_word(entry.word)} has no level {quote_word(entry.level)}"
                complaints.add(here, message, f"its levels are {', '.join(names)}")
            elif table in tables:
                at = names.index(entry.level)
                found.setdefault(operation, {})[column] = ColumnLevel(at, there[at])
    return found


def _selected(
    word: str, dataset: Dataset, tables: frozenset[str], path: FieldPath, complaints: Complaints
) -> set[ColumnRef]:
    """The columns that `*`, `class:quasi` or `visits.diagnosis` means under this rule."""
    there: dict[ColumnRef, Column | UnusedColumn] = {
        ColumnRef(table.name, column.name): column
        for table in dataset.tables
        if table.name in tables
        for column in table.columns
        if not column.is_array
    } | {
        # a grant shows that they exist
        ColumnRef(table.name, column.name): column
        for table in dataset.tables
        if table.name in tables
        for column in table.unused
    }
    if word == "*":
        return set(there)
    if word.startswith("class:"):
        wanted = word.removeprefix("class:")
        if wanted not in tuple(ColumnClass):
            complaints.add(
                path, f"class {quote_word(wanted)} does not exist", suggestion(wanted, ColumnClass)
            )
        return {ref for ref, column in there.items() if column.column_class == wanted}
    table, _, column_name = word.rpartition(".")
    reference = ColumnRef(table, column_name)
    if isinstance(found := there.get(reference), UnusedColumn):
        message = f"{quote_word(word)} has the type `{found.type}`, which no query reads"
        complaints.add(path, message, "grant the columns that are read `from` it, if there are any")
    if reference in there:
        return {reference}
    declared = dataset.find(reference)
    if declared is not None and declared.is_array:
        hint = "write a row rule such as `request.purpose = ANY (consents)`"
        complaints.add(path, f"{quote_word(word)} is an array: only row rules may read it", hint)
    elif declared is not None:
        hint = f"add {quote_word(table)} to the `tables` of the rule"
        complaints.add(path, f"{quote_word(word)} is not in a table of this rule", hint)
    elif table and dataset.table(table) is None:
        known = (one.name for one in dataset.tables)
        complaints.add(path, f"table {quote_word(table)} does not exist", suggestion(table, known))
    elif table:
        known = (str(one) for one in there)
        complaints.add(path, f"column {quote_word(word)} does not exist", suggestion(word, known))
    else:
        meant = [str(one) for one in there if one.column == word]
        hint = f"write {quote_word(meant[0])}" if meant else "`table.column`, `class:quasi` or `*`"
        complaints.add(path, f"{quote_word(word)} does not name its table", hint)
    return set()


def _rows(
    model: RuleModel,
    dataset: Dataset,
    tables: frozenset[str],
    path: FieldPath,
    complaints: Complaints,
) -> Mapping[str, RowRule]:
    found: dict[str, RowRule] = {}
    for name, text in model.rows.items():
        here = (*path, "rows", name)
        table = dataset.table(name)
        if table is None or name not in tables:
            message = f"{quote_word(name)} is not a table of this rule"
            complaints.add(here, message, suggestion(name, sorted(tables)), at_key=True)
            continue
        if table.public:
            complaints.add(
                here,
                f"{quote_word(name)} is a public table, so all of its rows are readable",
                at_key=True,
            )
            continue
        try:
            found[name] = parse_row_rule(text, table)
        except InvalidCondition as error:
            complaints.add(here, str(error), error.hint, inside=error.column)
    return found
