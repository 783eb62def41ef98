"""A window that shows the simulation, if there is a display."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from openral.hal.pacer import Pacer
from openral.ros.log import NodeLogger
from openral.sim.rollout import SimRollout

_RATE_HZ = 30.0


class Viewer:
    """MuJoCo's own viewer; everything here runs on the simulation's thread."""

    def __init__(self, rollout: SimRollout, log: NodeLogger) -> None:
        """Without a display, or for another backend, it warns and shows nothing."""
        self._pacer = Pacer(_RATE_HZ)
        self._window: Any = None
        handles = rollout.mujoco_handles()
        if handles is None:
            log.warning("no viewer: the scene's backend is not MuJoCo")
        elif not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
            log.warning("no viewer: there is no display (DISPLAY is not set)")
        else:
            self._open(handles, log)

    def _open(self, handles: Any, log: NodeLogger) -> None:
        try:
            import mujoco.viewer

            # Without panels: their sliders would move the robot, bypassing the kernel.
            self._window = mujoco.viewer.launch_passive(
                handles.model, handles.data, show_left_ui=False, show_right_ui=False
            )
            self._look_at(handles.data.xpos[1:])
        except Exception as error:  # whatever the display's driver raises
            log.warning("no viewer", error=str(error))

    def _look_at(self, places: Any) -> None:
        """Points the viewer's camera at all bodies of the scene; `places`: (n, 3) in m."""
        middle = places.mean(axis=0)
        with self._window.lock():
            camera = self._window.cam
            camera.lookat[:] = middle
            camera.distance = 1.0 + 1.7 * float(np.linalg.norm(places - middle, axis=1).max())
            camera.azimuth, camera.elevation = 140.0, -25.0

    def tick(self, now_ns: int) -> None:
        """Shows the present state at 30 Hz; a closed window is not opened again."""
        if self._window is not None and self._pacer.due(now_ns):
            if self._window.is_running():
                self._window.sync()
            else:
                self._window = None

    def close(self) -> None:
        """Closes the window."""
        window, self._window = self._window, None
        if window is not None:
            window.close()
