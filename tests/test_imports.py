"""The import rule of docs/architecture.md: it holds, and breaking it fails `lint-imports`."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).parents[1]
VIOLATIONS = {
    "a lower layer imports a higher one": ("ros/names.py", "openral.graph.topics"),
    "the HAL imports the kernel": ("hal/pacer.py", "openral.safety.kernel"),
    "a skill imports a HAL": ("skill/skill.py", "openral.hal.protocols"),
    "two modules import each other": ("graph/run_key.py", "openral.graph.seal"),
    "two packages import each other": ("ros/parameters/store.py", "openral.ros.node.timer"),
}


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the package's source under another project's root."""
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def lint(project: Path) -> subprocess.CompletedProcess[str]:
    # Without `site` the installed openral is not found: the contracts are checked on the copy.
    paths = [str(project / "src"), sysconfig.get_path("purelib")]
    program = f"""
import sys
sys.path[:0] = {paths!r}
sys.argv = ["lint-imports", "--no-logo", "--no-cache"]
from importlinter.cli import lint_imports_command
lint_imports_command()
"""
    return subprocess.run(
        [sys.executable, "-S", "-c", program],
        cwd=project,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_no_module_imports_itself_by_way_of_others() -> None:
    """Stricter than a contract between siblings: modules of different packages too."""
    graph = grimp.build_graph("openral", cache_dir=None)
    for imported in sorted(graph.find_modules_directly_imported_by("openral")):
        graph.remove_import(importer="openral", imported=imported)  # the public API: lazy
    for module in sorted(graph.modules):
        for imported in graph.find_modules_directly_imported_by(module):
            chain = graph.find_shortest_chain(importer=imported, imported=module)
            assert chain is None, (module, chain)


@pytest.mark.parametrize(("module", "imported"), VIOLATIONS.values(), ids=VIOLATIONS.keys())
def test_a_violation_fails_the_check(copy: Path, module: str, imported: str) -> None:
    path = copy / "src/openral" / module
    path.write_text(f"{path.read_text()}\nimport {imported}  # noqa\n")
    found = lint(copy)
    assert found.returncode == 1, found.stdout + found.stderr
    assert "BROKEN" in found.stdout


def test_the_rule_holds(copy: Path) -> None:
    found = lint(copy)
    assert found.returncode == 0, found.stdout + found.stderr
    assert "3 kept, 0 broken" in found.stdout
