"""Files from the Hugging Face Hub, through its own client and cache."""

from pathlib import Path

from huggingface_hub import hf_hub_download
from huggingface_hub.errors import (
    EntryNotFoundError,
    GatedRepoError,
    HFValidationError,
    LocalEntryNotFoundError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from pipeline.errors import ConfigError

_HINTS = (
    (GatedRepoError, "Accept its terms on its page, then log in with `hf auth login`."),
    (RepositoryNotFoundError, "Look at --hf-repo; a private one needs `hf auth login`."),
    (RevisionNotFoundError, "Look at the revision."),
    (HFValidationError, "Look at --hf-repo: owner/name."),
    (LocalEntryNotFoundError, "Is the Hub to be reached? Local files need no network."),
)


def fetch(repo: str, file: str, revision: str = "") -> Path:
    """The file in the Hub's cache on this machine, downloaded if need be.

    Raises FileNotFoundError if the repository has no such file, ConfigError if it cannot be had.
    """
    try:
        return Path(hf_hub_download(repo, file, revision=revision or None))
    except Exception as error:  # its client raises its own, the HTTP library's and the system's
        if isinstance(error, EntryNotFoundError) and not isinstance(error, LocalEntryNotFoundError):
            raise FileNotFoundError(file) from error
        hint = next((hint for kind, hint in _HINTS if isinstance(error, kind)), "")
        raise ConfigError(
            f"{file} of {repo} cannot be fetched: {str(error).splitlines()[0]}",
            hint=hint or "Is there room on the disk, and the Hub to be reached?",
        ) from error
