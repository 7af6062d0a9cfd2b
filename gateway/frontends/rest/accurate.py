"""What a body may say of the accuracy that it wants, instead of a price."""

from typing import Annotated, Any, Final

from pydantic import BeforeValidator, WithJsonSchema

from gateway.frontends.rest.bodies import Number, shown
from gateway.question import Accuracy
from gateway.units import UnitError

_NUMBER: Final = {"anyOf": [{"type": "number"}, {"type": "string"}, {"type": "null"}]}
_ABOUT: Final = {
    "margin": "by how much a noisy cell may be off; of quantiles by how many ranks",
    "relative": "the same as a part of the value, for values of `floor` at least",
    "floor": "goes with `relative`",
    "rows": "for AVG: how many rows a group has at least",
    "confidence": "in which part of all answers a cell holds that; 0.95 when it is left out",
}
_SCHEMA: Final[dict[str, Any]] = {
    "anyOf": [
        {
            "type": "object",
            "properties": {
                name: {**_NUMBER, "description": about} for name, about in _ABOUT.items()
            },
            "additionalProperties": False,
            "examples": [{"margin": 30}, {"relative": 0.05, "floor": 1000, "confidence": 0.99}],
        },
        {"type": "null"},
    ]
}


def _accuracy(value: Any) -> Accuracy | None:  # noqa: ANN401  # whatever was sent
    if value is None:
        return None
    if not isinstance(value, dict):
        raise ValueError('must be an object such as {"margin": 30}')  # noqa: TRY004  # pydantic tells it
    said: dict[str, str] = {}
    for name, one in value.items():
        if name not in _ABOUT:
            raise ValueError(f"there is no {shown(name)} in it, but {', '.join(_ABOUT)}")
        if one is not None:
            said[name] = _text(name, one)
    try:
        return Accuracy.parse(said)
    except UnitError as error:
        raise ValueError(str(error)) from None


def _text(name: str, value: Any) -> str:  # noqa: ANN401  # see above
    if isinstance(value, Number):
        return value.text
    if isinstance(value, str):
        return value
    raise ValueError(f"`{name}` must be a number such as 30, or the same as a string")


AccuracyField = Annotated[Accuracy | None, BeforeValidator(_accuracy), WithJsonSchema(_SCHEMA)]
