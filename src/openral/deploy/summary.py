"""Summary: the outcome of a run, printed as text or JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from openral.deploy.monitor import VERDICTS, Monitor


@dataclass
class Summary:
    """Outcome of a run. Rates are in Hz of the graph's clock, durations in s."""

    robot: str
    scene: str | None
    mode: str
    clock: str | None = None
    """`sim` or `wall`; None if the graph never got that far."""
    lockstep: bool = False
    duration: float = 0.0
    """Duration in s of the graph's clock, from arming on."""
    real_time_factor: float | None = None
    ready_after: float | None = None
    """Wall time in s from the command to the armed graph."""
    first_frame_after: float | None = None
    """Wall time in s from the command to the first image on the bus."""
    rates: dict[str, dict[str, float | int]] = field(default_factory=dict)
    verdicts: dict[str, int] = field(default_factory=dict)
    estops: int = 0
    estop_reasons: list[str] = field(default_factory=list)
    skill: dict[str, Any] | None = None
    recording: dict[str, Any] | None = None
    trace: str | None = None
    """Hash of what was proposed, decided and measured; lock-step runs with a recording only."""
    failures: list[str] = field(default_factory=list)
    exit_reason: str = ""
    exit_code: int = 0

    def take(self, monitor: Monitor, command_at: float) -> None:
        """Fills in the measured window of a monitor; `command_at` is monotonic time in s."""
        wall, graph = monitor.elapsed()
        self.duration = round(graph, 3)
        self.real_time_factor = round(graph / wall, 3) if wall > 0 else None
        for topic, track in monitor.tracks.items():
            self.rates[topic] = {
                "configured": track.stream.hz,
                "measured": round(track.count / graph, 2) if graph > 0 else 0.0,
                "count": track.count,
            }
        firsts = [
            track.first_at
            for track in monitor.tracks.values()
            if track.stream.is_picture and track.first_at is not None
        ]
        self.first_frame_after = round(min(firsts) - command_at, 2) if firsts else None
        self.verdicts = {name: monitor.verdicts[name] for name in VERDICTS}
        self.estops, self.estop_reasons = monitor.estops, list(monitor.stop_reasons)
        self.failures += [f"{source}: {text}" for source, text in monitor.failures]

    def as_dict(self) -> dict[str, Any]:
        """For `--json`."""
        return asdict(self)

    def as_text(self) -> str:
        """A few lines of text."""
        factor = (
            "" if self.real_time_factor is None else f", {self.real_time_factor:.2f}x real time"
        )
        lines = [f"{self.robot} in {self.scene or 'no scene'}: {self.duration:.1f} s{factor}"]
        for topic, rate in self.rates.items():
            lines.append(f"  {topic}: {rate['measured']:.1f} of {rate['configured']:g} Hz")
        counts = ", ".join(f"{count} {name}" for name, count in self.verdicts.items() if count)
        lines.append(f"  verdicts: {counts or 'none'}; e-stops: {self.estops}")
        lines += [f"  stopped by {reason}" for reason in self.estop_reasons]
        if self.skill is not None:
            for result in self.skill["episodes"]:
                word = "done" if result["success"] else result["reason"]
                lines.append(f"  {self.skill['name']}: {word} {result['message']}".rstrip())
        if self.recording is not None:
            lines.append(f"  recording: {self.recording['folder']}")
        lines += [f"  {failure}" for failure in self.failures[-5:]]
        lines.append(f"ended: {self.exit_reason}")
        return "\n".join(lines)
