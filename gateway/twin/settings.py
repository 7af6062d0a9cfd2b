"""Settings of the twin: of its server, and of every session.

INVARIANT: settings that change a result are fixed for each session in its start-up packet, which overrides what
a role may have set for itself; the server has the same values, so that RESET returns to them. Neither SQL nor
values are logged, and no errors either, because they quote literals.
"""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from gateway.postgres_server.cluster import configuration_text
from gateway.postgres_server.directories import PORT, ServerDirectory

MEMORY = 512 * 1024 * 1024  # address space of each process
LINES, LINES_OF_ROLE = 300, 100  # that clients hold
IDLE = 32  # that the gateway keeps idle
BORROWED = 60  # at the same time: one for each running query
_RESERVED = 8
SESSIONS = LINES + IDLE + BORROWED + _RESERVED
SESSIONS_OF_ROLE = LINES_OF_ROLE + BORROWED

SESSION: Mapping[str, str] = MappingProxyType(
    {
        "array_nulls": "on",
        "backslash_quote": "safe_encoding",
        "bytea_output": "hex",
        "client_encoding": "UTF8",
        "DateStyle": "ISO, MDY",
        "default_text_search_config": "pg_catalog.simple",
        "default_transaction_isolation": "read committed",
        "default_transaction_read_only": "on",
        "escape_string_warning": "off",
        "extra_float_digits": "1",
        "IntervalStyle": "postgres",
        "lc_messages": "C",
        "lc_monetary": "C",
        "lc_numeric": "C",
        "lc_time": "C",
        "quote_all_identifiers": "off",
        "row_security": "on",
        "search_path": "public",
        "standard_conforming_strings": "on",
        "TimeZone": "UTC",
        "timezone_abbreviations": "Default",
        "transform_null_equals": "off",
        "xmlbinary": "base64",
        "xmloption": "content",
    }
)

_NOT_FROM_A_CLIENT = frozenset(
    {"lc_messages"}
)  # a superuser's setting: the server's value is final

_SERVER: Mapping[str, str] = MappingProxyType(
    {
        "cluster_name": "",
        "allow_alter_system": "off",
        # who may connect; the passwords are 256 random bits, so stretching them would only cost time
        "listen_addresses": "",
        "unix_socket_permissions": "0700",
        "password_encryption": "scram-sha-256",
        "scram_iterations": "1",
        "max_connections": str(SESSIONS),
        "reserved_connections": "0",
        "superuser_reserved_connections": str(_RESERVED),
        "authentication_timeout": "10s",
        # nothing here needs durability; a server with a crashed process is discarded
        "restart_after_crash": "off",
        "fsync": "off",
        "full_page_writes": "off",
        "synchronous_commit": "off",
        "wal_level": "minimal",
        "max_wal_senders": "0",
        "max_replication_slots": "0",
        "max_logical_replication_workers": "0",
        "max_prepared_transactions": "0",
        "max_wal_size": "32MB",
        "min_wal_size": "2MB",
        "autovacuum": "off",
        # small
        "shared_buffers": "16MB",
        "huge_pages": "off",
        "dynamic_shared_memory_type": "mmap",
        "max_worker_processes": "0",
        "max_parallel_workers": "0",
        "max_parallel_workers_per_gather": "0",
        "max_parallel_maintenance_workers": "0",
        "io_method": "sync",
        "jit": "off",
        "work_mem": "4MB",
        "temp_file_limit": "64MB",
        # a second time limit behind the gateway's own; a session can unset it, so nothing relies on it
        "statement_timeout": "120s",
        "lock_timeout": "5s",
        "idle_in_transaction_session_timeout": "1h",
        "client_connection_check_interval": "2s",
        # no session sees the activity of others
        "track_activities": "off",
        "track_counts": "off",
        "track_io_timing": "off",
        "track_functions": "none",
        "track_commit_timestamp": "off",
        "update_process_title": "off",
        "shared_preload_libraries": "",
        "session_preload_libraries": "",
        # the log says why the server does not start
        "log_destination": "stderr",
        "logging_collector": "off",
        "log_line_prefix": "%m [%p] ",
        "log_timezone": "UTC",
        "log_min_messages": "fatal",
        "log_min_error_statement": "panic",
        "log_error_verbosity": "terse",
        "log_statement": "none",
        "log_parameter_max_length": "0",
        "log_parameter_max_length_on_error": "0",
        "log_checkpoints": "off",
        "log_connections": "",
        "log_disconnections": "off",
        "log_lock_waits": "off",
        "log_temp_files": "-1",
    }
)


def twin_configuration(place: ServerDirectory, socket_dir: Path) -> str:
    return configuration_text(
        {
            **_SERVER,
            **SESSION,
            "port": str(PORT),
            "unix_socket_directories": str(socket_dir),
            "hba_file": str(place.hba),
        }
    )


def session_options(given: Mapping[str, str] = MappingProxyType({})) -> str:
    """The `options` of a start-up packet that fix a session's settings: the given ones before the gateway's."""
    chosen = {name.lower() for name in given}
    settings = {name: value for name, value in SESSION.items() if name.lower() not in chosen}
    return " ".join(
        f"-c {name}={_escaped(value)}"
        for name, value in {**settings, **given}.items()
        if name not in _NOT_FROM_A_CLIENT
    )


def _escaped(value: str) -> str:
    return "".join(f"\\{sign}" if sign == "\\" or sign.isspace() else sign for sign in value)
