"""LockstepGraph: HAL, kernel, world and runner in one process, on one thread, without DDS."""

from __future__ import annotations

from typing import Any

from openral.deploy.monitor import Monitor
from openral.deploy.plan import LaunchPlan
from openral.deploy.results import RunEnded
from openral.deploy.streams import streams_of
from openral.graph import topics
from openral.graph.run_key import RunKey
from openral.graph.topics import RESET_SCENE
from openral.hal.node import ManifestHALLifecycleNode
from openral.ros import Executor, Outcome
from openral.ros.lifecycle.node import LifecycleNode
from openral.ros.node.context import Context
from openral.ros.node.node import Node
from openral.ros.recording.recorder import Recorder
from openral.ros.recording.writer import RecordingWriter
from openral.ros.transport.memory_transport import MemoryTransport
from openral.safety.node.kernel_node import SafetyKernelNode
from openral.skill.runner.node import SkillRunnerNode
from openral.world.node import WorldNode

_ARM_TICKS = 500
_LOOK_TICKS = 50
_ANSWER_S = 20.0


class LockstepGraph:
    """`tick` advances the simulation by one step and runs all nodes until they are idle."""

    def __init__(self, plan: LaunchPlan) -> None:
        self._context = Context(transport=MemoryTransport())
        self._executor = Executor(self._context)
        self._writer: RecordingWriter | None = None
        self._recorder: Recorder | None = None
        self._ticks = 0
        try:
            self._compose(plan)
        except BaseException:
            self._context.close()
            raise

    def _compose(self, plan: LaunchPlan) -> None:
        context, key = self._context, RunKey.create()
        given = {node.name: dict(node.parameters) for node in plan.nodes}
        simulated = {"use_sim_time": True}
        hal = given["hal"] | {"lockstep": True}
        self.hal = ManifestHALLifecycleNode(key, context=context, parameters=hal)
        kernel = given["safety_kernel"] | {"lockstep": True} | simulated
        self.kernel = SafetyKernelNode(key, context=context, parameters=kernel)
        self.node = Node("supervisor", context=context, parameters=simulated)
        self._add(self.hal, "configure", "activate")
        if self.hal.get_parameter("clock").value != "sim":
            raise RunEnded.fault("lock-step needs a simulator with a clock of its own")
        self._add(self.kernel, "configure", "activate")
        world = given["world"] | simulated
        self.world = WorldNode(key, context=context, parameters=world)
        while not self.world.clock.ready:
            self.hal.tick()
        self._add(self.world, "configure", "activate")
        modes = sorted(str(mode) for mode in self.hal.hal.control_modes)
        runner = given["skill_runner"] | simulated | {"policy": "inline", "control_modes": modes}
        self.runner = SkillRunnerNode(context=context, parameters=runner)
        while not self.runner.clock.ready:  # its subscription to /clock is a new one
            self.hal.tick()
        self._add(self.runner, "configure", "activate")
        self._executor.add_node(self.node)
        # An image without subscribers need not be rendered.
        streams = [stream for stream in streams_of(plan.options.robot) if not stream.is_heavy]
        self.monitor = Monitor(self.node, streams)
        if plan.options.record is not None:
            self._writer = RecordingWriter(plan.options.record)
            self._recorder = Recorder(self.node, self._writer)
            self._recorder.look()
        self._executor.spin_until_idle()

    def _add(self, node: LifecycleNode, *steps: str) -> None:
        self._executor.add_node(node)
        for step in steps:
            if node.trigger(step) is not Outcome.SUCCESS:
                raise RunEnded.fault(f"{node.name} cannot {step}: {node.failure_reason}")
            self._executor.spin_until_idle()

    @property
    def recorded(self) -> int:
        """Number of messages in the recording."""
        return self._writer.count if self._writer is not None else 0

    def tick(self) -> Any:
        """Runs one step; returns the result message of a goal that has ended, else None."""
        self.hal.tick()
        self._executor.spin_until_idle()
        if self.world.mapping is not None:
            self.world.mapping.work()
            self._executor.spin_until_idle()
            self.kernel.inputs.settle()
        result = self.runner.step()
        self._executor.spin_until_idle()
        self._ticks += 1
        if self._recorder is not None and self._ticks % _LOOK_TICKS == 0:
            self._recorder.look()
        return result

    def arm(self) -> None:
        """Ticks until the kernel has received enough to be armed; RunEnded if it never does."""
        for _ in range(_ARM_TICKS):
            self.tick()
            if self.world.mapping is not None and not self.world.mapping.healthy:
                continue  # nothing can be checked before the map is observed
            answer = self._call("std_srvs/srv/Trigger", topics.RESET)
            if answer.success:
                return
        raise RunEnded.fault(f"the kernel does not arm: {answer.message}")

    def reset_scene(self) -> None:
        """Resets the scene for the next episode."""
        answer = self._call("std_srvs/srv/Trigger", RESET_SCENE)
        if not answer.success:
            raise RunEnded.fault(f"the scene cannot be reset: {answer.message}")

    def _call(self, kind: str, service: str) -> Any:
        client = self.node.create_client(kind, service)
        future = client.call_async(client.request_class())
        if not self._executor.spin_until(future, _ANSWER_S):
            raise RunEnded.fault(f"{service} did not answer")
        self.node.destroy_client(client)
        return future.result()

    def close(self) -> None:
        """Releases everything; RecordingError if the recording is not complete."""
        if self._recorder is not None:
            self._recorder.close()
        self.runner.trigger("deactivate")  # its policy may have a process of its own
        self._executor.shutdown()
        self._context.close()
        if self._writer is not None:
            self._writer.close()
