"""Parses message fields, values and KEY=VALUE pairs typed on a command line."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import yaml

from openral.errors import ConfigError


def parse_fields(text: str) -> dict[str, Any]:
    """Parses a YAML mapping of fields such as `{data: true}`; empty text gives no fields."""
    fields = parse_value(text)
    if fields is None:
        return {}
    if not isinstance(fields, dict):
        raise ConfigError(f"{text!r} is not a mapping of fields; expected e.g. '{{data: true}}'")
    return fields


def parse_value(text: str) -> Any:
    """Parses a YAML value: `1.5`, `true`, `[1, 2]`, `plain text`."""
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ConfigError(f"{text!r} is not YAML: {error}") from None


def parse_pairs(option: str, pairs: Iterable[str] | None) -> dict[str, Any]:
    """Parses `rows=4`, `port=/dev/ttyACM0`, `controllers={arm: {kind: position}}` of an option.

    Numbers, true and false are JSON, lists and mappings YAML; anything else is plain text.
    """
    found: dict[str, Any] = {}
    for pair in pairs or []:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise ConfigError(f"{option} '{pair}' is not KEY=VALUE")
        try:
            found[key] = json.loads(value)
        except json.JSONDecodeError:
            found[key] = parse_value(value) if value[:1] in ("{", "[") else value
    return found
