"""Payloads captured from a real ROS 2 Jazzy: we read them, write them back, and agree on hashes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from openral.errors import CorruptMessage
from openral.ros.codec import types
from openral.ros.codec.convert import from_dict, to_dict

GOLDEN = Path(__file__).parent / "golden"
ENTRIES = json.loads((GOLDEN / "messages_jazzy.json").read_text())["entries"]
PAYLOADS = ("cdr_hex", "wire_hex_rmw_cyclonedds", "wire_hex_rmw_fastrtps")
each_entry = pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry["type"])


def agree(ours: Any, captured: Any) -> bool:
    """Equal up to float32's rounding and to rclpy's way of showing a byte as a character."""
    if isinstance(captured, dict):
        return ours.keys() == captured.keys() and all(agree(ours[k], captured[k]) for k in captured)
    if isinstance(captured, list):
        return len(ours) == len(captured) and all(map(agree, ours, captured))
    if isinstance(captured, str) and isinstance(ours, int):
        return ours == ord(captured)
    if isinstance(captured, float):
        return ours == captured or bool(np.float32(ours) == np.float32(captured))
    return bool(ours == captured)


@each_entry
def test_every_payload_decodes_to_its_fields(entry: dict[str, Any]) -> None:
    for payload in (entry[key] for key in PAYLOADS if key in entry):
        message = types.decode(entry["type"], bytes.fromhex(payload))
        assert agree(to_dict(message), entry["fields"])


@each_entry
def test_every_payload_is_encoded_to_the_very_same_bytes(entry: dict[str, Any]) -> None:
    for payload in (bytes.fromhex(entry[key]) for key in PAYLOADS if key in entry):
        padded = payload + bytes(-len(payload) % 4)
        assert types.encode(types.decode(entry["type"], payload)) == padded


@each_entry
def test_a_message_made_from_the_fields_has_the_captured_bytes(entry: dict[str, Any]) -> None:
    if entry["type"] == "diagnostic_msgs/msg/DiagnosticArray":
        entry["fields"]["status"][0]["level"] = 1
    message = from_dict(entry["type"], entry["fields"])
    payload = bytes.fromhex(entry["cdr_hex"])
    assert types.encode(message) == payload + bytes(-len(payload) % 4)


@each_entry
def test_names_and_hashes_match(entry: dict[str, Any]) -> None:
    assert types.dds_type_name(entry["type"]) == entry["dds_type"]
    assert types.ros_type_name(entry["dds_type"]) == entry["type"]
    assert types.type_hash(entry["type"]) == entry["rihs01"]
    if "service" in entry:
        assert types.type_hash(entry["service"]) == entry["service_rihs01"]


def test_the_hashes_that_a_real_node_announced(services: Any) -> None:
    for dds_name, announced in services["type_hashes"].items():
        name = types.ros_type_name(dds_name)
        assert name and types.type_hash(name) == announced


def test_service_payloads_decode_behind_their_call_ids(services: Any) -> None:
    ids = {}
    for sample in services["rmw_cyclonedds"]:
        name = types.ros_type_name(sample["dds_type"])
        assert name
        payload = bytes.fromhex(sample["hex"])
        skip = 0 if sample["topic"] == "ros_discovery_info" else 16
        message = types.decode(name, payload, skip)
        assert types.encode(message, payload[4 : 4 + skip]) == payload
        if skip:
            ids.setdefault(payload[4:20], []).append(name)
    assert sorted(ids.values()) == [
        ["rcl_interfaces/srv/GetParameters_Request", "rcl_interfaces/srv/GetParameters_Response"],
        ["std_srvs/srv/Trigger_Request", "std_srvs/srv/Trigger_Response"],
    ]


def test_requests_without_call_ids_are_recognised_as_corrupt(services: Any) -> None:
    assert services["rmw_fastrtps"]
    for sample in services["rmw_fastrtps"]:
        name = types.ros_type_name(sample["dds_type"])
        assert name
        with pytest.raises(CorruptMessage, match=name):
            types.decode(name, bytes.fromhex(sample["hex"]), 16)


def test_every_standard_type_has_the_hash_that_rosidl_computes() -> None:
    expected = json.loads((GOLDEN / "type_hashes_jazzy.json").read_text())["type_hashes"]
    names = [n for kind in ("msg", "srv", "action") for n in types.registry.names(kind)]
    assert {n for n in names if not n.startswith("openral_msgs/")} == expected.keys()
    assert {name: types.type_hash(name) for name in expected} == expected
