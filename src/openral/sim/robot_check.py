"""`robot check`: validates a manifest against its twin and published models."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray
from scipy.spatial import QhullError

from openral.errors import ManifestError, ModelUnavailable, OpenralError
from openral.manifest import Kinematics, RobotDescription, collision_pairs, load_robot
from openral.manifest.kinematics import matrix
from openral.manifest.link import LinkBox
from openral.sim.importing.capsule_fit import FittedCapsule
from openral.sim.importing.hull import hull_volume, outside, union_volume
from openral.sim.twin.binding import Binding, JointMap
from openral.sim.twin.clearance import SelfClearance, random_positions
from openral.sim.twin.model_source import read_model, resolve
from openral.sim.twin.sensor_mounts import body_name, camera_name
from openral.sim.twin.twin import make_twin

_CONFIGURATIONS = 1000
_FK_TOLERANCE_M = 1e-6
_REFERENCE_TOLERANCE_M = 1e-3
_COVERAGE_TOLERANCE_M = 1e-3
_VOLUME_RATIO = 2.5
_STAND_S, _DRIFT = 5.0, 0.01


@dataclass
class Finding:
    """Result of one check."""

    check: str
    ok: bool
    detail: str


@dataclass
class Report:
    """All findings about one robot, and the numbers behind them."""

    robot: str
    findings: list[Finding] = field(default_factory=list)
    numbers: dict[str, float] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether all checks passed."""
        return all(finding.ok for finding in self.findings)

    def as_dict(self) -> dict[str, Any]:
        """The report as plain data, numbers at the top level."""
        found = [asdict(finding) for finding in self.findings]
        return {"robot": self.robot, "ok": self.ok, **self.numbers, "findings": found}


def check_robot(ref: str | Path) -> Report:
    """Checks a robot given by id or file."""
    try:
        robot = load_robot(ref)
    except ManifestError as error:
        return Report(str(ref), [Finding("schema", False, str(error))])
    return check_description(robot)


def check_description(robot: RobotDescription) -> Report:
    """Checks a description that is already loaded and therefore valid."""
    report = Report(robot.id)
    report.findings.append(Finding("schema", True, "valid"))
    links = len(robot.links)
    report.findings.append(Finding("tree", True, f"{links} links, one root: '{robot.root}'"))
    checks: list[tuple[str, Callable[[RobotDescription, Report], tuple[bool, str]]]] = [
        ("home", _home),
        ("limits", _limits),
        ("mass", _mass),
        ("capsules", _capsules),
        ("kinematics", _kinematics),
        ("reference", _reference),
        ("stands still", _stands),
        ("sensors", _sensors),
    ]
    for name, check in checks:
        try:
            ok, detail = check(robot, report)
        except (OpenralError, ValueError, mujoco.FatalError) as error:
            ok, detail = False, str(error)
        report.findings.append(Finding(name, ok, detail))
    return report


def _home(robot: RobotDescription, report: Report) -> tuple[bool, str]:
    pairs = collision_pairs(robot)
    if not pairs:
        return True, "inside the limits; no pair of links can collide"
    gaps = SelfClearance(robot, pairs).distances([robot.home_position])[0]
    nearest = int(gaps.argmin())
    report.numbers["home_clearance_m"] = round(float(gaps[nearest]), 4)
    a, b = pairs[nearest]
    margin = robot.safety.self_margin_m
    text = f"{len(pairs)} pairs kept apart; nearest: {a} and {b}, {gaps[nearest] * 1e3:.1f} mm"
    return bool(gaps[nearest] >= margin), f"{text} (margin {margin * 1e3:.1f} mm)"


def _limits(robot: RobotDescription, report: Report) -> tuple[bool, str]:
    strange = []
    for joint in robot.driven:
        assert joint.limits is not None
        low, high = joint.position_range
        if high - low < (1e-3 if joint.linear else 1e-2):
            strange.append(f"{joint.name} can hardly move: [{low:g}, {high:g}]")
        if joint.limits.effort > 2000:
            strange.append(f"{joint.name} has an effort of {joint.limits.effort:g}")
    return not strange, "; ".join(strange) or f"{len(robot.driven)} driven joints, all plausible"


def _mass(robot: RobotDescription, report: Report) -> tuple[bool, str]:
    total = sum(link.mass for link in robot.links)
    report.numbers["mass_kg"] = round(total, 3)
    strange = [
        f"{link.name} has impossible inertia"
        for link in robot.links
        if link.inertia is not None and not _is_physical(link.inertia)
    ]
    if not 0.1 <= total <= 500:
        strange.append(f"{total:g} kg in all is outside 0.1 to 500 kg")
    return not strange, "; ".join(strange) or f"{total:.2f} kg"


def _is_physical(inertia: tuple[float, ...]) -> bool:
    xx, yy, zz, xy, xz, yz = inertia
    a, b, c = np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return bool(a > 0 and a + b >= c * (1 - 1e-3))


