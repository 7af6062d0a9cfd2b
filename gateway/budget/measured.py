"""A charge's measurements as they are stored beside it."""

import json

from gateway.budget.account import ratio
from gateway.budget.charge import Measurement


def measured_text(measurements: tuple[Measurement, ...]) -> str:
    return json.dumps([measured(one) for one in measurements], separators=(",", ":"))


def measured(one: Measurement) -> dict[str, str]:
    return {
        "name": one.name,
        "mechanism": one.mechanism,
        "share": ratio(one.share),
        "delta": one.delta.ratio,
    }
