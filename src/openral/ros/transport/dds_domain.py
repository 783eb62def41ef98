"""DDS domains of this process: contexts on the same domain share one configuration."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from cyclonedds.core import DDSException, Entity
from cyclonedds.domain import Domain
from cyclonedds.internal import DDS

from openral.errors import ConfigError, TransportError
from openral.log import logger
from openral.ros.transport.dds_config import Network, cyclone_xml, warn_if_buffer_small
from openral.ros.transport.loopback_sockets import hear_loopback_only

_lock = threading.Lock()
_FATAL, _ERROR = 1, 2


@dataclass
class _Open:
    domain: Domain
    network: Network
    users: int = 0


_open: dict[int, _Open] = {}


def acquire(network: Network) -> None:
    """Configures the domain, or shares the configuration this process already has."""
    with _lock:
        entry = _open.get(network.domain)
        if entry is None:
            warn_if_buffer_small()
            entry = _open[network.domain] = _Open(_create(network), network)
        elif entry.network != network:
            raise ConfigError(
                f"domain {network.domain} is already open on interface "
                f"'{entry.network.interface}' in this process, not on '{network.interface}'; "
                "use one of the two for all contexts or another domain"
            )
        entry.users += 1


def release(network: Network) -> None:
    """Releases the domain; the last user closes it."""
    with _lock:
        entry = _open[network.domain]
        entry.users -= 1
        if entry.users == 0:
            del _open[network.domain]
            delete(entry.domain)


def _create(network: Network) -> Domain:
    # Cyclone would print a line for every malformed packet: any peer could flood the logs.
    DDS._dll_handle.dds_set_log_mask(_FATAL | _ERROR)
    try:
        made = Domain(network.domain, cyclone_xml(network))
    except DDSException as error:
        where = f"interface '{network.interface}'" if network.interface else "the network"
        raise TransportError(
            f"cannot open DDS domain {network.domain} on {where}: {error}"
        ) from error
    if network.is_local and (reason := hear_loopback_only(network.domain)):
        logger().warning("this local graph can be reached from outside", reason=reason)
    return made


def delete(entity: Entity) -> None:
    """Deletes an entity now instead of on garbage collection; idempotent."""
    entity.__del__()
