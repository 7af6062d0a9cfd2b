"""A shop in several schemas end to end: names along the search path, in full and in quotes, views, and probes of tools."""

from collections.abc import Iterator

import psycopg
import pytest
from endtoend.shop import DUCKDB, POSTGRESQL, Shop, a_shop
from fix_servers import SharedServers

from gateway.errors import Refusal
from gateway.postgres_server import Lease

BOTH = pytest.mark.parametrize("dataset", [POSTGRESQL, DUCKDB])


@pytest.fixture(scope="module")
def shop(sample_server: Lease, servers: SharedServers) -> Iterator[Shop]:
    with a_shop(sample_server, servers) as opened:
        yield opened


def _first(dataset: str) -> str:
    """The schema of DuckDB in which a table without one is."""
    return "public" if dataset == POSTGRESQL else "main"


@BOTH
def test_name_is_found_along_the_search_path_or_in_its_schema(shop: Shop, dataset: str) -> None:
    """The same rows by a short name, by a full one, by that of the database too, and in quotes."""
    first = _first(dataset)
    for text, expected in {
        "SELECT COUNT(*) FROM orders": "80",
        "SELECT COUNT(*) FROM sales.orders": "80",
        'SELECT COUNT(*) FROM "sales"."orders" AS o WHERE o.total > 0': "80",
        f"SELECT COUNT(*) FROM {dataset}.sales.orders": "80",
        f"SELECT COUNT(*) FROM {first}.customers c JOIN orders USING (customer_id)": "80",
        "SELECT COUNT(sales.orders.total) FROM sales.orders": "80",
        'SELECT SUM("Unit Price") FROM "Back Office"."Order Items"': "200",
        'SELECT SUM(i."Unit Price") FROM "Back Office"."Order Items" i'
        " JOIN customers c ON c.customer_id = i.\"Customer Id\" WHERE c.region = 'north'": "100",
        "SELECT COUNT(*) FROM regions": "2",
        f"SELECT COUNT(*) FROM {first}.regions": "2",
        "SELECT COUNT(*) FROM customers c JOIN regions r ON r.region = c.region"
        " WHERE r.country = 'A'": "20",
    }.items():
        assert shop.answer(text, dataset).rows[0][0] == expected, text


@BOTH
def test_view_is_a_protected_table_when_its_unit_is_declared(shop: Shop, dataset: str) -> None:
    """It is bounded and never licensed: each customer's rows are counted as far as the policy says."""
    text = 'SELECT COUNT(*) FROM sales."cheap orders"'
    assert shop.answer(text, dataset).rows[0][0] == "80"
    assert shop.answer(f"{text} WHERE total > 20", dataset).rows[0][0] == "0"


@BOTH
def test_enums_domains_and_generated_columns_are_read(shop: Shop, dataset: str) -> None:
    """Texts are listed, filtered, counted and computed with like others; json and arrays that no policy declares do not matter."""
    for text, expected in {
        "SELECT standing, COUNT(*) FROM customers GROUP BY standing ORDER BY standing NULLS LAST": [
            ("Gold", "10"),
            ("it's", "10"),
            ("new", "10"),
            (None, "10"),
        ],
        "SELECT COUNT(*) FROM customers WHERE standing IN ('Gold', 'new')": [("20",)],
        "SELECT COUNT(*) FROM customers WHERE upper(standing) LIKE '%O%'": [("10",)],
        "SELECT COUNT(DISTINCT standing), COUNT(standing) FROM customers": [("3", "30")],
        "SELECT region, COUNT(*) FROM customers WHERE standing <> 'Gold' GROUP BY region ORDER BY 1": [
            ("north", "10"),
            ("south", "10"),
            (None, "0"),
        ],
        "SELECT COUNT(*) FROM customers WHERE code = 'ab'": [("20",)],
        "SELECT SUM(third), COUNT(*) FILTER (WHERE third = 1) FROM customers": [("40", "14")],
        "SELECT COUNT(*) FROM orders o JOIN customers c USING (customer_id)"
        " WHERE c.standing = 'Gold'": [("20",)],
    }.items():
        rows = [tuple(row) for row in shop.answer(text, dataset).rows]
        assert rows == expected, text


