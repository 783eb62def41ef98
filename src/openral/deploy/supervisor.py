"""Supervisor: starts a graph, monitors it and shuts it down; one run from start to end."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import Any

from openral.deploy.display import Display
from openral.deploy.domain_lock import domain_lock
from openral.deploy.goals import Goals
from openral.deploy.graph_link import GraphLink
from openral.deploy.other_graph import require_free_domain
from openral.deploy.plan import LaunchPlan, NodeSpec
from openral.deploy.process.child import Child
from openral.deploy.process.processes import Processes
from openral.deploy.results import RunEnded
from openral.deploy.streams import streams_of
from openral.deploy.summary import Summary
from openral.errors import OpenralError
from openral.graph import topics
from openral.graph.deadlines import SILENT_S, STARTING_S
from openral.ros.clock import NS
from openral.ros.parameters.store import Parameter
from openral.ros.priority import priority_hint
from openral.ros.recording.reader import Recording
from openral.ros.transport.dds_config import Network
from openral.signals import ENDING

_COME_UP_S = 60.0
_TRANSITION_S = 60.0
_CLOCK_STALL_S = 3.0
_STEP_S = 0.05
_CANCEL_S = 1.0
"""Wait for a cancelled skill: one in motion brakes along its path for 0.25 s before it ends."""


class Supervisor:
    """One run of a plan. Use it once, on the main thread."""

    def __init__(self, plan: LaunchPlan, network: Network, command_at: float | None = None) -> None:
        """`command_at`: monotonic time in s at which the user entered the command."""
        self.plan, self._options, self._network = plan, plan.options, network
        self._command_at = time.monotonic() if command_at is None else command_at
        scene = self._options.scene_ref or None
        self.summary = Summary(self._options.robot.id, scene, self._options.mode)
        self._display = Display(f"{self._options.robot.name} · {scene or 'bare twin'}")
        self._interrupted = ""
        self._fault = "it broke"  # until the cause is known
        self._wake = threading.Event()
        self._ending = False
        self._changed: deque[Child] = deque()
        """Children that ended or were stopped, and have not been handled yet."""
        self._processes: Processes | None = None
        self._link: GraphLink | None = None
        self._goals: Goals | None = None
        self._phase = "starting"
        self._coming_up = ""
        self._without: set[str] = set()
        """Non-critical nodes that have failed."""
        self._noticed: RunEnded | None = None

    def run(self) -> Summary:
        """Runs to the end; the summary has the exit code and the reason."""
        with domain_lock(self._network.domain):
            require_free_domain(self._network)
            return self._run()

    def _run(self) -> Summary:
        previous = {number: signal.signal(number, self._on_signal) for number in ENDING}
        try:
            logs = self._display.logs
            self._processes = Processes(self.plan, logs, self._network, self._on_change)
            self._live()
        except RunEnded as ended:
            self._fault = ended.reason if ended.is_fault else ""
            self.summary.exit_reason, self.summary.exit_code = ended.reason, ended.code
        finally:
            self._end()
            for number, handler in previous.items():
                signal.signal(number, handler)
        return self.summary

    # Signals

    def _on_signal(self, number: int, frame: Any) -> None:
        if self._interrupted:  # the user will not wait
            if self._processes is not None:
                for child in self._processes.children:
                    child.kill()
            os._exit(128 + number)
        self._interrupted = signal.Signals(number).name
        self._wake.set()

    def _on_change(self, child: Child) -> None:
        """Stops the robot on the child's own thread, without waiting for the main loop."""
        if child.spec.critical and self._link is not None and not self._ending:
            state = "has ended" if child.ended.is_set() else "was stopped"
            with suppress(Exception):  # the main loop handles it as well
                self._link.tell_stop(f"{child.spec.name} {state}")
        self._changed.append(child)
        self._wake.set()

    def _look(self) -> None:
        """Raises RunEnded if the run is over for a reason other than the skill."""
        try:
            self._look_around()
        except RunEnded as ended:
            self._noticed = ended
            raise
        if self._coming_up in self._without:
            raise RunEnded.fault(f"{self._coming_up} did not come up")

    def _look_around(self) -> None:
        if self._interrupted:
            raise RunEnded(f"interrupted ({self._interrupted})", 0)
        while self._changed:
            child = self._changed.popleft()
            text = f"{child.spec.name} {child.what_happened()}"
            if child.spec.critical:
                raise RunEnded.fault(text)
            self._lost(child.spec.name, f"{text}; the graph goes on without it")
        if self._link is not None and (silent := self._link.monitor.silent()):
            name, seconds = silent
            text = f"{name} hangs: nothing was heard from it for {seconds:.1f} s"
            if words := self._last_words(name):
                text += f"; its last words: {words}"
            spec = self.plan.node(name)
            if spec is None or spec.critical:
                raise RunEnded.fault(text)
            self._lost(name, text)

    def _last_words(self, name: str) -> str:
        children = self._processes.children if self._processes is not None else []
        return next((child.last_words for child in children if child.spec.name == name), "")

    def _lost(self, name: str, text: str) -> None:
        self._without.add(name)
        self._display.say(text)
        self.summary.failures.append(text)
        if self._link is not None:
            self._link.monitor.unwatch(name)

    # The run

    def _live(self) -> None:
        assert self._processes is not None
        sealed = any(spec.gets_key for spec in self.plan.nodes)
        key = self._processes.key if sealed else None
        streams = streams_of(self._options.robot)
        self._link = link = GraphLink(self._network, streams, self._look, key)
        for spec in self.plan.nodes:
            self._bring_up(spec)
        if self.plan.node("safety_kernel") is not None:
            self._arm()
        self.summary.ready_after = round(time.monotonic() - self._command_at, 2)
        link.monitor.begin()
        self._phase = "no skill"
        if self._options.skill:
            self._goals = Goals(link, self._options)
            self._phase = self._options.skill
            self._goals.start()
        while not self._is_over():
            self._look()
            self._look_at_clock()
            if self._goals is not None:
                self._goals.poll()
            self._show()
            self._wake.wait(_STEP_S)
            self._wake.clear()

    def _bring_up(self, spec: NodeSpec) -> None:
        """Brings a node up; if a non-critical one does not come up, the run continues without."""
        self._coming_up = "" if spec.critical else spec.name
        try:
            self._lead_up(spec)
        except RunEnded as ended:
            if spec.critical or ended is self._noticed:
                raise
            if spec.name not in self._without:
                self._lost(spec.name, f"{ended.reason}; the graph goes on without it")
        finally:
            self._coming_up = ""

    def _lead_up(self, spec: NodeSpec) -> None:
        link = self._link
        assert link is not None
        managed = link.join(spec, _COME_UP_S)
        if self.summary.clock is not None:
            link.set_parameter(spec.name, "use_sim_time", self.summary.clock == "sim")
        link.change(spec.name, "configure", _TRANSITION_S)
        if spec.name == "hal":
            self._decide_clock()
        link.change(spec.name, "activate", _TRANSITION_S)
        self._require_clock(spec)
        link.monitor.watch(spec, managed)

    def _require_clock(self, spec: NodeSpec) -> None:
        """Checks that no other client changed the clock before the node was configured."""
        assert self._link is not None
        if self.summary.clock is None:
            return
        wanted = self.summary.clock == "sim"
        if self._link.parameter(spec.name, "use_sim_time") != wanted:
            raise RunEnded.fault(f"{spec.name} does not run on {self.summary.clock} time")

    def _decide_clock(self) -> None:
        """Sets one clock for all nodes: the one that the HAL reports for its backend."""
        link = self._link
        assert link is not None
        clock = link.parameter("hal", "clock")
        if clock not in ("sim", "wall"):
            raise RunEnded.fault(f"hal says that its clock is '{clock}'; valid: sim, wall")
        if clock == "sim" and self._options.mode == "real":
            raise RunEnded.fault("hal says that it runs on simulated time; hardware does not")
        self.summary.clock = clock
        link.monitor.time_waits = clock == "sim" and not self._options.real_time
        self._display.say(f"the graph runs on {'simulated' if clock == 'sim' else 'wall'} time")
        link.node.set_parameters([Parameter("use_sim_time", clock == "sim")])
        if hint := priority_hint():
            waits = link.monitor.time_waits
            cost = "simulated time slows down" if waits else "heartbeats are missed: a stop"
            self._display.say(f"on a busy machine {cost}: {hint}")

    def _arm(self) -> None:
        """Arms the kernel, which refuses until it has received a fresh and complete state."""
        link = self._link
        assert link is not None
        self._phase = "arming"
        give_up = time.monotonic() + STARTING_S
        while True:
            answer = link.call("std_srvs/srv/Trigger", topics.RESET, STARTING_S)
            if answer.success:
                self._display.say(answer.message)
                return
            if time.monotonic() > give_up:
                raise RunEnded.fault(f"the kernel does not arm: {answer.message}")
            self._look()
            time.sleep(_STEP_S)

    def _is_over(self) -> bool:
        options, link = self._options, self._link
        assert link is not None
        failure = self._goals.failure if self._goals is not None else ""
        if options.duration_s:
            if link.monitor.elapsed()[1] < options.duration_s:
                return False
            reason = f"{options.duration_s:g} s are over"
            if self._goals is not None and self._goals.running and not link.monitor.armed:
                why = "; ".join(link.monitor.stop_reasons[-1:]) or "never armed"
                failure = failure or f"the robot is stopped by {why}"
        elif self._goals is not None and self._goals.all_done:
            reason = f"skill '{options.skill}' is done"
        else:
            return False
        if failure:
            raise RunEnded(f"skill '{options.skill}' failed: {failure}", 1)
        raise RunEnded(reason, 0)

    def _look_at_clock(self) -> None:
        assert self._link is not None
        simulated = self._link.node.clock.simulated
        longest_s = SILENT_S if self._link.monitor.time_waits else _CLOCK_STALL_S
        if simulated is not None and simulated.silent_for_s() > longest_s:
            at = simulated.now_ns() / NS
            raise RunEnded.fault(f"simulated time stands still at {at:.2f} s")

    def _show(self) -> None:
        assert self._link is not None
        feedback = self._goals.feedback if self._goals is not None else None
        self._display.update(self._link.monitor, self._phase, feedback)

    # The end

    def _end(self) -> None:
        """Ends the run, whatever happened: stops the robot on a fault, else cancels the skill.

        All processes are gone afterwards.
        """
        link, summary = self._link, self.summary
        began = self._goals is not None or summary.ready_after is not None
        if link is not None:
            if self._fault:
                link.stop_robot(self._fault)
                self._display.say(f"{self._fault}: the robot was told to stop")
            if began:
                summary.take(link.monitor, self._command_at)
            if not self._fault and self._goals is not None:
                self._goals.cancel(_CANCEL_S)
        if self._goals is not None:
            episodes = [result.as_dict() for result in self._goals.results]
            summary.skill = {"name": self._options.skill, "episodes": episodes}
        self._ending = True
        if self._processes is not None:
            killed = self._processes.end()
            if killed:
                self._display.say(f"killed, because they did not end: {', '.join(killed)}")
        if self._options.record is not None:
            summary.recording = _recorded(self._options.record)
        if link is not None:
            link.close()
        self._display.close()


def _recorded(folder: Path) -> dict[str, Any]:
    """Folder and message count of a recording, even a truncated one."""
    try:
        count = sum(topic.count for topic in Recording(folder).topics.values())
    except OpenralError as error:
        return {"folder": str(folder), "messages": 0, "error": str(error)}
    return {"folder": str(folder), "messages": count}
