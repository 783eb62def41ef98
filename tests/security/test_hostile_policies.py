"""A policy that does its worst: the runner goes on, others are not harmed, nothing is left."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from openral.errors import PolicyFailed
from openral.skill.policy import landlock
from openral.skill.policy.limits import PolicyLimits
from openral.skill.policy.process import PolicyProcess
from tests.deploy.small_graph import alive, family
from tests.ros.conftest import wait_until
from tests.skill.conftest import plugins  # noqa: F401 - a fixture
from tests.skill.test_runner_policy import ask, load

pytestmark = pytest.mark.usefixtures("plugins")
GB = 10**9
_SLOW = ("forks", "hogs", "hogs_in_parts", "huge")
"""What takes a busy machine a while."""


class Watched:
    """A policy, and every process that it ever had."""

    def __init__(self, limits: PolicyLimits) -> None:
        self.policy = PolicyProcess(limits)
        self.seen: set[int] = set()
        self.over = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self._thread.start()

    def _look(self) -> None:
        while not self.over.wait(0.01):
            if (process := self.policy._process) is not None:
                self.seen |= family(process.pid) - {os.getpid()}

    def close(self) -> None:
        self.policy.close()
        self.over.set()
        self._thread.join()


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watched]:
    made = Watched(PolicyLimits(2 * GB, 32, (str(tmp_path / "allowed"),)))
    (tmp_path / "allowed").mkdir()
    folders = set(Path("/tmp").glob("openral-policy-*"))
    yield made
    made.close()
    wait_until(lambda: not [pid for pid in made.seen if alive(pid)])
    assert set(Path("/tmp").glob("openral-policy-*")) <= folders


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("forks", r"it has \d+ processes and threads; allowed: 32"),
        ("hogs", "MemoryError"),
        ("hogs_in_parts", r"it uses \d\.\d GB of memory; allowed: 2\.0 GB"),
        ("closes", "does not listen any more"),
        ("deaf", r"no answer within 2 s"),
        ("huge", r"shape \(268435456, 1\)|MemoryError"),
        ("huge_bytes", "1099511627776 bytes"),
        ("drips", "no answer within 2 s"),
        ("pickles", "no answer"),
        ("leaves_children", "died with exit code 3"),
    ],
)
def test_it_fails_in_words_and_leaves_nothing(
    watched: Watched, tmp_path: Path, name: str, words: str
) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    moment = tmp_path / "allowed" / "moment"
    load(watched.policy, name, after=1, moment=str(moment))
    ask(watched.policy)
    began = time.monotonic()
    with pytest.raises(PolicyFailed, match=words):
        ask(watched.policy, 30.0 if name in _SLOW else 2.0)
    watched.policy.close()
    assert time.monotonic() - began < 60.0
    assert not moment.with_name("moment.made").exists()
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown * 1024 < 300e6
    load(watched.policy, "wave", after=1)
    ask(watched.policy)


def test_the_runner_is_free_while_a_policy_drips(watched: Watched) -> None:
    load(watched.policy, "drips", after=0)
    from tests.skill.test_runner_policy import SEEN

    watched.policy.ask(SEEN, 1.0)
    longest = 0.0
    with pytest.raises(PolicyFailed):
        for _ in range(10_000):
            began = time.monotonic()
            watched.policy.poll()
            longest = max(longest, time.monotonic() - began)
            time.sleep(0.001)
    assert longest < 0.2


VICTIM = "import sys; print('up', flush=True); sys.stdin.read()"


@pytest.mark.skipif(not landlock.scopes_signals(), reason="this kernel cannot keep signals apart")
def test_it_cannot_reach_other_processes_or_files(watched: Watched, tmp_path: Path) -> None:
    (tmp_path / "there").write_text("theirs")
    victim = subprocess.Popen(
        [sys.executable, "-c", VICTIM], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert victim.stdout is not None
        victim.stdout.readline()
        done = escape(watched, tmp_path, [os.getpid(), victim.pid])
        assert victim.poll() is None
    finally:
        victim.kill()
        victim.communicate()
    assert done.pop("environment") == []
    assert done.pop("kill all") in (["done: None"], ["refused: Operation not permitted"])
    outcomes = {name: text for name, texts in done.items() for text in texts}
    assert all(text.startswith("refused") for text in outcomes.values()), outcomes
    assert (tmp_path / "there").read_text() == "theirs"


def escape(watched: Watched, tmp_path: Path, victims: list[int]) -> Any:
    told = tmp_path / "allowed" / "told"
    load(
        watched.policy,
        "breaks_out",
        after=1,
        told=str(told),
        victims=victims,
        elsewhere=str(tmp_path / "elsewhere"),
    )
    ask(watched.policy)
    with pytest.raises(PolicyFailed, match="tried everything"):
        ask(watched.policy, 20.0)
    assert watched.policy._process is not None
    return json.loads(told.read_text())


def test_it_may_read_and_use_its_own_folder_and_the_cache(watched: Watched) -> None:
    """What policies do in good faith goes on working."""
    load(watched.policy, "good_faith", after=0)
    rows = ask(watched.policy, 60.0).rows
    assert rows.shape[1] == 6
