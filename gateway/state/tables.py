"""Tables of the state, as one SQLAlchemy MetaData.

Amounts of privacy are text such as `1/20`: exact, readable, and checked by the database itself.
`ledger_entries` has the running balance of each account, so that a balance is read from one row, and a
forgotten, doubled or altered entry breaks the row after it.

INVARIANT: the tables in `APPEND_ONLY` are only ever inserted into: the application's log-in has no other grant
on them, and a trigger stops the owner, too, who would have to disable it first. INVARIANT: `asked_events` of a
dataset are numbered without gaps, also for readers during writes: an event is visible only when all before it
are. INVARIANT: a row of the tables in `EXPIRING` is never changed, and removed only when it is older than a
day. INVARIANT: `trail_records.seq` is the one clock of the state. Every transaction that changes what is spent
or allowed inserts the next `seq`, so two of them can never both build on the same past.
"""

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    DateTime,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    text,
)

METADATA = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)
_Moment = DateTime(timezone=True)
_AMOUNT = r"~ '^[0-9]+/[1-9][0-9]*$'"

ledgers = Table(
    "ledgers",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("source", Text, nullable=False),
    Column("unit", Text, nullable=False),
    Column("currency", Text, nullable=False),
    Column("opened_at", _Moment, nullable=False),
    UniqueConstraint("source", "unit"),
    CheckConstraint("currency in ('pure', 'zcdp')", name="currency"),
)

# what one epsilon costs in a ledger: fixed once, when the ledger has a cap for the first time
ledger_rates = Table(
    "ledger_rates",
    METADATA,
    Column("ledger", Text, ForeignKey("ledgers.name"), primary_key=True),
    Column("at", _Moment, nullable=False),
    Column("actor", Text, nullable=False),
    Column("rate", Text, nullable=False),
    CheckConstraint(f"rate {_AMOUNT}", name="rate"),
)

accounts = Table(
    "accounts",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("ledger", Text, ForeignKey("ledgers.name"), nullable=False),
    Column("parent", Text, ForeignKey("accounts.name")),
    Column("opened_at", _Moment, nullable=False),
)

account_limits = Table(
    "account_limits",
    METADATA,
    Column("account", Text, ForeignKey("accounts.name"), primary_key=True),
    Column("ordinal", BigInteger, primary_key=True, autoincrement=False),
    Column("at", _Moment, nullable=False),
    Column("actor", Text, nullable=False),
    Column("epsilon", Text, nullable=False),
    Column("delta", Text, nullable=False),
    Column("window_every", Text),
    Column("window_epsilon", Text),
    CheckConstraint(f"epsilon {_AMOUNT}", name="epsilon"),
    CheckConstraint(f"delta {_AMOUNT}", name="delta"),
    CheckConstraint(f"window_epsilon {_AMOUNT}", name="window_epsilon"),
    CheckConstraint("window_every in ('day', 'week', 'month')", name="window_every"),
    CheckConstraint("(window_every is null) = (window_epsilon is null)", name="window"),
)

charges = Table(
    "charges",
    METADATA,
    Column("query_id", Text, primary_key=True),
    Column("at", _Moment, nullable=False),
    Column("subject", Text, nullable=False),
    Column("ledger", Text, ForeignKey("ledgers.name"), nullable=False),
    Column("price", Text, nullable=False),
    Column("amount", Text, nullable=False),
    Column("delta", Text, nullable=False),
    Column("measurements", Text, nullable=False),
    Column("idempotency_key", Text),
    Column("request_digest", Text),
    UniqueConstraint("subject", "idempotency_key"),
    CheckConstraint(f"price {_AMOUNT}", name="price"),
    CheckConstraint(f"amount {_AMOUNT}", name="amount"),
    CheckConstraint(f"delta {_AMOUNT}", name="delta"),
    CheckConstraint("(idempotency_key is null) = (request_digest is null)", name="idempotency"),
)

ledger_entries = Table(
    "ledger_entries",
    METADATA,
    Column("account", Text, ForeignKey("accounts.name"), primary_key=True),
    # '*' is the account as a whole; cells of immutable partitions get balances of their own here
    Column("cell", Text, primary_key=True, server_default="*"),
    Column("ordinal", BigInteger, primary_key=True, autoincrement=False),
    Column("query_id", Text, ForeignKey("charges.query_id"), nullable=False),
    Column("at", _Moment, nullable=False),
    Column("amount", Text, nullable=False),
    Column("spent_after", Text, nullable=False),
    Column("delta", Text, nullable=False),
    Column("delta_after", Text, nullable=False),
    CheckConstraint(f"amount {_AMOUNT}", name="amount"),
    CheckConstraint(f"spent_after {_AMOUNT}", name="spent_after"),
    CheckConstraint(f"delta {_AMOUNT}", name="delta"),
    CheckConstraint(f"delta_after {_AMOUNT}", name="delta_after"),
    # No index on (account, cell, at): PostgreSQL would take it for the trigger's look at the entry
    # before, and read the whole account. `at` follows `ordinal`, so the key serves both.
    Index(None, "query_id"),
)

