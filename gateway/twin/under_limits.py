"""Become the server: give up privileges, take limits on, and end when the gateway ends.

Run as a script of its own, by path and without site-packages, as the child that becomes the server.
This cannot be done between fork and exec of the gateway, which has threads; and the wish to die with
the parent is forgotten when the uid changes, so it is made after that.

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
    """Words: the parent's pid, uid and gid to become or `-`, bytes of memory, then the program."""
    parent, uid, gid, memory, *argv = words
    if uid != "-":
        os.setgroups([])
        os.setresgid(int(gid), int(gid), int(gid))
        os.setresuid(int(uid), int(uid), int(uid))
    os.umask(0o077)
    resource.setrlimit(resource.RLIMIT_AS, (int(memory), int(memory)))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # SIGQUIT and not SIGKILL: PostgreSQL then takes its sessions with it, also those that compute
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
