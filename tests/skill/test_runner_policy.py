"""A policy in a process of its own: nothing that it does can hold up or harm its runner."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from openral.errors import CapabilityMismatch, ConfigError, PolicyFailed
from openral.manifest import load_robot
from openral.sim.rollout import Observation
from openral.skill.policy.host import Answer, InlinePolicy, Loaded, PolicyOrder
from openral.skill.policy.process import PolicyProcess
from openral.skill.skill import SkillContext
from tests.deploy.small_graph import family
from tests.ros.conftest import wait_until

ROBOT = load_robot("so101_follower")
CONTEXT = SkillContext(ROBOT, 20.0, len(ROBOT.driven))
SEEN = Observation(np.array(ROBOT.home_position), np.zeros(len(ROBOT.driven)))


@pytest.fixture
def policy(plugins: None) -> Iterator[PolicyProcess]:
    made = PolicyProcess()
    yield made
    made.close()


def load(policy: PolicyProcess, name: str, **parameters: Any) -> Loaded:
    policy.begin(PolicyOrder(name, CONTEXT, parameters), 60.0)
    reply = wait_until(policy.poll, 60.0)
    assert isinstance(reply, Loaded)
    policy.reset(1)
    return reply


def ask(policy: PolicyProcess, timeout_s: float = 30.0) -> Answer:
    policy.ask(SEEN, timeout_s)
    reply = wait_until(policy.poll, 60.0)
    assert isinstance(reply, Answer)
    return reply


def test_it_answers_as_the_same_skill_does_inline(policy: PolicyProcess) -> None:
    load(policy, "random")
    inline = InlinePolicy()
    inline.begin(PolicyOrder("random", CONTEXT), 1.0)
    assert inline.poll() == Loaded(())
    inline.reset(1)
    for _ in range(3):
        inline.ask(SEEN, 1.0)
        here = inline.poll()
        assert isinstance(here, Answer)
        assert np.array_equal(ask(policy).rows, here.rows)
    assert inline.poll() is None


def test_a_policy_that_raises_says_what(policy: PolicyProcess) -> None:
    load(policy, "raises", after=1)
    ask(policy)
    with pytest.raises(PolicyFailed, match="out of ideas"):
        ask(policy)


def test_a_policy_that_hangs_is_ended(policy: PolicyProcess) -> None:
    load(policy, "hangs")
    process = policy._process
    assert process is not None
    with pytest.raises(PolicyFailed, match=r"no answer within 0\.3 s"):
        ask(policy, 0.3)
    assert process.returncode == -signal.SIGKILL
    with pytest.raises(PolicyFailed, match="was ended"):
        policy.poll()


def test_a_policy_that_is_stopped_and_reads_nothing_delays_nobody(policy: PolicyProcess) -> None:
    load(policy, "wave")
    assert policy._process is not None
    for pid in family(policy._process.pid):
        os.kill(pid, signal.SIGSTOP)
    heavy = SEEN._replace(images={"front": np.zeros((2000, 2000, 3), np.uint8)})
    began = time.monotonic()
    policy.ask(heavy, 0.5)
    assert policy.poll() is None
    assert time.monotonic() - began < 0.4
    with pytest.raises(PolicyFailed, match="no answer within"):
        wait_until(policy.poll)


def test_a_policy_that_dies_is_noticed(policy: PolicyProcess) -> None:
    load(policy, "dies")
    with pytest.raises(PolicyFailed, match="died with exit code 7"):
        ask(policy)


def test_a_policy_that_rests_is_kept_for_the_same_order_only(policy: PolicyProcess) -> None:
    load(policy, "wave", after=9)
    first = policy._process
    assert first is not None
    ask(policy)
    policy.rest()
    load(policy, "wave", after=9)
    assert policy._process is first
    ask(policy)
    policy.rest()
    load(policy, "wave", after=8)
    assert policy._process is not first
    assert first.returncode is not None


@pytest.mark.parametrize("way", ["in the middle of a thought", "after a failure", "killed"])
def test_a_policy_that_is_not_as_it_was_is_not_kept(policy: PolicyProcess, way: str) -> None:
    load(policy, "slow" if way == "in the middle of a thought" else "raises")
    first = policy._process
    assert first is not None
    if way == "in the middle of a thought":
        policy.ask(SEEN, 30.0)
    elif way == "after a failure":
        with pytest.raises(PolicyFailed):
            ask(policy)
    policy.rest()
    if way == "killed":
        first.kill()
        first.wait()
    assert first.returncode is not None
    load(policy, "raises", after=1)
    ask(policy)


def test_what_cannot_be_loaded_says_why(policy: PolicyProcess) -> None:
    policy.begin(PolicyOrder("broken", CONTEXT), 60.0)
    with pytest.raises(PolicyFailed, match="no torch"):
        wait_until(policy.poll, 60.0)


@pytest.mark.parametrize(
    ("name", "parameters", "error", "words"),
    [
        ("random", {"sped": 1}, ConfigError, "parameter 'sped' of skill 'random'"),
        ("scripted-push", {}, CapabilityMismatch, "needs an object 'cube'"),
    ],
)
def test_what_a_skill_refuses_stays_a_refusal(
    policy: PolicyProcess, name: str, parameters: Any, error: type[Exception], words: str
) -> None:
    policy.begin(PolicyOrder(name, CONTEXT, parameters), 60.0)
    with pytest.raises(error, match=words):
        wait_until(policy.poll, 60.0)


def test_it_does_not_outlive_a_runner_that_is_killed(plugins: None) -> None:
    program = """
import sys, time
from tests.skill.test_runner_policy import *
policy = PolicyProcess()
load(policy, "hangs")
policy.ask(SEEN, 600.0)
print(policy._process.pid, flush=True)
time.sleep(600)
"""
    runner = subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert runner.stdout is not None
        child = int(runner.stdout.readline())
    finally:
        runner.kill()
        runner.communicate()
    wait_until(lambda: not Path(f"/proc/{child}/cmdline").exists() or _is_zombie(child))


def _is_zombie(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split(") ")[1].startswith("Z")
    except OSError:
        return True
