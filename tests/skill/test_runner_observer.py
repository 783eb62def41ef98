"""What a skill sees is put together from the bus, and is shown only while it is fresh."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from openral.errors import CapabilityMismatch, PerceptionStale
from openral.graph.run_key import RunKey
from openral.graph.sealed import SealedPublisher
from openral.manifest import Kinematics, load_robot
from openral.ros import msg
from openral.ros.clock import NS
from openral.ros.codec import types
from openral.ros.lifecycle.machine import Outcome
from openral.ros.node.context import Context
from openral.ros.node.executor import Executor
from openral.ros.node.node import Node
from openral.ros.qos import LATCHED, SENSOR
from openral.ros.stamps import time_message
from openral.ros.transport.memory_transport import MemoryTransport
from openral.skill import topics
from openral.skill.runner.camera_frames import picture
from openral.skill.runner.observer import BusObserver
from openral.world.node import WorldNode

ROBOT = load_robot("panda_mobile")
BASE = [ROBOT.joint_names.index(name) for name in ROBOT.base_joints]
CAMERA = next(c for c in ROBOT.cameras if c.modality == "rgb")


class Bus:
    """A bus without a wire: a test says what a robot would, and its world's node hears it."""

    def __init__(self) -> None:
        self.context = Context(transport=MemoryTransport())
        self.node = Node("robot", context=self.context)
        self.executor = Executor(self.context)
        self.executor.add_node(self.node)
        self.now = 100 * NS
        self.key = RunKey.create()
        self.world = WorldNode(self.key, context=self.context, parameters={"robot_yaml": ROBOT.id})
        self.executor.add_node(self.world)
        for node in (self.node, self.world):
            node.now = lambda: self.now  # type: ignore[method-assign]
        assert self.world.trigger("configure") is self.world.trigger("activate") is Outcome.SUCCESS
        self.observer = BusObserver(self.node, ROBOT, threading.RLock())
        self.observer.open()
        self.q = np.array(ROBOT.home_position)

    def say(self, message: Any, topic: str, qos: Any = SENSOR) -> None:
        kind = message.__ros_type__
        publisher = SealedPublisher(self.node.create_publisher, self.key, kind, topic, qos)
        publisher.publish(message)
        self.executor.spin_until_idle()
        for end in publisher.endpoints:
            self.node.destroy_publisher(end)

    def header(self, frame: str = "") -> Any:
        return msg.Header(stamp=time_message(self.now), frame_id=frame)

    def joints(self) -> None:
        self.say(
            msg.JointState(
                header=self.header(),
                name=ROBOT.joint_names[::-1],
                position=self.q[::-1],
                velocity=0.1 * self.q[::-1],
            ),
            topics.JOINT_STATES,
        )
        x, y, yaw = self.q[BASE]
        turn = msg.Quaternion(0.0, 0.0, np.sin(yaw / 2), np.cos(yaw / 2))
        odom = msg.Odometry(header=self.header(ROBOT.root))
        odom.pose.pose = msg.Pose(msg.Point(x, y, 0.0), turn)
        self.say(odom, "/odom")
        self.look()

    def look(self) -> None:
        """The world's node tells what it knows."""
        self.world.state_teller.tell()
        self.executor.spin_until_idle()

    def image(self, width: int = 8, height: int = 6, encoding: str = "rgb8") -> None:
        data = np.arange(height * width * 3, dtype=np.uint8)
        self.say(
            msg.Image(
                header=self.header(),
                width=width,
                height=height,
                encoding=encoding,
                step=width * 3,
                data=data,
            ),
            topics.image_topic(CAMERA.name),
        )

    def boxes(
        self, topic: str, qos: Any, *boxes: Any, frame: str = ROBOT.base_frame, ago_ns: int = 0
    ) -> None:
        header = msg.Header(stamp=time_message(self.now - ago_ns), frame_id=frame)
        kind = "openral_msgs/msg/WorldCollision"
        self.say(types.new(kind, header=header, primitives=list(boxes)), topic, qos)
        self.look()

    def drive(self, *pose: float) -> Any:
        """The base is there now; its matrix in the root's frame."""
        self.q[BASE] = pose
        self.joints()
        kinematics = Kinematics(ROBOT)
        return kinematics.poses(self.q)[kinematics.links.index(ROBOT.base_frame)]

    def close(self) -> None:
        self.executor.shutdown()
        self.context.close()


@pytest.fixture
def bus() -> Any:
    made = Bus()
    yield made
    made.close()


def box(name: str, xyz: Any, size: Any) -> Any:
    made = types.new("openral_msgs/msg/CollisionPrimitive", id=name, shape=1, size=np.array(size))
    made.pose.position = msg.Point(*xyz)
    made.pose.orientation = msg.Quaternion(0.0, 0.0, 0.0, 1.0)
    return made


