"""Why a run came to its end."""

from __future__ import annotations


class Ended(Exception):  # noqa: N818 - an end is not always an error
    """Raised wherever the supervisor notices that the run is over."""

    def __init__(self, reason: str, code: int, is_fault: bool = False) -> None:
        """`code` is the command's exit code: 0 in order, 1 a fault or a failed skill."""
        super().__init__(reason)
        self.reason, self.code, self.is_fault = reason, code, is_fault

    @classmethod
    def fault(cls, reason: str) -> Ended:
        """The graph cannot go on: the robot is stopped."""
        return cls(reason, 1, True)
