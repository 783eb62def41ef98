"""Times OctoMap's insertion of the clouds in a .npz file; prints milliseconds a cloud as JSON.

What the binding itself needs to hand a cloud over, measured with rays of no length, is taken off.
"""

import json
import sys
import time

import numpy as np
import octomap


def _milliseconds(clouds, origin, resolution, reach, discretize):
    tree = octomap.OcTree(resolution)
    best = float("inf")
    for cloud in clouds:
        begin = time.process_time()
        tree.insertPointCloud(cloud, origin, maxrange=reach, discretize=discretize)
        best = min(best, time.process_time() - begin)
    return best * 1e3


def main():
    data = np.load(sys.argv[1])
    clouds = [np.ascontiguousarray(c, float) for c in data["clouds"]]
    origin = np.ascontiguousarray(data["origin"], float)
    resolution = float(data["resolution"])
    calls = _milliseconds(clouds, origin, resolution, 1e-3, False)
    whole = _milliseconds(clouds, origin, resolution, 5.0, True)
    plain = _milliseconds(clouds[:2], origin, resolution, 5.0, False)
    print(
        json.dumps(
            {"discretised_ms": whole - calls, "plain_ms": plain - calls, "binding_ms": calls}
        )
    )


main()