def test_joints_come_by_name_and_only_while_they_are_fresh(bus: Bus) -> None:
    with pytest.raises(PerceptionStale, match="no complete joint state"):
        bus.observer.observe(None, ())
    bus.joints()
    seen = bus.observer.observe(None, ())
    assert np.array_equal(seen.joint_positions, bus.q)
    assert np.allclose(seen.joint_velocities, 0.1 * bus.q)
    assert seen.time_ns == bus.now
    bus.now += NS
    with pytest.raises(PerceptionStale, match=r"was measured 1\.000 s ago"):
        bus.observer.observe(None, ())


def test_pictures_come_by_the_key_that_policies_know_and_only_while_they_are_fresh(
    bus: Bus,
) -> None:
    bus.joints()
    bus.observer.cameras.open([CAMERA.key])
    with pytest.raises(PerceptionStale, match=f"camera '{CAMERA.name}' was never heard on"):
        bus.observer.observe(None, [CAMERA.key])
    bus.image()
    seen = bus.observer.observe(None, [CAMERA.key]).images
    assert list(seen) == [CAMERA.key]
    assert seen[CAMERA.key][0, 1].tolist() == [3, 4, 5]
    bus.observer.cameras.require({CAMERA.key: (8, 6)})
    with pytest.raises(CapabilityMismatch, match="sends 8×6 pixels, the policy takes 640×480"):
        bus.observer.cameras.require({CAMERA.key: (640, 480)})
    bus.image(encoding="bgr8")
    assert bus.observer.observe(None, [CAMERA.key]).images[CAMERA.key][0, 1].tolist() == [5, 4, 3]
    bus.image(encoding="mono16")
    with pytest.raises(CapabilityMismatch, match="sends 'mono16'; encodings: rgb8, bgr8"):
        bus.observer.cameras.require({CAMERA.key: None})
    bus.now += 2 * NS
    bus.joints()
    with pytest.raises(PerceptionStale, match="sent its last picture"):
        bus.observer.observe(None, [CAMERA.key])
    with pytest.raises(CapabilityMismatch, match="no camera 'nose'; cameras: "):
        bus.observer.cameras.open(["nose"])


def test_padded_rows_of_a_picture_are_read_right() -> None:
    data = np.arange(2 * 16, dtype=np.uint8)
    frame = msg.Image(width=4, height=2, encoding="rgb8", step=16, data=data)
    assert picture(frame)[1, 0].tolist() == [16, 17, 18]


def test_objects_and_obstacles_are_told_in_the_roots_frame(bus: Bus) -> None:
    base = bus.drive(1.0, 2.0, np.pi / 2)
    bus.boxes(topics.OBJECTS, SENSOR, box("cup", (0.5, 0.0, 0.3), (0.1, 0.2, 0.3)))
    bus.boxes(topics.WORLD, LATCHED, box("wall", (1.0, 0.0, 0.5), (0.2, 4.0, 1.0)))
    cup = bus.observer.observe(None, ()).objects["cup"]
    assert np.allclose(cup[:3], (base @ [0.5, 0.0, 0.3, 1.0])[:3])
    turn = Rotation.from_quat(cup[3:], scalar_first=True).as_matrix()
    assert np.allclose(turn, base[:3, :3])
    assert bus.observer.object_halves == {"cup": (0.05, 0.1, 0.15)}
    (wall,) = bus.observer.obstacles
    assert (wall.name, wall.half) == ("wall", (0.1, 2.0, 0.5))
    assert np.allclose(wall.pose[:3], (base @ [1.0, 0.0, 0.5, 1.0])[:3])


def test_things_of_every_shape_are_told_and_what_is_held_moves_with_the_hand(bus: Bus) -> None:
    bus.drive(1.0, 2.0, 0.5)
    ball, post = box("ball", (0.5, 0.0, 0.3), (0.04, 0, 0)), box("post", (1, 0, 1), (0.1, 1.0, 0))
    ball.shape, post.shape = 0, 2
    held = box("cup", (0.0, 0.0, 0.1), (0.06, 0.06, 0.1))
    held.attached_link = ROBOT.end_effectors[0].link
    bus.boxes(topics.WORLD, LATCHED, post)
    bus.boxes(topics.OBJECTS, SENSOR, ball, held)
    assert bus.observer.object_halves["ball"] == (0.04, 0.04, 0.04)
    assert bus.observer.obstacles[0].half == (0.1, 0.1, 0.6)
    kinematics = Kinematics(ROBOT)
    hand = kinematics.poses(bus.q)[kinematics.links.index(held.attached_link)]
    cup = bus.observer.observe(None, ()).objects["cup"]
    assert np.allclose(cup[:3], (hand @ [0.0, 0.0, 0.1, 1.0])[:3])
    held.attached_link = "no_hand"
    bus.boxes(topics.OBJECTS, SENSOR, held)
    with pytest.raises(PerceptionStale, match="'cup' is held by link 'no_hand'; did you mean"):
        bus.observer.observe(None, ())


