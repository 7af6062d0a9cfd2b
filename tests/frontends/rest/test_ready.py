"""Readiness covers all that an answer needs, the twin too."""

from contextlib import closing

from fix_gateway import Client, Front
from fix_twin import a_twin_home

from gateway.app import gateway_api
from gateway.errors import TITLE, Code
from gateway.frontends.rest.app import create_app
from gateway.telemetry.metrics import Metrics
from gateway.twin import open_twin


def test_readyz_refuses_when_the_twin_does_not_run(front: Front) -> None:
    """Without a twin no SQL has a meaning, so the gateway is not ready; the process is alive all the same."""
    with a_twin_home() as home, open_twin(home) as twin:
        app = create_app(gateway_api(front.foundation, Metrics(), twin=twin))
        with closing(Client(app)) as client:
            assert client.get("/readyz").json() == {"status": "ready"}
            twin.close()
            answer = client.get("/readyz")
            assert client.get("/healthz").status_code == 200
    assert answer.status_code == 503
    assert answer.headers["content-type"] == "application/problem+json"
    said = answer.json()
    assert (said["code"], said["title"]) == ("GW608", TITLE[Code.TWIN_UNAVAILABLE])
    assert (said["reason"], said["hint"]) == ("backend_unavailable", "try again")
