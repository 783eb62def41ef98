"""A robot in the kitchen with eyes, and with or without the kernel: HAL, map and gate in one loop.

No DDS in between, so that many motions can be tried; the clock is the simulation's.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openral.graph.obstacles import VoxelGrid
from openral.hal.sensors.depth import in_range
from openral.hal.sim.attached import SimAttachedHAL
from openral.manifest import RobotDescription, load_robot, load_scene
from openral.manifest.kinematics import Kinematics, matrix
from openral.manifest.sensor import DepthCamera
from openral.ros.clock import NS
from openral.ros.codec import types
from openral.safety.kernel import Kernel
from openral.sim.registry import make_rollout
from openral.world.body import Body
from openral.world.voxel_map import Lens, VoxelMap
from openral.world.world_parameters import WorldParameters

ROBOT = load_robot("panda_mobile")
CAMERA = next(s for s in ROBOT.sensors if isinstance(s, DepthCamera))
LENS = Lens(CAMERA.lens.fx, CAMERA.lens.fy, CAMERA.lens.cx, CAMERA.lens.cy)
OPTICAL = np.array([[0.0, 0, 1, 0], [-1, 0, 0, 0], [0, -1, 0, 0], [0, 0, 0, 1]])
KINEMATICS = Kinematics(ROBOT)
NOISE_M = 0.01
_WALL_NS = 1_790_000_000 * NS
"""What a wall clock says when the simulation's says zero."""

Pose = tuple[float, float, float]


def kitchen_rollout(start: Pose, robot: RobotDescription) -> Any:
    """The kitchen with a robot at that place."""
    scene = load_scene("kitchen")
    world = scene.world.model_copy(update={"options": {"start": list(start)}})
    return make_rollout(scene.model_copy(update={"world": world}), robot)


class Touching:
    """What of the robot, fingers included, touches what of the kitchen, by MuJoCo's contacts."""

    def __init__(self, rollout: Any) -> None:
        self._data, self._own = rollout.data, rollout._own_geoms
        self._names = [rollout.model.geom(i).name for i in range(rollout.model.ngeom)]

    def now(self) -> set[tuple[str, str]]:
        pairs = self._data.contact.geom
        apart = pairs[self._own[pairs[:, 0]] != self._own[pairs[:, 1]]]
        return {(self._names[a], self._names[b]) for a, b in apart}


