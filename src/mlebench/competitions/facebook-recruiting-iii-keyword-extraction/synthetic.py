"""Questions whose words hint at their tags; most of them were asked several times, word by word."""

from __future__ import annotations

import csv
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

TAGS = ["c#", "java", "php", "javascript", "android", "jquery", "python", "c++", "asp.net", "sql", "iphone", ".net"]
TAGS += ["html", "css", "ruby-on-rails", "linux", "nan", "real-analysis", "visual-studio-2010", "regex"]
WORDS = ["how", "can", "i", "get", "a", "list", "of", "the", "value", "error", "file", "server", "when", "does", "not"]
WORDS += ["work", "string", "page", "naïve", "“quoted”", "日本語", "proof"]
COPIES = 4  # of a question that was asked several times
ALONE = 0.03  # share of questions that were asked once
OTHER_TAGS = 0.02  # share of copies with tags of their own
ROWS = 100_000  # written at once


@dataclass(frozen=True)
class Texts:
    """Numbers of words and tags of each text; shapes (texts, 16) and (texts, 5)."""

    words: np.ndarray
    tags: np.ndarray
    tag_counts: np.ndarray  # (texts,)


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    tested = size // 3 + 1
    texts = _texts(rng, size + tested)
    repeated = np.arange(size) % max(1, size // COPIES)
    text = rng.permutation(np.where(rng.random(size) < ALONE, np.arange(size), repeated))
    other = np.where(rng.random(size) < OTHER_TAGS, rng.integers(0, size, size), text)
    _write(raw / "Train.zip", "Train.csv", texts, text, other)
    unseen = np.arange(size, size + tested)
    _write(raw / "Test.zip", "Test.csv", texts, unseen, None, first_id=size + 1)
    lines = [f'{number},"{TAGS[3]} {TAGS[0]} {TAGS[6]}"' for number in unseen + 1]
    (raw / "SampleSubmission.csv").write_text("\n".join(['"Id","Tags"', *lines, ""]), encoding="utf-8")


def _texts(rng: np.random.Generator, count: int) -> Texts:
    words = rng.integers(0, len(WORDS), (count, 16), dtype=np.int16)
    ranks = (len(TAGS) * rng.random((count, 5)) ** 1.5).astype(np.int16)
    return Texts(words, ranks, rng.integers(1, 6, count))


def _write(
    archive: Path, name: str, texts: Texts, text: np.ndarray, tags_of: np.ndarray | None, first_id: int = 1
) -> None:
    """A zip with one table; its rows have the texts with the numbers `text` and the tags of those of `tags_of`."""
    member = zipfile.ZipInfo(name)
    member.external_attr = 0o644 << 16
    member.compress_type = zipfile.ZIP_DEFLATED
    with zipfile.ZipFile(archive, "w") as opened, opened.open(member, "w", force_zip64=True) as file:
        for start in range(0, len(text), ROWS):
            rows = text[start : start + ROWS]
            titles, bodies = zip(*(_question(texts, row) for row in rows.tolist()), strict=True)
            table = pd.DataFrame({"Id": range(first_id + start, first_id + start + len(rows))})
            table = table.assign(Title=titles, Body=bodies)
            if tags_of is not None:
                table["Tags"] = [" ".join(_tags(texts, row)) for row in tags_of[start : start + ROWS].tolist()]
            part = table.to_csv(index=False, header=start == 0, quoting=csv.QUOTE_ALL, lineterminator="\n")
            file.write(part.encode("utf-8"))


def _tags(texts: Texts, row: int) -> list[str]:
    return list(dict.fromkeys(TAGS[tag] for tag in texts.tags[row, : texts.tag_counts[row]]))


def _question(texts: Texts, row: int) -> tuple[str, str]:
    """Title and body; a few titles are a word that means missing, a few bodies are empty."""
    words, tags = [WORDS[word] for word in texts.words[row]], _tags(texts, row)
    if row % 53 == 7:
        return "null", f"<p>{' '.join(words)}, {', '.join(tags)}</p>\r\n"
    title = f"{' '.join(words[:5])} {tags[0]}?"
    if row % 59 == 8:
        return f"{title} {' '.join(tags)} {' '.join(words[5:])}", ""
    code = f'if (x == "{row}") {{ return {words[5]}; }}'
    return title, f"<p>{' '.join(words)}, {', '.join(tags)}.</p>\n\n<pre><code>{code}\n</code></pre>\n"
