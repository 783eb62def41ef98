"""What the documents say is so."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest
import yaml

import openral

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md"))]
FENCED = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
LONGEST = 120
# Words of our own where the field has a term: received, published, commanded, attached, …
PRIVATE = (
    r"told|tells|heard|hears|whoever|let off|somebody|everybody|anybody|found moving|pictures?"
)


def _prose(page: Path) -> str:
    return FENCED.sub("", page.read_text())


def _anchors(page: Path) -> set[str]:
    """Heading ids as GitHub and mkdocs make them."""
    heads = re.findall(r"^#+ (.*)$", _prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def test_the_reference_tables_are_up_to_date() -> None:
    module = runpy.run_path(str(ROOT / "tools" / "reference.py"))
    assert (DOCS / "reference.md").read_text() == module["page"](), "run: python tools/reference.py"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_documents_resolve(page: Path) -> None:
    for target in re.findall(r"\]\(([^):]+)\)", _prose(page)):
        name, _, anchor = target.partition("#")
        linked = page.parent / name if name else page
        assert linked.exists(), target
        assert not anchor or anchor in _anchors(linked), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_named_tests_and_files_exist(page: Path) -> None:
    """Paths in backticks are given from the root of the project, and are there."""
    roots = "tests|benchmarks|tools|cpp|src|examples|docs"
    for path in re.findall(rf"`((?:{roots})/[\w/.-]+)", page.read_text()):
        assert (ROOT / path.split("::")[0]).exists(), path
    assert not re.findall(rf"`(?!(?:{roots})/)[\w/]+\.(?:py|[ch]pp)`", _prose(page))


def test_the_python_of_the_readme_runs() -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert len(blocks) == 1
    exec(compile(blocks[0], "README.md", "exec"), {})


def test_each_step_of_the_three_walks_names_its_file() -> None:
    page = (DOCS / "architecture.md").read_text()
    walks = page.split("## Three walks through the code")[1].split("\n## ")[0].split("\n### ")[1:]
    assert len(walks) == 3
    for walk in walks:
        steps = re.findall(r"^\| (\d+) \| .+ \| `((?:src|cpp)/\S+)` \|$", walk, re.MULTILINE)
        assert [int(number) for number, _ in steps] == list(range(1, len(steps) + 1))
        assert len(steps) >= 20
        assert len(steps) == len(re.findall(r"^\| \d", walk, re.MULTILINE))
        for _, path in steps:
            assert (ROOT / path).is_file(), path


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_lines_are_short_and_words_are_the_fields_own(page: Path) -> None:
    """Rows of tables cannot be broken."""
    for number, line in enumerate(page.read_text().splitlines(), 1):
        assert len(line) <= LONGEST or line.startswith("|"), (number, len(line))
    text = re.sub(r"`[^`\n]+`", "", _prose(page))  # names in code are the code's
    assert not re.findall(rf"\b(?:{PRIVATE})\b", text, re.IGNORECASE)


def test_every_page_is_in_the_navigation_of_the_site() -> None:
    def pages(entry: object) -> list[str]:
        if isinstance(entry, str):
            return [entry]
        below = entry.values() if isinstance(entry, dict) else entry
        return [page for part in below for page in pages(part)]  # type: ignore[attr-defined]

    listed = pages(yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"])
    assert sorted(listed) == sorted(str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md"))


def test_every_public_name_has_an_entry_in_the_api_pages() -> None:
    text = "\n".join(page.read_text() for page in (DOCS / "api").glob("*.md"))
    documented = re.findall(r"^::: openral\.(\w+)$", text, re.MULTILINE)
    assert sorted(documented) == sorted(set(openral.__all__) - {"__version__"})


def test_the_figure_of_the_safety_page_is_up_to_date() -> None:
    module = runpy.run_path(str(ROOT / "tools" / "safety_figure.py"))
    assert (DOCS / "safety.svg").read_text() == module["figure"](), (
        "run: python tools/safety_figure.py"
    )


def test_every_hazard_names_the_test_that_covers_it() -> None:
    page = (DOCS / "hazards.md").read_text()
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| ")]
    hazards = [row for row in rows if row[0] != "hazard"]
    assert len(hazards) > 30
    for row in hazards:
        assert len(row) == 3, row
        assert re.search(r"`(?:cpp/)?tests/[\w/]+\.(?:py|cpp)`", row[2]), row
