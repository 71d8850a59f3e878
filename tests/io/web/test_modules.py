"""Runs the page's own tests, which are JavaScript, in node."""

import shutil
import subprocess
from pathlib import Path

import pytest

MODULES = sorted(Path(__file__).parents[2].glob("web/*.test.mjs"))
NODE = shutil.which("node")


@pytest.mark.skipif(NODE is None, reason="node is not installed: apt install nodejs")
@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.name)
def test_the_pages_module_does_what_its_test_says(module: Path) -> None:
    assert NODE is not None
    ran = subprocess.run([NODE, "--test", str(module)], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout
