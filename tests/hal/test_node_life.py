"""The HAL's node: how it starts, fails, tells the time and lives without threads."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from openral.errors import ConfigError, LifecycleError
from openral.graph import topics
from openral.graph.run_key import RunKey
from openral.graph.sealed import SealedPublisher
from openral.hal import topics as hal_topics
from openral.hal.node import ManifestHALLifecycleNode
from openral.manifest.library import load_robot, robot_path
from openral.ros import Outcome
from openral.ros.clock import NS
from openral.ros.codec import types
from openral.ros.lifecycle.machine import State
from openral.ros.priority import urgent
from tests.ros.conftest import Graph, domain, graph, wait_until  # noqa: F401 - fixtures


def make(graph: Graph, **parameters: Any) -> ManifestHALLifecycleNode:  # noqa: F811
    def kind(name: str, **options: Any) -> ManifestHALLifecycleNode:
        return ManifestHALLifecycleNode(RunKey.create(), **options)

    node: ManifestHALLifecycleNode = graph.node(kind=kind, parameters=parameters)
    return node


def up(node: ManifestHALLifecycleNode) -> None:
    for step in ("configure", "activate"):
        assert node.trigger(step) is Outcome.SUCCESS, node.failure_reason


@pytest.fixture
def ear(graph: Graph) -> Iterator[Any]:  # noqa: F811
    """Hears a topic in another process' way: by wire."""
    node = graph.node("ear", apart=True)

    def hear(kind: str, topic: str, qos: Any = topics.SENSOR) -> list[Any]:
        heard: list[Any] = []
        node.create_subscription(kind, topic, heard.append, qos)
        return heard

    yield hear


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({}, "robot_yaml"),
        ({"robot_yaml": "no_such_robot"}, "no_such_robot"),
        ({"robot_yaml": "ur5e", "transport": '{"prot": 1}'}, "'prot'"),
        ({"robot_yaml": "ur5e", "transport": "[1]"}, "must be an object"),
        ({"robot_yaml": "ur5e", "sim_env_yaml": "kitchen"}, "does not drive"),
        (
            {"robot_yaml": "so101_follower", "hal_mode": "real", "sim_env_yaml": "so101_box"},
            "does not take a scene",
        ),
        ({"robot_yaml": "g1", "hal_mode": "real"}, "no hardware driver"),
        (
            {
                "robot_yaml": "so101_follower",
                "hal_mode": "real",
                "transport": '{"port": "/dev/none", "calibration": "/nowhere.yaml"}',
            },
            "/nowhere.yaml",
        ),
        ({"robot_yaml": "so101_follower", "hal_mode": "real", "lockstep": True}, "lockstep"),
    ],
)
def test_what_cannot_be_configured_fails_with_the_reason(
    graph: Graph,  # noqa: F811
    parameters: dict[str, Any],
    reason: str,
) -> None:
    node = make(graph, **parameters)
    assert node.trigger("configure") is Outcome.FAILURE
    assert node.state is State.UNCONFIGURED
    assert reason in node.failure_reason
    assert node.get_parameter("clock").value == ""


def test_wrong_parameters_are_refused(graph: Graph) -> None:  # noqa: F811
    with pytest.raises(ConfigError, match="sim, real"):
        make(graph, hal_mode="dream")
    with pytest.raises(ConfigError, match="heartbeat_s"):
        make(graph, heartbeat_s=5.0)


def test_a_node_that_failed_can_be_configured_again(graph: Graph, tmp_path: Path) -> None:  # noqa: F811
    manifest = tmp_path / "ur5e" / "robot.yaml"
    manifest.parent.mkdir()
    node = make(graph, robot_yaml=str(manifest))
    assert node.trigger("configure") is Outcome.FAILURE
    shutil.copy(robot_path("ur5e"), manifest)
    up(node)
    assert node.get_parameter("clock").value == "sim"


def test_time_is_told_from_configure_on_and_never_goes_back(graph: Graph, ear: Any) -> None:  # noqa: F811
    clock = ear("rosgraph_msgs/msg/Clock", "/clock")
    node = make(graph, robot_yaml="ur5e")
    for _ in range(2):
        assert node.trigger("configure") is Outcome.SUCCESS
        count = len(clock)
        wait_until(lambda count=count: len(clock) > count + 20)
        assert node.now() > 0
        assert node.trigger("cleanup") is Outcome.SUCCESS
    told = [message.clock.sec * NS + message.clock.nanosec for message in clock]
    assert told == sorted(set(told))
    gaps = np.diff(told)
    assert np.median(gaps) <= NS // 100


