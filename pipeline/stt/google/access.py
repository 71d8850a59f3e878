"""Who asks Google, and who pays."""

import json
from dataclasses import dataclass
from pathlib import Path

import google.auth
from google.auth.credentials import AnonymousCredentials, Credentials
from google.auth.exceptions import GoogleAuthError
from google.oauth2 import service_account

from pipeline.errors import ConfigError
from pipeline.settings import SttSettings

SCOPE = "https://www.googleapis.com/auth/cloud-platform"
PLAIN = "http://"
"""An endpoint that begins so is a stand-in for Google: no TLS, and no credentials are sent."""
WAYS_OUT = "Or use --stt local; or --stt none, where the front-end speaks alone."


@dataclass(frozen=True, slots=True)
class Access:
    credentials: Credentials
    project: str


def find_access(settings: SttSettings) -> Access:
    """From the settings, else from where Google's tools keep it; may block for seconds.

    Raises ConfigError.
    """
    if settings.google_endpoint.startswith(PLAIN):
        return Access(AnonymousCredentials(), settings.google_project or "none")  # type: ignore[no-untyped-call]
    file = settings.google_credentials
    try:
        found = _from_file(file) if file else _from_tools()
    except (GoogleAuthError, OSError, ValueError) as error:
        where = f"in {file}" if file else "where Google's tools keep them"
        raise ConfigError(
            f"There are no usable credentials for Google's STT {where} ({type(error).__name__}).",
            hint="Set google_credentials under [stt] to the JSON file of a service account, or run"
            f" gcloud auth application-default login. {WAYS_OUT}",
        ) from error
    project = settings.google_project or found.project
    if not project:
        raise ConfigError(
            "Google's STT needs a project, and the credentials name none.",
            hint=f"Set google_project under [stt]. {WAYS_OUT}",
        )
    return Access(found.credentials, project)


def _from_file(file: str) -> Access:
    info = json.loads(Path(file).expanduser().read_text())
    made = service_account.Credentials.from_service_account_info(info, scopes=[SCOPE])  # type: ignore[no-untyped-call]
    return Access(made, made.project_id or "")


def _from_tools() -> Access:
    """Application default credentials."""
    credentials, project = google.auth.default(scopes=[SCOPE])
    return Access(credentials, project or "")
