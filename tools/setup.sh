#!/usr/bin/env bash
# Makes the virtual environment and builds openral into it: the first step of every make target.
# Needs Python 3.11+ and a C++ compiler; Debian packages that are missing are installed as root,
# and otherwise named in one command.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=${1:-.venv}
python=${PYTHON:-python3}

fail() { printf '%s\n' "setup: $*" >&2; exit 1; }
command -v "$python" >/dev/null || fail "no $python found; install Python 3.11 or newer"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
  fail "$("$python" --version) is too old; openral needs Python 3.11 or newer (set PYTHON=...)"
command -v c++ >/dev/null || command -v g++ >/dev/null || command -v clang++ >/dev/null ||
  fail "no C++ compiler found; install one (Debian: apt-get install g++)"

missing=()
"$python" -c 'import ensurepip, venv' 2>/dev/null || missing+=(python3-venv)
"$python" -c 'import pathlib, sysconfig, sys
sys.exit(not pathlib.Path(sysconfig.get_path("include"), "Python.h").exists())' || missing+=(python3-dev)
has_library() { "$python" -c "import ctypes.util, sys; sys.exit(not ctypes.util.find_library('$1'))"; }
has_library EGL || missing+=(libegl1)
has_library OpenGL || missing+=(libopengl0)
compgen -G '/usr/lib/*/dri/*swrast*' >/dev/null || compgen -G '/usr/lib/*/libgallium*' >/dev/null ||
  missing+=(libgl1-mesa-dri)
if ((${#missing[@]})); then
  install="apt-get install -y --no-install-recommends ${missing[*]}"
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "setup: installing ${missing[*]}"
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive $install -qq; } >/dev/null ||
      echo "setup: could not install ${missing[*]}; rendering may not work" >&2
  else
    echo "setup: for the build and for headless rendering run:  sudo $install" >&2
  fi
fi

[ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
pip=("$venv/bin/python" -m pip --quiet --disable-pip-version-check)
"${pip[@]}" install -c constraints.txt scikit-build-core nanobind cmake ninja
"${pip[@]}" install -c constraints.txt --no-build-isolation -e '.[dev]'
touch "$venv/.ready"
