"""A second publisher of what the kernel and the HAL rest on changes nothing, or stops the robot."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from openral.graph import topics
from openral.ros import msg
from openral.ros.codec import types
from tests.hal.node_rig import HOLDING, STOPPED, LiveGraph, live_graph
from tests.ros.conftest import Graph, domain, wait_until  # noqa: F401 - fixtures
from tests.safety.kernel_rig import (
    ACCEPTED,
    ARMED,
    DROPPED,
    ESTOPPED,
    HOME,
    MSGS,
    PLUNGE,
    ROBOT,
    Rig,
)
from tests.safety.test_map_of_elsewhere import Mapper
from tests.safety.test_world_publishers import LINK, Teller, ball

LAST_EPOCH = 2**64 - 1


class Flood:
    """Publishes something many times a second, from a node that is not of the run."""

    def __init__(self, graph: Graph, kind: str, topic: str, qos: Any, make: Any, hz: float) -> None:
        self._node = graph.node("somebody", apart=True)
        self._out = self._node.create_publisher(kind, topic, qos)
        self.count = 0

        def send() -> None:
            self._out.publish(make())
            self.count += 1

        self._timer = self._node.create_wall_timer(1 / hz, send)

    def end(self) -> None:
        """Falls silent."""
        self._node.destroy_timer(self._timer)

    def lasts(self, messages: int = 50) -> None:
        """Waits until it has sent some more."""
        count = self.count
        wait_until(lambda: self.count > count + messages, 60.0)


def flood_maps(rig: Rig, hz: float) -> Flood:
    """Empty maps around the robot, from outside of the run."""

    def empty() -> Any:
        cells = np.zeros(30 * 30 * 20 // 8, np.uint8)
        made = msg.OccupancyVoxels(header=rig.header(ROBOT.base_frame), resolution=0.1)
        made.dims, made.bits, made.unknown = np.array([30, 30, 20], np.uint32), cells, cells
        made.origin.x = made.origin.y = -1.5
        made.origin.z, made.healthy = -0.2, True
        return made

    kind = f"{MSGS}/OccupancyVoxels"
    return Flood(rig.graph, kind, topics.VOXELS, topics.SENSOR, empty, hz)


def test_a_second_publisher_of_joint_states_is_not_believed(rig: Rig) -> None:
    """The arm was driven onto the table while another node told that it stood at home."""
    rig.start_armed()
    far = HOME + 0.8

    def elsewhere() -> Any:
        names = list(ROBOT.joint_names)
        return msg.JointState(header=rig.header(), name=names, position=far, velocity=0 * far)

    flood = Flood(
        rig.graph, "sensor_msgs/msg/JointState", topics.JOINT_STATES, topics.SENSOR, elsewhere, 200
    )
    flood.lasts()
    for _ in range(5):
        assert rig.propose(rig.stay()).status == ACCEPTED
        flood.lasts(10)
    assert rig.state.state == ARMED


def test_a_second_empty_map_is_not_believed(rig: Rig) -> None:
    """The base drove through a stool: an empty map was published more often than the true one."""
    blocked = Mapper(rig)
    blocked.low = (5.0, 5.0, 5.0)  # the true map: it does not cover the robot, so nothing passes
    rig.start_ready("requires_voxels=true")

    flood = flood_maps(rig, 150)
    flood.lasts()
    rig.arm()
    for _ in range(5):
        verdict = rig.propose(rig.stay())
        assert (verdict.status, verdict.reason) == (DROPPED, "voxel_unavailable")
        flood.lasts(10)


def test_two_publishers_of_an_external_map_make_it_unusable_until_a_reset(rig: Rig) -> None:
    flood_maps(rig, 20)
    rig.start_armed("requires_voxels=true", "external_map=true")
    wait_until(lambda: rig.propose(rig.stay()).status == ACCEPTED)
    second = flood_maps(rig, 20)
    wait_until(lambda: rig.propose(rig.stay()).reason == "voxel_unavailable")
    second.lasts(10)
    second.end()
    time.sleep(0.3)
    assert rig.propose(rig.stay()).reason == "voxel_unavailable", "who was right is not known"
    assert rig.state.state == ARMED
    rig.arm()
    wait_until(lambda: rig.propose(rig.stay()).status == ACCEPTED)


def test_attached_objects_of_two_publishers_make_the_world_unusable(rig: Rig) -> None:
    """What is attached may touch the robot and leaves the map: nobody else may attach something."""
    one, other = Teller(rig, "gripper"), Teller(rig, "stranger")
    one.things = [ball("cup", (0.0, 0.0, 0.1), 0.02, LINK)]
    rig.start_armed()
    wait_until(lambda: rig.propose(rig.stay()).status == ACCEPTED)
    other.things = [ball("everything", (0.0, 0.0, 0.0), 1.0, LINK)]
    wait_until(lambda: rig.propose(rig.stay()).reason == "world_unavailable")


@pytest.mark.parametrize("count", [500, 2_000, 8_000, 30_000])
def test_a_long_list_of_objects_does_not_cost_the_heartbeat(rig: Rig, count: int) -> None:
    """2,000 objects cost the heartbeat, 8,000 ended the run."""
    rig.start_armed()
    beats: list[float] = []
    rig.node.create_subscription(
        f"{MSGS}/SafetyState",
        topics.SAFETY_STATE,
        lambda _: beats.append(time.monotonic()),
        topics.LATCHED,
    )
    primitive = ball("x", (2.0, 0.0, 0.0))
    things = [primitive] * count
    payload = types.encode(
        types.new(f"{MSGS}/WorldCollision", header=rig.header(ROBOT.base_frame), primitives=things)
    )
    out = rig.node.create_publisher(f"{MSGS}/WorldCollision", topics.WORLD, topics.LATCHED)
    wait_until(lambda: out.has_subscribers and len(beats) > 10)
    beats.clear()
    for _ in range(10):
        out.publish_bytes(payload)
        time.sleep(0.05)
    wait_until(lambda: len(beats) > 60)
    gaps = np.diff(beats)
    assert float(np.median(gaps)) < 0.03
    assert float(gaps.max()) < 0.5, "the kernel stood still"
    assert rig.state.state == ARMED, rig.state.detail


def test_an_action_that_the_kernel_never_approved_is_a_stop(rig: Rig) -> None:
    """Somebody has the key, and drives the robot past the kernel."""
    rig.start_armed()
    hal = rig.sealed(f"{MSGS}/HalState", topics.HAL_STATE, topics.STATE)
    wait_until(lambda: hal.has_subscribers)
    assert rig.propose(rig.stay()).status == ACCEPTED
    epoch, sequence = rig.state.epoch, rig.state.sequence

    def say(number: int) -> None:
        hal.publish(msg.HalState(header=rig.header(), state=1, epoch=epoch, sequence=number))

    say(max(sequence, 1))
    time.sleep(0.2)
    assert rig.state.state == ARMED
    wait_until(lambda: say(1000) or rig.state.state == ESTOPPED)
    assert rig.state.reason == "unknown_action"


@pytest.fixture(scope="module")
def live(domain: int) -> Iterator[LiveGraph]:  # noqa: F811
    with live_graph(domain, "franka_panda") as made:
        made.start_both("sim_env_yaml=tabletop_push")
        yield made


def forged(live: LiveGraph, state: int, beat: int) -> Any:
    header = msg.Header(stamp=live.node.stamp())
    return msg.SafetyState(
        header=header, state=state, source="operator", reason="reset", epoch=LAST_EPOCH, beat=beat
    )


def test_a_forged_heartbeat_neither_locks_the_hal_nor_lifts_its_stop(live: LiveGraph) -> None:
    """One with the last epoch locked the HAL for good; IDLE and ARMED lifted an operator's stop."""
    out = live.node.create_publisher(f"{MSGS}/SafetyState", topics.SAFETY_STATE, topics.LATCHED)
    live.arm()
    out.publish(forged(live, ARMED, LAST_EPOCH))
    live.under_way("panda_joint1", 0.3, 1.0)
    wait_until(lambda: live.state.state == HOLDING)
    live.call("openral_msgs/srv/EStop", topics.ESTOP, source="operator", reason="now")
    wait_until(lambda: live.state.state == STOPPED)
    for beat, state in enumerate([0, 1] * 20):
        out.publish(forged(live, state, beat + 1))
        time.sleep(0.01)
    time.sleep(0.3)
    assert live.state.state == STOPPED
    live.node.destroy_publisher(out)
    live.arm()
    live.under_way("panda_joint1", -0.3, 1.0)


def test_a_plunge_stays_refused_whoever_publishes_what(rig: Rig) -> None:
    """The joint states of a robot for which the plunge would be harmless are not believed."""
    rig.start_armed()

    def there() -> Any:
        names = list(ROBOT.joint_names)
        return msg.JointState(header=rig.header(), name=names, position=PLUNGE, velocity=0 * HOME)

    kind = "sensor_msgs/msg/JointState"
    Flood(rig.graph, kind, topics.JOINT_STATES, topics.SENSOR, there, 200).lasts()
    assert rig.propose(rig.plunge()).status != ACCEPTED
