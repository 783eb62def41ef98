"""openral's logger: lines to stderr."""

from __future__ import annotations

import sys
from typing import Any


class _Stderr:
    """The current sys.stderr at the time of writing: programs and tests may redirect it."""

    @staticmethod
    def write(text: str) -> int:
        return sys.stderr.write(text)

    @staticmethod
    def flush() -> None:
        sys.stderr.flush()


def logger(**bound: Any) -> Any:
    """openral's logger: to stderr, unless the program has configured structlog itself."""
    # Imported when the first line is logged: it would be a fifth of a node's start-up time.
    import structlog

    if not structlog.is_configured():
        structlog.configure(
            processors=[
                structlog.processors.add_log_level,
                structlog.processors.TimeStamper(fmt="%H:%M:%S.%f", utc=False),
                structlog.processors.format_exc_info,
                structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty()),
            ],
            wrapper_class=structlog.make_filtering_bound_logger(20),
            logger_factory=structlog.PrintLoggerFactory(_Stderr()),  # type: ignore[arg-type]
        )
    return structlog.get_logger("openral").bind(**bound)
