"""One example for each body, on the sample clinic; OpenAPI shows them."""

from typing import Any, Final

QUESTION: Final[dict[str, Any]] = {
    "sql": "SELECT region, count(*) FROM patients WHERE birth_year < $1 GROUP BY region",
    "dataset": "clinic",
    "purpose": "care-quality",
    "epsilon": 0.05,
    "params": [1960],
}
_ACCOUNT: Final[dict[str, Any]] = {
    "account": "analyst:alice@clinic",
    "dataset": "clinic",
    "epsilon_limit": 2.0,
    "epsilon_spent": 0.05,
    "epsilon_remaining": 1.95,
    "delta_limit": 1e-6,
    "window": {
        "every": "month",
        "epsilon_limit": 0.5,
        "epsilon_spent": 0.05,
        "epsilon_remaining": 0.45,
        "reopens_at": "2026-02-01T00:00:00+00:00",
    },
}
ANSWER: Final[dict[str, Any]] = {
    "query_id": "5d1f0c6a9b7e4c2233445566",
    "columns": [
        {"name": "region", "type": "text", "noisy": False},
        {
            "name": "count",
            "type": "bigint",
            "noisy": True,
            "mechanism": "discrete_laplace",
            "scale": 20.0,
        },
    ],
    "rows": [["east", 2489], ["north", 2517]],
    "intervals": [[None, [2429.0, 2549.0]], [None, [2457.0, 2577.0]]],
    "privacy": {"epsilon": 0.05, "charged_epsilon": 0.05, "delta": 0.0, "reused": None},
    "budget": {"accounts": [_ACCOUNT]},
    "notices": [],
}
ESTIMATE: Final[dict[str, Any]] = {
    "decision": "permit",
    "price": 0.05,
    "reused": None,
    "columns": [
        {"name": "region", "expected_margin_95": None},
        {"name": "count", "expected_margin_95": 60.0},
    ],
    "notices": [],
}
DATASETS: Final[dict[str, Any]] = {
    "datasets": [
        {
            "dataset": "clinic",
            "tables": [
                {
                    "table": "patients",
                    "columns": [
                        {
                            "name": "region",
                            "type": "text",
                            "domain": {"in": ["north", "east", "south", "west"]},
                            "use": ["aggregate", "group_by", "filter"],
                        }
                    ],
                }
            ],
        }
    ]
}
QUERIES: Final[dict[str, Any]] = {
    "queries": [
        {
            "query_id": "445566778899aabbccddeeff",
            "at": "2026-01-31T12:30:00+00:00",
            "sql": QUESTION["sql"],
            "outcome": "reused",
            "charged_epsilon": 0.0,
        },
        {
            "query_id": "5d1f0c6a9b7e4c2233445566",
            "at": "2026-01-31T12:00:00+00:00",
            "sql": QUESTION["sql"],
            "outcome": "answered",
            "charged_epsilon": 0.05,
        },
        {
            "query_id": "0a9b7e4c22334455665d1f0c",
            "at": "2026-01-31T11:59:00+00:00",
            "sql": "SELECT * FROM patients",
            "outcome": "refused",
            "reason": "not_aggregate",
            "charged_epsilon": 0.0,
        },
    ]
}
EXAMPLES: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "/v1/query": ("post", ANSWER),
    "/v1/estimate": ("post", ESTIMATE),
    "/v1/datasets": ("get", DATASETS),
    "/v1/queries": ("get", QUERIES),
}
