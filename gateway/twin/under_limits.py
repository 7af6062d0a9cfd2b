"""Child process that becomes the twin's server: it drops privileges, sets limits, and ends when the gateway
ends.

It runs as a script, by path and without site-packages. These steps cannot be done between fork and exec of the
gateway, which has threads. The parent-death signal is reset when the uid changes, so it is set after that.

INVARIANT: nothing is executed unless every step before it succeeded.
"""

import ctypes
import os
import resource
import signal
import sys

_PR_SET_PDEATHSIG = 1
_PR_SET_NO_NEW_PRIVS = 38


def main(words: list[str]) -> None:
    """Arguments: the parent's pid, uid and gid to become or `-`, bytes of memory, then the program."""
    parent, uid, gid, memory, *argv = words
    if uid != "-":
        os.setgroups([])
        os.setresgid(int(gid), int(gid), int(gid))
        os.setresuid(int(uid), int(uid), int(uid))
    os.umask(0o077)
    resource.setrlimit(resource.RLIMIT_AS, (int(memory), int(memory)))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # SIGQUIT and not SIGKILL: PostgreSQL then ends its sessions too, including those that compute
    _prctl(_PR_SET_PDEATHSIG, int(signal.SIGQUIT))
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    if os.getppid() != int(parent):
        sys.exit("the gateway has ended")
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    os.execve(argv[0], argv, {"PATH": "/usr/bin:/bin", "LC_ALL": "C"})  # noqa: S606  # no shell is wanted


def _prctl(option: int, value: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, ctypes.c_ulong(value), 0, 0, 0) != 0:
        sys.exit(f"prctl({option}): {os.strerror(ctypes.get_errno())}")


if __name__ == "__main__":
    main(sys.argv[1:])
