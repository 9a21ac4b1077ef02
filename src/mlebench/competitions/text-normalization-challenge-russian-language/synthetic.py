"""Sentences of stock words, numbers, dates, measures, letters and foreign words, with their spoken forms."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mlebench.preparation.spoken_tokens import make_tokens, write_raw

ONES = ["ноль", "один", "два", "три", "четыре", "пять", "шесть", "семь", "восемь", "девять", "десять"]
ONES += ["одиннадцать", "двенадцать", "тринадцать", "четырнадцать", "пятнадцать", "шестнадцать", "семнадцать"]
ONES += ["восемнадцать", "девятнадцать"]
TENS = ["", "", "двадцать", "тридцать", "сорок", "пятьдесят", "шестьдесят", "семьдесят", "восемьдесят", "девяносто"]
DAYS = ["", "первого", "второго", "третьего", "четвёртого", "пятого", "шестого", "седьмого", "восьмого", "девятого"]
WORDS = ["город", "остров", "Москва", "был", "в", "и", "который", "архивировано", "года", 'ООО "Рога"', "НАТО", "из"]
LOST = ["NA", "null", "None", "nan"]  # read as missing cells by the published preparation
MONTHS = ["мая", "июля", "сентября", "января"]
UNITS = {"км": "километров", "кг": "килограммов", "%": "процентов"}
LETTERS = ["СССР", "США", "МГУ"]
FOREIGN = ["Anna", "Berlin", "Bob"]
SOUNDS = dict(zip("abeilnor", "абеилнор", strict=True))


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    tokens = make_tokens(rng, size + size // 10 + 10, _token)
    is_train = np.arange(len(tokens)) < size
    write_raw(raw, tokens[is_train], tokens[~is_train], "ru")


def _token(rng: np.random.Generator) -> tuple[str, str, str]:
    """Class, written and spoken form; most are plain words."""
    kind, number = rng.random(), int(rng.integers(0, 100))
    if kind < 0.66:
        word = str(rng.choice(WORDS))
        return "PLAIN", word, word
    if kind < 0.68:
        word = str(rng.choice(LOST))
        return "PLAIN", word, word
    if kind < 0.76:
        mark = str(rng.choice([",", "«", "»", "—"]))
        return "PUNCT", mark, mark
    if kind < 0.84:
        return "CARDINAL", str(number), _spoken(number)
    if kind < 0.88:
        day, month = int(rng.integers(1, 10)), str(rng.choice(MONTHS))
        return "DATE", f"{day} {month}", f"{DAYS[day]} {month}"
    if kind < 0.92:
        unit = str(rng.choice(list(UNITS)))
        return "MEASURE", f"{number} {unit}", f"{_spoken(number)} {UNITS[unit]}"
    if kind < 0.95:
        letters = str(rng.choice(LETTERS))
        return "LETTERS", letters, " ".join(letters.lower())
    if kind < 0.97:
        return "VERBATIM", "№", "номер"
    word = str(rng.choice(FOREIGN))
    return "PLAIN", word, " ".join(f"{SOUNDS[letter]}_trans" for letter in word.lower())


def _spoken(number: int) -> str:
    """A number below 100 in words."""
    if number >= 20:
        return TENS[number // 10] + (f" {ONES[number % 10]}" if number % 10 else "")
    return ONES[number]
