"""The kernel beside MuJoCo and Pinocchio + Coal: kinematics, self pairs and 20 obstacles.

All get the same capsules, pairs, obstacles, margins and configurations, and answer for each
configuration by itself whether it is clear. Two sets: the rows of smooth motions near home, as
chunks bring them, and joint values drawn from the whole range. Rounds of the kernel and of MuJoCo
(from C) take turns; each counts with its best.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from shared.peers import peers_python

from openral.bench.kernel import configuration_ns, kernel_benchmark
from openral.bench.robot import bench_robot
from openral.bench.work import motion, obstacles
from openral.manifest.collision import collision_pairs
from openral.manifest.kinematics import joints_from_root, matrix
from openral.safety import Box, Kernel, Sphere
from openral.safety.robot_model import grasping_links

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
from tests.safety.oracle import Oracle  # noqa: E402

TURNS = 5
_NOW = 1_000_000_000


def _mujoco_model(robot: Any, things: list[Any]) -> Any:
    """The same pairs with the same margins."""
    spec = mujoco.MjSpec.from_string(_mjcf(robot, things))
    for geom in spec.geoms:
        outside = geom.parent.name == "world"
        geom.contype, geom.conaffinity = (1, 0) if outside else (0, 1)
        geom.margin = robot.safety.margin_m if outside else 0.0  # the question the kernel answers
    for geom in spec.body("planar").geoms:  # what cannot move cannot hit
        geom.conaffinity = 0
    for a, b in _pairs(robot):
        spec.add_pair(geomname1=a, geomname2=b, margin=robot.safety.self_margin_m)
    return spec.compile()


def _build_mujoco_check() -> Path:
    package = Path(mujoco.__file__).parent
    library = next(package.glob("libmujoco.so*"))
    program = ROOT / "build" / "mujoco_check"
    program.parent.mkdir(exist_ok=True)
    source = ROOT / "benchmarks" / "kernel_rivals" / "mujoco_check.c"
    subprocess.run(
        ["cc", "-O3", "-o", program, source, "-I", package / "include", library,
         f"-Wl,-rpath,{package}"],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    return program


def _beside_mujoco(robot: Any, things: list[Any], rows: Any) -> dict[str, Any]:
    """One set of configurations: times, and whether the answers agree."""
    kernel = Kernel(robot)
    kernel.set_world(things, _NOW)
    scalar = Kernel(robot, scalar_only=True)
    scalar.set_world(things, _NOW)
    model = _mujoco_model(robot, things)
    program = _build_mujoco_check()
    ours = plain = theirs = float("inf")
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        mujoco.mj_saveModel(model, f"{folder}/model.mjb")
        rows.tofile(f"{folder}/rows")
        command = [program, f"{folder}/model.mjb", f"{folder}/rows", str(len(rows)), "10"]
        for _ in range(TURNS):
            ours = min(ours, configuration_ns(kernel, rows))
            plain = min(plain, configuration_ns(scalar, rows))
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            found = json.loads(done.stdout)
            theirs = min(theirs, found["ns"])
    clear = kernel.clear(rows)
    free = np.array([c == "0" for c in found["touches"]])
    return {
        "configurations": len(rows),
        "clear": round(float(clear.mean()), 4),
        "clear_says_mujoco": round(float(free.mean()), 4),
        "clear_though_mujoco_finds_contact": int((clear & ~free).sum()),
        "ns": {"openral": round(ours, 1), "openral_scalar": round(plain, 1),
               "mujoco": round(theirs, 1)},
        "times_faster_than_mujoco": round(theirs / ours, 1),
        "mujoco": found["version"],
    }  # fmt: skip


def _mjcf(robot: Any, things: list[Any]) -> str:
    path = ROOT / "build" / "peers.xml"
    path.parent.mkdir(exist_ok=True)
    mujoco.mj_saveLastXML(str(path), Oracle(robot, things).model)
    return path.read_text()


def _pairs(robot: Any) -> list[tuple[str, str]]:
    skipped = grasping_links(robot)
    names = {
        link.name: [f"{link.name}.{i}" for i in range(len(link.capsules))]
        for link in robot.links
        if link.name not in skipped
    }
    return [
        (a, b)
        for one, two in collision_pairs(robot)
        for a in names.get(one, [])
        for b in names.get(two, [])
    ]


def _scene(robot: Any, things: list[Any], rows: Any) -> dict[str, Any]:
    """Moving joints, capsules in their frames, obstacles and configurations, as plain numbers."""
    at: dict[str, tuple[int, Any]] = {robot.root: (0, np.eye(4))}
    joints: list[dict[str, Any]] = []
    for joint in joints_from_root(robot):
        parent, pose = at[joint.parent]
        here = pose @ matrix(joint.origin.xyz, joint.origin.rpy)
        if joint.moves:
            axis = np.array(joint.axis) / np.linalg.norm(joint.axis)
            joints.append(
                {"parent": parent, "pose": here.tolist(), "axis": axis.tolist(),
                 "turns": not joint.linear}
            )  # fmt: skip
            at[joint.child] = (len(joints), np.eye(4))
        else:
            at[joint.child] = (parent, here)
    capsules, index = [], {}
    for link in robot.links:
        if link.name in grasping_links(robot):
            continue
        frame, pose = at[link.name]
        for i, c in enumerate(link.capsules):
            index[f"{link.name}.{i}"] = len(capsules)
            ends = [(pose @ [*p, 1])[:3].tolist() for p in (c.p0, c.p1)]
            capsules.append((frame, *ends, c.radius))
    return {
        "joints": joints,
        "capsules": capsules,
        "obstacles": [_plain(t) for t in things],
        "pairs": [(index[a], index[b]) for a, b in _pairs(robot)],
        "moving": [i for i, c in enumerate(capsules) if c[0] > 0],
        "configurations": rows.tolist(),
    }


def _plain(thing: Any) -> dict[str, Any]:
    if isinstance(thing, Box):
        return {"at": thing.centre, "half": thing.half}
    if isinstance(thing, Sphere):
        return {"p0": thing.centre, "p1": thing.centre, "radius": thing.radius}
    return {"p0": thing.p0, "p1": thing.p1, "radius": thing.radius}


def _pinocchio(scene: dict[str, Any]) -> dict[str, Any]:
    try:
        python = peers_python()
        program = ROOT / "benchmarks" / "kernel_rivals" / "pinocchio_coal.py"
        done = subprocess.run(
            [python, program], input=json.dumps(scene), check=True, capture_output=True, text=True
        )
    except subprocess.CalledProcessError as error:
        return {"skipped": f"Pinocchio and Coal: {error.stderr.strip().splitlines()[-1:]}"}
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def peers_benchmark(seed: int = 1) -> dict[str, Any]:
    """All of them in one run on one thread."""
    rng = np.random.default_rng(seed)
    robot = bench_robot()
    things = obstacles(rng, 0.2)
    rows = np.concatenate([motion(rng, 50).rows for _ in range(40)])
    limits = np.array([joint.limits.position for joint in robot.driven])
    anywhere = rng.uniform(limits[:, 0], limits[:, 1], (2000, len(limits)))
    near_home = _beside_mujoco(robot, things, rows)
    out = {
        "benchmark": "kernel_peers",
        "vectorised": Kernel(robot).vectorised,
        "times_faster_than": {"mujoco": near_home["times_faster_than_mujoco"]},
        "motions_near_home": near_home,
        "whole_range": _beside_mujoco(robot, things, anywhere),
    }
    other = _pinocchio(_scene(robot, things, rows))
    if "ns" in other:
        ours = near_home["ns"]["openral"]
        out["times_faster_than"]["pinocchio_coal"] = round(other["ns"] / ours, 1)
    out["pinocchio_coal"] = other
    out["table"] = kernel_benchmark(seed=seed)
    return out


if __name__ == "__main__":
    print(json.dumps(peers_benchmark()))
