"""Entry point of `python -m openral.<package>`: runs a lifecycle node from its arguments."""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Callable, Iterable, Sequence

import yaml

from openral import tracing
from openral.errors import ConfigError, OpenralError, choices
from openral.ros.lifecycle.machine import Outcome
from openral.ros.lifecycle.node import LifecycleNode
from openral.ros.node.executor import Executor
from openral.ros.parameters.store import Value
from openral.signals import heed_signals

_SWITCH_S = 5e-4
"""GIL switch interval in s: bounds the delay of a stop or action behind image work."""


def run_program(
    room: str,
    about: str | None,
    names: Sequence[str],
    make: Callable[[dict[str, Value]], LifecycleNode],
) -> int:
    """Runs the program of a node and returns its exit code.

    `names` are the valid parameters; `make` builds the node from the given ones. Exit codes: 1 if
    an automatic start fails or the node breaks, 2 for wrong usage.
    """
    parser = argparse.ArgumentParser(prog=f"python -m {room}", description=about)
    parser.add_argument("--autostart", action="store_true", help="configure and activate at once")
    parser.add_argument("parameters", nargs="*", metavar="name=value")
    options = parser.parse_args()
    heed_signals()
    sys.setswitchinterval(_SWITCH_S)
    try:
        node = make(given_parameters(options.parameters, names))
    except OpenralError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    tracing.start(room)
    try:
        if options.autostart and not _started(node):
            node.destroy()
            return 1
        return _spin(node)
    finally:
        tracing.stop()


def _started(node: LifecycleNode) -> bool:
    for step in ("configure", "activate"):
        if node.trigger(step) is not Outcome.SUCCESS:
            print(f"error: cannot {step}: {node.failure_reason}", file=sys.stderr)
            return False
    return True


def _spin(node: LifecycleNode) -> int:
    executor = Executor(node.context)
    broken: list[bool] = []

    def end() -> None:
        broken.append(True)
        executor.stop()

    node.on_broken = end
    executor.add_node(node)
    gc.collect()
    gc.freeze()  # what lives as long as the process need not be scanned again
    try:
        executor.spin()
    finally:
        gc.unfreeze()
        executor.shutdown()
        node.destroy()
    return 1 if broken else 0


def given_parameters(words: Iterable[str], names: Sequence[str]) -> dict[str, Value]:
    """Parses `name=value` words; ConfigError with the choices for a name not in `names`."""
    found: dict[str, Value] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals:
            raise ConfigError(f"'{word}' is not of the form name=value")
        if name not in names:
            raise ConfigError(f"no parameter '{name}'; {choices(name, names, 'parameters')}")
        value = yaml.safe_load(text) if text else ""
        # A mapping is not a parameter type: the node parses such text itself.
        found[name] = text if isinstance(value, dict) else value
    return found
