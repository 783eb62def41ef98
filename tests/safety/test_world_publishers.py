"""A kernel process that hears of known objects from two publishers, as in every simulated scene."""

from __future__ import annotations

from typing import Any

import numpy as np

from openral.graph import topics
from openral.ros.codec import types
from tests.ros.conftest import wait_until
from tests.safety.kernel_rig import (
    ACCEPTED,
    ARMED,
    DROPPED,
    MSGS,
    REJECTED,
    ROBOT,
    Rig,
    hand,
)

LINK = ROBOT.end_effectors[0].link


class Teller:
    """A publisher that repeats its list, as a HAL does."""

    def __init__(self, rig: Rig, name: str) -> None:
        self._rig = rig
        self._node = rig.graph.node(name)
        self._out = self._node.create_publisher(
            f"{MSGS}/WorldCollision", topics.WORLD, topics.LATCHED
        )
        self.things: list[Any] = []
        self.count = 0
        self._timer = self._node.create_wall_timer(0.05, self._tell)

    def _tell(self) -> None:
        header = self._rig.header(ROBOT.base_frame)
        self._out.publish(
            types.new(f"{MSGS}/WorldCollision", header=header, primitives=list(self.things))
        )
        self.count += 1

    def die(self) -> None:
        self._node.destroy_timer(self._timer)
        self._node.destroy_publisher(self._out)

    def repeats(self) -> None:
        """Waits until it has told its list some more times."""
        wait_until(lambda: self._out.has_subscribers)
        count = self.count
        wait_until(lambda: self.count > count + 5)


def ball(name: str, at: Any, radius: float = 0.05, link: str = "") -> Any:
    made = types.new(f"{MSGS}/CollisionPrimitive", id=name, attached_link=link)
    made.size = np.array([radius, 0.0, 0.0])
    made.pose.position.x, made.pose.position.y, made.pose.position.z = (float(v) for v in at)
    return made


def test_what_one_tells_stays_while_another_repeats_its_own(rig: Rig) -> None:
    scene, user = Teller(rig, "scene"), Teller(rig, "user")
    scene.things = [ball("table", (2.0, 0.0, 0.0))]
    rig.start_armed()
    wait_until(lambda: rig.propose(rig.stay()).status == ACCEPTED)
    user.things = [ball("crate", hand())]
    user.repeats()
    scene.repeats()
    verdict = rig.propose(rig.stay())
    assert (verdict.status, verdict.reason, verdict.hit) == (REJECTED, "world_collision", "crate")
    user.things = []
    user.repeats()
    rig.arm()
    wait_until(lambda: rig.propose(rig.stay()).status == ACCEPTED)
    scene.things = [ball("table", hand())]
    scene.repeats()
    user.repeats()
    verdict = rig.propose(rig.stay())
    assert (verdict.status, verdict.hit) == (REJECTED, "table")


def test_what_a_user_attaches_stays_attached_while_the_scene_repeats_its_list(rig: Rig) -> None:
    scene, user = Teller(rig, "scene"), Teller(rig, "user")
    ahead = np.add(hand(), [0.4, 0.0, 0.0])
    scene.things = [ball("table", ahead)]
    rig.start_armed()
    wait_until(lambda: rig.propose(rig.stay()).status == ACCEPTED)
    user.things = [ball("bucket", (0.0, 0.0, 0.1), 0.45, LINK)]
    user.repeats()
    for _ in range(5):
        scene.repeats()
        verdict = rig.propose(rig.stay())
        assert verdict.status == REJECTED, verdict.detail
        assert "bucket" in verdict.detail + verdict.hit, verdict.detail
        rig.arm()
    user.things = []
    user.repeats()
    rig.arm()
    wait_until(lambda: rig.propose(rig.stay()).status == ACCEPTED)


def test_a_dead_publisher_drops_motion_until_an_operators_reset_forgets_it(rig: Rig) -> None:
    scene, user = Teller(rig, "scene"), Teller(rig, "user")
    scene.things = [ball("table", (2.0, 0.0, 0.0))]
    user.things = [ball("crate", (2.0, 1.0, 0.0))]
    rig.start_armed()
    wait_until(lambda: rig.propose(rig.stay()).status == ACCEPTED)
    user.repeats()  # one that the kernel has not received yet would not be missed
    user.die()
    wait_until(lambda: rig.propose(rig.stay()).reason == "world_unavailable")
    for _ in range(3):
        scene.repeats()
        verdict = rig.propose(rig.stay())
        assert (verdict.status, verdict.reason) == (DROPPED, "world_unavailable")
    assert rig.state.state == ARMED and not rig.events
    answer = rig.trigger(topics.RESET)
    assert answer.success and "nobody tells of any more (crate)" in answer.message
    wait_until(lambda: rig.propose(rig.stay()).status == ACCEPTED)
    assert rig.state.state == ARMED and not rig.events
