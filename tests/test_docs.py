"""What the documents say is so."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_the_reference_tables_are_up_to_date() -> None:
    module = runpy.run_path(str(ROOT / "tools" / "reference.py"))
    assert (ROOT / "docs" / "reference.md").read_text() == module["page"](), (
        "run: python tools/reference.py"
    )


def test_links_between_documents_resolve() -> None:
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), (page.name, target)


def test_named_tests_and_files_exist() -> None:
    """Paths in backticks that look like files of this project must be there."""
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        for path in re.findall(r"`((?:tests|benchmarks|tools|cpp|src)/[\w/.-]+)", page.read_text()):
            assert (ROOT / path.split("::")[0]).exists(), (page.name, path)