def test_wall_time_on_request(graph: Graph, ear: Any) -> None:  # noqa: F811
    clock = ear("rosgraph_msgs/msg/Clock", "/clock")
    joints = ear("sensor_msgs/msg/JointState", topics.JOINT_STATES)
    node = make(graph, robot_yaml="ur5e", wall_clock=True)
    up(node)
    assert node.get_parameter("clock").value == "wall"
    wait_until(lambda: len(joints) > 5)
    assert abs(time.time() - joints[-1].header.stamp.sec) < 5
    assert not clock


def test_the_scan_of_a_bare_twin_is_at_maximum_range(graph: Graph, ear: Any) -> None:  # noqa: F811
    scans = ear("sensor_msgs/msg/LaserScan", hal_topics.SCAN)
    world = ear("openral_msgs/msg/WorldCollision", topics.WORLD, topics.LATCHED)
    up(make(graph, robot_yaml="panda_mobile"))
    wait_until(lambda: scans and world)
    assert set(scans[0].ranges.tolist()) == {load_robot("panda_mobile").lidars[0].range_m[1]}
    assert world[-1].primitives == []


def test_an_exception_in_a_callback_makes_the_robot_hold(graph: Graph, ear: Any) -> None:  # noqa: F811
    failures = ear("openral_msgs/msg/FailureTrigger", hal_topics.FAILURE, topics.STATE)
    node = make(graph, robot_yaml="ur5e")
    up(node)
    kernel = graph.node("liar", apart=True)
    kind = "openral_msgs/msg/SafetyState"
    out = SealedPublisher(
        kernel.create_publisher, node._key, kind, topics.SAFETY_STATE, topics.LATCHED
    )
    wait_until(lambda: out.has_subscribers)
    wait_until(lambda: node.live.failures._out.has_subscribers)
    out.publish(types.new(kind, epoch=1, beat=1, state=99))
    wait_until(lambda: failures)
    assert failures[0].source == "hal"
    wait_until(lambda: node.hal.read_state().motion.reason == "fault")
    assert node.state is State.ACTIVE


def test_diagnostics_tell_how_it_is(graph: Graph, ear: Any) -> None:  # noqa: F811
    arrays = ear("diagnostic_msgs/msg/DiagnosticArray", hal_topics.DIAGNOSTICS, topics.STATE)
    up(make(graph, robot_yaml="so101_follower"))
    wait_until(lambda: arrays)
    status = arrays[-1].status[0]
    values = {pair.key: pair.value for pair in status.values}
    assert status.name == "hal: so101_follower"
    assert (values["kernel"], values["state"], values["clock"]) == ("not heard", "holding", "sim")


def test_the_thread_that_hears_of_stops_goes_first_while_the_node_is_active(graph: Graph) -> None:  # noqa: F811
    with urgent():
        if os.sched_getscheduler(0) != os.SCHED_RR:
            pytest.skip("no real-time priority here: allow it (ulimit -r), or run as root")

    def kind(name: str, **options: Any) -> ManifestHALLifecycleNode:
        return ManifestHALLifecycleNode(RunKey.create(), urgent=True, **options)

    calm = os.sched_getscheduler(0)
    node: Any = graph.node(kind=kind, parameters={"robot_yaml": "so101_follower"})
    for step, wanted in (
        ("configure", calm),
        ("activate", os.SCHED_RR),
        ("deactivate", calm),
        ("activate", os.SCHED_RR),
        ("shutdown", calm),
    ):
        assert node.trigger(step) is Outcome.SUCCESS, node.failure_reason
        assert os.sched_getscheduler(0) == wanted, step


def test_in_lock_step_nothing_happens_between_ticks(graph: Graph, ear: Any) -> None:  # noqa: F811
    joints = ear("sensor_msgs/msg/JointState", topics.JOINT_STATES)
    node = make(graph, robot_yaml="ur5e", lockstep=True)
    up(node)
    wait_until(lambda: node.live._joints._out.endpoints[0].has_subscribers)
    before = node.now()
    time.sleep(0.1)
    assert node.now() == before
    for _ in range(25):
        node.tick()
    assert node.now() == before + 100_000_000
    wait_until(lambda: len(joints) == 5)
    with pytest.raises(LifecycleError):
        make(graph, robot_yaml="ur5e").tick()
