"""Databases of the fuzzer: an installation that answers, and servers in which worlds are made."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from fix_state import StateServer, scratch_server
from fix_twin import a_twin_home
from privacy.fuzzer.catalogs import SUBJECTS, catalog
from privacy.fuzzer.worlds import Server
from privacy.line import Line, open_line
from sqlalchemy import URL

from gateway.postgres_server import open_server
from gateway.state.open import embedded_urls, upgrade_state
from gateway.twin import Twin, open_twin


@contextmanager
def new_installation(server: StateServer, twin: Twin, home: Path) -> Iterator[Line]:
    """A gateway over some dataset: only its installation is used."""
    text = catalog("house").text.replace("${URL}", "${CLINIC_URL}")
    nowhere = URL.create("duckdb", database=str(home / "nobody.duckdb"))
    with open_line(server, twin, home, nowhere, policy=text, subjects=SUBJECTS) as line:
        yield line


@contextmanager
def own_ground(name: str) -> Iterator[tuple[Server, Line]]:
    """Servers of this process alone, gone afterwards."""
    with ExitStack() as stack:
        home = Path(tempfile.mkdtemp(prefix="fuzzer-"))
        home.chmod(0o711)
        stack.callback(shutil.rmtree, home, ignore_errors=True)
        (home / "state").mkdir(mode=0o711)
        lease = stack.enter_context(scratch_server(home / "state"))
        urls = embedded_urls(lease, home / "state")
        upgrade_state(urls)
        twin = stack.enter_context(open_twin(stack.enter_context(a_twin_home()), limit_s=20))
        source = stack.enter_context(open_server(home / "source"))
        url = source.address.url(
            user=source.superuser, password=source.superuser_password, database="postgres"
        )
        server = stack.enter_context(closing(StateServer(lease, urls)))
        installation = stack.enter_context(new_installation(server, twin, home))
        yield stack.enter_context(Server.open(url, name)), installation
