"""The wheel that users install: whole, and at home in any folder."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

LOOK = """
from server.page import read_page
from server.weights import read_manifest
from pipeline.oracle.prompt import opening
from pipeline.types import SessionConfig

assert "/main.js" in read_page(), sorted(read_page())
assert read_manifest() and opening(SessionConfig())
import server
print(server.__file__)
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder holding what the wheel holds."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = folder.glob("umigame-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def run(installed: Path, *arguments: str) -> str:
    """What a Python says that sees the wheel and not this checkout."""
    ran = subprocess.run(
        [sys.executable, "-P", *arguments],
        cwd=installed.parent,
        env={"PYTHONPATH": str(installed), "PATH": "/usr/bin:/bin", "HOME": str(Path.home())},
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_an_installed_server_has_its_page_its_prompt_and_its_manifest(installed: Path) -> None:
    assert run(installed, "-c", LOOK).startswith(str(installed))


def test_an_installed_server_can_be_started_from_any_folder(installed: Path) -> None:
    assert "serve" in run(installed, "-m", "server", "--help")


def test_the_wheel_holds_no_tests(installed: Path) -> None:
    assert not list(installed.glob("tests"))
