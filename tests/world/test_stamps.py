"""Stamps that cannot be, content that cannot be new, and time that goes back."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from openral.graph.states import SensorState
from openral.ros import msg
from openral.ros.clock import NS
from openral.ros.lifecycle.machine import Outcome
from openral.ros.qos import SENSOR
from openral.ros.stamps import stamp_ns
from openral.world.node import WorldNode
from tests.ros.conftest import Graph, wait_until
from tests.world.two_cameras import Speaker, TwoCameras, manifest


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[TwoCameras]:
    made = TwoCameras(tmp_path)
    yield made
    made.close()


def test_a_picture_from_the_future_hides_none_that_comes_in_time(rig: TwoCameras) -> None:
    assert rig.see().healthy
    rig.see(1.0125, "left", late_s=-3.0)
    rig.wait(0.3)
    assert rig.states() == {"left": SensorState.MISCONFIGURED, "right": SensorState.OK}
    assert "3.00 s ahead of the clock" in rig.maps[-1].sensors[0].detail
    assert rig.see().healthy


def test_a_joint_state_from_the_future_hides_none_that_comes_in_time(rig: TwoCameras) -> None:
    measured = rig.speaker.q
    rig.speaker.q = measured + 0.5
    rig.speaker.tell_joints(rig.now + 8 * NS // 10)
    rig.speaker.q = measured
    rig.wait(0.1)
    map_ = rig.see()
    assert map_.healthy and stamp_ns(map_) == rig.now
    assert rig.world._history.at(rig.now) == pytest.approx(measured)


def test_joints_and_pictures_go_on_after_a_clock_that_ran_ahead(rig: TwoCameras) -> None:
    """The date of a machine is set right: no jump is announced, and all later stamps are older."""
    assert rig.see().healthy
    rig.now -= 3 * NS
    clock = rig.world.clock.simulated
    assert clock is not None
    clock._now_ns = clock._told_ns = rig.now
    rig.wait(0.1)
    map_ = rig.see()
    assert map_.healthy and stamp_ns(map_) == rig.now


@pytest.mark.parametrize("same_picture_s", [0.0, 0.5])
def test_the_same_picture_for_long_is_no_measurement_where_that_is_said(
    tmp_path: Path, same_picture_s: float
) -> None:
    rig = TwoCameras(tmp_path, same_picture_s=same_picture_s)
    try:
        for i in range(10):
            rig.wait(0.1)
            map_ = rig.see()
            assert map_.healthy == (same_picture_s == 0 or i <= 5)
        if same_picture_s:
            assert rig.states() == {"left": SensorState.STALE, "right": SensorState.STALE}
            assert "the same content for" in map_.sensors[0].detail
        rig.wait(0.1)
        assert rig.see(1.0126).healthy
    finally:
        rig.close()


class BusyWorld:
    """The world's node on its own thread, which a test can hold up in the middle of a callback."""

    def __init__(self, graph: Graph, folder: Path) -> None:
        ref = manifest(folder)
        self.robot = graph.node("robot", apart=True)
        self.speaker = Speaker(self.robot, ref)
        context = graph.context()
        given = {"robot_yaml": ref, "use_sim_time": True, "size_m": 3.2}
        self.world = WorldNode(self.speaker.key, context=context, parameters=given)
        self.inside, self.go_on = threading.Event(), threading.Event()
        self.world.create_subscription(msg.String, "/hold", self._hold, SENSOR)
        self._holder = self.robot.create_publisher(msg.String, "/hold", SENSOR)
        graph.run(self.world)
        assert self.world.trigger("configure") is Outcome.SUCCESS
        self.tell_time(10 * NS)
        assert self.world.trigger("activate") is Outcome.SUCCESS, self.world.failure_reason
        wait_until(lambda: self._holder.has_subscribers)

    def _hold(self, message: Any) -> None:
        self.inside.set()
        assert self.go_on.wait(60.0)

    def tell_time(self, now: int) -> None:
        def told() -> bool:
            self.speaker.tell_time(now)
            time.sleep(0.02)
            return bool(self.world.now() == now)

        wait_until(told)

    def look(self, now: int) -> None:
        self.speaker.tell_joints(now)
        for name in self.speaker.cameras:
            self.speaker.tell_depth(name, now, 1.0125)

    def hold(self) -> None:
        self._holder.publish(msg.String(data=""))
        assert self.inside.wait(60.0)

    def release(self) -> None:
        """Lets it go on, and waits until it has nothing left to do."""
        self.go_on.set()
        for _ in range(3):
            self.world.in_executor(lambda: None).result(60.0)
            time.sleep(0.1)

    @property
    def occupied(self) -> int:
        mapping = self.world.mapping
        assert mapping is not None
        return int(np.unpackbits(mapping.map.occupied_bits()).sum())


def test_a_map_is_forgotten_between_callbacks_and_with_all_that_waited(
    graph: Graph, tmp_path: Path
) -> None:
    """The clock is heard on a thread of its own, while the map may be worked on."""
    busy = BusyWorld(graph, tmp_path)

    def seen() -> int:
        busy.look(10 * NS)
        time.sleep(0.1)
        return busy.occupied

    wait_until(seen)
    busy.hold()
    later = 10 * NS + NS // 50  # so near that its stamp does not tell
    busy.look(later)
    busy.tell_time(10 * NS - NS // 100)
    time.sleep(0.3)
    assert busy.occupied > 0, "forgotten in the middle of a callback"
    busy.release()
    assert busy.occupied == 0, "what waited belongs to the old time"
    busy.tell_time(later + NS)

    def again() -> int:
        busy.look(later + NS)
        time.sleep(0.1)
        return busy.occupied

    wait_until(again)
