"""Put a robot into a scene and step it.

    python examples/02_make_a_rollout.py

A rollout takes one action per control period: joint positions in the manifest's order, in rad and
m. The same seed and the same actions give the same states and images, bit for bit.
"""

from __future__ import annotations

import numpy as np

from openral import load_robot, load_scene, make_rollout


def main() -> None:
    rollout = make_rollout(load_scene("tabletop_push"), load_robot("franka_panda"))
    try:
        observation = rollout.reset(seed=7)
        print(f"{rollout.robot.name}: {rollout.scene.name}; cameras: {', '.join(rollout.cameras)}")
        for name, pose in observation.objects.items():
            print(f"  {name} at {pose[:3].round(3)} m in the robot's root frame")

        start = rollout.hold_action()
        wave = np.zeros_like(start)
        wave[0] = 0.3  # rad, the first joint
        for step in range(20):  # one second at 20 Hz
            result = rollout.step(start + wave * np.sin(np.pi * step / 20))
        measured = rollout.joint_positions()[0]
        print(f"after {result.info['steps']} steps: joint 1 at {measured:+.3f} rad")

        picture = rollout.image("front", size=(320, 240))  # height x width x 3, uint8
        print(f"front camera: {picture.shape}, mean brightness {picture.mean():.0f}")
    finally:
        rollout.close()


if __name__ == "__main__":
    main()
