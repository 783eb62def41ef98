"""A run that says that its recorder may fail goes on without it; nobody changes a node's clock."""

from __future__ import annotations

from pathlib import Path

from openral.ros.codec import types
from openral.ros.node.parameter_services import value_to_msg
from tests.system.graph import Deployment, blind_robot


def test_a_folder_that_cannot_be_made_costs_the_recording_only(domain: int, tmp_path: Path) -> None:
    robot = blind_robot("ur5e", tmp_path)
    run = Deployment(domain, "--robot", robot, "--duration", "3", "--record", "/proc/none/run")
    try:
        run.wait_armed()
        for name in ("hal", "safety_kernel"):
            wanted = types.new(
                "rcl_interfaces/msg/Parameter", name="use_sim_time", value=value_to_msg(False)
            )
            kind, service = "rcl_interfaces/srv/SetParameters", f"/{name}/set_parameters"
            (result,) = run.observer.call(kind, service, parameters=[wanted]).results
            assert not result.successful
            assert "'use_sim_time' is fixed while" in result.reason
        summary = run.end()
    finally:
        run.close()
    assert summary["returncode"] == 0
    assert summary["exit_reason"] == "3 s are over"
    (failure,) = summary["failures"]
    assert "cannot make /proc/none/run" in failure
    assert "the graph goes on without it" in failure
