"""Which nodes make up the graph, with which parameters, and in which order they come up."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import yaml

from openral.deploy.options import DeployOptions
from openral.graph import topics
from openral.graph.deadlines import SILENT_S


@dataclass(frozen=True)
class Pulse:
    """A topic whose silence means that its node hangs."""

    topic: str
    type_name: str
    qos: Any
    longest_s: float
    """Real seconds without a message after which the node counts as hung."""


@dataclass(frozen=True)
class NodeSpec:
    """One process of the graph."""

    name: str
    """The node's name in the graph and in logs."""
    module: str
    """Run as `python -m MODULE name=value ...`."""
    parameters: Mapping[str, Any]
    gets_key: bool = False
    """Whether it is lent the key that signs what may move the robot and what that rests on."""
    critical: bool = True
    """Whether the graph must end if it does."""
    pulse: Pulse | None = None
    """How a hung one shows; None: it is asked for its state now and then."""
    end_s: float = 1.0
    """How long it may take to end in order."""

    nice: int = 0
    """Its claim on the processors, as far as the system grants it: the lower, the stronger."""

    @property
    def arguments(self) -> list[str]:
        """The parameters as the node's program takes them."""
        return [f"{name}={_as_yaml(value)}" for name, value in self.parameters.items()]

    @property
    def command(self) -> list[str]:
        """What a person would type to start it alone."""
        return [sys.executable, "-m", self.module, *self.arguments]


@dataclass(frozen=True)
class Plan:
    """Nodes in the order in which they are configured and activated; they end together."""

    options: DeployOptions
    nodes: tuple[NodeSpec, ...]

    def node(self, name: str) -> NodeSpec | None:
        """The node of that name, if the graph has it."""
        return next((node for node in self.nodes if node.name == name), None)

    def as_dict(self) -> dict[str, Any]:
        """For `--dry-run --json`."""
        options = self.options
        return {
            "robot": options.robot.id,
            "scene": options.scene_ref or None,
            "mode": options.mode,
            "lockstep": options.lockstep,
            "nodes": [
                {
                    "name": node.name,
                    "module": node.module,
                    "parameters": dict(node.parameters),
                    "gets_key": node.gets_key,
                    "critical": node.critical,
                    "pulse": node.pulse.topic if node.pulse else None,
                }
                for node in self.nodes
            ],
            "then": self.steps(),
        }

    def steps(self) -> list[str]:
        """What happens once all nodes are active, in words."""
        options = self.options
        steps = [f"arm: call {topics.RESET}"]
        if options.skill:
            times = f" {options.episodes} times" if options.episodes > 1 else ""
            steps.append(f"run skill '{options.skill}'{times}")
        if options.duration_s:
            steps.append(f"end after {options.duration_s:g} s")
        else:
            steps.append("end with the skill" if options.skill else "end with Ctrl-C")
        return steps

    def as_text(self) -> str:
        """For `--dry-run`."""
        lines = []
        for number, node in enumerate(self.nodes, 1):
            words = ["key" if node.gets_key else "", "" if node.critical else "may fail"]
            notes = ", ".join(word for word in words if word)
            lines.append(f"{number}. {node.name}" + (f" ({notes})" if notes else ""))
            lines.append(f"   python -m {node.module} {shlex.join(node.arguments)}")
        lines += [
            f"{number}. {step}" for number, step in enumerate(self.steps(), len(self.nodes) + 1)
        ]
        return "\n".join(lines)


def _as_yaml(value: Any) -> str:
    """A text stays as it is where YAML reads it as that text."""
    if isinstance(value, str):
        with suppress(yaml.YAMLError):
            if not value or yaml.safe_load(value) == value:
                return value
    return json.dumps(value)


HUNG_S = 1.0
"""Silence is judged generously: HAL and kernel watch each other much more closely."""

SAME_PICTURE_S = 0.5
"""A real depth camera never measures the very same twice: its driver hangs."""


def make_plan(options: DeployOptions) -> Plan:
    """The graph for a run."""
    options.check()
    nodes = [_hal(options), _kernel(options), _world(options), _runner(options)]
    if options.record is not None and not options.lockstep:
        nodes.insert(1, _recorder(options))  # once the clock is known
    # A real HAL may take a ramp to let its motors go; elsewhere a busy machine may need the time.
    if options.mode == "real":
        nodes = [replace(node, end_s=5.0) if node.name == "hal" else node for node in nodes]
    elif not options.real_time:
        nodes = [replace(node, end_s=SILENT_S) for node in nodes]
    return Plan(options, tuple(nodes))


def _hal(options: DeployOptions) -> NodeSpec:
    parameters: dict[str, Any] = {"robot_yaml": options.robot_name, "hal_mode": options.mode}
    if options.mode == "sim":
        parameters |= {"sim_env_yaml": options.scene_ref, "rtf": options.rtf}
        if options.seed is not None:
            parameters["seed"] = options.seed
        chosen = ("wall_clock", "view", "real_time")
        parameters |= {name: True for name in chosen if getattr(options, name)}
    if options.transport_text:
        parameters["transport"] = options.transport_text
    pulse = Pulse(topics.HAL_STATE, "openral_msgs/msg/HalState", topics.SENSOR, HUNG_S)
    return NodeSpec("hal", "openral.hal", parameters, gets_key=True, pulse=pulse, nice=-5)


def _kernel(options: DeployOptions) -> NodeSpec:
    parameters: dict[str, Any] = {"robot_yaml": options.robot_name, "hal_mode": options.mode}
    if options.warn_only:
        parameters["warn_only"] = True
    if options.real_time:
        parameters["real_time"] = True
    if options.maps or options.external_map:
        parameters["requires_voxels"] = True  # a robot that can see does not move blindly
    if options.external_map:
        parameters["external_map"] = True
    if options.unknown_blocks:
        parameters["unknown_blocks"] = True
    pulse = Pulse(topics.SAFETY_STATE, "openral_msgs/msg/SafetyState", topics.LATCHED, HUNG_S)
    # It needs little, but its heartbeat must not wait for pictures to be drawn.
    return NodeSpec(
        "safety_kernel", "openral.safety", parameters, gets_key=True, pulse=pulse, nice=-10
    )


def _world(options: DeployOptions) -> NodeSpec:
    parameters: dict[str, Any] = {"robot_yaml": options.robot_name}
    if options.external_map:
        parameters["mapper"] = False
    if options.mode == "real" and options.maps:
        parameters["same_picture_s"] = SAME_PICTURE_S
    return NodeSpec("world", "openral.world", parameters, gets_key=True)


def _runner(options: DeployOptions) -> NodeSpec:
    parameters: dict[str, Any] = {"robot_yaml": options.robot_name}
    parameters["sim_env_yaml"] = options.scene_ref
    if options.real_time:
        parameters["real_time"] = True
    return NodeSpec("skill_runner", "openral.skill", parameters)


def _recorder(options: DeployOptions) -> NodeSpec:
    parameters = {"folder": str(options.record)}
    # It takes a moment; on a busy machine, rather wait than lose the end of a recording.
    return NodeSpec("recorder", "openral.deploy.recorder", parameters, critical=False, end_s=5.0)
