"""What a person sees while the graph runs: a live table on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from openral.deploy.monitor import HAL_STATES, STATES, Monitor

_REFRESH_S = 0.25
_PLAIN_EVERY_S = 5.0
_COLOURS = {"hal": "cyan", "safety_kernel": "magenta", "skill_runner": "green", "world": "blue"}


class Display:
    """`log` may be called from any thread; `update` from the main one, as often as one likes."""

    def __init__(self, title: str) -> None:
        from rich.console import Console

        self._title = title
        self._console = Console(stderr=True, highlight=False, soft_wrap=True)
        self._live: Any = None
        self._shown = 0.0
        self._lock = threading.Lock()

    def log(self, name: str, line: str) -> None:
        """One line of a node."""
        from rich.text import Text

        text = Text(f"{name:>13} │ ", style=_COLOURS.get(name, "yellow"))
        self._console.print(text.append(line, style="default"))

    def update(
        self, monitor: Monitor, phase: str, feedback: Any, say: Callable[[str], None]
    ) -> None:
        """Shows how it goes, if it is time to; where there is no terminal, by a line to `say`."""
        now = time.monotonic()
        every = _REFRESH_S if self._console.is_terminal else _PLAIN_EVERY_S
        if now - self._shown < every:
            return
        self._shown = now
        if not self._console.is_terminal:
            say(_line(monitor, phase, feedback))
            return
        with self._lock:
            if self._live is None:
                from rich.live import Live

                self._live = Live(console=self._console, auto_refresh=False, transient=True)
                self._live.start()
            self._live.update(_table(self._title, monitor, phase, feedback), refresh=True)

    def close(self) -> None:
        """Takes the table away."""
        with self._lock:
            if self._live is not None:
                self._live.stop()
                self._live = None
        sys.stderr.flush()


def _facts(monitor: Monitor, phase: str, feedback: Any) -> dict[str, str]:
    wall, graph = monitor.elapsed()
    verdicts = ", ".join(f"{count} {name}" for name, count in monitor.verdicts.items())
    facts = {"time": f"{graph:.1f} s, {graph / wall:.2f}x real time" if wall > 0 else ""}
    if monitor.safety is not None:
        state = STATES[monitor.safety.state] if monitor.safety.state < len(STATES) else "?"
        why = f": {monitor.safety.detail or monitor.safety.reason}" if state == "estopped" else ""
        facts["kernel"] = state.upper() + why
    if monitor.hal is not None:
        known = monitor.hal.state < len(HAL_STATES)
        facts["robot"] = HAL_STATES[monitor.hal.state] if known else "?"
        facts["robot"] += f", fastest joint {monitor.hal.fastest_joint:.2f}/s"
    facts["verdicts"] = f"{verdicts or 'none'}; e-stops {monitor.estops}"
    facts["skill"] = phase
    if feedback is not None:
        done = f" {100 * feedback.progress:.0f}%" if feedback.progress >= 0 else ""
        facts["skill"] += f": {feedback.phase}{done}, {feedback.chunks} chunks"
    return facts


def _line(monitor: Monitor, phase: str, feedback: Any) -> str:
    facts = _facts(monitor, phase, feedback)
    rates = [f"{topic} {track.live_hz:.0f} Hz" for topic, track in monitor.tracks.items()]
    return " | ".join([*(f"{name}: {text}" for name, text in facts.items()), *rates])


def _table(title: str, monitor: Monitor, phase: str, feedback: Any) -> Any:
    from rich.table import Table

    table = Table(title=title, show_header=False, box=None, title_justify="left")
    table.add_column(style="dim", no_wrap=True)
    table.add_column()
    for name, text in _facts(monitor, phase, feedback).items():
        stopped = text.startswith("ESTOPPED")
        table.add_row(name, f"[bold red]{text}[/]" if stopped else text)
    for topic, track in monitor.tracks.items():
        hz, wanted = track.live_hz, track.stream.hz
        colour = "green" if hz >= 0.9 * wanted else "yellow"
        table.add_row(topic, f"[{colour}]{hz:5.1f}[/] of {wanted:g} Hz")
    return table