@BOTH
def test_keys_of_a_document_are_columns(shop: Shop, dataset: str) -> None:
    """By name and by path: a bad value is NULL, and a number outside of the domain is its end."""
    for text, expected in {
        "SELECT smoker, COUNT(*) FROM customers GROUP BY smoker ORDER BY 1 NULLS LAST": [
            ("f", "10"),
            ("t", "10"),
            (None, "20"),
        ],
        "SELECT COUNT(*) FROM customers WHERE (details ->> 'smoker')::boolean": [("10",)],
        "SELECT SUM(weight), COUNT(weight), COUNT(since) FROM customers": [("3825", "20", "10")],
        "SELECT AVG((details -> 'body' ->> 'weight')::numeric) FROM customers WHERE weight < 300": [
            ("82.5",)
        ],
        "SELECT (details ->> 'since')::date, COUNT(*) FROM customers WHERE details ->> 'since' = '2024-02-29'"
        " GROUP BY (details ->> 'since')::date HAVING COUNT(*) > 5": [("2024-02-29", "10")],
        "SELECT COUNT(*) FROM orders o JOIN customers c USING (customer_id) WHERE c.smoker": [
            ("20",)
        ],
        "SELECT COUNT(*) FROM (SELECT * FROM customers) x WHERE NOT smoker": [("10",)],
    }.items():
        rows = [tuple(row) for row in shop.answer(text, dataset).rows]
        assert rows == expected, text


@BOTH
def test_choices_of_groups_are_made_beside_a_boolean_of_a_document(
    shop: Shop, dataset: str
) -> None:
    """The groups that were found are parameters of the statement, and so are the words of a boolean."""
    text = "SELECT third, MEDIAN(weight) FROM customers WHERE smoker IS NOT NULL GROUP BY third"
    rows = {one[0]: one[1] for one in shop.answer(f"{text} ORDER BY third", dataset).rows}
    assert [rows[key] for key in ("0", "1", "2")] == ["82.5"] * 3


@BOTH
def test_column_that_no_query_reads_is_shown_and_refused(shop: Shop, dataset: str) -> None:
    """The schema has it with its type; a query that names it is told what can be read instead."""
    with shop.connect(dataset) as connection:
        found = connection.execute(
            "SELECT column_name, data_type FROM information_schema.columns"
            " WHERE table_name = 'customers' AND column_name IN ('details', 'parts', 'smoker')"
        ).fetchall()
    assert dict(found) == {"details": "json", "parts": "ARRAY", "smoker": "boolean"}
    for text, hint in {
        "SELECT COUNT(details) FROM customers": "what can be read of it is `details ->> 'smoker'`",
        "SELECT COUNT(*) FROM customers WHERE details ->> 'height' = '1'": "`details ->> 'smoker'`",
        "SELECT COUNT(*) FROM customers c WHERE c.parts IS NULL": "that has `parts[1]`",
    }.items():
        with pytest.raises(Refusal) as refused:
            shop.answer(text, dataset)
        assert refused.value.sqlstate == "0A000", text
        assert hint in refused.value.hint, text


@BOTH
def test_probes_show_columns_that_no_query_reads(shop: Shop, dataset: str) -> None:
    """A statement without rows has the names and types of the schema, whether it lists them or not."""
    with shop.connect(dataset) as connection:
        schema = connection.execute(
            "SELECT column_name FROM information_schema.columns WHERE table_name = 'customers'"
            " ORDER BY ordinal_position"
        ).fetchall()
        every = [name for (name,) in schema]
        assert {"details", "parts"} < set(every)
        for text, names in {
            "SELECT * FROM customers LIMIT 0": every,
            "SELECT * FROM customers WHERE 1 = 0": every,
            "SELECT c.* FROM customers c WHERE false": every,
            "SELECT * FROM customers LIMIT 1": every,
            "SELECT * FROM (SELECT * FROM customers) t LIMIT 0": every,
            "SELECT * FROM (SELECT * FROM customers) t LIMIT 1": every,
            "WITH w AS (SELECT * FROM customers) SELECT * FROM w LIMIT 0": every,
            "SELECT details, smoker FROM customers LIMIT 0": ["details", "smoker"],
            "SELECT c.details AS d, c.parts FROM customers c LIMIT 1": ["d", "parts"],
            "SELECT t.details FROM (SELECT * FROM customers) t WHERE 1 = 0": ["details"],
            "SELECT details ->> 'smoker' AS s FROM customers LIMIT 0": ["s"],
            "SELECT * FROM customers c JOIN orders o USING (customer_id) LIMIT 0":
                [*every, "order_id", "total"],
        }.items():  # fmt: skip
            found = connection.execute(text)
            assert found.description is not None
            assert [one.name for one in found.description] == names, text
            assert found.fetchall() == [], text
            types = {one.name: one.type_code for one in found.description}
            assert types.get("details", 114) == 114, text
            assert types.get("parts", 1007) == 1007, text


