"""Builds the wheel: the module by maturin, and beside it the `cairn` command, which maturin alone does not put into one wheel.

Knows no Python of the package. CAIRN_PROFILE=dev builds both with Cargo's profile for tests; CAIRN_COMMAND names a command that is
built already.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import maturin
from maturin import get_requires_for_build_editable, get_requires_for_build_wheel  # noqa: F401

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "target" / "wheel" / "scripts"


def _profile():
    return os.environ.get("CAIRN_PROFILE", "release")


def _prepare():
    """Maturin wants the folder of the command to be there, also when it only tells about the wheel."""
    SCRIPTS.mkdir(parents=True, exist_ok=True)
    os.environ["MATURIN_PEP517_ARGS"] = f"--locked --profile {_profile()}"


def _build_command():
    _prepare()
    if given := os.environ.get("CAIRN_COMMAND"):
        shutil.copy2(given, SCRIPTS / "cairn")
        return
    cargo = shutil.which("cargo")
    if cargo is None:
        sys.exit("cargo is missing: install Rust 1.95 with rustup (https://rustup.rs), then install again")
    words = [cargo, "build", "--locked", "--profile", _profile(), "-p", "cairn", "--bin", "cairn"]
    words += ["--message-format", "json-render-diagnostics"]
    built = subprocess.run(words, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    if built.returncode != 0:
        sys.exit("the cairn command could not be built; see the messages above")
    made = (json.loads(line) for line in built.stdout.splitlines() if line.startswith("{"))
    programs = [m["executable"] for m in made if m.get("executable") and m["target"]["name"] == "cairn"]
    program = Path(programs[-1])
    shutil.copy2(program, SCRIPTS / program.name)


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    _prepare()
    return maturin.prepare_metadata_for_build_wheel(metadata_directory, config_settings)


def prepare_metadata_for_build_editable(metadata_directory, config_settings=None):
    _prepare()
    return maturin.prepare_metadata_for_build_editable(metadata_directory, config_settings)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    _build_command()
    return maturin.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    _build_command()
    return maturin.build_editable(wheel_directory, config_settings, metadata_directory)


def get_requires_for_build_sdist(config_settings=None):
    return []


def build_sdist(sdist_directory, config_settings=None):
    sys.exit("there is no source distribution of cairn-sched: build a wheel from a clone (pip wheel .)")
