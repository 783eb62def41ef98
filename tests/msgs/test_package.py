"""openral_msgs is complete: as data for our registry and as a package that colcon builds."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path
from xml.etree import ElementTree

import pytest

from openral.ros.codec.types import decode, encode, new, registry

PACKAGE = Path(str(files("openral.msgs")))
INTERFACES = sorted(
    file
    for kind in ("action", "msg", "srv")
    for file in (PACKAGE / kind).iterdir()
    if file.suffix == f".{kind}"
)
OWN = [n for k in ("msg", "srv", "action") for n in registry.names(k) if n.startswith("openral_")]


def test_cmake_generates_every_interface_file() -> None:
    listed = re.findall(r'^  "(\S+)"$', (PACKAGE / "CMakeLists.txt").read_text(), re.M)
    assert listed == [str(file.relative_to(PACKAGE)) for file in INTERFACES]


def test_every_package_that_is_used_is_depended_on() -> None:
    used = {field.type for name in OWN for field in registry.definition(name).fields}
    packages = {kind.split("/")[0] for kind in used if "/" in kind}
    # rosidl itself supplies these two to services and actions.
    packages -= {"openral_msgs", "service_msgs", "unique_identifier_msgs"}
    manifest = ElementTree.parse(PACKAGE / "package.xml").getroot()
    assert manifest.findtext("name") == "openral_msgs"
    depends = {element.text for element in manifest.findall("depend")}
    assert packages <= depends
    assert "rosidl_interface_packages" in {e.text for e in manifest.findall("member_of_group")}
    dependencies = re.search(r"DEPENDENCIES (.*)", (PACKAGE / "CMakeLists.txt").read_text())
    assert dependencies and packages == set(dependencies[1].split())


@pytest.mark.parametrize("file", INTERFACES, ids=lambda file: file.name)
def test_every_file_says_what_it_is_for(file: Path) -> None:
    assert file.read_text().startswith("# ")
    names = re.findall(r"^\w[\w/\[\]<=]* (\w+)", file.read_text(), re.M)
    assert names and len(names) == len(re.findall(r"^\w", file.read_text(), re.M))


@pytest.mark.parametrize("name", OWN)
def test_every_own_type_crosses_the_wire(name: str) -> None:
    message = new(name)
    assert decode(name, encode(message)) == message


def test_the_mac_of_a_safe_action_stands_first_and_covers_the_rest() -> None:
    first = encode(new("openral_msgs/msg/SafeAction", mac=bytes(range(32)), sequence=7))
    other = encode(new("openral_msgs/msg/SafeAction", sequence=7))
    assert first[4:36] == bytes(range(32)) and first[36:] == other[36:]
