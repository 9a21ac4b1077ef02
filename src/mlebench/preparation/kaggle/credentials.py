"""The user's credentials for Kaggle: found where the official client looks for them, never written, never shown."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from mlebench.errors import UsageError

NONE_FOUND = (
    "no Kaggle credentials were found. In five steps: (1) make an account at https://www.kaggle.com; (2) verify its "
    "phone number at https://www.kaggle.com/settings, as some competitions ask for it; (3) create an API token there, "
    "in the section API; (4) put it into the file ~/.kaggle/access_token or the variable KAGGLE_API_TOKEN (a legacy "
    "key works too, as ~/.kaggle/kaggle.json or KAGGLE_USERNAME with KAGGLE_KEY, and so does `kaggle auth login`); (5) "
    "`mlebench doctor --split lite --open` opens the pages of the competitions whose rules are still to be accepted. "
    "Without an account: --source FILE.zip takes a competition's zip, --source synthetic needs no data at all."
)


class NoCredentials(UsageError):
    """There are none."""


@dataclass(frozen=True)
class Credentials:
    """What is sent with every request; `source` says where it was found. The secret is in no `repr`."""

    source: str
    secret: str = field(repr=False)
    username: str = ""  # empty: `secret` is an access token
    is_sign_in: bool = False  # by `kaggle auth login`: `secret` is what access tokens are had for

    def __post_init__(self) -> None:
        if not (self.secret.isascii() and self.secret.isprintable()) or " " in self.secret:
            raise UsageError(f"{self.source} holds no Kaggle token or key: it has blanks or odd characters")

    @property
    def kind(self) -> str:
        """What it is called at Kaggle."""
        if self.is_sign_in:
            return "sign-in"
        return "legacy key" if self.username else "access token"

    @property
    def authorization(self) -> str:
        """The value of the header Authorization."""
        if not self.username:
            return f"Bearer {self.secret}"
        return "Basic " + base64.b64encode(f"{self.username}:{self.secret}".encode()).decode()


def find_credentials(environment: Mapping[str, str] | None = None) -> Credentials:
    """An access token if there is one, else a legacy key, else a sign-in.

    Raises NoCredentials if there is none, another UsageError if what there is can't be used.
    In the official client's order: KAGGLE_API_TOKEN (the token or a file with it), ~/.kaggle/access_token, then
    KAGGLE_USERNAME and KAGGLE_KEY, each before what kaggle.json says. That file is in KAGGLE_CONFIG_DIR or, if
    this is not set, in ~/.kaggle or ~/.config/kaggle. Last what `kaggle auth login` left in ~/.kaggle/credentials.json.
    """
    variables = os.environ if environment is None else environment
    found = _access_token(variables) or _legacy_key(variables) or _sign_in(variables)
    if found is None:
        raise NoCredentials(NONE_FOUND)
    return found


def _home(variables: Mapping[str, str]) -> Path:
    return Path(variables["HOME"]) if variables.get("HOME") else Path.home()


def _access_token(variables: Mapping[str, str]) -> Credentials | None:
    given = variables.get("KAGGLE_API_TOKEN", "").strip()
    if given and _is_file(Path(given)):
        return _token_in(Path(given), f"the file {given} (KAGGLE_API_TOKEN)")
    if given:
        return Credentials("KAGGLE_API_TOKEN", given)
    for name in ("access_token", "access_token.txt"):  # the second is what some editors make of the first
        path = _home(variables) / ".kaggle" / name
        if _is_file(path) and (found := _token_in(path, str(path))):
            return found
    return None


def _token_in(path: Path, source: str) -> Credentials | None:
    token = _read(path).strip()
    return Credentials(source, token) if token else None


def _legacy_key(variables: Mapping[str, str]) -> Credentials | None:
    username, key = (variables.get(name, "").strip() for name in ("KAGGLE_USERNAME", "KAGGLE_KEY"))
    if username and key:
        return Credentials("KAGGLE_USERNAME and KAGGLE_KEY", key, username)
    path = next((path for path in _key_files(variables) if _is_file(path)), None)
    if path is None:
        if username or key:
            there, missing = ("KAGGLE_USERNAME", "KAGGLE_KEY") if username else ("KAGGLE_KEY", "KAGGLE_USERNAME")
            raise UsageError(f"{there} is set and {missing} is not: a legacy Kaggle key needs both")
        return None
    in_file = _texts_in(path)
    username, key = username or in_file.get("username", ""), key or in_file.get("key", "")
    if not (username and key):
        raise UsageError(f'{path} is no Kaggle key: it must hold {{"username": "...", "key": "..."}}')
    return Credentials(str(path), key, username)


def _sign_in(variables: Mapping[str, str]) -> Credentials | None:
    path = _home(variables) / ".kaggle" / "credentials.json"
    content = _texts_in(path) if _is_file(path) else {}
    if not content.get("refresh_token"):
        return None
    return Credentials(str(path), content["refresh_token"], content.get("username", ""), is_sign_in=True)


def _key_files(variables: Mapping[str, str]) -> list[Path]:
    if variables.get("KAGGLE_CONFIG_DIR"):
        return [Path(variables["KAGGLE_CONFIG_DIR"]).expanduser() / "kaggle.json"]
    home = _home(variables)
    config = Path(variables.get("XDG_CONFIG_HOME") or home / ".config")
    return [home / ".kaggle" / "kaggle.json", config / "kaggle" / "kaggle.json"]


def _texts_in(path: Path) -> dict[str, str]:
    try:
        content = json.loads(_read(path))
    except ValueError:
        return {}
    fields = content.items() if isinstance(content, dict) else ()
    return {name: value.strip() for name, value in fields if isinstance(value, str)}


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a token may be no possible path at all
        return False


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"the Kaggle credentials in {path} can't be read: {error.__class__.__name__}") from error
