"""TPC-H as a dataset: customer is the unit, orders and lineitem have it through keys, the other tables are public.

Bounds are those of the specification. Noise is next to nothing and no bound bites, so that answers are compared
with plain numbers.
"""

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_HERE: Final = Path(__file__).parent
_ROOT: Final = _HERE.parents[2]
# parents before children
TABLES: Final = (
    *("region", "nation", "part", "supplier", "partsupp"),
    *("customer", "orders", "lineitem"),
)
POLICY: Final = """
gateway: 1
dataset: @DATASET@
source: ${@SOURCE@}
privacy:
  unit: {name: customer, table: customer, key: c_custkey}
  budget: {epsilon: 1e40, delta: 1e-6}
  per_query: {default: @PRICE@, min: 1e-9, max: @PRICE@}
  mechanism: laplace
clip: {default: 1024, price: 0}
tables:
  customer:
    unit_key: c_custkey
    rows_per_unit: 1
    columns:
      c_custkey: {type: integer, class: identifier}
      c_name: {type: varchar(25), class: identifier}
      c_address: {type: varchar(40), class: identifier}
      c_nationkey: {type: integer, class: quasi, domain: {between: [0, 24]}}
      c_phone: {type: char(15), class: identifier}
      c_acctbal: {type: "numeric(15,2)", class: sensitive, domain: {between: [-1000, 10000]}}
      c_mktsegment: {type: char(10), class: quasi}
      c_comment: {type: varchar(117), class: sensitive}
  orders:
    unit_key: o_custkey
    rows_per_unit: 100
    groups_per_unit: 100
    columns:
      o_orderkey: {type: bigint, class: identifier}
      o_custkey: {type: integer, class: identifier, joins: customer.c_custkey}
      o_orderstatus: {type: char(1), class: sensitive}
      o_totalprice: {type: "numeric(15,2)", class: sensitive, domain: {between: [0, 600000]}}
      o_orderdate: {type: date, class: quasi, domain: {between: [1992-01-01, 1998-12-31]}}
      o_orderpriority: {type: char(15), class: sensitive}
      o_clerk: {type: char(15), class: quasi}
      o_shippriority: {type: integer, class: sensitive}
      o_comment: {type: varchar(79), class: sensitive}
  lineitem:
    unit_key: orders.o_custkey
    rows_per_unit: 500
    groups_per_unit: 200
    columns:
      l_orderkey: {type: bigint, class: identifier, joins: orders.o_orderkey}
      l_partkey: {type: integer, class: sensitive, joins: part.p_partkey}
      l_suppkey: {type: integer, class: sensitive, joins: supplier.s_suppkey}
      l_linenumber: {type: integer, class: quasi, domain: {between: [1, 7]}}
      l_quantity: {type: "numeric(15,2)", class: sensitive, domain: {between: [1, 50]}}
      l_extendedprice: {type: "numeric(15,2)", class: sensitive, domain: {between: [900, 105000]}}
      l_discount: {type: "numeric(15,2)", class: sensitive, domain: {between: [0, 0.1]}}
      l_tax: {type: "numeric(15,2)", class: sensitive, domain: {between: [0, 0.08]}}
      l_returnflag: {type: char(1), class: sensitive}
      l_linestatus: {type: char(1), class: sensitive}
      l_shipdate: {type: date, class: quasi, domain: {between: [1992-01-01, 1998-12-31]}}
      l_commitdate: {type: date, class: quasi, domain: {between: [1992-01-01, 1998-12-31]}}
      l_receiptdate: {type: date, class: quasi, domain: {between: [1992-01-01, 1998-12-31]}}
      l_shipinstruct: {type: char(25), class: sensitive}
      l_shipmode: {type: char(10), class: sensitive}
      l_comment: {type: varchar(44), class: sensitive}
  part:
    public: true
    columns:
      p_partkey: {type: integer}
      p_name: {type: varchar(55)}
      p_mfgr: {type: char(25)}
      p_brand: {type: char(10)}
      p_type: {type: varchar(25)}
      p_size: {type: integer, domain: {between: [1, 50]}}
      p_container: {type: char(10)}
      p_retailprice: {type: "numeric(15,2)", domain: {between: [900, 2100]}}
      p_comment: {type: varchar(23)}
  supplier: {public: true}
  partsupp:
    public: true
    columns:
      ps_partkey: {type: integer}
      ps_suppkey: {type: integer}
      ps_availqty: {type: integer, domain: {between: [1, 9999]}}
      ps_supplycost: {type: "numeric(15,2)", domain: {between: [1, 1000]}}
      ps_comment: {type: varchar(199)}
  nation:
    public: true
    columns:
      n_nationkey: {type: integer}
      n_name: {type: char(25), domain: {in: [@NATIONS@]}}
      n_regionkey: {type: integer}
  region: {public: true}
access:
  - id: analysts
    effect: permit
    when: subject.role == "researcher"
    tables: [customer, orders, lineitem, part, supplier, partsupp, nation, region]
    use: {aggregate: ["*", class:identifier], group_by: ["*", class:identifier], filter: ["*", class:identifier], join: ["*"]}
    budget: {epsilon: 1e40}
audit: {min_units: 1, narrow_cells: 0, opaque_predicates: allow}
reuse: {max_age: 0d}
limits: {enumerated_groups: 10000, result_rows: 100000}
""".replace(
    "@NATIONS@",
    "ALGERIA, ARGENTINA, BRAZIL, CANADA, CHINA, EGYPT, ETHIOPIA, FRANCE, GERMANY, INDIA, INDONESIA, IRAN,"
    " IRAQ, JAPAN, JORDAN, KENYA, MOROCCO, MOZAMBIQUE, PERU, ROMANIA, RUSSIA, SAUDI ARABIA, UNITED KINGDOM,"
    " UNITED STATES, VIETNAM",
)


@contextmanager
def files() -> Iterator[Path]:
    """A folder with the rows of each table, gone afterwards."""
    with tempfile.TemporaryDirectory() as place:
        python = _ROOT / ".e2e" / "tpch" / "bin" / "python"
        subprocess.run([python, _HERE / "tpch_data.py", place], check=True)
        yield Path(place)
