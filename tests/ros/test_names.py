from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openral.errors import ConfigError
from openral.ros import names

TOKEN = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True)


@pytest.mark.parametrize(
    ("name", "absolute"),
    [("/a/b", "/a/b"), ("a", "/ns/a"), ("~/a", "/ns/node/a"), ("~", "/ns/node")],
)
def test_relative_names_resolve(name: str, absolute: str) -> None:
    assert names.resolve(name, "node", "/ns") == absolute


@pytest.mark.parametrize("name", ["", "/", "a//b", "/a/", "1a", "a b", "/a/~b", "ü", "a-b"])
def test_invalid_names_are_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="not valid"):
        names.resolve(name, "node", "/")


@pytest.mark.parametrize("name", ["", "a/b", "1a", "a b"])
def test_invalid_node_names_are_refused(name: str) -> None:
    with pytest.raises(ConfigError, match=f"node name '{name}' is not valid"):
        names.check_node_name(name)


@given(st.lists(TOKEN, min_size=1, max_size=4))
def test_wire_names_go_both_ways(tokens: list[str]) -> None:
    name = "/" + "/".join(tokens)
    assert names.topic_of_wire(names.topic_on_wire(name)) == name
    assert names.service_of_wire(names.request_on_wire(name)) == name
    assert names.service_of_wire(names.reply_on_wire(name)) == name
    assert names.topic_of_wire(names.request_on_wire(name)) is None
    node, namespace = names.split_full_name(name)
    assert names.full_name(node, namespace) == name
