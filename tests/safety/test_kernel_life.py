"""The kernel node's life: how it is configured, and that no way through it arms the robot."""

from __future__ import annotations

from typing import Any

import pytest

from openral.errors import ConfigError
from openral.graph.run_key import RunKey
from openral.graph.states import SafetyMode
from openral.ros import Outcome
from openral.ros.lifecycle.program import given_parameters
from openral.safety.kernel import Gate
from openral.safety.node.kernel_node import SafetyKernelNode
from openral.safety.node.parameters import KernelParameters
from tests.ros.conftest import Graph


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({"robot_yaml": ""}, "'robot_yaml' is empty"),
        ({"robot_yaml": "r2d2"}, "r2d2"),
        ({"robot_yaml": "ur5e", "warn_only": True, "hal_mode": "real"}, "valid: only with"),
        ({"robot_yaml": "ur5e", "lockstep": True, "hal_mode": "real"}, "valid only with"),
    ],
)
def test_it_is_not_configured_wrongly(graph: Graph, parameters: Any, reason: str) -> None:
    node = SafetyKernelNode(RunKey.create(), context=graph.context(), parameters=parameters)
    assert node.trigger("configure") is Outcome.FAILURE
    assert reason in node.failure_reason
    node.destroy()


def test_parameters_are_checked(graph: Graph) -> None:
    context = graph.context()
    with pytest.raises(ConfigError, match=r"'heartbeat_hz' is 2.0; valid: 20.0 to 500.0"):
        SafetyKernelNode(RunKey.create(), context=context, parameters={"heartbeat_hz": 2.0})
    with pytest.raises(ConfigError, match="hal_mode"):
        SafetyKernelNode(RunKey.create(), context=context, parameters={"hal_mode": "dream"})
    with pytest.raises(ConfigError, match="no parameter 'robot_yml'"):
        given_parameters(["robot_yml=ur5e"], list(vars(KernelParameters())))


def test_deactivated_it_is_idle_again(graph: Graph) -> None:
    node = graph.node(
        kind=lambda name, **o: SafetyKernelNode(RunKey.create(), **o),
        parameters={"robot_yaml": "ur5e"},
    )
    for transition in ("configure", "activate"):
        assert node.in_executor(lambda t=transition: node.trigger(t)).result(20) is Outcome.SUCCESS
    node.kernel.reset()
    node.status.enter(SafetyMode.ARMED, 0, "test", "test", "")
    for transition in ("deactivate", "activate", "deactivate", "cleanup", "configure"):
        assert node.in_executor(lambda t=transition: node.trigger(t)).result(20) is Outcome.SUCCESS
        assert node.status.mode is SafetyMode.IDLE
        assert transition == "cleanup" or node.kernel.gate is Gate.STOPPED
