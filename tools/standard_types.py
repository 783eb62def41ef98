"""Writes the fields of ROS 2's standard messages to a file that loads at once.

Run it after an update of rosbags, whose own tables take longer to import than a node to start:
    python tools/standard_types.py
"""

from __future__ import annotations

import json
from pathlib import Path

from rosbags.typesys import Stores, get_typestore

TARGET = Path(__file__).parents[1] / "src" / "openral" / "ros" / "interfaces" / "jazzy.json"


def render() -> str:
    """One type a line: its constants and its fields, as rosbags describes them."""
    store = get_typestore(Stores.ROS2_JAZZY).fielddefs
    lines = [f"{json.dumps(name)}: {json.dumps(store[name])}" for name in sorted(store)]
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    TARGET.write_text(render(), encoding="utf-8")
