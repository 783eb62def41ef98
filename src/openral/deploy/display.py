"""Console output of a running graph: a live table on a terminal, plain lines elsewhere."""

from __future__ import annotations

import os
import sys
import time
from functools import partial
from typing import Any

from openral.deploy.monitor import HAL_STATES, STATES, Monitor
from openral.deploy.process.log_stream import LogStream

_REFRESH_S = 0.25
_PLAIN_EVERY_S = 5.0
_COLOURS = {"hal": "cyan", "safety_kernel": "magenta", "skill_runner": "green", "world": "blue"}


class Display:
    """Everything is drawn on the thread of `logs`: a blocked terminal delays no other thread."""

    def __init__(self, title: str) -> None:
        from rich.console import Console

        self._title = title
        # Not sys.stderr: its lock would be held for as long as the terminal blocks.
        out = os.fdopen(2, "w", encoding=sys.stderr.encoding, errors="replace", closefd=False)
        self._console = Console(file=out, highlight=False, soft_wrap=True)
        self._live: Any = None
        self._shown = 0.0
        self.logs = LogStream(self._log)
        """Collects the log lines of all nodes."""

    def say(self, line: str) -> None:
        """Logs a line of the supervisor itself."""
        self.logs.add("supervisor", line)

    def update(self, monitor: Monitor, phase: str, feedback: Any) -> None:
        """Shows the status if a refresh is due: a table, or a line where there is no terminal."""
        now = time.monotonic()
        is_terminal = self._console.is_terminal
        if now - self._shown < (_REFRESH_S if is_terminal else _PLAIN_EVERY_S):
            return
        self._shown = now
        self.logs.draw(partial(self._draw if is_terminal else self._tell, monitor, phase, feedback))

    def close(self) -> None:
        """Removes the table and prints the remaining lines, unless the terminal blocks."""
        self.logs.draw(self._stop)
        self.logs.close()

    def _log(self, name: str, line: str) -> None:
        from rich.text import Text

        text = Text(f"{name:>13} │ ", style=_COLOURS.get(name, "yellow"))
        self._console.print(text.append(_plain(line), style="default"))

    def _tell(self, monitor: Monitor, phase: str, feedback: Any) -> None:
        self._log("supervisor", _line(monitor, phase, feedback))

    def _draw(self, monitor: Monitor, phase: str, feedback: Any) -> None:
        if self._live is None:
            from rich.live import Live

            self._live = Live(
                console=self._console,
                auto_refresh=False,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._live.start()
        self._live.update(_table(self._title, monitor, phase, feedback), refresh=True)

    def _stop(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None


def _plain(text: str) -> str:
    """The text without control codes: any node on the bus may have written it."""
    return "".join(char if char.isprintable() else " " for char in text)


def _facts(monitor: Monitor, phase: str, feedback: Any) -> dict[str, str]:
    wall, graph = monitor.elapsed()
    verdicts = ", ".join(f"{count} {name}" for name, count in monitor.verdicts.copy().items())
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
    from rich.text import Text

    table = Table(title=Text(title), show_header=False, box=None, title_justify="left")
    table.add_column(style="dim", no_wrap=True)
    table.add_column()
    for name, text in _facts(monitor, phase, feedback).items():
        stopped = text.startswith("ESTOPPED")
        table.add_row(name, Text(_plain(text), style="bold red" if stopped else ""))
    for topic, track in monitor.tracks.items():
        hz, wanted = track.live_hz, track.stream.hz
        colour = "green" if hz >= 0.9 * wanted else "yellow"
        table.add_row(
            topic, Text(f"{hz:5.1f}", style=colour).append(f" of {wanted:g} Hz", "default")
        )
    return table
