"""Request body of `/v1/query` and `/v1/estimate`, read with exact numbers, and the pipeline request made from it.

A body has a price or a wanted accuracy.

INVARIANT: a price is read as the decimal that was written, and is more than zero.
INVARIANT: a number stays the text it was sent as; `0.1` is never a double.
INVARIANT: no more of a body is buffered than the size limit.
"""

import json
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import Annotated, Any, Final, Literal, NoReturn, TypeAlias

from fastapi import Request as HttpRequest
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, WithJsonSchema
from starlette.requests import ClientDisconnect

from gateway.digest import digest
from gateway.errors import Code, LimitExceeded, SyntaxRefused
from gateway.requests.request import Accuracy, Request, UnsupportedItems
from gateway.units import Epsilon, UnitError

LARGEST: int = 1024 * 1024
_LONGEST_NUMBER = 1000  # digits; what is longer is no number anybody means
_MOST_SHOWN = 64
_HINT = "send one JSON object, see /docs"


@dataclass(frozen=True, slots=True)
class JsonNumber:
    """A JSON number, as it was written."""

    text: str


Json: TypeAlias = "bool | str | JsonNumber | list[Json] | dict[str, Json] | None"


class _Odd(ValueError):
    """Valid JSON that readers could understand differently."""


def parse_body(body: bytes) -> dict[str, Json]:
    """The object in the body, or a refusal that says what is wrong with it."""
    try:
        read = _read(body.decode())
    except UnicodeDecodeError:
        raise malformed_body("the body is not UTF-8 text") from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise malformed_body(f"the body is not JSON: {where}: {error.msg[:_MOST_SHOWN]}") from None
    except _Odd as odd:
        raise malformed_body(str(odd)) from None
    except RecursionError:
        raise malformed_body("the body is too deeply nested") from None
    if not isinstance(read, dict):
        raise malformed_body("the body is not a JSON object")
    return read


def malformed_body(detail: str, hint: str = _HINT) -> SyntaxRefused:
    return SyntaxRefused(Code.BAD_REQUEST, detail, hint)


def excerpt(text: str) -> str:
    """The client's text, short enough for a message."""
    return f"`{text[:_MOST_SHOWN]}…`" if len(text) > _MOST_SHOWN else f"`{text}`"


def _read(text: str) -> Json:
    read: Json = json.loads(
        text,
        parse_int=_number,
        parse_float=_number,
        parse_constant=_no_number,
        object_pairs_hook=_object,
    )
    if _has_half_a_pair(text, read):
        raise _Odd("the body contains half of a Unicode surrogate pair")
    return read


def _number(text: str) -> JsonNumber:
    if len(text) > _LONGEST_NUMBER:
        raise _Odd(f"a number has more than {_LONGEST_NUMBER} digits")
    return JsonNumber(text)


def _no_number(text: str) -> NoReturn:
    raise _Odd(f"`{text}` is not a JSON number")


def _object(pairs: Sequence[tuple[str, Json]]) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for key, value in pairs:
        if key in found:
            raise _Odd(f"the key {excerpt(key)} is given twice")
        found[key] = value
    return found


def _has_half_a_pair(text: str, read: Json) -> bool:
    r"""True if a text has half of a surrogate pair; only escapes such as `\ud800` make one, because the body was
    UTF-8.
    """
    if "\\u" not in text:
        return False
    waiting = [read]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            waiting += [*one, *one.values()]
        elif isinstance(one, list):
            waiting += one
        elif isinstance(one, str) and not _is_whole(one):
            return True
    return False


