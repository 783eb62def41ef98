"""Parses the parameters of a node's command line: `name=value`, with YAML values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import yaml

from openral.errors import ConfigError, choices
from openral.ros.parameters.store import Value


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
