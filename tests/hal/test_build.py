"""build_hal decides the HAL in one place."""

from __future__ import annotations

from importlib.metadata import entry_points

import pytest

from openral.errors import ConfigError
from openral.hal.build import build_hal, hal_names
from openral.hal.protocols import HAL, IdleSteppable, Steppable
from openral.hal.sim.attached import SimAttachedHAL
from openral.hal.sim.mujoco_hal import MujocoHAL
from openral.manifest import RobotDescription, load_robot, load_scene, shipped_robots


def with_hal(robot: str = "ur5e", **fields: object) -> RobotDescription:
    described = load_robot(robot)
    return described.model_copy(update={"hal": described.hal.model_copy(update=fields)})


def test_simulation_without_a_scene_is_the_bare_twin() -> None:
    hal = build_hal(load_robot("ur5e"), "sim")
    assert type(hal) is MujocoHAL


def test_simulation_with_a_scene_attaches_it_and_bypasses_hal_sim() -> None:
    hal = build_hal(with_hal(sim="not_installed"), "sim", sim_env_yaml="bare")
    assert type(hal) is SimAttachedHAL
    hal.connect()
    assert hal.rollout.scene == load_scene("bare")
    hal.close()


def test_a_scene_on_hardware_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"mode 'real' does not take a scene: 'bare'.*'ur5e'"):
        build_hal(load_robot("ur5e"), "real", sim_env_yaml="bare")


def test_an_unknown_scene_and_an_unknown_mode_name_the_choices() -> None:
    with pytest.raises(ConfigError, match=r"no scene 'bear'; did you mean 'bare'"):
        build_hal(load_robot("ur5e"), "sim", sim_env_yaml="bear")
    with pytest.raises(ConfigError, match=r"no mode 'simulated'.*modes: sim, real"):
        build_hal(load_robot("ur5e"), "simulated")  # type: ignore[arg-type]


def test_an_unknown_hal_names_the_installed_ones() -> None:
    with pytest.raises(ConfigError, match=r"hal.sim of 'ur5e' is 'mujoko'.*'mujoco'\? installed"):
        build_hal(with_hal(sim="mujoko"), "sim")


def test_a_robot_without_a_driver_says_what_to_set() -> None:
    with pytest.raises(ConfigError, match=r"'g1' has no hardware driver: set hal.real"):
        build_hal(load_robot("g1"), "real")


def test_keys_that_a_hal_does_not_accept_are_refused_by_name() -> None:
    with pytest.raises(
        ConfigError, match=r"HAL 'mujoco' of 'ur5e' does not take 'port'; .*quality"
    ):
        build_hal(load_robot("ur5e"), "sim", {"port": "/dev/ttyUSB0"})
    with pytest.raises(ConfigError, match=r"a scene of 'ur5e' does not take 'port'; .*auto_reset"):
        build_hal(load_robot("ur5e"), "sim", {"port": "x"}, sim_env_yaml="bare")
    wrong = with_hal(real="ros2_control", parameters={"rate": 50})
    with pytest.raises(ConfigError, match=r"does not take 'rate'; did you mean 'rate_hz'"):
        build_hal(wrong, "real")


def test_every_installed_hal_loads_and_every_robot_names_an_installed_twin() -> None:
    for entry in entry_points(group="openral.hal"):
        assert callable(entry.load())
    for name in shipped_robots():
        assert load_robot(name).hal.sim in hal_names()


def test_a_real_hal_has_no_idle_stepping_by_type() -> None:
    hal = build_hal(load_robot("ur5e"), "real")
    assert isinstance(hal, HAL)
    assert not isinstance(hal, IdleSteppable | Steppable)
    assert not hasattr(hal, "idle_step")
    assert isinstance(build_hal(load_robot("ur5e"), "sim"), IdleSteppable)


def test_hal_parameters_are_defaults_under_an_explicit_transport() -> None:
    robot = with_hal(parameters={"rate_hz": 40.0, "namespace": "/left"})
    assert build_hal(robot, "real").rate_hz == 40.0  # type: ignore[attr-defined]
    hal = build_hal(robot, "real", {"rate_hz": 80.0})
    assert hal.rate_hz == 80.0  # type: ignore[attr-defined]
    assert hal.driver.namespace == "/left"  # type: ignore[attr-defined]
