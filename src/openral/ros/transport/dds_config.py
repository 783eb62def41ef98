"""DDS configuration: domain, network interface and buffer sizes, once per process and domain."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from openral.errors import ConfigError
from openral.log import logger

DEFAULT_DOMAIN = 73
"""Not ROS's 0: a simulation must never join a live robot's graph by accident."""
MAX_DOMAIN = 232
RECEIVE_BUFFER_BYTES = 4 * 1024 * 1024
MAX_SAMPLE_BYTES = 64 * 1024 * 1024
"""Largest message that is sent or reassembled: an image of 4096 × 4096 RGB pixels has 48 MiB."""
_RMEM_MAX = Path("/proc/sys/net/core/rmem_max")
_OFF = {"", "0", "no", "false", "off"}
_AUTO = {"1", "yes", "true", "on", "auto"}
_warned = False


@dataclass(frozen=True)
class Network:
    """The DDS domain and network interface of a graph."""

    domain: int = DEFAULT_DOMAIN
    interface: str | None = "lo"
    """`lo` keeps the graph on this machine; None lets DDS choose a network interface."""

    @property
    def is_local(self) -> bool:
        """Whether the graph is confined to this machine."""
        return self.interface == "lo"

    @classmethod
    def from_environment(cls, domain: int | None = None, network: str | None = None) -> Network:
        """From arguments, else OPENRAL_DOMAIN and OPENRAL_NETWORK, else loopback on domain 73."""
        chosen = network if network is not None else os.environ.get("OPENRAL_NETWORK", "")
        interface = "lo" if chosen.lower() in _OFF else None if chosen.lower() in _AUTO else chosen
        return cls(_domain(domain), interface)


def _domain(domain: int | None) -> int:
    text = os.environ.get("OPENRAL_DOMAIN", "") if domain is None else str(domain)
    if not text:
        return DEFAULT_DOMAIN
    if not text.isdecimal() or int(text) > MAX_DOMAIN:
        raise ConfigError(f"domain '{text}' is not a DDS domain; valid: 0 to {MAX_DOMAIN}")
    return int(text)


def cyclone_xml(network: Network) -> str:
    """Cyclone's configuration, given explicitly so that CYCLONEDDS_URI cannot expose the graph."""
    if network.is_local:
        # A killed process must be detected soon, and loopback loses no liveliness messages.
        interfaces = '<NetworkInterface name="lo"/>'
        multicast = "<AllowMulticast>false</AllowMulticast>"
        # One that stood still for longer must be found again: both sides have given each other up,
        # and Cyclone 11 announces itself to known addresses every 30 s only, for a minute.
        discovery = (
            '<Peers><Peer address="127.0.0.1"/></Peers><LeaseDuration>3s</LeaseDuration>'
            "<SPDPInterval>1s</SPDPInterval>"
            "<DiscoveredLocatorPruneDelay>1hr</DiscoveredLocatorPruneDelay>"
            "<MaxAutoParticipantIndex>99</MaxAutoParticipantIndex>"
        )
    else:
        name = f'name="{network.interface}"' if network.interface else 'autodetermine="true"'
        interfaces, multicast, discovery = f"<NetworkInterface {name}/>", "", ""
    return (
        "<CycloneDDS><Domain><General>"
        f"<Interfaces>{interfaces}</Interfaces>{multicast}"
        "<MaxMessageSize>65500B</MaxMessageSize></General>"
        f"<Discovery><ParticipantIndex>auto</ParticipantIndex>{discovery}</Discovery>"
        f'<Internal><SocketReceiveBufferSize min="{_receive_buffer()}B" max="16MB"/>'
        f"<MaxSampleSize>{MAX_SAMPLE_BYTES}B</MaxSampleSize></Internal>"
        "</Domain></CycloneDDS>"
    )


def _receive_buffer() -> int:
    """Buffer size to request, in bytes: Cyclone refuses to start if the system grants less."""
    try:
        granted = int(_RMEM_MAX.read_text())
    except (OSError, ValueError):
        return 0
    return min(granted, RECEIVE_BUFFER_BYTES)


def warn_if_buffer_small() -> bool:
    """Warns once if the buffer is too small for images, with the fix; returns whether it is."""
    global _warned  # noqa: PLW0603 - once per process is the point
    granted = _receive_buffer()
    if not 0 < granted < RECEIVE_BUFFER_BYTES:
        return False
    if not _warned:
        _warned = True
        logger().warning(
            "receive buffer too small: images and clouds between processes will be lost",
            rmem_max=granted,
            needed=RECEIVE_BUFFER_BYTES,
            fix=f"sudo sysctl -w net.core.rmem_max={RECEIVE_BUFFER_BYTES}",
        )
    return True
