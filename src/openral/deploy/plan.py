"""The plan of a graph: its nodes, their parameters and the order in which they start."""

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
    """Wall time in s without a message after which the node counts as hung."""


@dataclass(frozen=True)
class NodeSpec:
    """One process of the graph."""

    name: str
    """The node's name in the graph and in logs."""
    module: str
    """Run as `python -m MODULE name=value ...`."""
    parameters: Mapping[str, Any]
    gets_key: bool = False
    """Whether it is lent the run key, which signs motions and the data they are checked against."""
    critical: bool = True
    """Whether the graph must end if this node ends."""
    pulse: Pulse | None = None
    """Detects a hung node; None: its state is polled instead."""
    end_s: float = 1.0
    """Time in s that it may take to shut down before it is killed."""

    nice: int = 0
    """Nice value, as far as the system grants it: lower values get more CPU time."""

    @property
    def arguments(self) -> list[str]:
        """The parameters as `name=value` arguments of the node's program."""
        return [f"{name}={_as_yaml(value)}" for name, value in self.parameters.items()]

    @property
    def command(self) -> list[str]:
        """The command that starts this node alone."""
        return [sys.executable, "-m", self.module, *self.arguments]


@dataclass(frozen=True)
class LaunchPlan:
    """Nodes in the order in which they are configured and activated; they shut down together."""

    options: DeployOptions
    nodes: tuple[NodeSpec, ...]

    def node(self, name: str) -> NodeSpec | None:
        """The node of this name; None if the graph has none."""
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
        """The steps after all nodes are active, as text."""
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
    """The value as YAML; a string stays unquoted where YAML reads it as the same string."""
    if isinstance(value, str):
        with suppress(yaml.YAMLError):
            if not value or yaml.safe_load(value) == value:
                return value
    return json.dumps(value)


HUNG_S = 1.0
"""Silence in s after which HAL or kernel is hung; generous, as they watch each other closely."""

SAME_PICTURE_S = 0.5
"""Time in s of identical depth images that means a hung driver: real cameras never repeat one."""


def make_plan(options: DeployOptions) -> LaunchPlan:
    """Checks the options and returns the graph for a run."""
    options.check()
    nodes = [_hal(options), _kernel(options), _world(options), _runner(options)]
    if options.record is not None and not options.lockstep:
        nodes.insert(1, _recorder(options))  # once the clock is known
    # A real HAL may ramp down before it releases its motors; in simulation a busy machine may
    # need the time.
    if options.mode == "real":
        nodes = [replace(node, end_s=5.0) if node.name == "hal" else node for node in nodes]
    elif not options.real_time:
        nodes = [replace(node, end_s=SILENT_S) for node in nodes]
    return LaunchPlan(options, tuple(nodes))


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
        parameters["requires_voxels"] = True  # a robot with depth cameras does not move blindly
    if options.external_map:
        parameters["external_map"] = True
    if options.unknown_blocks:
        parameters["unknown_blocks"] = True
    pulse = Pulse(topics.SAFETY_STATE, "openral_msgs/msg/SafetyState", topics.LATCHED, HUNG_S)
    # It needs little CPU time, but its heartbeat must not wait for image rendering.
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
    # It may need time: on a busy machine, rather wait than lose the end of a recording.
    return NodeSpec("recorder", "openral.deploy.recorder", parameters, critical=False, end_s=5.0)
