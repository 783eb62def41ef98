"""What all tests share."""

from __future__ import annotations

from pathlib import Path

import pytest

import openral  # noqa: F401 - before anything imports MuJoCo: it chooses the renderer


@pytest.fixture(scope="session")
def shared() -> Path:
    """A folder of facts beside the checkout, for the tests that compare with published models."""
    folder = Path(__file__).resolve().parents[2] / "shared"
    if not folder.is_dir():
        pytest.skip(f"the folder {folder} with published models is not here")
    return folder
