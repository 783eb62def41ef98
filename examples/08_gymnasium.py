"""Use a scene as a gymnasium environment.

    pip install 'openral[gym]'
    python examples/08_gymnasium.py

Actions are joint positions; observations are joint state, object poses and, on request, images.
"""

from __future__ import annotations

from openral import GymEnv, load_robot, load_scene, make_rollout


def main(steps: int = 50) -> None:
    rollout = make_rollout(load_scene("tabletop_push"), load_robot("ur5e"))
    env = GymEnv(rollout, camera="front")
    observation, _ = env.reset(seed=1)
    print("actions:", env.action_space.shape)
    for name, value in observation.items():
        print(f"  {name}: {value.shape}")

    total = 0.0
    for _ in range(steps):
        action = rollout.hold_action()  # a policy would answer here
        observation, reward, terminated, truncated, info = env.step(action)
        total += reward
        if terminated or truncated:
            break
    print(f"{info['steps']} steps, return {total:.2f}, success {info['success']}")
    print("image:", rollout.image("front").shape)
    env.close()


if __name__ == "__main__":
    main()
