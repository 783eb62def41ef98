"""SkillRun: one goal, from the first check to the robot at rest. Polled; it never blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from openral.errors import CapabilityMismatch, ConfigError, PerceptionStale, PolicyFailed
from openral.graph.deadlines import SILENT_S
from openral.manifest import SceneDescription
from openral.ros.clock import NS
from openral.skill.compatibility import camera_of, require_fit
from openral.skill.library import describe
from openral.skill.policy.host import Loaded, PolicyHost, PolicyOrder
from openral.skill.runner.chunk_maker import ChunkMaker
from openral.skill.runner.episode_watch import EpisodeWatch
from openral.skill.runner.goal_order import Ending, GoalOrder
from openral.skill.runner.graph import RunnerGraph
from openral.skill.runner.parameters import RunnerParameters
from openral.skill.runner.preemption import braking_rows
from openral.skill.runner.proposed_chunk import ProposedChunk
from openral.skill.runner.proposer import Proposer
from openral.skill.skill import SkillContext
from openral.skill.spaces.action_space import ActionSpace
from openral.skill.spaces.state_vector import StateVector

_SCENE_GRACE_S = 2.0
_AT_START = 0.1  # rad or m from the starting pose
_REST_WITHIN_S = 1.0
_ASLEEP_S = 1.0


class SkillRun:
    """Call `poll` often; it returns how the goal ended once the robot is at rest again."""

    def __init__(
        self,
        graph: RunnerGraph,
        settings: RunnerParameters,
        scene: SceneDescription | None,
        order: GoalOrder,
        policy: PolicyHost,
        maker: ChunkMaker,
    ) -> None:
        self.phase = "loading"
        self.order = order
        self.began_ns = graph.now()
        self.cancelled = False
        """Set by the caller to cancel the goal."""
        self.leaving = False
        """Set by the caller when this process ends: the HAL stops the robot, as for any loss."""
        self._graph, self._settings, self._scene = graph, settings, scene
        graph.observer.look_anew()
        self._policy, self._maker = policy, maker
        self._inline = graph.inline
        self._stage: Callable[[], Ending | None] = self._fit
        self._since = self._looked_s = graph.steady()
        self._episode = EpisodeWatch(graph)
        self._proposer: Proposer | None = None
        self._ending: Ending | None = None
        self._brake: ProposedChunk | None = None
        self._cameras: tuple[str, ...] = ()
        self.wake: Callable[[], None] = lambda: None

    # Received messages

    def on_verdict(self, verdict: Any) -> None:
        """Passes a Verdict to the chunks in execution."""
        for flight in self._flights():
            flight.on_verdict(verdict)
        self.wake()

    def on_applied(self, applied: Any) -> None:
        """Passes an AppliedAction to the chunks in execution."""
        for flight in self._flights():
            flight.on_applied(applied)

    def on_hal_state(self, hal: Any) -> None:
        """Passes a HalState to the chunks in execution."""
        for flight in self._flights():
            flight.on_hal_state(hal)

    def _flights(self) -> list[ProposedChunk]:
        proposed = self._proposer.flight if self._proposer else None
        return [flight for flight in (proposed, self._brake) if flight is not None]

    # Figures for feedback and result

    @property
    def chunks(self) -> int:
        """Chunks proposed."""
        return self._proposer.chunks if self._proposer else 0

    @property
    def refused(self) -> int:
        """Chunks that the kernel rejected or dropped."""
        return self._proposer.refused if self._proposer else 0

    @property
    def last_verdict(self) -> str:
        """Reason of the last verdict."""
        return self._proposer.last_verdict if self._proposer else ""

    @property
    def policy_s(self) -> float:
        """Inference time of the last answer, in s."""
        return self._proposer.policy_s if self._proposer else 0.0

    @property
    def trace_id(self) -> bytes:
        """Trace id of the last chunk."""
        return self._proposer.trace_id if self._proposer else bytes(16)

    # Polling

    def poll(self) -> Ending | None:
        """Does what is due; returns how the goal ended once the robot is at rest."""
        with self._graph.lock:
            if self._ending is None:
                self._ending = self._guarded()
            return None if self._ending is None else self._come_to_rest(self._ending)

    def _guarded(self) -> Ending | None:
        try:
            return self._cut_short() or self._stage()
        except PolicyFailed as error:
            return Ending(False, "policy_failed", str(error))
        except (CapabilityMismatch, ConfigError) as error:
            return Ending(False, "mismatch", str(error))
        except PerceptionStale as error:
            return Ending(False, "observation", str(error))
        except Exception as error:
            self._graph.node.log.exception("the runner failed", skill=self.order.skill)
            return Ending(False, "fault", f"the runner failed: {error!r}")

    def _cut_short(self) -> Ending | None:
        if self.cancelled:
            return Ending(False, "cancelled", "a client asked for it")
        limit = self.order.timeout_s
        if limit > 0 and self._graph.now() - self.began_ns > limit * NS:
            return Ending(False, "timeout", f"not done within {limit:g} s")
        if self._graph.stalled_s() > SILENT_S:
            return Ending(False, "interrupted", f"/clock has been silent for {SILENT_S:g} s")
        return None

    def _enter(self, stage: Callable[[], Ending | None]) -> None:
        self._stage, self._since = stage, self._graph.steady()

    def _waited(self) -> float:
        return self._graph.steady() - self._since

    def _wait_for(self, lacking: str, reason: str) -> Ending | None:
        if self._waited() > self._settings.wait_s:
            return Ending(False, reason, lacking)
        return None

    # Stages

    def _fit(self) -> Ending | None:
        """Refuses a skill that does not fit, before it is loaded."""
        rate = self._scene.control_rate_hz if self._scene else self._settings.rate_hz
        self._skill = describe(self.order.skill, self._graph.robot, rate)
        require_fit(self._skill, self._graph.robot, None)
        modes = self._graph.hal_modes()
        if modes is None:
            lacking = f"the HAL node does not answer on {self._settings.hal_node}/get_parameters"
            return self._wait_for(lacking, "mismatch")
        require_fit(self._skill, self._graph.robot, modes)
        self._enter(self._survey)
        return None

    def _survey(self) -> Ending | None:
        """Waits for the robot's state and surroundings, then starts to load."""
        grace = not self._inline and self._waited() < _SCENE_GRACE_S
        task = self._scene.task if self._scene else None
        observer = self._graph.observer
        if lacking := observer.missing((), objects=task is not None and grace):
            return self._wait_for(lacking, "observation")
        if self._scene is not None and grace and not observer.knows_world:
            return None
        try:
            obstacles = observer.obstacles
        except PerceptionStale as error:
            return self._wait_for(str(error), "observation")
        context = SkillContext(
            robot=self._graph.robot,
            rate_hz=self._skill.rate_hz,
            action_dim=self._skill.action.dimension,
            instruction=self.order.instruction or (task.instruction if task else ""),
            root_pose=observer.root_pose,
            obstacles=obstacles,
            object_halves=observer.object_halves,
        )
        parameters = {**self._skill.parameters, **self.order.parameters}
        order = PolicyOrder(self._skill.entry_point, context, parameters)
        self._policy.begin(order, self._settings.load_timeout_s)
        self._enter(self._load)
        return None

    def _load(self) -> Ending | None:
        reply = self._policy.poll()
        if not isinstance(reply, Loaded):
            return None
        needs = [camera_of(self._graph.robot, n.vla_feature_key) for n in self._skill.cameras]
        keys = [camera.key for camera in needs if camera is not None]
        self._cameras = tuple(dict.fromkeys([*keys, *reply.cameras]))
        self._graph.observer.cameras.open(self._cameras)
        self.phase = "waiting"
        self._enter(self._ready)
        return None

    def _ready(self) -> Ending | None:
        """Waits for a complete observation and an armed kernel; last checks before motion."""
        observer = self._graph.observer
        if lacking := observer.missing(self._cameras, objects=False):
            return self._wait_for(lacking, "observation")
        sizes = dict.fromkeys(self._cameras, None) | {
            camera.key: need.resolution
            for need in self._skill.cameras
            if (camera := camera_of(self._graph.robot, need.vla_feature_key))
        }
        observer.cameras.require(sizes)
        self._require_start()
        if unarmed := self._graph.not_armed():
            code = "estopped" if self._graph.stopped_by else "not_armed"
            return self._wait_for(unarmed, code)
        robot = self._graph.robot
        self._proposer = Proposer(
            self._graph,
            self._settings,
            self._skill,
            ActionSpace(self._skill, robot),
            StateVector(self._skill, robot),
            self._cameras,
            self._policy,
            self._maker,
        )
        self._policy.reset(self.order.seed)
        self._episode.begin()
        self.phase = "running"
        self._looked_s = self._graph.steady()
        self._enter(self._drive)
        return None

    def _require_start(self) -> None:
        for name, wanted in (self._skill.starting_pose or {}).items():
            column = self._graph.robot.joint_names.index(name)
            found = float(self._graph.observer.positions[column])
            if abs(found - wanted) > _AT_START:
                raise CapabilityMismatch(
                    f"joint '{name}' is at {found:.3f}; the skill starts from {wanted:.3f} "
                    f"(within {_AT_START:g})"
                )

    def _drive(self) -> Ending | None:
        assert self._proposer is not None
        now = self._graph.steady()
        asleep, self._looked_s = now - self._looked_s, now
        if asleep > _ASLEEP_S:
            return Ending(False, "interrupted", f"this runner stood still for {asleep:.1f} s")
        if ended := self._episode.ending():
            return ended
        if self._episode.begun_anew():
            if self._proposer.moved:
                self._proposer.forget()
                return Ending(False, "interrupted", "the scene was reset")
            self._policy.reset(self.order.seed)
            self._proposer.forget()
            self._graph.observer.look_anew()
        return self._proposer.poll()

    # The end

    def _come_to_rest(self, ending: Ending) -> Ending | None:
        """Brakes a chunk still in execution and waits until the HAL holds position."""
        if self.phase != "finishing":
            self.phase = "finishing"
            self._enter(lambda: None)
        stalled = self._graph.stalled_s() > SILENT_S
        over = stalled or self.leaving or self._waited() > _REST_WITHIN_S
        if over or self._graph.not_armed():
            return self._recorded(ending)
        flight, now = self._proposer.flight if self._proposer else None, self._graph.now()
        if flight is not None and flight.verdict is None:  # the verdict is due any moment
            return None
        # After an episode's end the HAL holds position; an action would begin the next episode.
        under_way = flight is not None and not flight.over(now) and not self._episode.over
        if flight is not None and under_way and self._brake is None:
            assert self._proposer is not None
            slots, dt = braking_rows(flight, self._graph.robot, self._graph.observer.positions, now)
            self._brake = self._proposer.send(slots, dt, self._maker.trace_id(), 0.0)
        braking = self._brake is not None and not self._brake.over(now)
        return None if braking or self._graph.executing else self._recorded(ending)

    def _recorded(self, ending: Ending) -> Ending:
        if self._proposer is not None:
            self._proposer.land()
        if self._brake is not None:
            self._graph.record(self._brake.record(self._graph.now()))
            self._brake = None
        return ending
