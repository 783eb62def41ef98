"""The public API: light to import, complete, and the same for people and type checkers."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import openral


def _run(code: str, **environment: str) -> str:
    env = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "MUJOCO_GL")}
    done = subprocess.run(
        [sys.executable, "-c", code], env=env | environment, check=True, capture_output=True
    )
    return done.stdout.decode().strip()


def test_every_public_name_is_found_and_none_is_missing() -> None:
    assert set(openral._MODULES) | {"__version__"} == set(openral.__all__)
    for name, module in openral._MODULES.items():
        assert getattr(openral, name) is getattr(sys.modules[module], name)


def test_type_checkers_see_the_same_names_in_the_same_modules() -> None:
    tree = ast.parse(Path(openral.__file__).read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If) and not node.orelse
                 and isinstance(node.test, ast.Name))  # fmt: skip
    seen = {
        alias.name: node.module
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert seen == openral._MODULES


def test_no_module_of_openral_imports_through_the_public_api() -> None:
    """Such an import would hide from the import rule which layer it reaches."""
    root = Path(openral.__file__).parent
    for path in root.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module == "openral":
                public = {alias.name for alias in node.names} & set(openral._MODULES)
                assert not public, (str(path.relative_to(root)), public)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'openral' has no attribute 'load_robots'"):
        openral.load_robots  # noqa: B018


def test_importing_openral_is_quick_and_loads_nothing_heavy() -> None:
    loaded = _run(
        "import sys, time; t = time.process_time(); import openral; t = time.process_time() - t;"
        "print(t, *(m for m in ('numpy', 'pydantic', 'mujoco', 'cyclonedds') if m in sys.modules))"
    ).split()
    assert loaded[1:] == []
    assert float(loaded[0]) <= 0.15


def test_openral_chooses_the_renderer_before_mujoco_is_imported() -> None:
    code = "import openral, os, sys; print(os.environ['MUJOCO_GL'], 'mujoco' in sys.modules)"
    assert _run(code) == "egl False"
    assert _run(code, MUJOCO_GL="osmesa") == "osmesa False"


def test_with_a_display_the_renderer_is_left_to_mujoco() -> None:
    assert _run("import openral, os; print('MUJOCO_GL' in os.environ)", DISPLAY=":0") == "False"
