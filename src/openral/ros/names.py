"""ROS names: validation, resolution of relative names, and their DDS topic names."""

from __future__ import annotations

import re

from openral.errors import ConfigError

_TOKEN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def check_node_name(name: str) -> str:
    """Returns the node name if it is valid; ConfigError otherwise."""
    if not _TOKEN.fullmatch(name):
        raise ConfigError(
            f"node name '{name}' is not valid; letters, digits and _, not starting with a digit"
        )
    return name


def check_namespace(namespace: str) -> str:
    """The absolute form of a namespace: `robot1` and `/robot1/` become `/robot1`."""
    inner = namespace.strip("/")
    return "/" if not inner else _checked("/" + inner, namespace)


def resolve(name: str, node_name: str, namespace: str) -> str:
    """The absolute name: `/a` stays, `a` gets the namespace, `~/a` the node's full name."""
    if name.startswith("/"):
        return _checked(name, name)
    if name.startswith("~"):
        rest = name[1:].lstrip("/")
        return _checked(full_name(node_name, namespace) + (f"/{rest}" if rest else ""), name)
    return _checked(f"{namespace.rstrip('/')}/{name}", name)


def full_name(node_name: str, namespace: str) -> str:
    """`/namespace/node`."""
    return f"{namespace.rstrip('/')}/{node_name}"


def split_full_name(name: str) -> tuple[str, str]:
    """(node name, namespace) of `/namespace/node`; a plain name is in `/`."""
    namespace, _, node = name.rpartition("/")
    return node, namespace or "/"


def _checked(absolute: str, given: str) -> str:
    if not all(_TOKEN.fullmatch(token) for token in absolute.split("/")[1:]):
        raise ConfigError(
            f"name '{given}' is not valid; tokens of letters, digits and _, "
            "none starting with a digit, separated by single slashes"
        )
    return absolute


def topic_on_wire(name: str) -> str:
    """The DDS topic of a ROS topic."""
    return "rt" + name


def request_on_wire(name: str) -> str:
    """The DDS topic that carries a service's requests."""
    return f"rq{name}Request"


def reply_on_wire(name: str) -> str:
    """The DDS topic that carries a service's replies."""
    return f"rr{name}Reply"


def topic_of_wire(wire: str) -> str | None:
    """The ROS topic of a DDS topic; None for services and everything that is not ROS."""
    return wire[2:] if wire.startswith("rt/") else None


def service_of_wire(wire: str) -> str | None:
    """The ROS service of a DDS topic; None for everything else."""
    if wire.startswith("rq/") and wire.endswith("Request"):
        return wire[2 : -len("Request")]
    if wire.startswith("rr/") and wire.endswith("Reply"):
        return wire[2 : -len("Reply")]
    return None
