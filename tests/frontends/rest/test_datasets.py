"""`GET /v1/datasets`: what the policy lets somebody see, handed through as it is."""

from contextlib import closing

from fix_gateway import Client
from frontends.rest.stub_questions import DATASETS, Asking, Behind, refused

from gateway.frontends.rest.openapi import DatasetsShape


def test_datasets_are_told_to_whoever_has_a_key() -> None:
    """The body is that of the door; without a key there is none."""
    behind = Behind()
    with closing(Client(behind.app())) as client:
        asking = Asking(behind, client)
        answer = asking.get("/v1/datasets")
        assert answer.json() == DATASETS
        DatasetsShape.model_validate(answer.json())
        refused(asking.get("/v1/datasets", None), 401, "GW701")
        assert asking.post("/v1/datasets", {}).status_code == 405


def test_datasets_are_listed_for_the_named_purpose_and_the_peer_of_the_connection() -> None:
    """The purpose is the parameter's; what a header says of other addresses is not read."""
    behind = Behind()
    with closing(Client(behind.app())) as client:
        asking = Asking(behind, client)
        asking.get("/v1/datasets?purpose=research")
        asking.get("/v1/datasets")
        refused(asking.get("/v1/datasets?purpose="), 400, "GW705")
        refused(asking.get("/v1/datasets?for=research"), 400, "GW705")
    assert [one.purpose for one in behind.listed] == ["research", None]
    assert {one.tls for one in behind.listed} == {False}
