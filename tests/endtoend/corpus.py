"""The whole corpus of statements through whole gateways: what ends as our bug."""

from collections.abc import Iterable, Iterator

from binding.cases import Case
from endtoend.clinic_gateway import AskedGateway

from gateway.errors import Code, Refusal


def bugs(gateway: AskedGateway, cases: Iterable[tuple[Case, str]]) -> Iterator[str]:
    """Each case that ends in GW901 on the dataset beside it, with what the operator's log says."""
    for case, dataset in cases:
        try:
            gateway.answer(case.sql, dataset)
        except Refusal as refusal:
            if refusal.code is Code.INTERNAL:
                yield f"{case.name} on {dataset}: {refusal} {getattr(refusal, '__notes__', '')}"
