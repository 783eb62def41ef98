"""Restricts the DDS receive sockets of a local graph to the loopback device.

Cyclone DDS binds its receive sockets to all addresses, even on the loopback interface (its issues
1923 and 2090): any host that reaches this machine could send into a local graph. Once created, the
sockets are bound to the loopback device, which needs no privilege.
"""

from __future__ import annotations

import os
import socket
import stat

_LOOPBACK = b"lo\0"
_BASE_PORT, _PORTS_OF_DOMAIN = 7400, 250
_ANY = ("0.0.0.0", "::")


def receiving_sockets(domain: int) -> list[socket.socket]:
    """Duplicates of this process's sockets of a domain bound to all addresses; close them."""
    first = _BASE_PORT + _PORTS_OF_DOMAIN * domain
    found = []
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 - names are all that is wanted
        try:
            if not stat.S_ISSOCK(os.fstat(int(name)).st_mode):
                continue
            copy = os.dup(int(name))
        except OSError:  # closed in the meantime
            continue
        try:
            made = socket.socket(fileno=copy)
        except OSError:
            os.close(copy)
            continue
        if _receives(made, range(first, first + _PORTS_OF_DOMAIN)):
            found.append(made)
        else:
            made.close()
    return found


def _receives(made: socket.socket, ports: range) -> bool:
    if made.family not in (socket.AF_INET, socket.AF_INET6) or made.type != socket.SOCK_DGRAM:
        return False
    try:
        address, port = made.getsockname()[:2]
    except OSError:
        return False
    return address in _ANY and port in ports


def hear_loopback_only(domain: int) -> str:
    """Binds the domain's sockets to the loopback device; returns why it failed, or empty."""
    sockets = receiving_sockets(domain)
    try:
        for made in sockets:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, _LOOPBACK)
    except OSError as error:
        return f"the sockets of domain {domain} hear all networks: {error.strerror}"
    finally:
        for made in sockets:
            made.close()
    return "" if sockets else f"no sockets of domain {domain} were found"
