"""Buffer: the frame tree over the last seconds, with thread-safe, interpolated lookups."""

from __future__ import annotations

import threading
import time as wall

from openral.errors import FramesNotConnected, TransformError, UnknownFrame, choices
from openral.log import logger
from openral.ros import msg
from openral.ros.tf.history import History
from openral.ros.tf.rigid import Rigid, from_message, stamped, to_nanoseconds

MOST_FRAMES = 10_000


class Buffer:
    """Collects transforms and returns the pose of one frame in another at a given time.

    Pass messages of /tf and /tf_static to `receive`; query with `lookup`. It keeps `cache_time`
    seconds of moving frames and drops them when time goes backwards (`clear`, or a stamp more than
    1 s older than the newest of its frame).
    """

    def __init__(self, cache_time: float = 10.0) -> None:
        self._span = int(cache_time * 1e9)
        self._frames: dict[str, History] = {}
        self._changed = threading.Condition()
        self._complained: set[str] = set()
        self.rejected = 0
        """Number of invalid transforms that were rejected."""

    def receive(self, message: msg.TFMessage, static: bool = False) -> None:
        """Takes a message of /tf or /tf_static; invalid transforms are counted and logged once."""
        for transform in message.transforms:
            try:
                self.set_transform(transform, static)
            except TransformError as error:
                self.rejected += 1
                if transform.child_frame_id not in self._complained and len(self._complained) < 100:
                    self._complained.add(transform.child_frame_id)
                    logger().warning("transform refused", reason=str(error))

    def set_transform(self, transform: msg.TransformStamped, static: bool = False) -> None:
        """Adds the pose of a frame in its parent; TransformError if it is invalid."""
        parent, child = _plain(transform.header.frame_id), _plain(transform.child_frame_id)
        if not parent or not child or parent == child:
            raise TransformError(f"no transform from '{child}' to '{parent}': two names are needed")
        try:
            pose = from_message(transform.transform)
        except TransformError as error:
            raise TransformError(f"'{child}' in '{parent}': {error}") from None
        stamp = to_nanoseconds(transform.header.stamp)
        with self._changed:
            if child not in self._frames and len(self._frames) >= MOST_FRAMES:
                raise TransformError(f"'{child}' is one frame too many; at most {MOST_FRAMES}")
            if child in self._ancestors(parent):
                raise TransformError(f"'{child}' in '{parent}' would close a circle of frames")
            history = self._frames.get(child)
            if history and history.jumped_back(stamp):
                self._forget_moving()
                history = None
            if history is None or (history.parent, history.static) != (parent, static):
                history = self._frames[child] = History(parent, static, self._span)
            history.insert(stamp, pose)
            self._changed.notify_all()

    def clear(self) -> None:
        """Drops all moving frames; call it when the graph's clock went backwards."""
        with self._changed:
            self._forget_moving()

    def frames(self) -> list[str]:
        """The names of all known frames, sorted."""
        with self._changed:
            return sorted(self._known())

    def lookup(
        self, target: str, source: str, time: msg.Time | int | None = None, timeout: float = 0.0
    ) -> Rigid:
        """The pose of `source` in `target`: maps points of the source frame to the target frame.

        `time` is a stamp or ns; None means the latest time available for the whole chain. Waits up
        to `timeout` seconds of wall time for missing transforms.
        """
        return self._wait(target, source, time, timeout)[0]

    def lookup_transform(
        self, target: str, source: str, time: msg.Time | int | None = None, timeout: float = 0.0
    ) -> msg.TransformStamped:
        """Like `lookup`, but returns tf2's message, with the stamp that was used."""
        pose, stamp = self._wait(target, source, time, timeout)
        return stamped(_plain(target), _plain(source), stamp, pose)

    def can_transform(
        self, target: str, source: str, time: msg.Time | int | None = None, timeout: float = 0.0
    ) -> bool:
        """Whether `lookup` would succeed."""
        try:
            self._wait(target, source, time, timeout)
        except TransformError:
            return False
        return True

    def _wait(
        self, target: str, source: str, time: msg.Time | int | None, timeout: float
    ) -> tuple[Rigid, int]:
        deadline = wall.monotonic() + timeout
        with self._changed:
            while True:
                try:
                    return self._resolve(_plain(target), _plain(source), time)
                except TransformError:
                    left = deadline - wall.monotonic()
                    if left <= 0:
                        raise
                    self._changed.wait(left)

    def _resolve(self, target: str, source: str, time: msg.Time | int | None) -> tuple[Rigid, int]:
        for frame in (target, source):
            if frame not in (known := self._known()):
                raise UnknownFrame(f"no frame '{frame}'; {choices(frame, sorted(known), 'frames')}")
        up, down = self._ancestors(source), self._ancestors(target)
        common = next((frame for frame in up if frame in down), None)
        if common is None:
            raise FramesNotConnected(
                f"'{source}' (under '{up[-1]}') and '{target}' (under '{down[-1]}') "
                "are in different trees"
            )
        up, down = up[: up.index(common)], down[: down.index(common)]
        stamp = self._latest([*up, *down]) if time is None else to_nanoseconds(time)
        return self._climb(down, stamp).inverse() @ self._climb(up, stamp), stamp

    def _climb(self, frames: list[str], stamp: int) -> Rigid:
        """The pose of the first frame in the parent of the last."""
        pose = Rigid.identity()
        for frame in frames:
            pose = self._frames[frame].at(stamp, frame) @ pose
        return pose

    def _latest(self, frames: list[str]) -> int:
        moving = (h for frame in frames if not (h := self._frames[frame]).static)
        return min((history.interval[1] for history in moving), default=0)

    def _ancestors(self, frame: str) -> list[str]:
        chain = [frame]
        while (history := self._frames.get(chain[-1])) is not None:
            chain.append(history.parent)
        return chain

    def _known(self) -> set[str]:
        return set(self._frames) | {history.parent for history in self._frames.values()}

    def _forget_moving(self) -> None:
        self._frames = {name: h for name, h in self._frames.items() if h.static}


def _plain(frame: str) -> str:
    """The frame name as in tf2: without ROS 1's leading slash."""
    return frame.removeprefix("/")
