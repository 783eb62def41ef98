"""What is attached stays out of the map while somebody tells of it, whoever else tells of what."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from openral.graph.run_key import RunKey
from openral.graph.topics import LATCHED, WORLD
from openral.manifest import load_robot
from openral.ros import msg
from openral.ros.clock import NS
from openral.ros.node.context import Context
from openral.ros.node.executor import Executor
from openral.ros.node.node import Node
from openral.ros.stamps import time_message
from openral.ros.tf import Buffer
from openral.ros.transport.memory_transport import MemoryTransport
from openral.world.joint_history import JointHistory
from openral.world.mapping import Mapping
from openral.world.world_parameters import WorldParameters

ROBOT = load_robot("panda_mobile")
HAND = ROBOT.end_effectors[0].link


class Room:
    """A mapper without cameras, and publishers of known objects beside it."""

    def __init__(self) -> None:
        self.context = Context(transport=MemoryTransport())
        self.node = Node("world", context=self.context)
        self.executor = Executor(self.context)
        self.executor.add_node(self.node)
        self.now = 100 * NS
        self.node.now = lambda: self.now  # type: ignore[method-assign]
        self.mapping = Mapping(
            self.node, RunKey.create(), ROBOT, WorldParameters(), JointHistory(), Buffer()
        )
        self.mapping.open()
        make = self.node.create_publisher
        self.scene, self.user = (make(msg.WorldCollision, WORLD, LATCHED) for _ in range(2))

    def tell(self, publisher: Any, **links: str) -> set[str]:
        """Publishes objects by the links that they are attached to; what is held then."""
        things = [
            msg.CollisionPrimitive(id=name, attached_link=link, size=np.array([0.03, 0, 0]))
            for name, link in links.items()
        ]
        for thing in things:
            thing.pose.orientation.w = 1.0
        header = msg.Header(stamp=time_message(self.now), frame_id=ROBOT.base_frame)
        publisher.publish(msg.WorldCollision(header=header, primitives=things))
        self.executor.spin_until_idle()
        return set(self.mapping.body.held)


@pytest.fixture
def room() -> Iterator[Room]:
    made = Room()
    yield made
    made.executor.shutdown()
    made.context.close()


def test_what_a_user_holds_is_held_while_the_scene_repeats_its_list(room: Room) -> None:
    assert room.tell(room.user, cup=HAND) == {"cup"}
    assert room.tell(room.scene, table="") == {"cup"}
    assert room.tell(room.user) == set()


def test_objects_attached_by_two_publishers_leave_nothing_out_of_the_map(room: Room) -> None:
    """Who may attach something can hide anything: two at once are none until the map is cleared."""
    assert room.tell(room.user, cup=HAND) == {"cup"}
    assert room.tell(room.scene, spoon=HAND) == set()
    assert room.tell(room.user, cup=HAND) == set()


def test_what_nobody_tells_of_any_more_is_mapped_again(room: Room) -> None:
    """Else it would hide what is really there, wherever the hand goes."""
    room.tell(room.user, cup=HAND)
    room.now += NS // 2
    assert room.tell(room.scene, table="") == {"cup"}
    room.now += NS
    room.mapping.tell_health()
    assert not room.mapping.body.held
    assert room.tell(room.user, cup=HAND) == {"cup"}
