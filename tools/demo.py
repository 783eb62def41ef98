"""`make demo`: a Panda pushes a cube, is commanded through the table, and is stopped before it.

The graph is started as a user starts it; this program is one more node beside it. It leaves a
film and a strip of pictures as the cameras saw it, and a recording of every topic, under out/demo.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from openral.graph import topics
from openral.graph.time_lease import LeaseHolder
from openral.manifest import ControlMode, load_robot
from openral.ros import ActionClient, Context, Executor, Node, Parameter
from openral.ros.codec import types
from openral.ros.qos import QoS
from openral.ros.transport.dds_config import Network
from openral.signals import heed_signals
from openral.skill.builtin.arm import Arm

ROBOT, SCENE, CAMERA = "franka_panda", "tabletop_push", "front"
OUT = Path("out/demo")
ARMED, ESTOPPED = 1, 2
SIZE, FRAME_S = (400, 300), 0.15
SKILL = "openral_msgs/action/ExecuteSkill"
START_S, STEP_S = 180.0, 300.0  # wall seconds: a busy machine slows simulated time
ENDING_S = 15.0  # a graph that has lost a node needs a moment to end the others
LEAD_S, SETTLE_S = 0.05, 0.5  # how far simulated time may lead this program, and from when on
SPEED = 0.4  # rad/s of the fastest joint on the way that is refused


class Graph:
    """`openral deploy sim` as a user starts it."""

    def __init__(self) -> None:
        command = [str(Path(sys.executable).with_name("openral")), "deploy", "sim", "--json"]
        command += ["--config", SCENE, "--robot", ROBOT, "--record", str(OUT / "recording")]
        self._log = OUT / "log.txt"
        with self._log.open("w") as log, (OUT / "summary.json").open("w") as summary:
            self._process = subprocess.Popen(command, stdout=summary, stderr=log)
        threading.Thread(target=self._process.wait, daemon=True).start()

    def check(self) -> None:
        """Ends the demo with the graph's last words if the graph has ended."""
        code = self._process.poll()
        if code is not None:
            print(self.last_words(), file=sys.stderr)
            raise SystemExit(f"demo: the graph has ended with exit code {code}; see {self._log}")

    def last_words(self) -> str:
        """Why it ended, and what its nodes said before."""
        lines = [line for line in self._log.read_text().splitlines() if "| kernel: " not in line]
        with contextlib.suppress(ValueError, KeyError):
            lines.append(json.loads((OUT / "summary.json").read_text())["exit_reason"])
        return "\n".join(lines[-12:])

    def end(self) -> dict[str, Any]:
        """Ctrl-C; the summary of the run."""
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGINT)
        self._process.wait(60.0)
        text = (OUT / "summary.json").read_text()
        return dict(json.loads(text)) if text else {}