class Kitchen:
    """The robot at a place of the kitchen; `step` moves time on, `propose` asks the gate.

    `begin` puts everything back to the start, so that many motions share one scene.
    """

    def __init__(
        self,
        start: Pose,
        q: NDArray[np.float64] | None = None,
        *,
        robot: RobotDescription = ROBOT,
        gated: bool = True,
        look_s: float = 0.2,
        seed: int = 0,
    ) -> None:
        self.rollout = kitchen_rollout(start, robot)
        if q is not None:
            self.rollout.binding.place(self.rollout.data, q)
            self.rollout.binding.command(self.rollout.data, q)
        self._begin_state = self.rollout.save_state()
        self._look_ns, self._seed = round(look_s * NS), seed
        self._touching = Touching(self.rollout)
        self.robot = robot
        self.hal: Any = None
        self.begin(gated)

    def begin(self, gated: bool) -> None:
        """As it was in the beginning; nothing has been seen yet."""
        if self.hal is not None:
            self.hal._drive.reset()  # motors become servos again
        self.rollout.restore_state(self._begin_state)
        self.hal = SimAttachedHAL(self.robot, lambda: self.rollout)
        self.hal.connect()
        self.gated = gated
        self._rng = np.random.default_rng(self._seed)
        self.contacts: set[tuple[str, str]] = set()
        self.verdicts: list[Any] = []
        self.wall_verdicts: list[Any] = []
        self.body = Body(self.robot)
        self.map = VoxelMap(WorldParameters().map_options(self.robot))
        # The same states under two clocks, which must not make a difference.
        self.kernel = Kernel(self.robot, requires_voxels=True, stall_s=1e6)
        self.wall_kernel = Kernel(self.robot, requires_voxels=True, stall_s=1e6)
        self._looked_ns = -self._look_ns
        self._sequence = itertools.count(1)
        self.tell()

    def close(self) -> None:
        self.rollout.close()

    @property
    def now(self) -> int:
        return int(self.hal.read_state().stamp_ns)

    @property
    def q(self) -> NDArray[np.float64]:
        return np.array(self.hal.read_state().positions)

    def joints(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Measured positions and velocities."""
        state = self.hal.read_state()
        return np.array(state.positions), np.array(state.velocities)

    @property
    def stopped(self) -> bool:
        return bool(self.verdicts) and self.verdicts[-1].latched

    def step(self, seconds: float) -> None:
        """Time goes on; contacts between the robot and the kitchen are recorded."""
        for _ in range(max(1, round(seconds * NS / self.hal.tick_ns))):
            self.hal.step()
            self.contacts |= self._touching.now()
            self.tell()

    def tell(self) -> None:
        """State and odometry to the kernels, and now and then a picture into the map."""
        if not self.gated:
            return
        state, base = self.hal.read_state(), self.hal.read_base()
        q, qd = np.array(state.positions), np.array(state.velocities)
        for kernel, zero in ((self.kernel, 0), (self.wall_kernel, _WALL_NS)):
            kernel.set_state(q, qd, zero + state.stamp_ns)
            kernel.set_base((base.x, base.y, base.yaw), zero + base.stamp_ns)
        if state.stamp_ns - self._looked_ns >= self._look_ns:
            self._looked_ns = state.stamp_ns
            self.look(q)

    def look(self, q: NDArray[np.float64]) -> None:
        frame = self.hal.read_depth(CAMERA.name)
        noise = self._rng.normal(0.0, NOISE_M, frame.depth.shape)
        depth = in_range((frame.depth + noise).astype(np.float32), CAMERA.range_m)
        poses = KINEMATICS.poses(q)
        base = poses[KINEMATICS.links.index(ROBOT.base_frame)]
        mount = poses[KINEMATICS.links.index(CAMERA.mount.link)]
        camera = mount @ matrix(CAMERA.mount.xyz, CAMERA.mount.rpy) @ OPTICAL
        self.map.follow(*base[:3, 3].tolist())
        self.map.see_depth(depth, LENS, camera, CAMERA.range_m, self.body.shapes(q, base))
        grid = self.map.grid()
        fixed = VoxelGrid(grid.cells, grid.origin, grid.resolution, fixed=True)
        self.kernel.set_voxels(fixed, frame.stamp_ns)
        self.wall_kernel.set_voxels(fixed, _WALL_NS + frame.stamp_ns)

    def propose(self, chunk: Any) -> None:
        """What passes is executed; a veto stops the robot. Without the gate all is executed."""
        chunk.sequence = next(self._sequence)
        if not self.gated:
            self.hal.send_action(chunk)
            return
        payload = types.encode(chunk)
        verdict = self.kernel.validate_bytes(payload, self.now)
        wall = self.wall_kernel.validate_bytes(payload, _WALL_NS + self.now)
        self.verdicts.append(verdict)
        self.wall_verdicts.append(wall)
        if verdict.accepted:
            action = self.kernel.action(payload, verdict)
            self.hal.send_action(types.decode("openral_msgs/msg/ActionChunk", action))
        elif verdict.latched:
            self.hal.estop(str(verdict))

    def drive(self, make: Callable[[float], Any], seconds: float, every_s: float) -> None:
        """Proposes chunk after chunk; goes on a while after a veto, to see the robot stand.

        `make` is told how far along the motion is: what was slowed takes longer, not another way.
        """
        along = 0.0
        while along < seconds and not self.stopped:
            self.propose(make(along))
            self.step(every_s)
            if not self.gated and self.contacts:
                return
            last = self.verdicts[-1] if self.gated else None
            along += every_s * (1.0 if last is None else last.speed_factor * last.accepted)
        self.step(0.5)


def at_counter(rng: np.random.Generator) -> Pose:
    """A place in front of a free part of the north counter, facing it."""
    return (
        float(rng.uniform(-1.6, -1.1)),
        float(rng.uniform(0.98, 1.03)),
        math.pi / 2 + float(rng.uniform(-0.15, 0.15)),
    )
