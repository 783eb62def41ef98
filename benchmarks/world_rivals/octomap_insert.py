"""Times OctoMap's insertion of the clouds in a .npz file; prints milliseconds a cloud as JSON."""

import json
import sys
import time

import numpy as np
import octomap


def _milliseconds(clouds, origin, resolution, discretize):
    tree = octomap.OcTree(resolution)
    best = float("inf")
    for cloud in clouds:
        begin = time.perf_counter()
        tree.insertPointCloud(cloud, origin, maxrange=5.0, discretize=discretize)
        best = min(best, time.perf_counter() - begin)
    return best * 1e3


def main():
    data = np.load(sys.argv[1])
    clouds = [np.ascontiguousarray(c, float) for c in data["clouds"]]
    origin = np.ascontiguousarray(data["origin"], float)
    resolution = float(data["resolution"])
    print(
        json.dumps(
            {
                "discretised_ms": _milliseconds(clouds, origin, resolution, True),
                "plain_ms": _milliseconds(clouds[:2], origin, resolution, False),
            }
        )
    )


main()