def test_objects_stay_where_they_were_seen_while_the_base_drives_on(bus: Bus) -> None:
    """In the base frame of a while ago, and in odometry's; a frame nobody knows is stale."""
    then = bus.drive(1.0, 2.0, np.pi / 2)
    bus.now += NS // 2
    bus.drive(1.5, 2.5, 0.3)
    cup = box("cup", (0.5, 0.0, 0.3), (0.1, 0.2, 0.3))
    bus.boxes(topics.OBJECTS, SENSOR, cup, ago_ns=NS // 2)
    seen = bus.observer.observe(None, ()).objects["cup"]
    assert np.allclose(seen[:3], (then @ [0.5, 0.0, 0.3, 1.0])[:3])
    bus.boxes(topics.OBJECTS, SENSOR, cup, frame=ROBOT.root)
    seen = bus.observer.observe(None, ()).objects["cup"]
    assert np.allclose(seen, [0.5, 0.0, 0.3, 1.0, 0.0, 0.0, 0.0])
    for wrong, word in (
        ({"frame": "camera"}, "frame 'camera'"),
        ({"frame": ""}, "frame ''"),
        ({"ago_ns": 3 * NS // 4}, "past"),
        ({"ago_ns": 2 * NS}, "observed 2.0 s ago"),
        ({"ago_ns": -NS}, "observed -1.0 s ago"),
    ):
        bus.boxes(topics.OBJECTS, SENSOR, cup, **wrong)
        with pytest.raises(PerceptionStale, match=word):
            bus.observer.observe(None, ())


def test_objects_seen_before_an_episode_began_are_not_shown_in_it(bus: Bus) -> None:
    bus.joints()
    cup = box("cup", (0.5, 0.0, 0.3), (0.1, 0.2, 0.3))
    bus.boxes(topics.OBJECTS, SENSOR, cup)
    bus.now += NS // 10
    bus.observer.look_anew()
    bus.joints()  # what was seen is told again, with new joints
    with pytest.raises(PerceptionStale, match="no objects were seen since"):
        bus.observer.observe(None, ())
    bus.boxes(topics.OBJECTS, SENSOR, cup)
    assert set(bus.observer.observe(None, ()).objects) == {"cup"}


def test_a_world_state_that_is_missing_or_old_is_no_observation(bus: Bus) -> None:
    bus.joints()
    assert bus.observer.missing((), objects=True) == f"no objects were heard on {topics.OBJECTS}"
    assert not bus.observer.missing((), objects=False) and not bus.observer.knows_world
    bus.node.create_publisher("openral_msgs/msg/WorldCollision", topics.OBJECTS, SENSOR)
    bus.executor.spin_until_idle()
    bus.look()
    assert "no objects were heard" in bus.observer.missing((), objects=False)
    assert bus.world.trigger("deactivate") is Outcome.SUCCESS
    bus.now += NS
    bus.joints()
    with pytest.raises(PerceptionStale, match=r"the world state is of 1\.000 s ago"):
        bus.observer.observe(None, ())


def test_obstacles_of_several_publishers_are_all_known(bus: Bus) -> None:
    base = bus.drive(1.0, 2.0, np.pi / 2)
    bus.boxes(topics.WORLD, LATCHED, box("wall", (1.0, 0.0, 0.5), (0.2, 4.0, 1.0)))
    bus.boxes(topics.WORLD, LATCHED, box("post", (3.0, 1.0, 0.5), (0.1, 0.1, 1.0)), frame="odom")
    found = {one.name: one.pose[:3] for one in bus.observer.obstacles}
    assert np.allclose(found["wall"], (base @ [1.0, 0.0, 0.5, 1.0])[:3])
    assert np.allclose(found["post"], [3.0, 1.0, 0.5])
    assert bus.observer.knows_world
    bus.boxes(topics.WORLD, LATCHED, box("lamp", (1.0, 0.0, 0.5), (0.2, 0.2, 1.0)), ago_ns=NS // 4)
    with pytest.raises(PerceptionStale, match="past"):
        _ = bus.observer.obstacles


def test_the_world_frame_tells_where_the_root_is(bus: Bus) -> None:
    assert np.array_equal(bus.observer.root_pose, np.eye(4))
    place = msg.Transform(msg.Vector3(0.0, 0.0, 0.7), msg.Quaternion(0.0, 0.0, 0.0, 1.0))
    told = msg.TransformStamped(bus.header(topics.WORLD_FRAME), ROBOT.root, place)
    bus.say(msg.TFMessage([told]), "/tf_static", LATCHED)
    assert bus.observer.root_pose[2, 3] == 0.7