@BOTH
def test_boolean_aggregates_of_a_person_are_exact(shop: Shop, dataset: str) -> None:
    """True, false, and NULL where no row of the person is left."""
    text = (
        "SELECT a, o, n, COUNT(*) FROM (SELECT customer_id, bool_and(total > 10) AS a, bool_or(total > 5) AS o,"
        " every(total > 5) FILTER (WHERE total > 10) AS n FROM orders GROUP BY customer_id) t"
        " GROUP BY a, o, n HAVING COUNT(*) > 0"
    )
    assert [tuple(row) for row in shop.answer(text, dataset).rows] == [("f", "t", None, "40")]


@BOTH
def test_unknown_and_hidden_names_read_alike_when_asked_for(shop: Shop, dataset: str) -> None:
    """A suggestion names what the asker may see; a hidden table is neither suggested nor told from none."""
    for text, hint in {
        "SELECT COUNT(*) FROM ordres": "did you mean `orders`?",
        "SELECT COUNT(*) FROM sales.order": "did you mean `orders`?",
        'SELECT COUNT(*) FROM "Order Item"': 'did you mean `"Back Office"."Order Items"`?',
        "SELECT COUNT(*) FROM hr.salaries": "",
        "SELECT COUNT(*) FROM hr.nothing": "",
        "SELECT COUNT(*) FROM salaries": "",
        "SELECT COUNT(*) FROM salary": "",
        "SELECT COUNT(*) FROM hr.regions": "did you mean `regions`?",
        "SELECT COUNT(*) FROM xx.regions": "did you mean `regions`?",
    }.items():
        with pytest.raises(Refusal) as refused:
            shop.answer(text, dataset)
        assert (refused.value.sqlstate, refused.value.hint) == ("42P01", hint), text


@BOTH
def test_catalog_shows_schemas_as_the_source_has_them(shop: Shop, dataset: str) -> None:
    """Schemas, keys and the search path, as far as the subject may see a table in them."""
    first = _first(dataset)
    with shop.connect(dataset) as connection:
        found = connection.execute(
            "SELECT table_schema || '.' || table_name FROM information_schema.tables"
            " WHERE table_schema NOT IN ('pg_catalog', 'information_schema', 'gateway')"
        ).fetchall()
        assert sorted(name for (name,) in found) == sorted(
            [
                f"{first}.customers",
                f"{first}.regions",
                "sales.orders",
                "sales.cheap orders",
                "Back Office.Order Items",
            ]
        )
        assert connection.execute("SHOW search_path").fetchone() == (f"{first}, sales",)
        assert connection.execute("SELECT current_database()").fetchone() == (dataset,)
        keys = connection.execute(
            "SELECT conrelid::regclass::text, pg_get_constraintdef(oid) FROM pg_constraint"
            " WHERE contype IN ('p', 'f')"
            " AND connamespace::regnamespace::text NOT IN ('gateway', 'pg_catalog')"
        ).fetchall()
        assert set(keys) == {
            ("customers", "PRIMARY KEY (customer_id)"),
            ("customers", "FOREIGN KEY (region) REFERENCES regions(region)"),
            ("regions", "PRIMARY KEY (region)"),
            ("orders", "PRIMARY KEY (order_id)"),
            ("orders", "FOREIGN KEY (customer_id) REFERENCES customers(customer_id)"),
            ('"Back Office"."Order Items"', "PRIMARY KEY (item_id)"),
        }


