"""Parameters as they are given to a node's program: `name=value`, values as in YAML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import yaml

from openral.errors import ConfigError, choices
from openral.ros.parameters.store import Value


def given_parameters(words: Iterable[str], names: Sequence[str]) -> dict[str, Value]:
    """Reads `name=value` words; one that is not in `names` is refused with the choices."""
    found: dict[str, Value] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals:
            raise ConfigError(f"'{word}' is not of the form name=value")
        if name not in names:
            raise ConfigError(f"no parameter '{name}'; {choices(name, names, 'parameters')}")
        value = yaml.safe_load(text) if text else ""
        # A mapping is no parameter's type: the node reads such a text itself.
        found[name] = text if isinstance(value, dict) else value
    return found
