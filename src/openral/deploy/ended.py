"""Ended: the exception that ends a run, with its reason and exit code."""

from __future__ import annotations


class Ended(Exception):  # noqa: N818 - an end is not always an error
    """Raised wherever the supervisor detects that the run is over."""

    def __init__(self, reason: str, code: int, is_fault: bool = False) -> None:
        """`code` is the command's exit code: 0 for a normal end, 1 for a fault or failed skill."""
        super().__init__(reason)
        self.reason, self.code, self.is_fault = reason, code, is_fault

    @classmethod
    def fault(cls, reason: str) -> Ended:
        """An end by a fault: the graph cannot continue and the robot is stopped."""
        return cls(reason, 1, True)
