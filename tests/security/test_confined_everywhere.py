"""`openral sim run` and lock-step confine installed policies as the graph does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from openral.skill.policy import landlock
from tests.skill.conftest import plugins  # noqa: F401 - a fixture

OPENRAL = str(Path(sys.executable).with_name("openral"))
PLACE = ("--config", "bare", "--robot", "ur5e")
COMMANDS = {
    "sim run": ("sim", "run", *PLACE, "--episodes", "1"),
    "sim run on two workers": ("sim", "run", *PLACE, "--episodes", "2", "--workers", "2"),
    "lock-step": ("deploy", "sim", *PLACE, "--lockstep", "--duration", "1"),
}
VICTIM = "import sys; print('up', flush=True); sys.stdin.read()"

pytestmark = pytest.mark.usefixtures("plugins")


def openral(name: str, cache: Path, skill: str, **parameters: Any) -> Any:
    given = [f"--param={key}={json.dumps(value)}" for key, value in parameters.items()]
    return subprocess.run(
        [OPENRAL, *COMMANDS[name], "--skill", skill, *given, "--json"],
        env={**os.environ, "XDG_CACHE_HOME": str(cache), "TMPDIR": str(cache)},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


@pytest.mark.skipif(not landlock.scopes_signals(), reason="this kernel cannot keep signals apart")
@pytest.mark.parametrize("name", ["sim run", "lock-step"])
def test_a_policy_that_breaks_out_is_refused_everything(name: str, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    (tmp_path / "there").write_text("theirs")
    with subprocess.Popen(
        [sys.executable, "-c", VICTIM], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as victim:
        assert victim.stdout is not None
        victim.stdout.readline()
        told, elsewhere = str(cache / "told"), str(tmp_path / "elsewhere")
        done = openral(
            name, cache, "breaks_out", told=told, elsewhere=elsewhere, victims=[victim.pid], after=1
        )
        assert victim.poll() is None
        victim.kill()
    assert done.returncode in (1, 2), done.stderr
    assert "tried everything" in done.stdout + done.stderr
    outcomes = json.loads(Path(told).read_text())
    assert outcomes.pop("environment") == []
    outcomes.pop("kill all")
    texts = {what: text for what, found in outcomes.items() for text in found}
    assert all(text.startswith("refused") for text in texts.values()), texts
    assert (tmp_path / "there").read_text() == "theirs"


@pytest.mark.parametrize("name", ["sim run on two workers", "lock-step"])
def test_one_in_good_faith_runs_as_before_and_leaves_nothing(name: str, tmp_path: Path) -> None:
    done = openral(name, tmp_path, "wave", after=100_000)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    if name == "lock-step":
        assert found["verdicts"]["accepted"] > 0
    else:
        assert [episode["failure"] for episode in found["episodes"]] == [None, None]
    assert not list(tmp_path.glob("openral-policy-*"))


def test_one_that_does_not_exist_is_refused_with_the_choices(tmp_path: Path) -> None:
    done = openral("sim run", tmp_path, "wav")
    assert done.returncode != 0
    assert "did you mean 'wave'" in " ".join((done.stdout + done.stderr).split())
