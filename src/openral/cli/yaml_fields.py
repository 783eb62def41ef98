"""Messages and values as people type them on a command line."""

from __future__ import annotations

from typing import Any

import yaml

from openral.errors import ConfigError


def parse_fields(text: str) -> dict[str, Any]:
    """`{data: true}` as a mapping of fields."""
    fields = parse_value(text)
    if fields is None:
        return {}
    if not isinstance(fields, dict):
        raise ConfigError(f"{text!r} is not a mapping of fields; expected e.g. '{{data: true}}'")
    return fields


def parse_value(text: str) -> Any:
    """A YAML value: `1.5`, `true`, `[1, 2]`, `plain text`."""
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ConfigError(f"{text!r} is not YAML: {error}") from None