@BOTH
def test_session_searches_along_its_own_path(shop: Shop, dataset: str) -> None:
    """SET search_path, for a session, a transaction or at the start, decides what a short name means."""
    first = _first(dataset)
    with shop.connect(dataset) as connection:
        connection.execute('SET search_path = "Back Office"')
        assert connection.execute('SELECT COUNT(*) FROM "Order Items"').fetchone() == (40,)
        with pytest.raises(psycopg.errors.UndefinedTable):
            connection.execute("SELECT COUNT(*) FROM orders")
        with pytest.raises(psycopg.errors.UndefinedTable):
            connection.execute("SELECT COUNT(*) FROM orders WHERE total > %s", (0,))
        with pytest.raises(psycopg.errors.UndefinedTable) as refused:
            connection.execute("SELECT COUNT(*) FROM ordres WHERE total > %s", (0,))
        assert refused.value.diag.message_hint == "did you mean `orders`?"
        with pytest.raises(psycopg.errors.UndefinedTable) as refused:
            connection.execute("SELECT COUNT(*) FROM hr.salaries WHERE salary > %s", (0,))
        assert refused.value.diag.message_hint is None
        assert connection.execute("SELECT COUNT(*) FROM sales.orders").fetchone() == (80,)
        connection.execute("SELECT set_config('search_path', '', false)")
        with pytest.raises(psycopg.errors.UndefinedTable):
            connection.execute("SELECT COUNT(*) FROM customers")
        connection.execute("RESET search_path")
        assert connection.execute("SELECT COUNT(*) FROM orders").fetchone() == (80,)
        with connection.transaction():
            connection.execute("SET LOCAL search_path = hr, sales")
            assert connection.execute(
                "SELECT COUNT(*) FROM orders WHERE total > %s", (0,)
            ).fetchone() == (80,)
            with pytest.raises(psycopg.errors.UndefinedTable), connection.transaction():
                connection.execute("SELECT COUNT(*) FROM customers")
        assert connection.execute("SELECT COUNT(*) FROM customers").fetchone() == (40,)
    with shop.connect(dataset, options=f"-c search_path=sales,{first}") as connection:
        assert connection.execute("SHOW search_path").fetchone() == (f"sales,{first}",)
        assert connection.execute("SELECT COUNT(*) FROM orders").fetchone() == (80,)


@BOTH
def test_probe_holds_nothing_and_says_so(shop: Shop, dataset: str) -> None:
    """The columns are described, no row or a constant comes back, and nothing is charged."""
    before = _spent(shop, dataset)
    with shop.connect(dataset) as connection:
        notices: list[str] = []
        connection.add_notice_handler(lambda one: notices.append(one.message_primary or ""))
        for text, names, rows in (
            ("SELECT 1 FROM orders LIMIT 1", ["?column?"], []),
            ("SELECT customer_id FROM orders LIMIT 1", ["customer_id"], []),
            ("SELECT * FROM (SELECT region FROM customers) AS v LIMIT 1", ["region"], []),
            ("SELECT EXISTS (SELECT 1 FROM sales.orders)", ["exists"], [(True,)]),
        ):
            found = connection.execute(text)
            assert [one.name for one in found.description or ()] == names
            assert found.fetchall() == rows
            assert "nothing was read or charged" in notices.pop()
        assert notices == []
        for text in ("SELECT customer_id FROM orders", "SELECT * FROM orders LIMIT 2"):
            told = [line for (line,) in connection.execute(f"EXPLAIN {text}").fetchall()]
            assert told[0].startswith("Refused: GW110: individual rows are never returned")
            assert told[1].startswith("Hint: use an aggregate")
        with pytest.raises(psycopg.errors.UndefinedTable):
            connection.execute("EXPLAIN SELECT COUNT(*) FROM hr.salaries")
    assert _spent(shop, dataset) == before
    assert shop.answer("SELECT 1 FROM orders LIMIT 1", dataset).notices


def _spent(shop: Shop, dataset: str) -> object:
    spent = f"SELECT epsilon_spent FROM gateway.budget WHERE account = 'dataset:{dataset}'"
    return shop.answer(spent, dataset).rows[0][0]
