"""Topic names are written down once."""

from __future__ import annotations

import re
from pathlib import Path

import openral
from openral.graph import topics

SOURCE = Path(openral.__file__).parent
EXEMPT = {Path("graph/topics.py"), Path("graph/sealed.py")}  # the names, and the rule for copies


def test_no_other_module_spells_a_topic_out() -> None:
    spelled = re.compile(r"""f?["']/openral/[\w/{}]+["']""")
    found = {
        str(path.relative_to(SOURCE)): names
        for path in sorted(SOURCE.rglob("*.py"))
        if path.relative_to(SOURCE) not in EXEMPT and (names := spelled.findall(path.read_text()))
    }
    assert not found


def test_no_two_names_stand_for_one_topic() -> None:
    named = [v for v in vars(topics).values() if isinstance(v, str) and v.startswith("/")]
    assert len(named) == len(set(named)) > 20
