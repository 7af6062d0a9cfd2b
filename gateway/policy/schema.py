"""The JSON Schema of a policy file, for editors that complete and check while one types."""

from typing import Any

from gateway.policy.model import PolicyModel


def policy_schema() -> dict[str, Any]:
    """By alias, as people write the keys."""
    schema = PolicyModel.model_json_schema(by_alias=True)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