def _capsules(robot: RobotDescription, report: Report) -> tuple[bool, str]:
    points = inside = 0
    ratios: dict[str, float] = {}
    bare = []
    for link in robot.links:
        if len(link.hull) == 0:
            continue
        if not link.capsules:
            bare.append(link.name)
            continue
        shapes = [FittedCapsule(np.array(c.p0), np.array(c.p1), c.radius) for c in link.capsules]
        corners = [corner for box in link.boxes for corner in _corners(box)]
        gaps = outside(np.array([*link.hull, *corners]), shapes)
        points, inside = points + len(gaps), inside + int((gaps <= _COVERAGE_TOLERANCE_M).sum())
        try:
            ratios[link.name] = union_volume(shapes) / hull_volume(np.array(link.hull))
        except (QhullError, ZeroDivisionError):
            continue  # a flat link has no volume to compare with
    if not points:
        return False, "no link has a hull to compare its capsules with"
    coverage = inside / points
    report.numbers["capsule_coverage"] = coverage
    detail = f"{inside} of {points} hull vertices inside"
    median = 0.0
    if ratios:
        median = float(np.median(list(ratios.values())))
        worst = max(ratios, key=lambda name: ratios[name])
        report.numbers["capsule_volume_ratio"] = round(median, 3)
        detail += f"; volume ratio {median:.2f} (median), {ratios[worst]:.2f} ({worst})"
    if bare:
        detail += f"; without capsules: {', '.join(bare)}"
    return coverage == 1.0 and median <= _VOLUME_RATIO and not bare, detail


def _corners(box: LinkBox) -> NDArray[np.float64]:
    signs = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, -1)
    turn = matrix(box.xyz, box.rpy)
    return np.asarray((turn[:3, :3] @ (signs * np.array(box.half)[:, None])).T + turn[:3, 3])


def _kinematics(robot: RobotDescription, report: Report) -> tuple[bool, str]:
    error = _fk_error(robot, make_twin(robot, base="fixed").compile())
    report.numbers["fk_error_m"] = error
    return error <= _FK_TOLERANCE_M, f"{error:.1e} m off the twin"


def _reference(robot: RobotDescription, report: Report) -> tuple[bool, str]:
    uri = robot.sim.reference_uri
    if uri is None:
        return True, "no published model named"
    try:
        model = read_model(resolve(uri, download=False)).compile()
    except ModelUnavailable as error:
        return True, f"not compared: {error}"
    gap = _fk_error(robot, model)
    source = "menagerie" if uri.startswith("menagerie:") else "model"
    report.numbers[f"fk_error_{source}_m"] = gap
    return gap <= _REFERENCE_TOLERANCE_M, f"{gap:.1e} m off {uri}"


def _fk_error(robot: RobotDescription, model: mujoco.MjModel) -> float:
    """Largest distance in m between our link frames and the model's, aligned at one link."""
    kinematics = Kinematics(robot)
    data = mujoco.MjData(model)
    joints = JointMap(robot, model)
    bodies = {
        index: mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, body_name(robot.link(name)))
        for index, name in enumerate(kinematics.links)
    }
    present = {index: body for index, body in bodies.items() if body >= 0}
    rows = random_positions(robot, _CONFIGURATIONS)
    ours = kinematics.poses(rows)
    anchor, anchor_body = next(iter(present.items()))
    worst = 0.0
    for q, poses in zip(rows, ours, strict=True):
        joints.place(data, q)
        mujoco.mj_kinematics(model, data)
        theirs = {i: _body_pose(model, data, body) for i, body in present.items()}
        to_ours = poses[anchor] @ np.linalg.inv(_body_pose(model, data, anchor_body))
        for index, pose in theirs.items():
            # A point off the origin reveals a wrong rotation as well.
            probe = np.array([0.1, 0.1, 0.1, 1.0])
            gap = (to_ours @ pose - poses[index]) @ probe
            worst = max(worst, float(np.linalg.norm(gap)))
    return worst


def _body_pose(model: mujoco.MjModel, data: mujoco.MjData, body: int) -> NDArray[np.float64]:
    """The link frame in a model, 4×4: the body's, moved to its joint where the two differ."""
    pose = np.eye(4)
    pose[:3, :3] = data.xmat[body].reshape(3, 3)
    pose[:3, 3] = data.xpos[body]
    joints = int(model.body_jntnum[body])
    if joints:
        last = int(model.body_jntadr[body]) + joints - 1
        pose[:3, 3] += pose[:3, :3] @ model.jnt_pos[last]
    return pose


def _stands(robot: RobotDescription, report: Report) -> tuple[bool, str]:
    model = make_twin(robot, base="fixed").compile()
    data = mujoco.MjData(model)
    binding = Binding(robot, model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    start = binding.positions(data)
    drift = 0.0
    for _ in range(int(_STAND_S / model.opt.timestep)):
        mujoco.mj_step(model, data)
        drift = max(drift, float(np.abs(binding.positions(data) - start).max(initial=0)))
    report.numbers["drift"] = round(drift, 6)
    return drift < _DRIFT, f"moves {drift:.5f} rad or m in {_STAND_S:g} s at home"


def _sensors(robot: RobotDescription, report: Report) -> tuple[bool, str]:
    model = make_twin(robot).compile()
    missing = [
        sensor.name
        for sensor in robot.cameras
        if mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_CAMERA, camera_name(sensor)) < 0
    ]
    missing += [
        lidar.name
        for lidar in robot.lidars
        if mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_SITE, lidar.name) < 0
    ]
    if missing:
        return False, f"not in the model: {', '.join(missing)}"
    return True, f"{len(robot.cameras)} cameras and {len(robot.lidars)} lidars resolve"
