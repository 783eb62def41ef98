"""Message classes: pleasant to make, hard to misuse, told plainly when misused."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from typing import Any

import numpy as np
import pytest

from openral.errors import ConfigError, InvalidMessage, UnknownType
from openral.ros import action, msg, srv
from openral.ros.codec.convert import from_dict, to_dict
from openral.ros.codec.types import (
    Registry,
    decode,
    encode,
    message_class,
    new,
    type_hash,
    type_name,
)


def test_fields_have_the_defaults_of_ros() -> None:
    transform = msg.TransformStamped()
    assert transform.transform.rotation.w == 1.0
    assert transform.header.stamp.sec == 0 and transform.child_frame_id == ""
    assert msg.JointState().position.size == 0
    assert msg.CameraInfo().k.tolist() == [0.0] * 9
    assert msg.Verdict().row == -1 and msg.SafeAction().speed_factor == 1.0
    assert srv.GetTypeDescription.Request().include_type_sources is True


def test_defaults_are_not_shared() -> None:
    first, second = msg.PoseWithCovariance(), msg.PoseWithCovariance()
    first.covariance[0] = 1
    first.pose.position.x = 1
    assert second.covariance[0] == 0 and second.pose.position.x == 0


def test_lists_and_images_become_flat_arrays() -> None:
    state = msg.JointState(name=("a", "b"), position=[1, 2])
    assert state.name == ["a", "b"] and state.position.dtype == np.float64
    picture = np.zeros((2, 3, 3), np.uint8)
    image = msg.Image(data=picture)
    assert image.data.shape == (18,) and np.shares_memory(image.data, picture)
    assert msg.CompressedImage(data=b"\1\2").data.tolist() == [1, 2]


def test_what_is_assigned_later_is_converted_on_the_wire() -> None:
    state = msg.JointState()
    state.position = np.array([1, 2, 3])  # integers must not become their bit patterns
    state.velocity = np.arange(6.0)[::2]
    received: Any = decode("sensor_msgs/msg/JointState", encode(state))
    assert received.position.tolist() == [1.0, 2.0, 3.0]
    assert received.velocity.tolist() == [0.0, 2.0, 4.0]


def test_constants_and_names_are_on_the_class() -> None:
    assert msg.SafetyState.ESTOPPED == 2 and msg.ActionChunk.COMPOSITE_MODE == 12
    assert type_name(msg.JointState) == type_name(msg.JointState()) == "sensor_msgs/msg/JointState"
    assert msg.JointState.get_fields_and_field_types() == {
        "header": "std_msgs/Header",
        "name": "sequence<string>",
        "position": "sequence<float64>",
        "velocity": "sequence<float64>",
        "effort": "sequence<float64>",
    }
    assert [f.name for f in dataclasses.fields(msg.Header)] == ["stamp", "frame_id"]


def test_short_names_prefer_the_usual_package() -> None:
    assert type_name(msg.GoalStatus) == "action_msgs/msg/GoalStatus"
    assert type_name(msg.KeyValue) == "diagnostic_msgs/msg/KeyValue"
    assert srv.Trigger.name == "std_srvs/srv/Trigger"
    assert action.ExecuteSkill.SendGoal.name == "openral_msgs/action/ExecuteSkill_SendGoal"
    assert "JointState" in dir(msg) and "Trigger" in dir(srv) and "ExecuteSkill" in dir(action)


def test_an_action_has_all_its_wire_types() -> None:
    kind = action.ExecuteSkill
    request = kind.SendGoal.Request(goal=kind.Goal(skill="push"))
    assert request.goal_id.uuid.size == 16
    feedback = kind.FeedbackMessage(feedback=kind.Feedback(progress=0.5))
    received: Any = decode("openral_msgs/action/ExecuteSkill_FeedbackMessage", encode(feedback))
    assert received.feedback.progress == 0.5
    assert kind.GetResult.Response(status=4, result=kind.Result(success=True)).result.success
    assert kind.CancelGoal.name == "action_msgs/srv/CancelGoal"


def test_messages_compare_copy_and_pickle() -> None:
    state = msg.JointState(name=["a"], position=[1.0])
    assert state == msg.JointState(name=["a"], position=[1.0])
    assert state != msg.JointState(name=["a"], position=[2.0])
    assert state != msg.Header()
    for twin in (copy.deepcopy(state), pickle.loads(pickle.dumps(state))):
        assert twin == state and twin is not state


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: msg.JointState(positon=[1]), "no field 'positon'; did you mean 'position'?"),
        (lambda: msg.JointState(name="elbow"), "'elbow' is one text; expected a list"),
        (lambda: msg.UInt8MultiArray(data=[300]), "values 300..300 do not fit 0..255"),
        (lambda: msg.Int32MultiArray(data=[1.5]), "float64 values cannot become int32"),
        (lambda: msg.CameraInfo(k=[1.0, 2.0]), "2 values given; expected exactly 9"),
        (lambda: new("std_msgs/msg/Bool", 1), "takes 1 positional argument"),
    ],
)
def test_wrong_construction_is_explained(make: Any, complaint: str) -> None:
    with pytest.raises((InvalidMessage, TypeError), match=complaint.replace("?", r"\?")):
        make()


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        (
            {"header": msg.Header(stamp=msg.Time(sec=1.5))},
            r"header.stamp.sec is 1.5; must be int32",
        ),
        ({"header": msg.Header(frame_id=7)}, r"header.frame_id is 7; must be string"),
        ({"header": msg.Time()}, r"header is a Time; must be std_msgs/msg/Header"),
        ({"name": ["a", 3]}, r"name\[1\] is 3; must be string"),
        ({"name": ["\ud800"]}, r"name\[0\] is '\\ud800'"),
        (
            {"header": msg.Header(stamp=msg.Time(nanosec=-1))},
            r"header.stamp.nanosec is -1; must be uint32",
        ),
    ],
)
def test_wrong_values_are_named_when_encoded(wrong: Any, complaint: str) -> None:
    with pytest.raises(InvalidMessage, match=f"sensor_msgs/msg/JointState.{complaint}"):
        encode(msg.JointState(**wrong))


def test_assigned_nonsense_is_named_when_encoded() -> None:
    state = msg.JointState()
    state.position = "far"
    with pytest.raises(InvalidMessage, match=r"JointState.position must be sequence<float64>"):
        encode(state)
    with pytest.raises(AttributeError):
        state.positions = [1.0]


def test_unknown_types_name_the_nearest() -> None:
    with pytest.raises(UnknownType, match="did you mean 'sensor_msgs/msg/JointState'"):
        message_class("sensor_msgs/msg/JointSate")
    with pytest.raises(UnknownType, match="sensor_msgs/msg/JointState"):
        message_class("JointState")
    with pytest.raises(AttributeError, match="did you mean 'JointState'"):
        _ = msg.JointSate


def test_plain_data_and_back() -> None:
    state = from_dict("sensor_msgs/msg/JointState", {"name": ["a"], "position": [1]})
    assert to_dict(state)["position"] == [1.0]
    assert from_dict("sensor_msgs/msg/JointState", to_dict(state)) == state
    assert to_dict(msg.Image(data=bytes(100)), most=2)["data"] == [0, 0, "... 100 in all"]
    with pytest.raises(InvalidMessage, match="Time has no field 'secs'; did you mean 'sec'"):
        from_dict("std_msgs/msg/Header", {"stamp": {"secs": 1}})
    with pytest.raises(InvalidMessage, match=r"Header.stamp is 3; must be a mapping"):
        from_dict("std_msgs/msg/Header", {"stamp": 3})


def test_a_user_can_add_types() -> None:
    own = Registry()
    own.add("my_msgs/msg/Pair", "float32 a 1.5\nstring b 'x'\nuint8[2] c [3, 4]\nPart[] parts")
    own.add("my_msgs/msg/Part", "int8 def # a Python keyword")
    pair: Any = own.message_class("my_msgs/msg/Pair")()
    assert (pair.a, pair.b, pair.c.tolist()) == (1.5, "x", [3, 4])
    pair.parts = [own.message_class("my_msgs/msg/Part")(def_=-1)]
    assert own.decode("my_msgs/msg/Pair", own.encode(pair)) == pair
    own.add("my_msgs/srv/Ask", "string question\n---\nstring answer")
    assert own.type_hash("my_msgs/srv/Ask").startswith("RIHS01_")
    with pytest.raises(ConfigError, match="already defined with other fields"):
        own.add("my_msgs/msg/Part", "int16 def")
    with pytest.raises(ConfigError, match="has 1 parts split by '---'; expected 2"):
        own.add("my_msgs/srv/Bad", "string question")
    with pytest.raises(ConfigError, match="my_msgs/msg/Bad"):
        own.add("my_msgs/msg/Bad", "float64 1st")
    with pytest.raises(ConfigError, match="expected package/msg"):
        own.add("Bad", "")


def test_an_empty_message_is_one_byte_on_the_wire() -> None:
    assert encode(msg.Empty()) == b"\0\1\0\0\0\0\0\0"
    assert to_dict(msg.Empty()) == {}
    assert type_hash("std_srvs/srv/Trigger_Request").startswith("RIHS01_d010825374ce")


def test_the_parts_of_a_file_are_known_before_it_is_read() -> None:
    fresh = Registry()
    promised = {name for kind in ("msg", "srv", "action") for name in fresh.names(kind)}
    for name in promised:
        assert fresh.definition(name).name == name
    assert promised == {name for kind in ("msg", "srv", "action") for name in fresh.names(kind)}
    with pytest.raises(UnknownType, match="packages: action_msgs"):
        fresh.definition("qqqq_zzz/msg/Nothing")
