"""proof.json, which fixes all attempts of a run by hashes once they are done.

Each attempt.json holds the hashes of what the attempt left and of its grade; proof.json holds the hash of each
attempt.json and of run.json. So one hash, or one signature (`mlebench.runs.signing`), covers the whole run.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any

from mlebench import __version__
from mlebench.errors import ENDS
from mlebench.files import write_json
from mlebench.runs.seal import file_sha256, mlebench_digest
from mlebench.runs.store import TRIES, AttemptFolder, attempts, read_config, read_object, unreadable

PROOF = "proof.json"


def seal_run(run: Path) -> Path | None:
    """Write proof.json if all attempts are done and there is none yet; its path, or None if some are to come.

    One that is there already is left as it is: what was changed since must not be covered up.
    """
    path = run / PROOF
    if path.is_file():
        return path
    folders = attempts(run, read_config(run))
    states = [folder.state() for folder in folders]
    if not all(state.is_done for state in states):
        return None
    ends = [ENDS.get(state.end or "") for state in states]
    proof = {
        "run": run.name,
        "made": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "mlebench": __version__,
        "mlebench_digest": mlebench_digest(),
        "planned": len(folders),
        "counted": sum(end is not None and end.counts for end in ends),
        "run.json": file_sha256(run / "run.json"),
        TRIES: file_sha256(run / TRIES) if (run / TRIES).is_file() else "",
        "attempts": {name_of(folder): file_sha256(folder.path / "attempt.json") for folder in folders},
    }
    write_json(path, proof)
    return path


def name_of(attempt: AttemptFolder) -> str:
    """`<competition>/<seed>`, as the plan names it."""
    return f"{attempt.competition_id}/{attempt.seed}"


def proof_changes(run: Path) -> dict[str, tuple[str, str]]:
    """Each file that is not as proof.json has it, with the SHA-256 expected and the one found; "" if it is gone.

    Raises FileNotFoundError if there is no proof, MlebenchError if it is broken.
    """
    proof = read_object(run / PROOF)
    expected = {name: str(proof.get(name, "")) for name in ("run.json", TRIES)}
    expected |= {f"{name}/attempt.json": str(value) for name, value in _attempts(run, proof).items()}
    found = {name: file_sha256(run / name) if (run / name).is_file() else "" for name in expected}
    return {name: (expected[name], found[name]) for name in expected if found[name] != expected[name]}


def _attempts(run: Path, proof: Mapping[str, Any]) -> dict[str, Any]:
    """The attempts that a proof names. Raises MlebenchError if a name leads elsewhere."""
    listed = proof.get("attempts")
    names = [PurePosixPath(name) for name in listed] if isinstance(listed, dict) else []
    if not names or any(".." in name.parts or len(name.parts) != 2 for name in names):
        raise unreadable(run / PROOF, "attempts is no object with the hash of each attempt")
    assert isinstance(listed, dict)
    return listed