trail_records = Table(
    "trail_records",
    METADATA,
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("at", _Moment, nullable=False),
    Column("kind", Text, nullable=False),
    Column("subject", Text),
    Column("dataset", Text),
    Column("query_id", Text),
    Column("body", Text, nullable=False),
    Column("mac", Text, nullable=False),
    CheckConstraint("seq > 0", name="seq"),
    CheckConstraint("mac ~ '^[0-9a-f]{64}$'", name="mac"),
    Index(None, "subject", "seq"),
    Index(None, "query_id"),
)

scram_salts = Table(
    "scram_salts",
    METADATA,
    Column("subject", Text, primary_key=True),
    Column("salt", LargeBinary, nullable=False),
    Column("iterations", Integer, nullable=False),
)

api_keys = Table(
    "api_keys",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("subject", Text, ForeignKey("scram_salts.subject"), nullable=False, index=True),
    Column("secret_hash", LargeBinary, nullable=False),
    Column("stored_key", LargeBinary, nullable=False),
    Column("server_key", LargeBinary, nullable=False),
    Column("created_at", _Moment, nullable=False),
    Column("created_by", Text, nullable=False),
    Column("expires_at", _Moment),
)

key_revocations = Table(
    "key_revocations",
    METADATA,
    Column("id", Text, ForeignKey("api_keys.id"), primary_key=True),
    Column("at", _Moment, nullable=False),
    Column("actor", Text, nullable=False),
)

# The one table that is updated: a convenience for lists of keys; no decision depends on it.
key_uses = Table(
    "key_uses",
    METADATA,
    Column("id", Text, ForeignKey("api_keys.id"), primary_key=True),
    Column("last_used_at", _Moment, nullable=False),
)

# Answers that a client may request again by its key. A function of the owner's removes those older than a day,
# and nothing else: nobody changes a stored answer.
kept_answers = Table(
    "kept_answers",
    METADATA,
    Column("query_id", Text, ForeignKey("charges.query_id"), primary_key=True),
    Column("at", _Moment, nullable=False),
    Column("answer", Text, nullable=False),
    Column("mac", Text),
    Index(None, "at"),
)

# The queries of a dataset and their outcomes, in one order: the auditor's history and the release cache.
# No value of a row is stored here: regions come from queries, counts are noisy and were released.
asked_events = Table(
    "asked_events",
    METADATA,
    Column("dataset", Text, primary_key=True),
    Column("ordinal", BigInteger, primary_key=True, autoincrement=False),
    Column("at", _Moment, nullable=False),
    Column("kind", Text, nullable=False),
    Column("subject", Text),
    # no foreign key: whoever is told for nothing what others paid for has no charge. For what was bought a trigger
    # looks for the charge, and for what became of it, whether it was bought
    Column("query_id", Text),
    Column("release", Text),
    Column("body", Text, nullable=False),
    Column("mac", Text),  # of none that was written before there were seals
    CheckConstraint("ordinal > 0", name="ordinal"),
    CheckConstraint(
        "kind in ('bought', 'told', 'answered', 'lost', 'refreshed')",
        name="kind",
    ),
    CheckConstraint("(kind = 'refreshed') = (release is null)", name="release"),
    CheckConstraint(
        "kind not in ('bought', 'told') or (subject is not null and query_id is not null)",
        name="subject",
    ),
    Index(None, "release", unique=True, postgresql_where=text("kind = 'bought'")),
)
asked_events.add_is_dependent_on(charges)  # a backup is read back in this order

# The noisy integers of a release, as they were drawn; reported values are computed from them.
released_contents = Table(
    "released_contents",
    METADATA,
    Column("release", Text, primary_key=True),
    Column("at", _Moment, nullable=False),
    Column("content", Text, nullable=False),
    Column("mac", Text),
)
released_contents.add_is_dependent_on(asked_events)

# What suspends a subject: stops of the source that count, and acts that suspend or resume. `dataset` is '*' for all.
suspensions = Table(
    "suspensions",
    METADATA,
    Column("subject", Text, primary_key=True),
    Column("dataset", Text, primary_key=True),
    Column("ordinal", BigInteger, primary_key=True, autoincrement=False),
    Column("at", _Moment, nullable=False),
    Column("kind", Text, nullable=False),
    Column("actor", Text, nullable=False),
    Column("query_id", Text),
    CheckConstraint("ordinal > 0", name="ordinal"),
    CheckConstraint("kind in ('counted', 'suspended', 'resumed')", name="kind"),
    CheckConstraint("(kind = 'counted') = (query_id is not null)", name="query_id"),
)
suspensions.add_is_dependent_on(charges)  # see above: only a question that was charged counts

APPEND_ONLY = (
    ledgers,
    ledger_rates,
    accounts,
    account_limits,
    charges,
    ledger_entries,
    trail_records,
    scram_salts,
    api_keys,
    key_revocations,
    asked_events,
    released_contents,
    suspensions,
)
# Written with a MAC of their own, and with a record of the trail that names the events: gateway.trail.seal.
SEALED = frozenset({asked_events, released_contents})
UPDATABLE = (key_uses,)
EXPIRING = (kept_answers,)
FORGET = "gateway_forget_answers"
