"""Configuration of the state server, written anew at every start.

INVARIANT: nobody connects without a password, and there is no TCP. Neither SQL nor values reach the log:
messages of statements are not written, and of all others only the first line (the detail of a crash would quote
the running statement).
"""

from collections.abc import Mapping
from pathlib import Path

from gateway.postgres_server.directories import PORT, ServerDirectory

HBA = "local all all scram-sha-256\n"

_STATE: Mapping[str, str] = {
    "cluster_name": "gateway",
    "allow_alter_system": "off",
    # who gets in
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "password_encryption": "scram-sha-256",
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
