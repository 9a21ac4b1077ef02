"""What an agent needs beside its own files: the table `[software]` of its agent.toml."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

BASES = ("light", "standard")
_BUILT_IN = Path(__file__).parents[1] / "agents"


@dataclass(frozen=True)
class Software:
    """What stands in an agent's environment. Paths are absolute; two with equal content share an environment."""

    python: str = ""  # version specifiers such as ">=3.12"
    base: str | None = None  # a name of BASES: packages that generated code finds
    requirements: Path | None = None  # pip's format, exact versions, resolved under the constraints of the base
    no_deps: tuple[str, ...] = ()  # installed last, without what they ask for
    npm: Path | None = None  # a package-lock.json, beside its package.json
    root: str | None = None  # the Debian release of a root of its own, where the host has no such Python
    root_packages: tuple[str, ...] = ()  # Debian packages of that root, or of an image
    agent: str = field(default="NAME", compare=False)  # how `mlebench agents build` names it
    option: str = field(default="", compare=False)  # and what else that must be told

    @classmethod
    def parse(cls, table: Mapping[str, Any], folder: Path) -> Software:
        """From the table, with paths below the agent's `folder`.

        Raises ValueError for an unknown key, a value of another type, a version that is none or a missing file.
        """
        unknown = sorted(set(table) - _TYPES.keys())
        if unknown:
            raise ValueError(f"[software] has no key {unknown[0]!r}; there are {', '.join(_TYPES)}")
        for name, value in table.items():
            _require_type(name, value)
        if (python := table.get("python")) is not None:
            _require_versions(python)
        for package in table.get("no_deps", ()):
            _require_exact(package)
        if (base := table.get("base")) is not None and base not in BASES:
            raise ValueError(f'base of [software] is "{base}"; there are {", ".join(BASES)}')
        npm = _file(table, "npm", folder)
        if npm and (npm.name != "package-lock.json" or not npm.with_name("package.json").is_file()):
            raise ValueError(f"npm of [software] names a package-lock.json with its package.json beside it, not {npm}")
        return cls(
            python=python or "",
            base=base,
            requirements=_file(table, "requirements", folder),
            no_deps=tuple(table.get("no_deps", ())),
            npm=npm,
            root=table.get("root"),
            root_packages=tuple(sorted(table.get("root_packages", ()))),
            agent=folder.name if folder.resolve().parent == _BUILT_IN.resolve() else str(folder),
        )


def with_base(software: Software | None, base: str | None, agent: str = "NAME") -> Software | None:
    """`software` on another base, as `--environment` asks for; None for `base` changes nothing."""
    if base is None:
        return software
    return replace(software or Software(agent=agent), base=base, option=f" --environment {base}")


_TYPES = {
    "python": str,
    "base": str,
    "requirements": str,
    "no_deps": list,
    "npm": str,
    "root": str,
    "root_packages": list,
}


def _require_type(name: str, value: object) -> None:
    if _TYPES[name] is list:
        if not isinstance(value, list) or not all(isinstance(each, str) and each for each in value):
            raise ValueError(f"{name} of [software] is a list of strings, not {value!r}")
    elif not isinstance(value, str) or not value:
        raise ValueError(f"{name} of [software] is a string, not {value!r}")


def _require_versions(python: str) -> None:
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    try:
        SpecifierSet(python)
    except InvalidSpecifier as error:
        raise ValueError(
            f'python of [software] is a version such as ">=3.12" or ">=3.12,<3.14", not "{python}"'
        ) from error


def _require_exact(package: str) -> None:
    from packaging.requirements import InvalidRequirement, Requirement

    with suppress(InvalidRequirement):
        found = Requirement(package)
        if found.url or any(each.operator in ("==", "===") for each in found.specifier):
            return
    raise ValueError(f'no_deps of [software] names packages with exact versions, as "six==1.17.0", not "{package}"')


def _file(table: Mapping[str, Any], name: str, folder: Path) -> Path | None:
    if name not in table:
        return None
    path = folder.absolute() / table[name]
    if not path.is_file():
        raise ValueError(f"{name} of [software] names {table[name]!r}, and there is no file {path}")
    return path