class Demo:
    """A node that records a camera, runs skills and proposes one bad motion."""

    def __init__(self, network: Network, graph: Graph) -> None:
        self._graph = graph
        self.robot = load_robot(ROBOT)
        self.context = Context(network)
        self.node = Node("demo", context=self.context)
        self.caption = ""
        self.frames: list[tuple[str, Any]] = []
        self.safety: Any = None
        self.joints: Any = None
        self.verdict: Any = None
        self._last = 0.0
        hear = self.node.create_subscription
        hear("sensor_msgs/msg/Image", f"/openral/cameras/{CAMERA}/image", self._see, topics.SENSOR)
        hear("sensor_msgs/msg/JointState", topics.JOINT_STATES, self._set("joints"), topics.SENSOR)
        state = "openral_msgs/msg/SafetyState"
        hear(state, topics.SAFETY_STATE, self._set("safety"), topics.LATCHED)
        hear("openral_msgs/msg/Verdict", topics.VERDICT, self._set("verdict"), QoS(depth=100))
        kind = "openral_msgs/msg/ActionChunk"
        self._candidates = self.node.create_publisher(kind, topics.CANDIDATE, topics.COMMAND)
        self._skills = ActionClient(self.node, SKILL, "/openral/execute_skill")
        self._lease = LeaseHolder(self.node, LEAD_S)
        self._executor = Executor(self.context)
        self._executor.add_node(self.node)
        self._executor.start()

    def _set(self, name: str) -> Callable[[Any], None]:
        return lambda message: setattr(self, name, message)

    def _see(self, image: Any) -> None:
        if time.monotonic() - self._last >= FRAME_S and self.caption:
            self._last = time.monotonic()
            pixels = np.frombuffer(bytes(image.data), np.uint8)
            self.frames.append((self.caption, pixels.reshape(image.height, image.width, 3)))

    def ready(self) -> bool:
        armed = self.safety is not None and self.safety.state == ARMED
        return armed and self.joints is not None and self._skills.server_is_ready()

    def until(self, condition: Callable[[], Any], what: str, timeout_s: float = STEP_S) -> None:
        """Waits for something of the graph while the graph lives."""
        give_up = time.monotonic() + timeout_s
        while not condition():
            self._graph.check()
            if time.monotonic() > give_up:
                raise SystemExit(f"demo: waited {timeout_s:g} s for {what} in vain")
            time.sleep(0.05)

    def fail(self, text: str) -> None:
        """Ends the demo; if the graph ends by itself now, with the graph's reason."""
        give_up = time.monotonic() + ENDING_S
        while time.monotonic() < give_up:
            self._graph.check()
            time.sleep(0.05)
        raise SystemExit(f"demo: {text}")

    def answer(self, future: Future[Any], what: str) -> Any:
        self.until(future.done, what)
        return future.result()

    def run_skill(self, name: str, caption: str) -> Any:
        self.caption = caption
        goal = types.new(f"{SKILL}_Goal", skill=name, parameters="{}")
        handle = self.answer(self._skills.send_goal_async(goal), f"'{name}' to be accepted")
        return self.answer(handle.get_result_async(), f"'{name}' to end")[1]

    def plunge(self) -> Any:
        """Proposes the straight way to a point below the table; returns the kernel's verdict."""
        self.caption = "commanded through the table: rejected"
        order = [self.joints.name.index(name) for name in self.robot.joint_names]
        low, high = np.array([joint.position_range for joint in self.robot.driven]).T
        here = np.clip(np.array(self.joints.position)[order], low, high)
        rows = way_down(self.robot, here)
        dt = float(np.abs(np.diff(rows, axis=0)).max()) / SPEED
        slot = types.new(
            "openral_msgs/msg/ActionSlot",
            control_mode=ControlMode.JOINT_TRAJECTORY.byte,
            joint_names=list(self.robot.joint_names),
            width=rows.shape[1],
            data=rows[1:].ravel(),
        )
        chunk = types.new(
            "openral_msgs/msg/ActionChunk",
            control_mode=slot.control_mode,
            dt=dt,
            rows=len(rows) - 1,
            slots=[slot],
        )
        # On a busy machine this program is slow: simulated time waits, or its proposal is stale.
        give_up = time.monotonic() + SETTLE_S
        self.until(lambda: self._lease.extend() or time.monotonic() > give_up, "simulated time")
        chunk.header.stamp = self.node.stamp()
        self.verdict = None
        self._candidates.publish(chunk)
        self.until(lambda: self.verdict is not None, "a verdict")
        self._lease.release()
        return self.verdict

    def reset(self) -> str:
        client = self.node.create_client("std_srvs/srv/Trigger", topics.RESET)
        self.until(client.service_is_ready, topics.RESET)
        return str(self.answer(client.call_async(client.request_class()), topics.RESET).message)

    def close(self) -> None:
        self._executor.shutdown()
        self.context.close()


def way_down(robot: Any, here: Any) -> Any:
    """From where the arm is to 20 cm below the table's top, in steps of joint space."""
    arm = Arm(robot, robot.end_effectors[0])
    point = arm.tool(here)[:3, 3].copy()
    point[2] = -0.2
    goal = arm.solve(point, np.array([0.0, 0.0, -1.0]), here, tolerance_m=0.02)
    if goal is None:
        raise SystemExit("the arm cannot reach below the table from here")
    return here + np.linspace(0.0, 1.0, 41)[:, None] * (goal - here)


