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


def test_the_figure_of_the_safety_page_is_up_to_date() -> None:
    module = runpy.run_path(str(ROOT / "tools" / "safety_figure.py"))
    assert (ROOT / "docs" / "safety.svg").read_text() == module["figure"](), (
        "run: python tools/safety_figure.py"
    )


def test_every_hazard_names_the_test_that_holds_it() -> None:
    page = (ROOT / "docs" / "hazards.md").read_text()
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| ")]
    hazards = [row for row in rows if row[0] != "hazard"]
    assert len(hazards) > 30
    for row in hazards:
        assert len(row) == 3, row
        assert re.search(r"`(?:cpp/)?tests/[\w/]+\.(?:py|cpp)`", row[2]), row
