"""Checks whether a domain already has a graph, on this machine or elsewhere on the network."""

from __future__ import annotations

import time

from openral.errors import ConfigError
from openral.ros.graph import Graph
from openral.ros.node.context import Context
from openral.ros.transport.dds_config import Network

UNIQUE = ("/supervisor", "/hal", "/safety_kernel")
"""Nodes that may exist only once per domain."""
_LISTEN_S, _AT_MOST_S = 0.5, 3.0
_FORGOTTEN_S = {True: 3.5, False: 10.5}
"""How long a killed graph stays in discovery, in s: on loopback (True) and on a network (False)."""
_POLL_S = 0.1


def require_free_domain(network: Network) -> None:
    """ConfigError if the domain has another graph; discovery is read, no message is sent to it.

    Call it before this graph's own nodes are started.
    """
    context = Context(network)
    graph = Graph(context)
    try:
        graph.settle(_LISTEN_S, _AT_MOST_S)
        give_up = time.monotonic() + _FORGOTTEN_S[network.is_local]
        while found := _unique(graph):
            if time.monotonic() > give_up:
                named = ", ".join(f"{name} ({place})" for name, place in found.items())
                raise ConfigError(
                    f"domain {network.domain} has a graph already: {named}; end that one, "
                    "or give this one a domain of its own with --domain"
                )
            time.sleep(_POLL_S)
    finally:
        graph.close()
        context.close()


def _unique(graph: Graph) -> dict[str, str]:
    """The unique nodes that are present, with their host and process."""
    there = [node.full_name for node in graph.nodes()]
    places = graph.places()
    return {name: places.get(name, "somewhere") for name in UNIQUE if name in there}
