"""Runs where a real ROS 2 is installed: rosidl's own hashes of the interface files in a folder.

rosidl_hashes.py FOLDER WORK: FOLDER/<package>/<kind>/<Name>.<kind>; prints {type name: hash}.
"""

import contextlib
import json
import sys
from pathlib import Path

from rosidl_adapter import convert_to_idl
from rosidl_generator_type_description import generate_type_hash


def convert(package: Path, work: Path) -> list[str]:
    (package / "package.xml").write_text(
        f'<package format="3"><name>{package.name}</name><version>0.0.0</version>'
        '<description>d</description><maintainer email="a@b.c">a</maintainer>'
        "<license>x</license></package>"
    )
    out = work / "idl" / package.name
    tuples = []
    for file in sorted(package.glob("*/*.*")):
        idl = convert_to_idl(package, package.name, file.relative_to(package), out)
        tuples.append(f"{out}:{idl.relative_to(out)}")
    return tuples


def main(folder: Path, work: Path) -> dict[str, str]:
    packages = {p.name: convert(p, work) for p in sorted(folder.iterdir())}
    hashes, waiting, tries = {}, list(packages), 0
    while waiting and tries < len(packages) ** 2:
        name, tries = waiting.pop(0), tries + 1
        arguments = work / "arguments.json"
        arguments.write_text(
            json.dumps(
                {
                    "package_name": name,
                    "output_dir": str(work / name),
                    "idl_tuples": packages[name],
                    "include_paths": [f"{other}:{work / other}" for other in packages],
                }
            )
        )
        try:
            described = generate_type_hash(str(arguments))
        except FileNotFoundError:  # a package it needs comes later
            waiting.append(name)
            continue
        for file in described:
            first = json.loads(Path(file).read_text())["type_hashes"][0]
            hashes[first["type_name"]] = first["hash_string"]
    return hashes


if __name__ == "__main__":
    with contextlib.redirect_stdout(sys.stderr):
        found = main(Path(sys.argv[1]), Path(sys.argv[2]))
    print(json.dumps(found))
