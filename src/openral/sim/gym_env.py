"""GymEnv: any rollout as a gymnasium environment."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from openral.sim.rollout import Image, Observation, SimRollout

_POSE = 7
_UNBOUNDED = 1e6


class GymEnv(gymnasium.Env[dict[str, Any], Any]):
    """Takes joint positions as actions; observations are a dict of joint state, objects and images.

    Needs the extra `gym`: pip install 'openral[gym]'.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 20}  # noqa: RUF012

    def __init__(
        self, rollout: SimRollout, camera: str | None = None, render_mode: str = "rgb_array"
    ) -> None:
        self.rollout = rollout
        self.render_mode = render_mode
        self._camera = camera or next(iter(rollout.cameras), None)
        self.metadata = {**self.metadata, "render_fps": round(rollout.scene.control_rate_hz)}
        low, high = np.array([joint.position_range for joint in rollout.robot.driven]).T
        low, high = np.maximum(low, -_UNBOUNDED), np.minimum(high, _UNBOUNDED)
        self.action_space = spaces.Box(low.astype(np.float32), high.astype(np.float32))
        first = rollout.reset(0)
        joints = len(first.joint_positions)
        self.observation_space = spaces.Dict(
            {
                "joint_positions": _numbers(joints),
                "joint_velocities": _numbers(joints),
                **{f"objects.{name}": _numbers(_POSE) for name in first.objects},
                **{
                    f"images.{key}": spaces.Box(0, 255, picture.shape, np.uint8)
                    for key, picture in first.images.items()
                },
            }
        )

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Starts the episode of a seed, or of one drawn from the environment's own generator."""
        super().reset(seed=seed)
        episode = seed if seed is not None else int(self.np_random.integers(2**31))
        return _flat(self.rollout.reset(episode)), {"seed": episode}

    def step(self, action: Any) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """Advances one control period under an action (action_dim,)."""
        result = self.rollout.step(action)
        observation = _flat(result.observation)
        return observation, result.reward, result.terminated, result.truncated, result.info

    def render(self) -> Image | None:
        """An image from the chosen camera, uint8 (height, width, 3); None without a camera."""
        return None if self._camera is None else self.rollout.image(self._camera)

    def close(self) -> None:
        """Closes the rollout."""
        self.rollout.close()


def _numbers(count: int) -> spaces.Box:
    return spaces.Box(-np.inf, np.inf, (count,), np.float64)


def _flat(observation: Observation) -> dict[str, Any]:
    return {
        "joint_positions": observation.joint_positions,
        "joint_velocities": observation.joint_velocities,
        **{f"objects.{name}": pose for name, pose in observation.objects.items()},
        **{f"images.{key}": picture for key, picture in observation.images.items()},
    }
