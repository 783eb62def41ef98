"""Rigid transforms form a group, survive messages and matrices, and interpolate evenly."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openral.errors import TransformError
from openral.ros import msg
from openral.ros.tf import Rigid, from_message, stamped, to_nanoseconds, to_time
from tests.ros.tf.strategies import close, rigids


@given(rigids, rigids, rigids)
def test_composition_is_that_of_matrices_and_associative(a: Rigid, b: Rigid, c: Rigid) -> None:
    assert np.allclose((a @ b).matrix(), a.matrix() @ b.matrix())
    assert close((a @ b) @ c, a @ (b @ c), 1e-8)


@given(rigids)
def test_the_inverse_undoes(a: Rigid) -> None:
    assert close(a @ a.inverse(), Rigid.identity(), 1e-8)
    points = np.array([[1.0, 2, 3], [-4, 0.5, 6]])
    assert np.allclose(a.inverse().apply(a.apply(points)), points)
    assert np.allclose(a.apply(points[0]), a.apply(points)[0])


@given(rigids)
def test_messages_and_matrices_carry_it_unchanged(a: Rigid) -> None:
    assert close(from_message(a.to_transform()), a)
    assert close(from_message(a.to_pose()), a)
    assert close(Rigid.from_matrix(a.matrix()), a)


@given(rigids, rigids, st.floats(0, 1))
def test_interpolation_moves_evenly_along_the_shortest_way(
    a: Rigid, b: Rigid, fraction: float
) -> None:
    between = a.interpolate(b, fraction)
    assert close(a.interpolate(b, 0), a) and close(a.interpolate(b, 1), b, 1e-7)
    whole = (a.rotation.inv() * b.rotation).magnitude()
    part = (a.rotation.inv() * between.rotation).magnitude()
    assert np.isclose(part, whole * fraction, atol=1e-6)
    expected = a.translation * (1 - fraction) + b.translation * fraction
    assert np.allclose(between.translation, expected)


@given(st.integers(-(2**31) * 10**9, 2**31 * 10**9 - 1))
def test_stamps_are_exact(nanoseconds: int) -> None:
    assert to_nanoseconds(to_time(nanoseconds)) == nanoseconds


def test_a_stamped_transform_names_both_frames() -> None:
    message = stamped("base", "camera", 1_500_000_000, Rigid.identity())
    assert (message.header.frame_id, message.child_frame_id) == ("base", "camera")
    assert (message.header.stamp.sec, message.header.stamp.nanosec) == (1, 500_000_000)
    assert message.transform == msg.Transform()


@pytest.mark.parametrize(
    ("message", "complaint"),
    [
        (msg.Transform(msg.Vector3(float("nan"))), r"translation \[nan, 0.0, 0.0\] is not finite"),
        (msg.Transform(rotation=msg.Quaternion(w=0.0)), "has length 0; expected 1"),
        (msg.Pose(orientation=msg.Quaternion(w=float("nan"))), "has length nan; expected 1"),
    ],
)
def test_numbers_that_are_no_transform_are_refused(message: msg.Pose, complaint: str) -> None:
    with pytest.raises(TransformError, match=complaint):
        from_message(message)


def test_a_matrix_of_another_shape_is_refused() -> None:
    with pytest.raises(TransformError, match=r"shape \(3, 3\)"):
        Rigid.from_matrix(np.eye(3))
