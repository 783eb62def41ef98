"""rosbag2's metadata.yaml (version 9, as written by Jazzy) and its encoding of QoS."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import yaml

from openral.ros.qos import QoS

_INFINITE = {"sec": 9223372036, "nsec": 854775807}


@dataclass
class RecordedTopic:
    """One topic of a recording while it is being written."""

    name: str
    type: str
    type_hash: str
    qos: QoS
    channel: int
    count: int = 0


def qos_profile(qos: QoS) -> dict[str, Any]:
    """A publisher's offered QoS in rosbag2's terms."""
    return {
        "history": "keep_last" if qos.depth else "keep_all",
        "depth": qos.depth,
        "reliability": "reliable" if qos.reliable else "best_effort",
        "durability": "transient_local" if qos.latched else "volatile",
        "deadline": dict(_INFINITE),
        "lifespan": dict(_INFINITE),
        "liveliness": "automatic",
        "liveliness_lease_duration": dict(_INFINITE),
        "avoid_ros_namespace_conventions": False,
    }


def qos_yaml(qos: QoS) -> str:
    """The YAML list of one profile, as stored in a channel's metadata."""
    return yaml.safe_dump([qos_profile(qos)], sort_keys=False)


def parse_qos(text: str) -> QoS:
    """The first profile of a channel's metadata; older recordings use numbers for policies."""
    try:
        profile = (yaml.safe_load(text) or [{}])[0]
    except (yaml.YAMLError, LookupError, TypeError):
        profile = {}
    return QoS(
        reliable=profile.get("reliability", "reliable") in ("reliable", 1),
        latched=profile.get("durability") in ("transient_local", 1),
        depth=int(profile.get("depth") or 10),
    )


def metadata_yaml(file_name: str, topics: list[RecordedTopic], first: int, last: int) -> str:
    """The text of metadata.yaml for a recording of one file; `first`, `last`: log times in ns."""
    count = sum(topic.count for topic in topics)
    times = {
        "duration": {"nanoseconds": last - first},
        "starting_time": {"nanoseconds_since_epoch": first},
        "message_count": count,
    }
    described = [
        {
            "topic_metadata": {
                "name": topic.name,
                "type": topic.type,
                "serialization_format": "cdr",
                "offered_qos_profiles": [qos_profile(topic.qos)],
                "type_description_hash": topic.type_hash,
            },
            "message_count": topic.count,
        }
        for topic in topics
    ]
    information = {
        "version": 9,
        "storage_identifier": "mcap",
        **times,
        "topics_with_message_count": described,
        "compression_format": "",
        "compression_mode": "",
        "relative_file_paths": [file_name],
        "files": [{"path": file_name, **times}],
        "custom_data": None,
        "ros_distro": "jazzy",
    }
    document = {"rosbag2_bagfile_information": information}
    text: str = yaml.dump(document, Dumper=_PlainDumper, sort_keys=False)
    return text


class _PlainDumper(yaml.SafeDumper):
    """Repeats equal values instead of aliasing them: rosbag2's reader does not support anchors."""

    def ignore_aliases(self, data: Any) -> bool:
        return True
