"""Whatever happens in whatever order, only an explicit call arms, and nothing passes unarmed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from openral.graph.joint_readings import JointReadings
from openral.graph.run_key import RunKey
from openral.graph.sealed import SealedPublisher
from openral.graph.states import SafetyMode
from openral.manifest import load_robot
from openral.ros import Outcome
from openral.ros.codec import types
from openral.ros.qos import STATE
from openral.ros.stamps import time_message
from openral.safety.cases.case import parse_case
from openral.safety.cases.explain import explain
from openral.safety.kernel import Gate, Kernel
from openral.safety.node.candidate import FairLimit
from openral.safety.node.evidence import Evidence
from openral.safety.node.kernel_inputs import KernelInputs
from openral.safety.node.kernel_node import SafetyKernelNode
from tests.hal.chunks import joint_chunk
from tests.ros.conftest import Graph, wait_until
from tests.safety.kernel_rig import HOME, MSGS, PLUNGE, ROBOT

STOPPED = (SafetyMode.IDLE, SafetyMode.ESTOPPED)


@pytest.fixture
def node(graph: Graph) -> Iterator[SafetyKernelNode]:
    made = SafetyKernelNode(
        RunKey.create(),
        context=graph.context(),
        parameters={"robot_yaml": "franka_panda"},
    )
    assert made.trigger("configure") is Outcome.SUCCESS
    assert made.trigger("activate") is Outcome.SUCCESS
    made.judge._limit = FairLimit(1e9, 1000)  # faster than any proposer
    yield made
    made.destroy()


def joint_state(node: Any) -> Any:
    return types.new(
        "sensor_msgs/msg/JointState",
        header=types.new("std_msgs/msg/Header", stamp=node.stamp()),
        name=ROBOT.joint_names,
        position=HOME,
        velocity=np.zeros(HOME.size),
    )


def propose(node: SafetyKernelNode, rows: Any) -> int:
    """Gives a candidate to the judge; how many SafeActions came of it."""
    node.inputs._on_joints(joint_state(node))
    made = joint_chunk(rows)
    made.header = types.new("std_msgs/msg/Header", stamp=node.stamp())
    before = node.seal.sequence
    node.judge.take(types.encode(made))
    return node.seal.sequence - before


def test_no_order_of_events_arms_by_itself(node: SafetyKernelNode) -> None:
    class Machine(RuleBasedStateMachine):
        allowed = SafetyMode.IDLE

        @initialize()
        def begin(self) -> None:
            node.stop("test", "test", "")
            self.allowed = SafetyMode.ESTOPPED

        @rule()
        def reset(self) -> None:
            node.inputs._on_joints(joint_state(node))
            assert node._on_reset(None, types.new("std_srvs/srv/Trigger_Response")).success
            self.allowed = SafetyMode.ARMED

        @rule()
        def recover(self) -> None:
            node.inputs._on_joints(joint_state(node))
            request = types.new("std_srvs/srv/SetBool_Request", data=True)
            answer = node._on_recover(request, types.new("std_srvs/srv/SetBool_Response"))
            assert answer.success == (self.allowed in STOPPED)
            if answer.success:
                self.allowed = SafetyMode.RECOVERY

        @rule()
        def end_recovery(self) -> None:
            request = types.new("std_srvs/srv/SetBool_Request", data=False)
            answer = node._on_recover(request, types.new("std_srvs/srv/SetBool_Response"))
            assert answer.success == (self.allowed is SafetyMode.RECOVERY)
            if answer.success:
                self.allowed = SafetyMode.ESTOPPED

        @rule()
        def event(self) -> None:
            node._on_event(types.new(f"{MSGS}/EStopEvent", source="button"))
            self.allowed = SafetyMode.ESTOPPED

        @rule()
        def good_candidate(self) -> None:
            passed = propose(node, [HOME] * 3)
            assert passed == (self.allowed not in STOPPED)
            if self.allowed is SafetyMode.RECOVERY:  # nothing is near: it is over
                self.allowed = SafetyMode.ARMED

        @rule()
        def bad_candidate(self) -> None:
            assert propose(node, [PLUNGE] * 3) == 0
            if self.allowed not in STOPPED:
                self.allowed = SafetyMode.ESTOPPED

        @rule()
        def noise(self) -> None:
            node.judge.take(b"\x00\x01\x00\x00rubbish")
            if self.allowed not in STOPPED:
                self.allowed = SafetyMode.ESTOPPED

        @rule()
        @precondition(lambda self: self.allowed is not SafetyMode.ESTOPPED)
        def restart_listening(self) -> None:
            assert node.trigger("deactivate") is Outcome.SUCCESS
            assert node.trigger("activate") is Outcome.SUCCESS
            self.allowed = SafetyMode.IDLE

        @invariant()
        def state_and_gate_agree(self) -> None:
            assert node.status.mode is self.allowed
            assert (node.kernel.gate is Gate.STOPPED) == (self.allowed in STOPPED)

    run_state_machine_as_test(
        Machine, settings=settings(max_examples=30, stateful_step_count=20, deadline=None)
    )


@pytest.mark.parametrize(
    ("rows", "status"),
    [
        ([PLUNGE] * 2, "position_limit"),
        ([[float("nan"), *HOME[1:]]], "not_finite"),
        ([[float("-inf"), *HOME[1:]]], "not_finite"),
    ],
)
def test_evidence_speaks_of_odd_numbers_too(rows: Any, status: str) -> None:
    readings = JointReadings(ROBOT)
    payload = types.encode(joint_chunk(rows))
    unseen = Evidence(readings).of(payload, 10**9, recovering=False)
    assert explain(parse_case(unseen, ROBOT), ROBOT)["status"] in (status, "state_unavailable")
    readings.q[:], readings.qd[:] = HOME, 0.0
    seen = Evidence(readings).of(payload, 0, recovering=False)
    assert explain(parse_case(seen, ROBOT), ROBOT)["status"] == status


@pytest.mark.parametrize("payload", [b"", b"\x00\x01\x00\x00", b"rubbish"])
def test_evidence_of_rubbish_is_the_rubbish(payload: bytes) -> None:
    told = json.loads(Evidence(JointReadings(ROBOT)).of(payload, 0, recovering=False))
    assert list(told) == ["candidate_cdr"]


def test_odometry_and_voxels_reach_the_kernel(graph: Graph) -> None:
    robot = load_robot("panda_mobile")
    home = np.array(robot.home_position)
    node, kernel = graph.node("kernel"), Kernel(robot)
    key = RunKey.create()
    ends = KernelInputs(node, kernel, key, unknown_blocks=False, external_map=False).open()
    sealed = partial(SealedPublisher, node.create_publisher, key)
    joints = sealed("sensor_msgs/msg/JointState", "/joint_states", STATE)
    odom = sealed("nav_msgs/msg/Odometry", "/odom", STATE)
    voxels = sealed(f"{MSGS}/OccupancyVoxels", "/openral/world_voxels", STATE)
    origin, occupied = 0.0, np.zeros(8, np.uint8)

    def verdict(with_odom: bool = True, stamp_offset: int = 0) -> str:
        stamp = time_message(node.now() + stamp_offset)
        here = types.new("std_msgs/msg/Header", stamp=stamp, frame_id=robot.base_frame)
        joints.publish(
            types.new(
                "sensor_msgs/msg/JointState",
                header=types.new("std_msgs/msg/Header", stamp=node.stamp()),
                name=robot.joint_names,
                position=home,
                velocity=0 * home,
            )
        )
        grid = types.new(f"{MSGS}/OccupancyVoxels", header=here, resolution=0.2, healthy=True)
        grid.dims, grid.bits = np.array([4, 4, 4], np.uint32), occupied
        grid.origin.x = grid.origin.y = origin - 0.4
        voxels.publish(grid)
        if with_odom:
            odom.publish(types.new("nav_msgs/msg/Odometry", header=here))
        kernel.reset()
        return kernel.validate(joint_chunk([home] * 2), node.now()).status

    wait_until(lambda: verdict(with_odom=False) == "base_unavailable")
    wait_until(lambda: verdict() == "accepted")
    occupied = np.full(8, 255, np.uint8)
    wait_until(lambda: verdict() == "voxel_collision")
    wait_until(lambda: verdict(stamp_offset=-(10**10)) == "voxel_unavailable")
    for end in ends:
        end()
