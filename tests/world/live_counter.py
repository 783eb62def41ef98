"""The whole graph in front of the counter, as processes, with an arm that is driven at it."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from openral.graph import topics
from openral.ros.clock import NS
from openral.safety.kernel import Kernel
from tests.hal.node_rig import REJECTED
from tests.ros.conftest import Graph, wait_until
from tests.world.base_room import Room
from tests.world.counter_runs import torque_robot
from tests.world.counter_streams import DT, ROWS, Vector, Way, into_the_counter, stream
from tests.world.kitchen_rig import Pose, at_counter
from tests.world.live_kitchen import contacts, measured, robot_file, scene_file, start, vetoed

EVERY_S = 0.08
ACCEPTED, SLOWED = 0, 1


class LiveCounter:
    """HAL, kernel and world in front of the counter; `drive` proposes a mode's stream."""

    def __init__(self, graph: Graph, folder: Path, seed: int, sim_time: bool) -> None:
        rng = np.random.default_rng(seed)
        self.start: Pose = at_counter(rng)
        self.way = into_the_counter(self.start, rng)
        scene, robot = scene_file(folder, self.start), robot_file(folder, torque_robot())
        self.live = start(graph, scene, sim_time, robot)

    def joints(self) -> tuple[Vector, Vector]:
        return measured(self.live.robot, self.live.latest(topics.JOINT_STATES))

    def go(self, pose: Vector) -> None:
        """To a pose that nothing stands in the way of."""
        stop = self.drive("joint_position", Way([self.joints()[0], pose], [0.5]))
        assert stop is None, stop.detail

    def drive_until_vetoed(self, mode: str, way: Way) -> Any:
        """Down a way that leads into the counter, and back to where it begins."""
        stop = self.drive(mode, way)
        assert stop is not None, f"{mode} was not vetoed"
        self.live.arm()
        self.go(way.poses[0])
        return stop

    def drive(self, mode: str, way: Way) -> Any:
        """Proposes chunk after chunk until the way has ended, or returns the kernel's stop."""
        make, along, node = stream(mode, way, self.joints), 0.0, self.live.node
        give_up = time.monotonic() + 120.0 + 20 * way.seconds
        while along < way.seconds + 1.0:
            assert time.monotonic() < give_up, "it gets nowhere"
            begin = node.now()
            verdict = self.live.propose(make(along))
            if verdict.status == REJECTED or verdict.reason == "estopped":
                return wait_until(lambda: vetoed(self.live))
            _wait(lambda begin=begin: node.now() - begin >= EVERY_S * NS)  # type: ignore[misc]
            if verdict.status in (ACCEPTED, SLOWED):
                passed = (node.now() - begin) / NS * verdict.speed_factor
                along += min(passed, ROWS * DT)
        return None

    def least_gap(self) -> float:
        """Between the checked links and the kitchen, over all joint states heard so far."""
        room = Room(Kernel(self.live.robot))
        heard = self.live.heard[topics.JOINT_STATES]
        states = [measured(self.live.robot, state)[0] for state in heard[::5]]
        return min(room.gap(self.start, q) for q in states)

    def contacts(self) -> set[tuple[str, str]]:
        """Between the robot, fingers included, and the kitchen, over the same time."""
        return contacts(self.start, self.live.robot, self.live.heard[topics.JOINT_STATES])

    def close(self) -> None:
        self.live.close()


def _wait(condition: Callable[[], bool]) -> None:
    give_up = time.monotonic() + 60.0
    while not condition():
        assert time.monotonic() < give_up, "the clock stands still"
        time.sleep(0.002)
