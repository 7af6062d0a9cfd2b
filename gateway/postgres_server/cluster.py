"""The cluster: `initdb`, once, and `postgresql.conf`.

INVARIANT: the password is durable in the home before a server knows it, and `data` gets its name when it is
complete. A start that was interrupted anywhere is repeated by the next.
INVARIANT: nobody connects without a password, and there is no TCP. Neither SQL nor values reach the log: messages
of statements are not written, and of all others only the first line (the detail of a crash would quote the running
statement).
"""

import secrets
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import SecretStr

from gateway.errors import Code, OperatorError
from gateway.postgres_server.directories import PORT, Home, ServerDirectory
from gateway.postgres_server.files import inherit_lock, make_durable, write_durably
from gateway.postgres_server.os_user import OsUser, initdb_account
from gateway.postgres_server.programs import Programs

SUPERUSER = "postgres"
_TIMEOUT = 120.0


def superuser_password(home: Home, place: ServerDirectory) -> SecretStr:
    """Read the password, or draw it if there is no database yet."""
    if home.superuser.exists():
        return SecretStr(home.superuser.read_text().strip())
    if place.data.exists():
        raise OperatorError(
            Code.HOME_UNUSABLE,
            f"`{home.superuser}` is missing, the database `{place.data}` is not",
            "bring the file back from a backup of the home",
        )
    password = secrets.token_urlsafe(32)
    write_durably(home.superuser, f"{password}\n")
    return SecretStr(password)


def ensure_cluster(
    place: ServerDirectory, programs: Programs, account: OsUser, password: SecretStr
) -> None:
    """Create the cluster unless it exists; under the start lock, with no server running."""
    for left_over in place.path.glob("draft-*"):
        shutil.rmtree(left_over, ignore_errors=True)
    if not place.data.exists():
        create_cluster(place, programs, account, password)
    elif account.switch and place.data.stat().st_uid != account.uid:
        account.give_tree(place.data)  # restored from a backup by root


def create_cluster(
    place: ServerDirectory,
    programs: Programs,
    account: OsUser,
    password: SecretStr,
    options: Sequence[str] = (),
) -> None:
    """Run initdb with the settings that all embedded servers share, and `options`."""
    maker = initdb_account(account)
    draft = place.path / f"draft-{secrets.token_hex(4)}"
    draft.mkdir(mode=0o700)
    try:
        data, pwfile = draft / "data", draft / "password"
        data.mkdir(mode=0o700)
        write_durably(pwfile, f"{password.get_secret_value()}\n")
        maker.give(data)
        maker.give(pwfile)
        maker.share(draft)
        with inherit_lock(place.server_lock) as lock:
            # if this process is killed, the next start waits for initdb to end before it removes the draft
            done = maker.run(
                [
                    *(programs.path("initdb"), "-D", data, "-U", SUPERUSER, f"--pwfile={pwfile}"),
                    *("--auth=scram-sha-256", "--set=scram_iterations=1", "--encoding=UTF8"),
                    *("--locale-provider=builtin", "--locale=C.UTF-8"),
                    *options,
                ],
                inherited=[lock],
                timeout=_TIMEOUT,
            )
        if done.returncode != 0:
            problem = " ".join((done.stderr or done.stdout).split())[-1000:]
            problem = f"the database cannot be made: {problem}"
            raise OperatorError(Code.EMBEDDED_SERVER, problem, _hint(problem))
        account.give_tree(data)
        data.rename(place.data)
        make_durable(place.path)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _hint(problem: str) -> str:
    if "No space left" in problem:
        return "the disk is full: make room, then start again"
    return "the message is initdb's own; the home is left as it was"


HBA = "local all all scram-sha-256\n"

_STATE: Mapping[str, str] = {
    "cluster_name": "gateway",
    "allow_alter_system": "off",
    # who gets in
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    # passwords are 256 random bits, so stretching them would only cost time
    "password_encryption": "scram-sha-256",
    "scram_iterations": "1",
    "max_connections": "200",
    # a commit is durable when it returns
    "fsync": "on",
    "full_page_writes": "on",
    "synchronous_commit": "on",
    # small, and without helpers that would sleep all day
    "shared_buffers": "32MB",
    "huge_pages": "off",
    "max_wal_size": "256MB",
    "io_method": "sync",
    "jit": "off",
    "max_parallel_workers": "0",
    "max_parallel_workers_per_gather": "0",
    "max_parallel_maintenance_workers": "0",
    "max_logical_replication_workers": "0",
    "max_wal_senders": "0",
    "max_replication_slots": "0",
    "autovacuum_max_workers": "2",
    "autovacuum_worker_slots": "2",
    # /dev/shm may be missing or tiny in a container
    "dynamic_shared_memory_type": "mmap",
    "TimeZone": "UTC",
    # what the log says
    "log_destination": "stderr",
    "logging_collector": "off",
    "log_line_prefix": "%m [%p] ",
    "log_timezone": "UTC",
    "log_min_messages": "log",
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
    "log_statement": "none",
    "log_parameter_max_length": "0",
    "log_parameter_max_length_on_error": "0",
    "log_autovacuum_min_duration": "-1",
    "log_checkpoints": "off",
}


def state_configuration(place: ServerDirectory, socket_dir: Path) -> str:
    settings = {
        **_STATE,
        "port": str(PORT),
        "unix_socket_directories": str(socket_dir),
        "hba_file": str(place.hba),
    }
    return configuration_text(settings)


def configuration_text(settings: Mapping[str, str]) -> str:
    """Settings as the lines of a `postgresql.conf`."""
    return "".join(f"{name} = {_quoted(value)}\n" for name, value in settings.items())


def _quoted(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "''") + "'"
