"""Where submissions are handed in: only one that is valid replaces the one before."""

from __future__ import annotations

import json
import shutil
import urllib.error
import urllib.request
import uuid
from pathlib import Path

import pandas as pd

VALIDATION_SECONDS = 120


class Desk:
    """Keeps the last valid submission in `target`, the sample submission to begin with.

    `sample` is a table of text: ids, columns that nothing is predicted for, and the order are taken from it.
    """

    def __init__(self, target: Path, scratch: Path, sample: pd.DataFrame, url: str | None) -> None:
        self.target, self.scratch, self.sample, self.url = target, scratch, sample, url

    def hand_in_sample(self) -> None:
        """Write the sample submission as a fallback."""
        self.target.parent.mkdir(parents=True, exist_ok=True)
        self.sample.to_csv(self.target, index=False)

    def hand_in(self, predictions: pd.DataFrame) -> bool:
        """Put `predictions` (rows in the sample's order) into the sample's form; False if they were refused."""
        table = self.sample.copy()
        for column in predictions.columns:
            table[column] = predictions[column].to_numpy()
        candidate = self.scratch / "candidate.csv"
        table.to_csv(candidate, index=False)
        verdict = validate(self.url, candidate)
        if verdict is not None and not verdict["is_valid"]:
            print(f"refused: {verdict['result']}", flush=True)
            return False
        if verdict is None and table.isna().to_numpy().any():
            print("refused: there are gaps", flush=True)
            return False
        beside = self.target.with_name(f".{self.target.name}.new")
        shutil.copyfile(candidate, beside)
        beside.replace(self.target)
        return True


def validate(url: str | None, path: Path) -> dict[str, object] | None:
    """What the validation service says about a file; None if it can't be asked."""
    if not url:
        return None
    border = uuid.uuid4().hex
    head = f'--{border}\r\nContent-Disposition: form-data; name="file"; filename="submission.csv"\r\n\r\n'
    body = head.encode() + path.read_bytes() + f"\r\n--{border}--\r\n".encode()
    request = urllib.request.Request(url, body, {"Content-Type": f"multipart/form-data; boundary={border}"})
    try:
        with urllib.request.urlopen(request, timeout=VALIDATION_SECONDS) as response:
            answer = json.load(response)
    except urllib.error.HTTPError as error:  # the service is there, and did not take the file
        return {"result": error.read().decode(errors="replace")[:2000], "is_valid": False}
    except (OSError, ValueError):
        return None
    return answer if isinstance(answer, dict) and "is_valid" in answer else None
