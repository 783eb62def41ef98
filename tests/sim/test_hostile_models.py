"""Models that mean harm: an error in words, in time, without all memory."""

from __future__ import annotations

import os
import resource
import struct
from pathlib import Path

import pytest

from openral.errors import ConfigError, OpenralError
from openral.sim.importing.process import import_apart

_LETTERS = ("abcdefgh", "bcdefghi")
_ENTITIES = "".join(f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in zip(*_LETTERS, strict=True))
_MESH = (
    '<mujoco><asset><mesh name="m" file="{}"/></asset><worldbody><body><joint/>'
    '<geom type="mesh" mesh="m"/></body></worldbody></mujoco>'
)
MODELS = {
    "bomb.urdf": f'<!DOCTYPE r [<!ENTITY a "aaaaaaaaaa">{_ENTITIES}]>'
    '<robot name="x"><link name="&i;"/></robot>',
    "outside.urdf": '<!DOCTYPE r [<!ENTITY a SYSTEM "file:///etc/passwd">]>'
    '<robot name="x"><link name="&a;"/></robot>',
    "include.xml": '<mujoco><include file="../../../../etc/passwd"/></mujoco>',
    "itself.xml": '<mujoco><include file="itself.xml"/></mujoco>',
    "deep.xml": f"<mujoco><worldbody>{'<body>' * 50_000}{'</body>' * 50_000}</worldbody></mujoco>",
    "passwd.xml": _MESH.format("/etc/passwd"),
    "zero.xml": _MESH.format("/dev/zero"),
    "faces.xml": _MESH.format("faces.stl"),
    "speed.urdf": '<robot name="x"><link name="a"/><link name="b"/><joint name="j" type="revolute">'
    '<parent link="a"/><child link="b"/><limit velocity="fast" effort="1"/></joint></robot>',
    "noise.urdf": "\x00\x01\x02",
}

_COPIES = "<mujoco><worldbody>{}</worldbody></mujoco>"
_NESTED = '<replicate count="1000">' * 3 + "<body/>" + "</replicate>" * 3
BOMBS = {
    "replicate": '<replicate count="1000000000"><body/></replicate>',
    "nested": _NESTED,
    "flexcomp": '<flexcomp name="f" type="grid" count="1000 1000 1000" spacing="1 1 1"/>',
    "endless": f'<replicate count="{"9" * 5000}"><body/></replicate>',
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_line_that_asks_for_a_billion_bodies_is_refused_before_one_is_made(
    name: str, tmp_path: Path
) -> None:
    path = tmp_path / "bomb.xml"
    path.write_text(_COPIES.format(BOMBS[name]))
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    with pytest.raises(ConfigError, match=r"copies of a body \(at most 100000\)"):
        import_apart(path, None, 60.0)
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before < 10.0


def test_a_bomb_in_an_included_file_ends_at_the_limits(tmp_path: Path) -> None:
    (tmp_path / "inner.xml").write_text(f"<mujocoinclude>{_NESTED}</mujocoinclude>")
    path = tmp_path / "outer.xml"
    path.write_text(_COPIES.format('<include file="inner.xml"/>'))
    with pytest.raises(ConfigError):
        import_apart(path, None, 10.0)


@pytest.mark.parametrize("name", MODELS)
def test_it_is_refused_in_words(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(MODELS[name])
    (tmp_path / "faces.stl").write_bytes(bytes(80) + struct.pack("<I", 4_000_000_000) + bytes(100))
    with pytest.raises(OpenralError) as caught:
        import_apart(path, None, 60.0)
    assert "root:" not in str(caught.value)
    assert "Traceback" not in str(caught.value)


def test_one_that_never_ends_is_ended(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.stl")
    path = tmp_path / "pipe.xml"
    path.write_text(_MESH.format("pipe.stl"))
    with pytest.raises(ConfigError, match="within 15 s"):
        import_apart(path, None, 15.0)
