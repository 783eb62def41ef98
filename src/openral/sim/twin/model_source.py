"""Loads a robot's MuJoCo model: its twin, or from Menagerie, an installed package or a file."""

from __future__ import annotations

import importlib.util
import sysconfig
from collections.abc import Callable
from pathlib import Path

import mujoco

from openral.errors import ConfigError, ModelUnavailable, choices
from openral.manifest import RobotDescription
from openral.sim.twin.model_copies import MAX_COPIES, most_copies
from openral.sim.twin.twin import make_twin


def load_spec(robot: RobotDescription, uri: str | None = None) -> mujoco.MjSpec:
    """The robot's model as an MjSpec, from `uri` or from the manifest's `sim.mjcf_uri`."""
    uri = uri or robot.sim.mjcf_uri
    if uri == "twin:":
        return make_twin(robot)
    return read_model(resolve(uri))


def read_model(path: Path) -> mujoco.MjSpec:
    """Parses an MJCF or URDF file; ConfigError with MuJoCo's reason if it is invalid."""
    if not path.is_file():
        raise ModelUnavailable(f"no model file {path}")
    if (copies := most_copies(path)) > MAX_COPIES:
        raise ConfigError(f"{path} asks for {copies} copies of a body (at most {MAX_COPIES})")
    try:
        return mujoco.MjSpec.from_file(str(path))
    except (ValueError, mujoco.FatalError) as error:
        raise ConfigError(f"{path} is not a model that MuJoCo can read: {error}") from None


def resolve(uri: str, download: bool = True) -> Path:
    """The file of a model URI; ModelUnavailable says what to install or set."""
    scheme, _, rest = uri.partition(":")
    sources: dict[str, Callable[[str, bool], Path]] = {
        "menagerie": _menagerie,
        "package": _package,
        "file": _file,
    }
    if scheme not in sources:
        raise ConfigError(f"unknown model source '{uri}'; {choices(scheme, ['twin', *sources])}")
    return sources[scheme](rest, download)


def _file(rest: str, download: bool) -> Path:
    path = Path(rest).expanduser()
    if not path.is_file():
        raise ModelUnavailable(f"model file:{rest} is not there")
    return path


def _package(rest: str, download: bool) -> Path:
    module, _, inside = rest.partition("/")
    try:
        found = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        found = None
    if found is None or not found.submodule_search_locations:
        distribution = module.replace("_", "-")
        raise ModelUnavailable(
            f"model package:{rest} needs the package '{module}': pip install {distribution}"
        )
    # A distribution has its models beside its code or in the environment's shared data.
    shared = Path(sysconfig.get_path("data")) / "share" / module
    folders = [*map(Path, found.submodule_search_locations), shared]
    for folder in folders:
        if (path := folder / inside).is_file():
            return path
    models = sorted(str(p.relative_to(f)) for f in folders for p in f.rglob("*.xml"))
    raise ModelUnavailable(
        f"package '{module}' has no '{inside}'; {choices(inside, models, 'models')}"
    )


def _menagerie(rest: str, download: bool) -> Path:
    import mujoco_menagerie
    from mujoco_menagerie import MenagerieError

    folder, _, entry = rest.partition("/")
    names = mujoco_menagerie.names()
    if folder not in names:
        raise ConfigError(f"Menagerie has no '{folder}'; {choices(folder, names, 'models')}")
    robot = mujoco_menagerie.get(folder)
    files = {name: robot.entry(name).file for name in robot.entry_names}
    cache = mujoco_menagerie.Cache()
    if not download and cache.root is None and not cache.is_cached(robot):
        raise ModelUnavailable(f"model menagerie:{rest} is not on this machine")
    try:
        root = Path(robot.path(cache))
    except MenagerieError as error:
        raise ModelUnavailable(
            f"model menagerie:{rest} is not available ({error}); set MENAGERIE_ROOT to a checkout "
            "of MuJoCo Menagerie, or allow mujoco-menagerie to download it"
        ) from None
    file = files.get(entry, f"{entry}.xml")
    path: Path = root / file
    if not path.is_file():
        present = sorted(p.stem for p in root.glob("*.xml"))
        raise ModelUnavailable(
            f"menagerie:{folder} has no '{entry}'; {choices(entry, present, 'models')}"
        )
    return path
