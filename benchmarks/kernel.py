"""The safety kernel's speed, as `openral kernel bench --json` prints it."""

import json

from openral.bench.kernel import kernel_benchmark

if __name__ == "__main__":
    print(json.dumps(kernel_benchmark()))
