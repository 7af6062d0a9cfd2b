"""The scope of a release as JSON, for the state.

INVARIANT: what is read equals what was written. A mark that an older version did not write is absent.
"""

from gateway.catalog.values import value_json, value_of_json
from gateway.json_form import Json, read_mapping, read_sequence, read_string
from gateway.regions.axis import axis_json, axis_of_json
from gateway.regions.cells import cells_json, cells_of_json
from gateway.regions.region import region_json, region_of_json
from gateway.regions.scope import GroupKey, ReleaseScope


def scope_json(scope: ReleaseScope) -> Json:
    """The scope as JSON, for the state."""
    keys = [
        {
            "text": one.text,
            "axis": None if one.axis is None else axis_json(one.axis),
            "values": None if one.values is None else [value_json(each) for each in one.values],
            "cells": None if one.cells is None else [cells_json(each) for each in one.cells],
        }
        for one in scope.keys
    ]
    return {
        "shape": scope.shape,
        "tables": sorted(scope.tables),
        "region": region_json(scope.region),
        "keys": keys,
        "unreadable": list(scope.unreadable),
        "any_numbers": scope.any_numbers,
        "of_groups": scope.of_groups,
        "row_reading": scope.row_reading,
    }


def scope_of_json(said: Json) -> ReleaseScope:
    """The scope that `scope_json` wrote."""
    given = read_mapping(said)
    keys = [
        GroupKey(
            read_string(one["text"]),
            None if one["axis"] is None else axis_of_json(one["axis"]),
            None
            if one["values"] is None
            else tuple(map(value_of_json, read_sequence(one["values"]))),
            None
            if one["cells"] is None
            else tuple(map(cells_of_json, read_sequence(one["cells"]))),
        )
        for one in map(read_mapping, read_sequence(given["keys"]))
    ]
    return ReleaseScope(
        read_string(given["shape"]),
        frozenset(map(read_string, read_sequence(given["tables"]))),
        region_of_json(given["region"]),
        tuple(keys),
        tuple(map(read_string, read_sequence(given["unreadable"]))),
        any_numbers=given.get("any_numbers") is True,
        of_groups=given.get("of_groups") is True,
        row_reading=read_string(given.get("row_reading", "")),
    )
