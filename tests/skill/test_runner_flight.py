"""Where a chunk is, when the next one may follow, and how a motion is ended half-way."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openral.manifest import ControlMode, load_robot
from openral.ros.clock import NS
from openral.ros.codec import types
from openral.ros.stamps import time_message
from openral.skill.library import describe
from openral.skill.runner.chunk_maker import ChunkMaker
from openral.skill.runner.preemption import braking_rows, can_preempt
from openral.skill.runner.proposed_chunk import ProposedChunk
from openral.skill.spaces.action_space import SlotRows
from openral.skill.spaces.slot_columns import slot_columns

ROBOT = load_robot("ur5e")
HOME = np.array(ROBOT.home_position)
COLUMNS = slot_columns(describe("home", ROBOT, 20.0).action.slots[0], ROBOT)
SPEED = np.array([joint.limits.velocity for joint in ROBOT.driven if joint.limits])
T0 = 10 * NS


def rows(path: Any, mode: ControlMode = ControlMode.JOINT_POSITION) -> list[SlotRows]:
    return [SlotRows(COLUMNS, mode, np.asarray(path, float))]


def flight(path: Any, dt: float = 0.05, factor: float = 1.0) -> ProposedChunk:
    made = ProposedChunk(b"x" * 16, 1, rows(path), dt, HOME, T0)
    verdict = types.new(
        "openral_msgs/msg/Verdict",
        header=header(T0),
        trace_id=np.frombuffer(b"x" * 16, np.uint8),
        status=0 if factor == 1.0 else 1,
        speed_factor=factor,
    )
    made.on_verdict(verdict)
    return made


def header(ns: int) -> Any:
    return types.new("std_msgs/msg/Header", stamp=time_message(ns))


def applied(row: int, ns: int, trace: bytes = b"x" * 16) -> Any:
    return types.new(
        "openral_msgs/msg/AppliedAction",
        header=header(ns),
        trace_id=np.frombuffer(trace, np.uint8),
        sequence=7,
        row=row,
    )


@given(
    late=st.floats(0, 0.04),
    reports=st.lists(st.tuples(st.integers(0, 9), st.floats(0, 1)), min_size=1, max_size=8),
    factor=st.sampled_from([1.0, 0.5]),
)
@settings(max_examples=60, deadline=None)
def test_what_the_hal_tells_bounds_when_a_chunk_ends(
    late: float, reports: list[tuple[int, float]], factor: float
) -> None:
    made = flight(np.tile(HOME, (10, 1)), factor=factor)
    row_s = 0.05 / factor
    begun = T0 + late * NS
    for row, share in sorted(reports):
        made.on_applied(applied(row, round(begun + (row + share) * row_s * NS)))
    true_end = begun + 10 * row_s * NS
    assert abs(made.end_ns - true_end) <= row_s * NS + 10
    assert not made.over(round(T0 + 0.3 * NS))
    assert made.over(round(true_end + row_s * NS) + 10)


def test_only_its_own_chunk_counts() -> None:
    made = flight(np.tile(HOME, (10, 1)))
    made.on_applied(applied(5, T0, trace=b"y" * 16))
    assert made.rows_applied == 0
    state = types.new("openral_msgs/msg/HalState", state=0, reason="expired", sequence=7)
    made.on_hal_state(state)
    assert not made.interrupted  # its number is not known yet
    made.on_applied(applied(0, T0))
    made.on_hal_state(state)
    assert made.interrupted == "expired"
    assert made.over(T0)


@given(seed=st.integers(0, 2**32 - 1), at=st.floats(0, 0.6))
@settings(max_examples=60, deadline=None)
def test_braking_stays_on_the_path_and_comes_to_rest(seed: int, at: float) -> None:
    rng = np.random.default_rng(seed)
    steps = rng.uniform(-0.02, 0.02, (12, HOME.size))
    path = HOME + np.cumsum(steps, axis=0)
    made = flight(path)
    (part,), dt = braking_rows(made, ROBOT, HOME, T0 + round(at * NS))
    whole = np.vstack([HOME, path])
    for row in part.data:
        gaps = [_to_segment(row, a, b) for a, b in itertools.pairwise(whole)]
        assert min(gaps) < 1e-9
    ways = np.abs(np.diff(part.data, axis=0)).sum(axis=1)
    fastest = np.abs(steps).sum(axis=1).max() / 0.05 * dt
    assert ways[-1] <= 0.25 * fastest + 1e-9  # slow at the end
    assert ways.max(initial=0.0) <= fastest + 1e-9


def _to_segment(point: Any, a: Any, b: Any) -> float:
    along = b - a
    share = np.clip((point - a) @ along / max(along @ along, 1e-18), 0, 1)
    return float(np.abs(a + share * along - point).max())


def test_a_motion_without_places_is_ended_by_staying() -> None:
    made = flight(np.zeros((4, HOME.size)))
    made.slots = rows(np.full((4, HOME.size), 0.1), ControlMode.JOINT_VELOCITY)
    (part,), _ = braking_rows(made, ROBOT, HOME + 0.2, T0)
    assert part.mode is ControlMode.JOINT_POSITION
    assert np.array_equal(part.data, HOME[None] + 0.2)


@pytest.mark.parametrize(("share", "early"), [(0.5, True), (0.85, False), (1.0, False)])
def test_a_fast_motion_waits_for_the_end_of_the_last_chunk(share: float, early: bool) -> None:
    step = share * SPEED * 0.05
    path = HOME + np.arange(1, 6)[:, None] * step
    made = flight(path)
    following = rows(path[-1] + np.arange(1, 6)[:, None] * step)
    just_before = round(made.end_ns - 0.02 * NS)
    assert can_preempt(made, following, ROBOT, just_before) is early
    slow = rows(np.tile(path[-1], (3, 1)))
    assert can_preempt(made, slow, ROBOT, just_before)


def test_a_seed_makes_trace_ids_that_come_again() -> None:
    ids = []
    for seed in ("a", "a", "b", None, None):
        maker = ChunkMaker(seed)
        ids.append([])
        for _ in range(3):
            trace = maker.trace_id()
            chunk = maker.chunk(rows([HOME]), 0.05, trace, T0)
            assert bytes(chunk.trace_id) == trace
            ids[-1].append(trace)
        assert len(set(ids[-1])) == 3
    assert ids[0] == ids[1]
    assert len({tuple(made) for made in ids}) == 4
