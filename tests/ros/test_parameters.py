"""The parameter store against a model of it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from openral.errors import ConfigError
from openral.ros.node.parameter_services import value_from_msg, value_to_msg
from openral.ros.parameters.store import (
    Change,
    Descriptor,
    Parameter,
    ParameterStore,
    ParameterType,
    SetResult,
    type_of,
)

NAMES = st.sampled_from(["a", "b", "arm.speed", "arm.limit", "arm.joint.one"])
INT64 = st.integers(-(2**63), 2**63 - 1)
FLOAT = st.floats(allow_nan=False)
SCALARS = [st.booleans(), INT64, FLOAT, st.text(max_size=8), st.binary(max_size=8)]
LISTS = [st.lists(s, min_size=1, max_size=4) for s in SCALARS[:4]]
VALUES = st.one_of(*SCALARS, *LISTS)


@given(VALUES)
def test_values_survive_the_wire_with_their_type(value: Any) -> None:
    message = value_to_msg(value)
    assert message.type == type_of(value)
    assert value_from_msg(message) == value
    assert type(value_from_msg(message)) is type(value)


@pytest.mark.parametrize("value", [object(), {}, [1, "a"], [[1]], 2**63, [2**70], [True, 1]])
def test_what_cannot_be_a_parameter_is_refused(value: Any) -> None:
    with pytest.raises(ConfigError, match="cannot be a parameter"):
        type_of(value)


class Store(RuleBasedStateMachine):
    """Changes are all or nothing, types stay, and listeners hear exactly what happened."""

    def __init__(self) -> None:
        super().__init__()
        self.store = ParameterStore()
        self.model: dict[str, Any] = {}
        self.read_only: set[str] = set()
        self.heard: dict[str, Any] = {}
        self.store.add_listener(self._listen)
        self.store.add_validator(self._validate)

    def _listen(self, change: Change) -> None:
        for parameter in change.new + change.changed:
            self.heard[parameter.name] = parameter.value
        for parameter in change.deleted:
            del self.heard[parameter.name]

    @staticmethod
    def _validate(parameters: Any) -> SetResult:
        refused = any(p.value == "forbidden" for p in parameters)
        return SetResult(not refused, "forbidden" if refused else "")

    @rule(name=NAMES, value=VALUES, read_only=st.booleans())
    def declare(self, name: str, value: Any, read_only: bool) -> None:
        if name in self.model:
            with pytest.raises(ConfigError, match="already declared"):
                self.store.declare(name, value)
            return
        self.store.declare(name, value, Descriptor(read_only=read_only))
        self.model[name] = value
        if read_only:
            self.read_only.add(name)

    @precondition(lambda self: self.model)
    @rule(data=st.data())
    def undeclare(self, data: Any) -> None:
        name = data.draw(st.sampled_from(sorted(self.model)))
        if name in self.read_only:
            with pytest.raises(ConfigError, match="read-only"):
                self.store.undeclare(name)
        else:
            self.store.undeclare(name)
            del self.model[name]

    @rule(changes=st.lists(st.tuples(NAMES, st.one_of(VALUES, st.just("forbidden"))), max_size=3))
    def set_all(self, changes: list[tuple[str, Any]]) -> None:
        result = self.store.set_all([Parameter(n, v) for n, v in changes])
        allowed = all(self._allowed(name, value) for name, value in changes)
        assert result.successful == allowed, result.reason
        assert bool(result.reason) != result.successful
        if allowed:
            self.model.update(
                {n: float(v) if isinstance(self.model[n], float) else v for n, v in changes}
            )

    def _allowed(self, name: str, value: Any) -> bool:
        if name not in self.model or name in self.read_only or value == "forbidden":
            return False
        kind = type_of(self.model[name])
        if kind is ParameterType.DOUBLE and type(value) is int:
            return True
        if kind is ParameterType.DOUBLE_ARRAY and type_of(value) is ParameterType.INTEGER_ARRAY:
            return True
        return type_of(value) is kind

    @invariant()
    def store_equals_model(self) -> None:
        assert {n: self.store.get(n) for n in self.store.names()} == self.model == self.heard

    @rule(prefix=st.sampled_from(["arm", "arm.joint", "b", "none"]), depth=st.integers(0, 3))
    def listed(self, prefix: str, depth: int) -> None:
        found, _ = self.store.listed([prefix], depth)
        for name in self.model:
            below = name.startswith(f"{prefix}.")
            near = depth == 0 or name[len(prefix) + 1 :].count(".") < depth
            assert (name in found) == (name == prefix or (below and near))


TestStore = Store.TestCase
TestStore.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)


def test_overrides_win_and_keep_the_declared_type() -> None:
    store = ParameterStore({"speed": 3, "name": 5})
    assert store.declare("speed", 1.0) == 3.0
    with pytest.raises(ConfigError, match="'name' is of type string; 5 is integer"):
        store.declare("name", "arm")
    assert not store.has("name")


def test_ranges_and_choices_are_named() -> None:
    store = ParameterStore()
    store.declare("speed", 1.0, Descriptor(minimum=0.0, maximum=2.0))
    store.declare("mode", "sim", Descriptor(choices=("sim", "real")))
    assert store.set_all([Parameter("speed", 2.5)]).reason == (
        "parameter 'speed' is 2.5; valid: 0.0 to 2.0"
    )
    assert "did you mean 'real'?" in store.set_all([Parameter("mode", "reel")]).reason
    assert "no parameter 'spead'; did you mean 'speed'?" in (
        store.set_all([Parameter("spead", 1.0)]).reason
    )
