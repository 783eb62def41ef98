"""Times Pinocchio + Coal on a scene given as JSON on standard input; prints ns a configuration."""

import json
import sys
import time

import coal
import numpy as np
import pinocchio as pin


def _capsule(p0, p1, radius):
    a, b = np.array(p0), np.array(p1)
    length = float(np.linalg.norm(b - a))
    if length < 1e-9:
        return coal.Sphere(radius), pin.SE3(np.eye(3), a)
    turn = pin.Quaternion.FromTwoVectors(np.array([0.0, 0.0, 1.0]), (b - a) / length)
    return coal.Capsule(radius, length), pin.SE3(turn.matrix(), (a + b) / 2)


def main():
    scene = json.load(sys.stdin)
    model = pin.Model()
    for i, joint in enumerate(scene["joints"]):
        pose = pin.SE3(np.array(joint["pose"]))
        axis = np.array(joint["axis"])
        kind = (
            pin.JointModelRevoluteUnaligned if joint["turns"] else pin.JointModelPrismaticUnaligned
        )
        model.addJoint(joint["parent"], kind(axis), pose, f"j{i}")
    geometry = pin.GeometryModel()
    for i, (joint, p0, p1, radius) in enumerate(scene["capsules"]):
        shape, pose = _capsule(p0, p1, radius)
        geometry.addGeometryObject(pin.GeometryObject(f"c{i}", joint, pose, shape))
    links = len(scene["capsules"])
    for i, thing in enumerate(scene["obstacles"]):
        if "half" in thing:
            shape = coal.Box(*(2 * np.array(thing["half"])))
            pose = pin.SE3(np.eye(3), np.array(thing["at"]))
        else:
            shape, pose = _capsule(thing["p0"], thing["p1"], thing["radius"])
        geometry.addGeometryObject(pin.GeometryObject(f"o{i}", 0, pose, shape))
    for a, b in scene["pairs"]:
        geometry.addCollisionPair(pin.CollisionPair(a, b))
    for i in scene["moving"]:
        for k in range(len(scene["obstacles"])):
            geometry.addCollisionPair(pin.CollisionPair(i, links + k))
    data, gdata = model.createData(), geometry.createData()
    rows = [np.array(q) for q in scene["configurations"]]
    best = float("inf")
    hits = 0
    for _ in range(5):
        begin = time.perf_counter_ns()
        hits = sum(pin.computeCollisions(model, data, geometry, gdata, q, False) for q in rows)
        best = min(best, (time.perf_counter_ns() - begin) / len(rows))
    versions = f"pin {pin.__version__}, coal {coal.__version__}"
    print(json.dumps({"ns": best, "hits": hits, "versions": versions}))


if __name__ == "__main__":
    main()
