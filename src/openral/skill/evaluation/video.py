"""Video: frames of episodes as a GIF, or as an MP4 where ffmpeg is installed."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from PIL import Image as Pillow

from openral.errors import ConfigError, choices
from openral.sim.rollout import Image, SimRollout, Step

_FORMATS = (".gif", ".mp4")
_FPS = 10.0


class Video:
    """Collects frames while episodes run and writes them at the end."""

    def __init__(self, path: Path, camera: str | None = None, size: tuple[int, int] = (320, 240)):
        if path.suffix not in _FORMATS:
            raise ConfigError(
                f"cannot write '{path}': {choices(path.suffix, _FORMATS, 'video formats')}"
            )
        if path.suffix == ".mp4" and shutil.which("ffmpeg") is None:
            raise ConfigError(f"'{path}' needs the program ffmpeg (apt-get install); or use .gif")
        self.path, self._camera, self._size = path, camera, size
        self._frames: list[Image] = []

    def watcher(self, rollout: SimRollout) -> Callable[[Step], None]:
        """A callback that records frames: to be called after every step of an episode."""
        camera = self._camera or _best_camera(rollout)
        every = max(1, round(rollout.scene.control_rate_hz / _FPS))

        def watch(step: Step) -> None:
            last = step.terminated or step.truncated
            if step.info["steps"] % every == 0 or last:
                self._frames.append(rollout.image(camera, self._size))

        return watch

    def save(self) -> Path:
        """Writes the file, creating its folder if necessary."""
        if not self._frames:
            raise ConfigError("no frames were recorded")
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if self.path.suffix == ".gif":
            first, *rest = [Pillow.fromarray(frame) for frame in self._frames]
            duration = round(1000 / _FPS)
            first.save(self.path, save_all=True, append_images=rest, duration=duration, loop=0)
        else:
            self._encode()
        return self.path

    def _encode(self) -> None:
        width, height = self._size
        command = ["ffmpeg", "-y", "-loglevel", "error", "-f", "rawvideo", "-pix_fmt", "rgb24"]
        command += ["-s", f"{width}x{height}", "-r", f"{_FPS:g}", "-i", "-"]
        command += ["-pix_fmt", "yuv420p", str(self.path)]
        frames = b"".join(frame.tobytes() for frame in self._frames)
        done = subprocess.run(command, input=frames, capture_output=True, check=False)
        if done.returncode:
            raise ConfigError(f"ffmpeg failed: {done.stderr.decode(errors='replace').strip()}")


def _best_camera(rollout: SimRollout) -> str:
    names = list(rollout.cameras)
    if not names:
        raise ConfigError(f"scene '{rollout.scene.id}' has no camera to make a video with")
    return "front" if "front" in names else names[-1]
