"""build_hal: the one place that decides which HAL drives a robot."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Literal

from openral.errors import ConfigError, choices
from openral.hal.protocols import HAL
from openral.hal.sim.attached import SimAttachedHAL
from openral.manifest import RobotDescription, load_scene

ENTRY_POINTS = "openral.hal"
Mode = Literal["sim", "real"]
Factory = Callable[..., HAL]


def hal_names() -> list[str]:
    """Names of the installed HALs."""
    return sorted({entry.name for entry in entry_points(group=ENTRY_POINTS)})


def build_hal(
    description: RobotDescription,
    mode: Mode,
    transport: Mapping[str, Any] | None = None,
    sim_env_yaml: str | Path | None = None,
) -> HAL:
    """Makes the HAL for a robot, not yet connected.

    With a scene it is a SimAttachedHAL in simulation, whatever `hal.sim` says, and an error on
    hardware. `transport`: the HAL's own options; on hardware they override `hal.parameters`.
    """
    if mode not in ("sim", "real"):
        raise ConfigError(f"no mode '{mode}'; {choices(str(mode), ('sim', 'real'), 'modes')}")
    given = dict(transport or {})
    if mode == "sim":
        if sim_env_yaml is None or not str(sim_env_yaml):
            return _make(description, "sim", description.hal.sim, given)
        return _checked(_attached, "a scene", description, {"scene": sim_env_yaml, **given})
    if sim_env_yaml is not None and str(sim_env_yaml):
        raise ConfigError(
            f"mode 'real' does not take a scene: '{sim_env_yaml}' cannot be attached to the "
            f"hardware of '{description.id}'"
        )
    if description.hal.real is None:
        raise ConfigError(
            f"'{description.id}' has no hardware driver: set hal.real in its robot.yaml; "
            f"{choices('', hal_names(), 'installed HALs')}"
        )
    options = {**description.hal.parameters, **given}
    return _make(description, "real", description.hal.real, options)


def _make(robot: RobotDescription, mode: str, name: str, options: Mapping[str, Any]) -> HAL:
    found = [entry for entry in entry_points(group=ENTRY_POINTS) if entry.name == name]
    if not found:
        text = choices(name, hal_names(), "installed HALs")
        raise ConfigError(f"hal.{mode} of '{robot.id}' is '{name}', which is not installed; {text}")
    try:
        factory = found[0].load()
    except ImportError as error:
        raise ConfigError(f"HAL '{name}' cannot be loaded: {error}") from error
    return _checked(factory, f"HAL '{name}'", robot, options)


def _checked(
    factory: Factory, what: str, robot: RobotDescription, options: Mapping[str, Any]
) -> HAL:
    """Calls a factory after checking that it knows every option and gets all it requires."""
    known = {
        name: parameter
        for name, parameter in inspect.signature(factory).parameters.items()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY
    }
    for key in options:
        if key not in known:
            text = choices(key, [name for name in known if name != "scene"], "it takes")
            raise ConfigError(f"{what} of '{robot.id}' does not take '{key}'; {text}")
    for name, parameter in known.items():
        if parameter.default is inspect.Parameter.empty and name not in options:
            raise ConfigError(
                f"{what} of '{robot.id}' needs '{name}': give it as transport or in hal.parameters"
            )
    return factory(robot, **options)


def _attached(
    robot: RobotDescription,
    *,
    scene: str | Path,
    quality: bool = False,
    auto_reset: bool = True,
    hold_window_s: float = 0.2,
) -> SimAttachedHAL:
    from openral.sim.registry import make_rollout

    described = load_scene(scene)
    return SimAttachedHAL(
        robot,
        lambda: make_rollout(described, robot, quality=quality),
        auto_reset=auto_reset,
        hold_window_s=hold_window_s,
    )
