#!/usr/bin/env bash
# Pinocchio, Coal and OctoMap from PyPI, in a virtual environment of their own: what the kernel and
# the mapper are timed against. Nothing else needs them.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=.venv-peers
[ -x "$venv/bin/python" ] || "${PYTHON:-python3}" -m venv "$venv"
"$venv/bin/python" -c 'import coal, octomap, pinocchio' 2>/dev/null ||
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check \
    'pin>=3' 'coal>=3' 'octomap-python>=1.10' numpy
"$venv/bin/python" -c 'import coal, octomap, pinocchio'