def _is_whole(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


async def receive_body(request: HttpRequest) -> bytes:
    """The whole body, up to the size limit."""
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and (len(declared) > len(str(LARGEST)) or int(declared) > LARGEST):
        raise _too_large()
    received = bytearray()
    try:
        async for piece in request.stream():
            received += piece
            if len(received) > LARGEST:
                raise _too_large()
    except ClientDisconnect:
        raise malformed_body("the body is incomplete") from None
    return bytes(received)


def _too_large() -> LimitExceeded:
    return LimitExceeded(
        Code.REQUEST_TOO_LARGE, f"the body may have at most {LARGEST} bytes", "send a smaller body"
    )


_NUMBER: Final = {"anyOf": [{"type": "number"}, {"type": "string"}, {"type": "null"}]}
_ABOUT: Final = {
    "margin": "the largest error of a noisy cell; for quantiles, in ranks",
    "relative": "the largest error as a part of the value, for values of at least `floor`",
    "floor": "the least value that `relative` applies to",
    "rows": "for AVG: the least number of rows in a group",
    "confidence": "the probability that the error stays within it; the default is 0.95",
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
            raise ValueError(
                f"{excerpt(name)} is not a key of it; the keys are {', '.join(_ABOUT)}"
            )
        if one is not None:
            said[name] = _text(name, one)
    try:
        return Accuracy.parse(said)
    except UnitError as error:
        raise ValueError(str(error)) from None


def _text(name: str, value: Any) -> str:  # noqa: ANN401  # see above
    if isinstance(value, JsonNumber):
        return value.text
    if isinstance(value, str):
        return value
    raise ValueError(f"`{name}` must be a number such as 30, or the same as a string")


AccuracyField = Annotated[Accuracy | None, BeforeValidator(_accuracy), WithJsonSchema(_SCHEMA)]


_LONGEST_NAME: Final = 256
_MOST_PARAMETERS: Final = 65_535  # as PostgreSQL's own protocol
_LONGEST_KEY: Final = 255


def _price(value: Any) -> Epsilon | None:  # noqa: ANN401  # whatever was sent
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, str | JsonNumber):
        raise ValueError("must be a number such as 0.1, or the same as a string")  # noqa: TRY004  # pydantic tells it
    try:
        price = Epsilon.parse(value.text if isinstance(value, JsonNumber) else value)
    except UnitError as error:
        raise ValueError(str(error)) from None
    if not price:
        raise ValueError("epsilon must be more than 0")
    return price


def _parameter(value: Any) -> str | None:  # noqa: ANN401  # see above
    """A parameter as PostgreSQL reads it: a text or NULL."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, JsonNumber):
        return value.text
    if not isinstance(value, str):
        raise ValueError("must be null, true, false, a number or a string")  # noqa: TRY004  # pydantic tells it
    if "\0" in value:
        raise ValueError("a text cannot hold the character NUL")
    return value


Name = Annotated[str, Field(max_length=_LONGEST_NAME)]
Price = Annotated[
    Epsilon | None,
    BeforeValidator(_price),
    WithJsonSchema({"anyOf": [{"type": "number"}, {"type": "string"}, {"type": "null"}]}),
]
Parameter = Annotated[
    str | None,
    BeforeValidator(_parameter),
    WithJsonSchema({"type": ["null", "boolean", "number", "string"]}),
]


class QueryBody(BaseModel):
    """A query. `epsilon` is the price of the whole statement; default and cap are the policy's."""

    model_config = ConfigDict(extra="forbid", strict=True, arbitrary_types_allowed=True)

    sql: Annotated[str, Field(description="one statement in PostgreSQL's SQL")]
    dataset: Annotated[Name | None, Field(description="optional if you have only one")] = None
    purpose: Annotated[Name | None, Field(description="optional if you have only one")] = None
    epsilon: Annotated[Price, Field(description="read exactly, as a decimal")] = None
    accuracy: Annotated[
        AccuracyField,
        Field(
            description="the accuracy that is needed; the gateway takes the lowest price that reaches it"
        ),
    ] = None
    params: Annotated[
        list[Parameter] | None,
        Field(max_length=_MOST_PARAMETERS, description="values of $1, $2, … in this order"),
    ] = None
    fresh: Annotated[bool, Field(description="measure anew instead of reusing earlier answers")] = (
        False
    )
    unsupported: Annotated[
        Literal["refuse", "null"],
        Field(
            description="what becomes of items of the SELECT list that cannot be answered: the query is refused, or they are NULL"
        ),
    ] = "refuse"
    dry_run: Annotated[bool, Field(description="return the estimate instead of the answer")] = False


def parse_query_body(read: dict[str, Json]) -> QueryBody:
    """The query, or one refusal that names the wrong field."""
    try:
        body = QueryBody.model_validate(read)
    except ValidationError as error:
        raise malformed_body(_first_problem(error)) from None
    if body.accuracy is not None and body.epsilon is not None:
        raise malformed_body("`epsilon` and `accuracy` are both given", "give only one of them")
    return body


def request_of(body: QueryBody, http: HttpRequest) -> Request:
    """The request for the pipeline."""
    key = idempotency_key(http)
    return Request(
        sql=body.sql,
        dataset=body.dataset,
        purpose=body.purpose,
        epsilon=body.epsilon,
        parameters=tuple(body.params or ()),
        idempotency=None if key is None else (key, digest_of(body)),
        address=peer_address(http),
        accuracy=body.accuracy,
        fresh=body.fresh,
        tls=is_encrypted(http),
        unsupported=UnsupportedItems(body.unsupported),
    )


def peer_address(http: HttpRequest) -> str:
    """The address of the connection's other end; headers of proxies are not read."""
    return http.client.host if http.client else "unknown"


def is_encrypted(http: HttpRequest) -> bool:
    """Whether the connection that arrived here is inside TLS."""
    return http.scope.get("scheme") == "https"


def idempotency_key(http: HttpRequest) -> str | None:
    """The header of this name, when there is one."""
    keys = http.headers.getlist("idempotency-key")
    if not keys:
        return None
    if len(keys) > 1:
        raise malformed_body("the header `Idempotency-Key` is given twice", "send one header")
    (key,) = keys
    if not 1 <= len(key) <= _LONGEST_KEY or not all("!" <= sign <= "~" for sign in key):
        raise malformed_body(
            f"the header `Idempotency-Key` must have 1 to {_LONGEST_KEY} visible ASCII characters",
            "send a UUID, a new one for each query",
        )
    return key


def digest_of(body: QueryBody) -> str:
    """A digest that is equal for bodies of equal meaning, however they are written."""
    meant = {
        "sql": body.sql,
        "dataset": body.dataset,
        "purpose": body.purpose,
        "epsilon": None if body.epsilon is None else body.epsilon.ratio,
        # left out where none is asked for, as it was before there was one: keys of then are still known
        **({} if body.accuracy is None else {"accuracy": list(map(str, astuple(body.accuracy)))}),
        "params": body.params or [],
        "fresh": body.fresh,
        **({} if body.unsupported == "refuse" else {"unsupported": body.unsupported}),
    }
    return digest(json.dumps(meant, sort_keys=True))


def _first_problem(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    said = first["msg"].removeprefix("Value error, ")
    return f"{excerpt(where)}: {said[:1].lower()}{said[1:]}"