def save_pictures(frames: list[tuple[str, Any]]) -> list[Path]:
    """The film, and a strip: the start, the frame between that differs most, each caption's end."""
    drawn = [draw(caption, pixels) for caption, pixels in frames]
    film, strip = OUT / "demo.gif", OUT / "demo.png"
    paletted = [picture.convert("P", palette=Image.Palette.ADAPTIVE) for picture in drawn]
    paletted[0].save(
        film, save_all=True, append_images=paletted[1:], duration=round(1000 * FRAME_S), loop=0
    )
    last = {caption: index for index, (caption, _) in enumerate(frames)}
    pushed, *later = last.values()
    small = [pixels[::4, ::4].astype(int) for _, pixels in frames[: pushed + 1]]
    far = [min(abs(p - small[0]).sum(), abs(p - small[-1]).sum()) for p in small]
    chosen = [0, int(np.argmax(far)), *later]
    width, height = drawn[0].size
    sheet = Image.new("RGB", (width * len(chosen), height))
    for column, index in enumerate(chosen):
        sheet.paste(drawn[index], (column * width, 0))
    sheet.save(strip, optimize=True)
    return [film, strip]


def draw(caption: str, pixels: Any) -> Any:
    picture = Image.fromarray(pixels).resize(SIZE)
    pen = ImageDraw.Draw(picture)
    pen.rectangle((0, SIZE[1] - 22, SIZE[0], SIZE[1]), fill="black")
    if "rejected" in caption:
        pen.rectangle((0, 0, SIZE[0] - 1, SIZE[1] - 22), outline="red", width=4)
    pen.text((6, SIZE[1] - 19), caption, "white", ImageFont.load_default(13))
    return picture


def play(demo: Demo) -> None:
    def say(text: str) -> None:
        print(f"demo: {text}", flush=True)

    demo.until(demo.ready, "the graph", START_S)
    demo.node.set_parameters([Parameter("use_sim_time", True)])
    say("the graph is up and armed; the Panda pushes the cube onto the disc")
    result = demo.run_skill("scripted-push", "a skill pushes the cube onto the disc")
    word = "done" if result.success else result.reason
    say(f"push: {word} after {result.duration:.1f} s, {result.message}")
    if not result.success:
        demo.fail(f"the push did not succeed: {result.message}")
    say("now it is commanded straight through the table")
    verdict = demo.plunge()
    demo.until(lambda: demo.safety.state == ESTOPPED, "the stop")
    say(f"the kernel: {verdict.detail}")
    if verdict.hit != "table":
        raise SystemExit(f"it should have been rejected because of the table, not '{verdict.hit}'")
    say(f"the robot is stopped ({demo.safety.reason}) until an operator resets it")
    time.sleep(1.0)  # for the film
    say(f"reset: {demo.reset()}")
    result = demo.run_skill("home", "after a reset it goes home")
    say(f"home: {'done' if result.success else result.reason}, {result.message}")
    if not result.success:
        demo.fail(f"the run did not go on after the reset: {result.message}")


def main() -> int:
    heed_signals()
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    graph = Graph()
    demo = Demo(Network.from_environment(), graph)
    try:
        play(demo)
    finally:
        demo.close()
        summary = graph.end()
    film, strip = save_pictures(demo.frames)
    bag = OUT / "recording"
    accepted, rejected = summary["verdicts"]["accepted"], summary["verdicts"]["rejected"]
    print(
        f"\n{accepted} motions proven clear, {rejected} rejected, {summary['estops']} e-stop, "
        f"{summary['duration']:.0f} s at {summary['real_time_factor']:.2f}x real time\n"
        f"camera images   {film}, {strip}\n"
        f"all topics      {bag}   (openral topic list --bag {bag})\n"
        f"logs, summary   {OUT / 'log.txt'}, {OUT / 'summary.json'}"
    )
    return 0 if rejected == 1 else 1


if __name__ == "__main__":
    sys.exit(main())
