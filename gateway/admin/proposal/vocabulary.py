"""What names of tables and columns suggest: persons, lookup tables, and classes and domains of columns.

A name is a guess and never a proof. What is guessed here is written into a policy as a line that its owner reads;
nothing at run time depends on it.
"""

import re
from itertools import pairwise
from typing import Final

from gateway.catalog.tables import ColumnClass
from gateway.catalog.types import ColumnType, Family

_WORDS: Final = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")


def _word_set(words: str) -> frozenset[str]:
    return frozenset(words.split())


# parts of a table's name that say how it is stored, not what it is about
_STORED: Final = _word_set(
    "tbl table dim fact data info information base main master t d f v vw view list record"
    " records raw stg staging current hist history row rows profile profiles detail details"
)
# whose data it is: those about whom an organisation keeps records
_PERSONS: Final = _word_set(
    "person people patient customer client member user student pupil subject respondent"
    " participant citizen beneficiary subscriber passenger guest applicant voter donor player"
    " visitor insured consumer buyer shopper resident inhabitant individual borrower claimant"
    " taxpayer learner child traveller traveler enrollee policyholder cardholder tenant victim"
    " offender inmate survivor candidate personne persona kunde patienten"
)
# persons, devices and groups that take part in the records of somebody else
_ACTORS: Final = _word_set(
    "employee staff worker provider physician doctor nurse clinician teacher driver author seller"
    " agent account contact household family device vendor supplier instructor professor host"
    " merchant company organization organisation caregiver"
)
_LOOKUPS: Final = _word_set(
    "type status category class code concept kind lookup lkp ref reference region country state"
    " city nation province district county currency language vocabulary domain calendar date day"
    " time location address site place store shop branch product item sku part article drug"
    " department specialty level grade tier channel source reason role permission tag color colour"
    " size unit relationship brand supplier_type zone postcode zipcode icd atc"
)
_KEY_ENDS: Final = _word_set("id key no nr number code uuid guid pk sk identifier")
_NO_KEYS: Final = _word_set(
    "paid unpaid prepaid valid invalid void avoid rapid solid liquid fluid acid covid android"
    " hybrid grid bid humid steroid thyroid monkey turkey"
)
_PERSONAL: Final = _word_set(
    "birth born dob gender sex email mail phone mobile surname lastname firstname forename ssn"
    " passport nationality ethnicity race marital maiden givenname"
)
_IDENTIFYING: Final = _word_set(
    "email mail phone mobile fax surname lastname firstname forename fullname username login ssn"
    " passport iban password token ip address street url latitude longitude lat lon mrn nhs"
    " license plate cookie"
)
_QUASI: Final = _word_set(
    "birth born dob age gender sex race ethnicity nationality citizenship marital city town"
    " region state province county district country zip zipcode postcode postal nation language"
    " religion occupation profession job education degree department segment year month week day"
    " date time quarter hour type status category kind class channel device browser platform plan"
    " tier level grade priority method mode origin site currency brand size colour color"
)
# how names without underscores end: `orderstatus`, `mktsegment`
_CODED: Final = (
    *("status", "flag", "mode", "type", "priority", "segment", "category", "class", "brand"),
    *("code", "kind", "level", "channel"),
)
_SHORT: Final = 3  # a text of so few characters is a code
_RECORDED: Final = _word_set(
    "condition diagnosis disease drug medication procedure measurement observation cause symptom"
    " test result allergy crime offence"
)
_FREE_TEXT: Final = _word_set(
    "note notes comment comments description text body message subject remark remarks title"
    " feedback review content question answer reason"
)


def words_of(name: str) -> tuple[str, ...]:
    """The words of a name, in small letters: `CustomerId` and `customer_id` have the same."""
    return tuple(word.lower() for word in _WORDS.findall(name))


def singular(word: str) -> str:
    """The singular of an English plural, as names of tables have it."""
    if word == "people":
        return "person"
    if word.endswith("ies") and len(word) > len("ties"):
        return f"{word[:-3]}y"
    if word.endswith(("sses", "uses", "xes", "ches", "shes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def noun(table: str) -> str:
    """The last word that says what a table is about, in the singular: `customer` of `dim_customers`."""
    words = [singular(word) for word in words_of(table)]
    told = [word for word in words if word not in _STORED and not word.isdecimal()]
    return (told or words or [table.lower()])[-1]


def unit_name(table: str) -> str:
    """A name for the unit whose table this is, as a policy may write it."""
    told = noun(table)
    return told if re.fullmatch(r"[a-z][a-z0-9_-]{0,62}", told) else "person"


def is_person(table: str) -> bool:
    """Whether a table's name is that of the persons about whom records are kept."""
    return noun(table) in _PERSONS


def is_actor(table: str) -> bool:
    """Whether a table's name is that of others who appear in records: staff, providers, devices."""
    return noun(table) in _ACTORS


def is_lookup_name(table: str) -> bool:
    """Whether a table's name is that of a list of codes or places."""
    return noun(table) in _LOOKUPS


def names_lookup(column: str) -> bool:
    """Whether a column's name is that of a code: `gender_concept_id`, `order_type`, `status`."""
    told = [word for word in words_of(column) if word not in _KEY_ENDS]
    coded = {"concept", "type", "status", "category", "code", "kind", "class"}
    return bool(told) and singular(told[-1]) in coded


def is_personal(column: str) -> bool:
    """Whether a column's name is one of a person's own attributes."""
    return _has(column, _PERSONAL) or words_of(column)[-2:] in {
        ("first", "name"),
        ("last", "name"),
        ("given", "name"),
        ("family", "name"),
    }


def ends_as_key(column: str) -> bool:
    """Whether a column's name is that of a key."""
    last = (words_of(column) or ("",))[-1]
    return last in _KEY_ENDS or (last.endswith(("id", "key")) and last not in _NO_KEYS)


def is_about_somebody(column: str, of: ColumnType) -> bool:
    """Whether a column's name is that of a person's attribute, a name or an address."""
    return is_personal(column) or (of.family is Family.TEXT and _has(column, _IDENTIFYING))


def class_of(column: str, of: ColumnType) -> ColumnClass:
    """The class that a column's name and type suggest; sensitive where they suggest nothing."""
    words = words_of(column)
    if _is_identifier(column, of):
        return ColumnClass.IDENTIFIER
    if is_free_text(column, of):
        return ColumnClass.SENSITIVE
    if of.family in {Family.DATE, Family.TIMESTAMP} or _has(column, _QUASI):
        return ColumnClass.QUASI
    short = of.length is not None and of.length <= _SHORT
    coded = short or (words and words[-1].endswith(_CODED))
    return ColumnClass.QUASI if of.family is Family.TEXT and coded else ColumnClass.SENSITIVE


_OF_TOOLS: Final = frozenset({
    *("_prisma_migrations", "schema_migrations", "ar_internal_metadata", "alembic_version", "django_migrations"),
    *("flyway_schema_history", "databasechangelog", "databasechangeloglock", "knex_migrations", "knex_migrations_lock"),
    *("sequelizemeta", "typeorm_metadata", "goose_db_version", "__efmigrationshistory", "__drizzle_migrations"),
})  # fmt: skip


def _is_identifier(column: str, of: ColumnType) -> bool:
    if of.family is Family.UUID:
        return True
    named = any(word.endswith("name") for word in words_of(column)) and not _has(column, _QUASI)
    if of.family is Family.TEXT and (named or _has(column, _IDENTIFYING)):
        return True
    key = ends_as_key(column) and not names_lookup(column)
    return key and of.family in {Family.WHOLE, Family.TEXT}


def code_class(column: str) -> ColumnClass:
    """The class of a column that refers to a list of codes: what is recorded is sensitive, other codes are not."""
    return ColumnClass.SENSITIVE if _has(column, _RECORDED) else ColumnClass.QUASI


def is_free_text(column: str, of: ColumnType) -> bool:
    """Whether a column seems to hold sentences, which nobody can list."""
    return of.family is Family.TEXT and _has(column, _FREE_TEXT) and not names_lookup(column)


def is_category(column: str, of: ColumnType) -> bool:
    """Whether a text seems to have few values, which a policy could list."""
    return of.family is Family.TEXT and class_of(column, of) is ColumnClass.QUASI


def guess_range(column: str, of: ColumnType) -> tuple[int, int] | None:
    """The values of a whole number that only its name suggests, where the name leaves no doubt."""
    if of.family is not Family.WHOLE:
        return None
    words = words_of(column)
    if "year" in words and {"birth", "born"} & {*words}:
        return 1900, 2030
    if words[-1:] == ("age",):
        return 0, 120
    if {"of", "birth"} <= {*words} or len(words) == 1:
        return {"month": (1, 12), "day": (1, 31), "hour": (0, 23)}.get(words[0])
    return None


def example_range(column: str, of: ColumnType) -> str:
    """A domain of numbers as an example, for whoever has to decide it."""
    is_year = of.family is Family.WHOLE and "year" in words_of(column)
    return "{between: [2000, 2030]}" if is_year else "{between: [0, 1000]}"


def is_of_a_tool(table: str) -> bool:
    """Whether a table has the name under which a tool keeps which migrations it has made."""
    return table.lower() in _OF_TOOLS


def _has(column: str, wanted: frozenset[str]) -> bool:
    words = words_of(column)
    joined = {first + second for first, second in pairwise(words)}
    return not joined.union(words).isdisjoint(wanted)
