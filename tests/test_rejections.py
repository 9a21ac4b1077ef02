"""Garbage is refused by name, oddities score what the published benchmark gives them; competition by competition.

Each row changes the gold submission of a synthetic twin. What is expected is the kind of the problem, or a
score: a number, that of the gold submission (UNCHANGED), or that of another change. "a or b" stands where
releases of pandas differ.
"""

import csv
import math
from collections.abc import Callable
from io import StringIO

import pandas as pd
import pytest

from mlebench.errors import InvalidSubmission
from mlebench.grading import score_submission
from mlebench.tables import read_csv

HUGE = "1" + "0" * 25  # beyond 64 bits
VAST = "9" * 400  # beyond any float


def whole(change):
    """The table changed as one."""
    return lambda table, _columns: change(table)


def every(new, *names):
    """Each cell replaced by a text or by what a function of the cell gives; by default in all columns but the id."""

    def change(table, columns):
        for name in names or columns:
            table[name] = table[name].map(new) if isinstance(new, Callable) else new
        return table

    return change


def first(new, *names):
    """The same in the first row only; by default in the first column that isn't the id."""

    def change(table, columns):
        changed = every(new, *(names or columns[:1]))(table.head(1).copy(), columns)
        return pd.concat([changed, table.iloc[1:]])

    return change


def then(*changes):
    def change(table, columns):
        for one in changes:
            table = one(table, columns)
        return table

    return change


def blanks(by):
    return lambda cell: cell.replace(" ", by)


def words(new):
    return lambda cell: " ".join(map(new, cell.split(" ")))


UNCHANGED = whole(lambda table: table)
RENAMED = {"1": "TRUE", "0": "false", "1.0": "TRUE", "0.0": "false"}
ONE_ID = every(lambda cell: cell.split(" ")[0])
ONE_ZERO_FILLED_ID = every(lambda cell: "0" + cell.split(" ")[0])
SCORED, NOT_SCORED = "reactivity", "deg_pH10"


def last(new, name):
    """The last row's cell of the column `name` replaced."""
    return whole(lambda table: pd.concat([table.iloc[:-1], table.tail(1).assign(**{name: new})]))


def shifted(table):
    """One-hot rows that all name a wrong class."""
    table.iloc[:, 1:] = table.iloc[:, [*range(2, table.shape[1]), 1]].to_numpy()
    return table


def second_class(value):
    """Puts `value` where the first row gives a class nothing."""

    def change(table):
        zero = next(column for column in table.columns[1:] if float(table[column].iloc[0]) == 0)
        table.iloc[0, table.columns.get_loc(zero)] = value
        return table

    return whole(change)


def other_cells(table):
    """Under the names of the columns the cells of those from the last to the first."""
    return table[[table.columns[0], *table.columns[:0:-1]]].set_axis(table.columns, axis=1)


def in_two_rows(table):
    """The first box of each picture, and below it the others."""
    boxes = table["PredictionString"].str.split(" ")
    first, rest = (table.assign(PredictionString=part.str.join(" ")) for part in (boxes.str[:6], boxes.str[6:]))
    return pd.concat([first, rest[boxes.str.len() > 6]]).sort_index(kind="stable")


def parted_runs(cell):
    """The same mask, the first run in two that touch."""
    start, length, *others = map(int, cell.split())
    runs = [start, 1, start + 1, length - 1] if length > 1 else [start, length]
    return " ".join(map(str, [*runs, *others]))


def if_mask(new):
    return lambda cell: new(cell) if cell else cell


TAXI, TITANIC, TABULAR = "new-york-city-taxi-fare-prediction", "spaceship-titanic", "tabular-playground-series-dec-2021"
NOMAD, SPOOKY, LEAF = "nomad2018-predict-transparent-conductors", "spooky-author-identification", "leaf-classification"
APTOS, BIRDS, STANFORD = "aptos2019-blindness-detection", "mlsp-2013-birds", "stanford-covid-vaccine"
FASHION, TWEETS = "h-and-m-personalized-fashion-recommendations", "tweet-sentiment-extraction"
TOXIC, BIAS = "jigsaw-toxic-comment-classification-challenge", "jigsaw-unintended-bias-in-toxicity-classification"
INSULTS, PATENTS = "detecting-insults-in-social-commentary", "us-patent-phrase-to-phrase-matching"
WORDS, MOLECULES, CHAII = (
    "billion-word-imputation",
    "bms-molecular-translation",
    "chaii-hindi-and-tamil-question-answering",
)
NQ, GESTURES, SOUNDS = (
    "tensorflow2-question-answering",
    "multi-modal-gesture-recognition",
    "freesound-audio-tagging-2019",
)
ENGLISH, RUSSIAN = (f"text-normalization-challenge-{language}-language" for language in ("english", "russian"))
HUBMAP, CONTRAILS = "hubmap-kidney-segmentation", "google-research-identify-contrails-reduce-global-warming"
INK, BOWEL = "vesuvius-challenge-ink-detection", "uw-madison-gi-tract-image-segmentation"
KUZUSHIJI, COVID = "kuzushiji-recognition", "siim-covid19-detection"
DRIVES = "3d-object-detection-for-autonomous-vehicles"
SALT, CHEST = "tgs-salt-identification-challenge", "vinbigdata-chest-xray-abnormalities-detection"
HERBARIA = ["herbarium-2020-fgvc7", "herbarium-2021-fgvc8", "herbarium-2022-fgvc9"]
TRAPS, MUSEUM, LEAVES = "iwildcam-2019-fgvc6", "imet-2020-fgvc7", "plant-pathology-2021-fgvc8"
QUESTIONS = "facebook-recruiting-iii-keyword-extraction"
HOTELS, WHALES = "hotel-id-2021-fgvc8", "whale-categorization-playground"
DOGS, CATS = "dog-breed-identification", "dogs-vs-cats-redux-kernels-edition"
BATTLES, ICEBERGS = "lmsys-chatbot-arena", "statoil-iceberg-classifier-challenge"
ESSAYS = "learning-agency-lab-automated-essay-scoring-2"
REVIEWS = "movie-review-sentiment-analysis-kernels-only"
SPINES, BREASTS = "rsna-2022-cervical-spine-fracture-detection", "rsna-breast-cancer-detection"
BRAINS = "hms-harmful-brain-activity-classification"
PATTERNS = ["seizure_vote", "lpd_vote", "gpd_vote", "lrda_vote", "grda_vote"]  # and other_vote
CATHETERS, APPLES = "ranzcr-clip-catheter-line-classification", "plant-pathology-2020-fgvc7"
TUMOURS = "rsna-miccai-brain-tumor-radiogenomic-classification"
COUPLINGS, PAGES, PETS = "champs-scalar-coupling", "denoising-dirty-documents", "petfinder-pawpularity-score"
VOLCANOES, VENTILATOR = "predict-volcanic-eruptions-ingv-oe", "ventilator-pressure-prediction"
LUNGS, NEUTRINOS = "osic-pulmonary-fibrosis-progression", "icecube-neutrinos-in-deep-ice"
ALL_WEEKS = every(lambda cell: cell or "2000", "FVC")  # its answers have none in weeks without a visit
CASSAVA, SHOP, RICE = (
    "cassava-leaf-disease-classification",
    "cdiscount-image-classification-challenge",
    "paddy-disease-classification",
)
PHONEMES, SEEDLINGS, SPECIES = "ml2021spring-hw2", "plant-seedlings-classification", "inaturalist-2019-fgvc6"
CAMERAS, SPEECH, CONTACTS = (
    "iwildcam-2020-fgvc7",
    "tensorflow-speech-recognition-challenge",
    "nfl-player-contact-detection",
)


CASES = [
    ("AI4Code", every(blanks("  ")), UNCHANGED),
    ("AI4Code", every(blanks("\t \n")), UNCHANGED),
    ("AI4Code", every(lambda cell: f"  {cell} "), UNCHANGED),
    ("AI4Code", first("NA"), "missing value"),
    ("AI4Code", first(blanks(",")), "unknown entry"),
    ("AI4Code", first(str.upper, "id"), "unknown id"),
    ("AI4Code", first(lambda cell: cell + " " + cell.split()[0]), "repeated entry"),
    (APTOS, every(lambda cell: cell + ".0"), UNCHANGED),
    (APTOS, every(lambda cell: f" {cell} "), UNCHANGED),
    (APTOS, first("1.5"), "not whole"),
    (APTOS, first("5"), "out of range"),
    (APTOS, first("-1"), "out of range"),
    (APTOS, first(HUGE), "out of range"),
    (APTOS, first(VAST), "not finite or not a number"),
    (APTOS, first("True"), "not a number"),
    (APTOS, first("1_0"), "not a number"),
    (APTOS, every("True"), every("1")),
    (APTOS, every("null"), "missing value"),
    (FASHION, ONE_ZERO_FILLED_ID, ONE_ID),
    (FASHION, then(ONE_ID, every(lambda cell: " " + cell)), ONE_ID),
    (FASHION, then(ONE_ID, first("")), 0.0),
    (FASHION, then(ONE_ZERO_FILLED_ID, first("0123456789 0123456789")), 0.0),
    (FASHION, every(words(lambda word: "0" + word)), 0.0),
    (FASHION, every(lambda cell: "1 " * 12 + cell), 0.0),
    (FASHION, every(lambda cell: cell + " 1" * 20), UNCHANGED),
    (FASHION, every(lambda cell: cell + "  "), UNCHANGED),
    (FASHION, every(lambda cell: " " + cell), every(lambda cell: "1 " + cell)),
    (FASHION, every(blanks("  ")), every(blanks(" 1 "))),
    (FASHION, every(" "), 0.0),
    (FASHION, first(blanks(",")), "not an id"),
    (FASHION, first(blanks("\t")), "not an id"),
    (FASHION, first("1" * 11), "not an id"),
    (FASHION, then(ONE_ID, every(lambda cell: cell + ".0")), "not an id"),
    (FASHION, every("True"), "not an id"),
    (FASHION, whole(lambda table: pd.concat([table, table.head(1)])), "repeated id"),
    (FASHION, whole(lambda table: table.iloc[1:]), "missing id"),
    (FASHION, whole(lambda table: table.reset_index()), "extra column"),
    *(
        case
        for id_ in (LEAF, SPOOKY)
        for case in (
            (id_, every(lambda cell: "True" if float(cell) else "FALSE"), UNCHANGED),
            (id_, every(lambda cell: f"{float(cell):.0f}"), UNCHANGED),
            (id_, whole(shifted), -math.log(2.0**-52)),
            (id_, second_class("0.0000105"), UNCHANGED),
            (id_, second_class("0.000012"), "row sum"),
            (id_, second_class("-0.0"), UNCHANGED),
            (id_, second_class("-1e-9"), "out of range"),
            (id_, second_class("1.0000001"), "out of range"),
            (id_, second_class("nan"), "missing value"),
            (id_, second_class("0,1"), "not a number"),
            (id_, second_class(HUGE), "out of range"),
            (id_, whole(lambda table: table.rename(columns={"id": "ID"})), "missing column"),
            (id_, whole(lambda table: table.reset_index()), "extra column"),
        )
    ),
    (LEAF, whole(lambda table: table[table.columns[::-1]]), UNCHANGED),
    (LEAF, every(lambda cell: cell + ".0", "id"), UNCHANGED),
    (LEAF, first(HUGE, "id"), "unknown id"),
    (LEAF, first(VAST, "id"), "malformed id"),
    (SPOOKY, whole(lambda table: table[table.columns[::-1]]), "column order"),
    (BIRDS, every(RENAMED.__getitem__), UNCHANGED),
    (BIRDS, every(lambda cell: f" {cell}", "Id"), UNCHANGED),
    (BIRDS, first("True"), "not a number"),
    (BIRDS, then(every(RENAMED.__getitem__), first("")), "missing value"),
    (BIRDS, first("1.0001"), "out of range"),
    (BIRDS, first("-1e-9"), "out of range"),
    (BIRDS, first(lambda cell: cell + "_0", "Id"), "malformed id"),
    (BIRDS, first("1e19", "Id"), "unknown id"),
    (TAXI, every("True"), every("1")),
    (TAXI, every("1e308"), math.inf),
    (TAXI, every(HUGE), 1e25),
    (TAXI, first(VAST), "not finite or not a number"),
    (TAXI, first("1e400"), "not finite or not a number"),
    (TAXI, first("$5"), "not a number"),
    (TAXI, first(lambda cell: cell + " ", "key"), "unknown id"),
    (TAXI, whole(lambda table: pd.concat([table.iloc[:-1], table.head(1)])), "repeated id"),
    (NOMAD, every(lambda cell: cell + ".0", "id"), UNCHANGED),
    (NOMAD, first("-1"), "out of range"),
    (NOMAD, first("-1.0", "bandgap_energy_ev"), "out of range"),
    (NOMAD, first("NA"), "missing value"),
    (NOMAD, whole(lambda table: table.iloc[::-1]), "row order"),
    (NOMAD, first("1e19", "id"), "unknown id"),
    (TITANIC, every(str.upper), UNCHANGED),
    (TITANIC, every(str.lower), UNCHANGED),
    (TITANIC, every(lambda cell: "1" if cell == "True" else "0"), UNCHANGED),
    (TITANIC, every(lambda cell: "1.0" if cell == "True" else "-0.0"), UNCHANGED),
    (TITANIC, every(lambda cell: " " + cell), "not a boolean"),
    (TITANIC, first("True "), "not a boolean"),
    (TITANIC, first("1"), "not a boolean"),
    (TITANIC, every("2"), "not a boolean"),
    (TITANIC, every("0.9"), "not a boolean"),
    (TITANIC, first("None"), "missing value"),
    (STANFORD, last("text", SCORED), UNCHANGED),
    (STANFORD, last("inf", SCORED), UNCHANGED),
    (STANFORD, last("", SCORED), UNCHANGED),
    (STANFORD, last(VAST, SCORED), UNCHANGED),
    (STANFORD, every("text", NOT_SCORED), UNCHANGED),
    (STANFORD, every("", NOT_SCORED), UNCHANGED),
    (STANFORD, every("True", SCORED), every("1", SCORED)),
    (STANFORD, then(last("text", SCORED), first(lambda cell: f" {cell}", SCORED)), UNCHANGED),
    (STANFORD, first("text", SCORED), "not a finite number"),
    (STANFORD, first("inf", SCORED), "not a finite number"),
    (STANFORD, first("", SCORED), "not a finite number"),
    (STANFORD, first(VAST, SCORED), "not a finite number"),
    (STANFORD, whole(lambda table: table.drop(columns=NOT_SCORED)), "missing column"),
    (TABULAR, every(lambda cell: cell + ".0"), UNCHANGED),
    (TABULAR, every("9"), 0.0),
    (TABULAR, every("-1"), 0.0),
    (TABULAR, first("1.5"), "not whole"),
    (TABULAR, first(HUGE), "out of range"),
    (TABULAR, every("1e19"), "out of range"),
    (TABULAR, first("x"), "not a number"),
    (SALT, every(if_mask(blanks("   "))), UNCHANGED),
    (SALT, every(if_mask(lambda cell: f" {cell}  ")), UNCHANGED),
    (SALT, every(if_mask(words(lambda word: "0" + word))), UNCHANGED),
    (SALT, every(if_mask(parted_runs)), UNCHANGED),
    (SALT, first("NA"), first("")),
    (SALT, first("1.0 3"), "not whole numbers"),
    (SALT, first("1,3"), "not whole numbers"),
    (SALT, every("7"), "odd count"),
    (SALT, first("1 3 10"), "odd count"),
    (SALT, first("1 3 3 1"), "overlap"),
    (SALT, first("5 1 1 1"), "not ascending"),
    (SALT, first("0 1"), "below 1"),
    (SALT, first("10201 2"), "past the end"),
    (SALT, first(f"1 {HUGE}"), "past the end"),
    (HUBMAP, every(parted_runs), UNCHANGED),
    (HUBMAP, every(lambda cell: f" {cell}\t"), UNCHANGED),
    (HUBMAP, every(""), 0.0),
    (HUBMAP, first("19200 1"), first("")),
    (HUBMAP, first("19200 2"), "past the end"),
    (HUBMAP, first("19201 1"), "past the end"),
    (HUBMAP, every("7"), "odd count"),
    (HUBMAP, first("1 3 10"), "odd count"),
    (HUBMAP, first("2.0 3"), "not whole numbers"),
    (CONTRAILS, every(lambda cell: cell if cell == "-" else parted_runs(cell)), UNCHANGED),
    (CONTRAILS, every("-"), 0.0),
    (CONTRAILS, first(""), "missing value"),
    (CONTRAILS, first(" "), "blanks"),
    (CONTRAILS, first(" -"), "not whole numbers"),
    (CONTRAILS, first("288 1"), first("288 01")),
    (CONTRAILS, first("288 2"), "past the end"),
    (CONTRAILS, first("7"), "odd count"),
    (CONTRAILS, first(lambda cell: cell + "0", "record_id"), "unknown id"),
    (INK, every(lambda cell: cell + " 9999999 5 9999999 7 10000000 1"), UNCHANGED),
    (INK, every(lambda cell: cell + " 9999999 5 9999998 7"), "not ascending"),
    (INK, every(" "), 0.0),
    (INK, every("NA"), "missing value"),
    (INK, every("7"), "odd count"),
    (INK, every("True"), "not whole numbers"),
    (INK, every("5 2 5 2"), "not ascending"),
    (INK, every("5 2 6 2"), "overlap"),
    (INK, whole(lambda table: table[table.columns[::-1]]), UNCHANGED),
    (INK, whole(lambda table: table.assign(further=1)), "extra column"),
    (BOWEL, every(if_mask(parted_runs), "predicted"), UNCHANGED),
    (BOWEL, every("", "predicted"), 0.0),
    (BOWEL, whole(lambda table: table.iloc[::-1]), "row order"),
    (BOWEL, whole(lambda table: table.iloc[[1, 0, *range(2, len(table))]]), "row order"),
    (BOWEL, whole(lambda table: table.iloc[:-1]), "missing id"),
    (BOWEL, whole(lambda table: pd.concat([table, table.tail(1)])), "repeated id"),
    (BOWEL, first("liver", "class"), "unknown id"),
    (BOWEL, first("1 9999", "predicted"), "past the end"),
    (BOWEL, whole(lambda table: table.assign(further=1)), UNCHANGED),
    (KUZUSHIJI, every(words(lambda word: word if word[:1] == "U" else word + ".5")), UNCHANGED),
    (KUZUSHIJI, every(if_mask(lambda cell: cell + " U+XYZ nan inf")), every(if_mask(lambda cell: cell + " ? -1 -1"))),
    (KUZUSHIJI, every(""), 0.0),
    (KUZUSHIJI, first(lambda cell: cell + " "), "blanks"),
    (KUZUSHIJI, first("U+3042 1"), "count"),
    (KUZUSHIJI, first("U+3042 1 y"), "not a number"),
    (KUZUSHIJI, every("7"), "count"),
    (COVID, every(blanks(" \t")), UNCHANGED),
    (COVID, every(lambda cell: cell + " pneumothorax nan 0 0 1 inf"), UNCHANGED),
    (COVID, every(lambda cell: cell.replace(" 1 ", " 7e3 ", 1)), UNCHANGED),
    (COVID, first(""), "missing value"),
    (COVID, first("none nan 0 0 1 1"), "not finite"),
    (COVID, first("none inf 0 0 1 1"), "not finite"),
    (COVID, first("none 1 0 0 1"), "count"),
    (COVID, first("none one 0 0 1 1"), "not a number"),
    (COVID, whole(lambda table: table.rename(columns={"id": "Id"})), "missing column"),
    (DRIVES, every(lambda cell: cell + " 1 0 0 0 1 1 1 0 tram"), UNCHANGED),
    (DRIVES, every(lambda cell: cell.replace("1.0 ", "-5 ")), UNCHANGED),
    (DRIVES, every(""), 0.0),
    (DRIVES, first("nan 0 0 0 1 1 1 0 car"), "not finite"),
    (DRIVES, first("1 0 0 0 1 0 1 0 car"), "out of range"),
    (DRIVES, first("1 0 0 0 1 1 1 east car"), "not a number"),
    (DRIVES, first("0 0 0 1 1 1 0 car"), "count"),
    (DRIVES, first(lambda cell: cell + " "), "blanks"),
    (DRIVES, every("7"), "count"),
    (INSULTS, whole(lambda table: table.iloc[::-1]), UNCHANGED),
    (INSULTS, whole(lambda table: table.assign(Date="x")), UNCHANGED),
    (INSULTS, every("0.3"), 0.5),
    (INSULTS, whole(lambda table: pd.concat([table.iloc[:-1], table.head(1)])), "missing id"),
    (INSULTS, whole(lambda table: pd.concat([table, table.head(1)])), "repeated id"),
    (INSULTS, whole(lambda table: table.drop_duplicates("Comment")), "missing id"),
    (INSULTS, first(lambda cell: cell.strip('"'), "Comment"), "unknown id"),
    (INSULTS, first("1.01"), "out of range"),
    (PATENTS, every(lambda cell: str(3 * float(cell) - 7)), UNCHANGED),
    (PATENTS, every(lambda cell: str(-float(cell))), -1.0),
    (PATENTS, every(lambda cell: str(1e300 * float(cell))), UNCHANGED),
    (PATENTS, every("0.5"), "undefined score"),
    (PATENTS, every("1e308"), "undefined score"),
    (PATENTS, first("inf"), "not finite"),
    (PATENTS, first(""), "missing value"),
    (PATENTS, first("1e400"), "not finite or not a number"),
    (TOXIC, whole(lambda table: table[["toxic", "id", *table.columns[2:]]]), UNCHANGED),
    (TOXIC, whole(lambda table: table[table.columns[::-1]]), whole(other_cells)),
    (TOXIC, every(lambda cell: str(-1e3 * float(cell)), "threat"), every(lambda cell: str(-float(cell)), "threat")),
    (TOXIC, whole(lambda table: pd.concat([table, table.tail(1)])), "row count"),
    (TOXIC, whole(lambda table: table.iloc[1:]), "row count"),
    (TOXIC, whole(lambda table: table.assign(further=0)), "extra column"),
    (TOXIC, last("", "insult"), "missing value"),
    (TOXIC, last("inf", "insult"), "not finite"),
    (BIAS, whole(lambda table: table.rename(columns={"prediction": "toxicity"})), UNCHANGED),
    (BIAS, whole(lambda table: table.assign(toxicity=0)), "repeated column"),
    (BIAS, every(lambda cell: str(float(cell) >= 0.5)), UNCHANGED),
    (BIAS, every(lambda cell: cell if float(cell) >= 0.5 else ""), UNCHANGED),
    (BIAS, every(lambda cell: str(float(cell) / 10)), 0.5),
    (BIAS, every(""), 0.5),
    (BIAS, every(lambda cell: str(1 - float(cell) - 1e-9)), "undefined score"),
    (BIAS, first("toxic"), "not a number"),
    (BIAS, first("inf"), "not finite"),
    (TWEETS, every(blanks("\n")), UNCHANGED),
    (TWEETS, every(str.upper), UNCHANGED),
    (TWEETS, every(lambda cell: f"{cell} {cell}"), UNCHANGED),
    (TWEETS, every("null"), 0.0),
    (TWEETS, first("null"), first("")),
    (TWEETS, every("123456789"), 0.0),
    (TWEETS, first(str.upper, "textID"), "unknown id"),
    (CHEST, every(words(lambda word: "+" + word)), UNCHANGED),
    (CHEST, every(words(lambda word: word + "e0")), UNCHANGED),
    (CHEST, every(lambda cell: f"\t{cell}\n"), UNCHANGED),
    (CHEST, every(lambda cell: cell.replace(" ", ".9 ", 1)), UNCHANGED),
    (CHEST, every(lambda cell: f"{cell} 99 1 0 0 1 1 -7 1 0 0 1 1 1e300 1 0 0 1 1"), UNCHANGED),
    (CHEST, whole(in_two_rows), UNCHANGED),
    (CHEST, first(blanks("  ")), "blanks"),
    (CHEST, first(lambda cell: " " + cell), "blanks"),
    (CHEST, first(lambda cell: cell + " "), "blanks"),
    (CHEST, first(blanks("\t")), "not a number"),
    (CHEST, first("14 0x1 0 0 1 1"), "not a number"),
    (CHEST, first("14 nan 0 0 1 1"), "not finite"),
    (CHEST, first("14 1 0 0 1 1e400"), "not finite"),
    (CHEST, first("14 1 0 0 1"), "count"),
    (CHEST, first("NA"), "missing value"),
    *(
        case
        for id_ in (*HERBARIA, TRAPS)
        for case in (
            (id_, every(lambda cell: cell + ".0"), UNCHANGED),
            (id_, every(lambda cell: f" {cell} "), UNCHANGED),
            (id_, every("99999999"), 0.0),
            (id_, first("oak"), "not a number"),
            (id_, first(""), "missing value"),
            (id_, first("inf"), "not finite"),
            (id_, whole(lambda table: table.assign(further=1)), UNCHANGED),
            (id_, whole(lambda table: table.iloc[:-1]), "missing id"),
        )
    ),
    *((id_, every(lambda cell: cell + ".9"), UNCHANGED) for id_ in (*HERBARIA[1:], TRAPS)),
    *((id_, first("-1"), "out of range") for id_ in (HERBARIA[0], HERBARIA[2], TRAPS)),
    (HERBARIA[0], first(lambda cell: cell + ".9"), "not whole"),
    (HERBARIA[1], every("-1"), 0.0),
    (HERBARIA[1], every("-0.9"), every("0")),
    (TRAPS, every("True"), every("1")),
    (TRAPS, whole(lambda table: table.rename(columns={"Category": "Predicted"})), "missing column"),
    *(
        case
        for id_ in (MUSEUM, LEAVES, QUESTIONS)
        for case in (
            (id_, every(blanks("\t  \n")), UNCHANGED),
            (id_, every(lambda cell: f" {cell} "), UNCHANGED),
            (id_, every(lambda cell: f"{cell} {cell}"), UNCHANGED),
            (id_, every(lambda cell: f"{cell} no-label"), UNCHANGED),
            (id_, first("NA"), first("")),
            (id_, every("7"), "not a label"),
            (id_, then(every("7"), first("")), "not a label"),
            (id_, every("True"), "not a label"),
            (id_, then(every("True"), first("")), "not a label"),
            (id_, every("none"), 0.0),
        )
    ),
    (MUSEUM, every(words(lambda word: "0" + word)), 0.0),
    (MUSEUM, every(lambda cell: cell + " -1 x 9999"), UNCHANGED),
    (MUSEUM, every(words(lambda word: word + ".0")), "not a label"),
    (MUSEUM, every(lambda cell: cell.split(" ")[0]), "not a label"),
    (MUSEUM, every(""), "no labels"),
    (LEAVES, every(str.upper), 0.0),
    (LEAVES, every(""), 0.0),
    (QUESTIONS, every(str.upper), 0.0),
    (QUESTIONS, every(blanks(",")), "not a label"),
    (QUESTIONS, every("null"), "no labels"),
    (HOTELS, every(lambda cell: "00" + cell), UNCHANGED),
    (HOTELS, every(lambda cell: cell + ".0"), 0.0),
    (HOTELS, every(lambda cell: "1 " + cell), 0.5),
    (HOTELS, every(lambda cell: "1  " + cell), 1 / 3),
    (HOTELS, every(lambda cell: f"1 00{cell}"), 0.0),
    (HOTELS, every(lambda cell: cell + " 1 2 3 4 5 6"), UNCHANGED),
    (HOTELS, every("True"), 0.0),
    (HOTELS, first(""), "missing value"),
    (HOTELS, every(""), "missing value"),
    (HOTELS, first(lambda cell: cell + ",1"), "not a label"),
    (HOTELS, whole(lambda table: table.assign(further=1)), UNCHANGED),
    (WHALES, every(lambda cell: "w_0000000 " + cell), 0.5),
    (WHALES, every(lambda cell: "w_0000000  " + cell), 1 / 3),
    (WHALES, every(lambda cell: cell + " a b c d e f"), UNCHANGED),
    (WHALES, every("7"), "not a label"),
    (WHALES, first("7"), "not a label"),
    (WHALES, first(lambda cell: cell + " 7.5"), "not a label"),
    (WHALES, every("True"), "not a label"),
    (WHALES, first("null"), "missing value"),
    (WHALES, whole(lambda table: table[table.columns[::-1]]), UNCHANGED),
    (WHALES, whole(lambda table: table.reset_index()), "extra column"),
    (DOGS, every(lambda cell: "True" if float(cell) else "FALSE"), UNCHANGED),
    (DOGS, whole(lambda table: table[table.columns[::-1]]), UNCHANGED),
    (DOGS, whole(lambda table: table.reset_index()), UNCHANGED),
    (DOGS, whole(shifted), -math.log(2.0**-52)),
    (DOGS, second_class("0.0000105"), UNCHANGED),
    (DOGS, second_class("0.000012"), "row sum"),
    (DOGS, second_class("nan"), "missing value"),
    (DOGS, first(str.upper, "id"), "unknown id"),
    (CATS, every(lambda cell: str(1 - float(cell))), -math.log(2.0**-52)),
    (CATS, every(lambda cell: f" {cell}"), UNCHANGED),
    (CATS, every(lambda cell: cell + ".0", "id"), UNCHANGED),
    (CATS, first("1.0001"), "out of range"),
    (CATS, first(""), "missing value"),
    (CATS, first("dog"), "not a number"),
    (CATS, whole(lambda table: pd.concat([table, table.head(1)])), "repeated id"),
    (ICEBERGS, every(lambda cell: str(1 - float(cell))), -math.log(2.0**-52)),
    (ICEBERGS, first("-1e-9"), "out of range"),
    (ICEBERGS, first("NA"), "missing value"),
    (ICEBERGS, whole(lambda table: pd.concat([table, table.head(1)])), "repeated id"),
    (BATTLES, second_class("0.0000005"), UNCHANGED),
    (BATTLES, second_class("0.0000006"), "row sum"),
    (BATTLES, second_class("-1e-9"), "out of range"),
    (BATTLES, every("0.333333"), "row sum"),
    (BATTLES, every("0.3333333"), math.log(1 / 0.3333333)),
    (BATTLES, whole(lambda table: table[table.columns[::-1]]), UNCHANGED),
    (ESSAYS, every(lambda cell: cell + ".0"), UNCHANGED),
    (ESSAYS, every("3"), 0.0),
    (ESSAYS, first("3.25"), "not whole"),
    (ESSAYS, first("7"), "out of range"),
    (ESSAYS, first("0"), "out of range"),
    (ESSAYS, first("good"), "not a number"),
    (REVIEWS, every(lambda cell: cell + ".0"), UNCHANGED),
    (REVIEWS, first("5"), "out of range"),
    (REVIEWS, first("2.4"), "not whole"),
    (REVIEWS, first("null"), "missing value"),
    (SPINES, every(lambda cell: f"{float(cell):.1f}"), UNCHANGED),
    (SPINES, first("1.01"), "out of range"),
    (SPINES, first(lambda cell: cell + "_C1", "row_id"), "unknown id"),
    (SPINES, whole(lambda table: table.iloc[:-1]), "missing id"),
    (BREASTS, every(lambda cell: str(float(cell) * 7 - 3)), UNCHANGED),
    (BREASTS, every("0"), 0.0),
    (BREASTS, every("-1"), "undefined score"),
    (BREASTS, then(every("-1"), first("0")), 0.0),
    (BREASTS, first("nan"), "missing value"),
    (BREASTS, first("inf"), "not finite"),
    (BREASTS, first(lambda cell: cell.replace("_", "-"), "prediction_id"), "unknown id"),
    (BRAINS, then(every("", *PATTERNS), every("1.0", "other_vote")), "missing value"),
    (BRAINS, then(every("0", *PATTERNS), every("1", "other_vote")), math.inf),
    (
        BRAINS,
        then(every("0.0", *PATTERNS), every("0.999996", "other_vote")),
        then(every("0.0", *PATTERNS), every("1.0", "other_vote")),
    ),
    (BRAINS, then(every("0.0", *PATTERNS), every("0.999994", "other_vote")), "row sum"),
    (BRAINS, whole(lambda table: pd.concat([table.iloc[1:], table.tail(1)])), "row count or missing id"),
    (BRAINS, whole(lambda table: table.iloc[1:]), "row count or missing id"),
    (BRAINS, whole(lambda table: table.reset_index()), "extra column"),
    (CATHETERS, whole(lambda table: table[table.columns[::-1]]), UNCHANGED),
    (CATHETERS, first("1.0001", "CVC - Borderline"), "out of range"),
    (CATHETERS, first("", "NGT - Normal"), "missing value"),
    (CATHETERS, whole(lambda table: table.drop(columns="CVC - Borderline")), "missing column"),
    (CATHETERS, whole(lambda table: table.assign(**{"CVC - Normal": "text"})), UNCHANGED),
    (APPLES, every(lambda cell: str(1000 * float(cell) - 500)), UNCHANGED),
    (APPLES, whole(lambda table: table[table.columns[::-1]]), UNCHANGED),
    (APPLES, whole(lambda table: table.assign(further="1")), "extra column"),
    (APPLES, first("nan", "scab"), "missing value"),
    (APPLES, first("inf", "rust"), "not finite"),
    (APPLES, first(str.lower, "image_id"), "unknown id"),
    (TUMOURS, every(lambda cell: str(int(cell)), "BraTS21ID"), UNCHANGED),
    (TUMOURS, every(lambda cell: cell + ".0", "BraTS21ID"), UNCHANGED),
    (TUMOURS, first(lambda cell: "BraTS_" + cell, "BraTS21ID"), "malformed id"),
    (TUMOURS, every(RENAMED.__getitem__), UNCHANGED),
    (COUPLINGS, first("0.5"), -math.inf),
    (COUPLINGS, first("inf"), "not finite"),
    (COUPLINGS, first(""), "missing value"),
    (COUPLINGS, whole(lambda table: pd.concat([table, table.head(1)])), "repeated id"),
    (PAGES, every(lambda cell: f"{float(cell) - 1}"), 1.0),
    (PAGES, every("True"), every("1")),
    (PAGES, first(lambda cell: cell.replace("_", "_0", 1), "id"), "unknown id"),
    (PAGES, first("inf"), "not finite"),
    (PAGES, first("0,5"), "not a number"),
    (PETS, first("0.999"), "out of range"),
    (PETS, first("100.001"), "out of range"),
    (PETS, every("True"), every("1")),
    (PETS, first("NA"), "missing value"),
    (PETS, first(str.upper, "Id"), "unknown id"),
    (VOLCANOES, every(lambda cell: f"{int(cell) + 0.5}"), 0.0),
    (VOLCANOES, every(lambda cell: f"{int(cell) - 1.5}"), 2.0),
    (VOLCANOES, every(lambda cell: f"{cell}.0", "segment_id"), UNCHANGED),
    (VOLCANOES, first("inf"), "not finite"),
    (VOLCANOES, every("1e308"), "undefined score"),
    (VOLCANOES, whole(lambda table: pd.concat([table, table.head(1)])), "repeated id"),
    (VENTILATOR, last("", "pressure"), UNCHANGED),
    (VENTILATOR, last("inf", "pressure"), UNCHANGED),
    (VENTILATOR, last("-1e300", "pressure"), UNCHANGED),
    (VENTILATOR, last("text", "pressure"), "not a number"),
    (VENTILATOR, first("text"), "not a number"),
    (VENTILATOR, first("inf"), "not finite"),
    (VENTILATOR, first(""), "missing value"),
    (VENTILATOR, every(lambda cell: f"{cell}.0", "id"), UNCHANGED),
    (VENTILATOR, whole(lambda table: table.iloc[::-1]), UNCHANGED),
    (LUNGS, UNCHANGED, "missing value"),
    (LUNGS, ALL_WEEKS, -math.log(100 * math.sqrt(2))),
    (LUNGS, then(ALL_WEEKS, every("70", "Confidence")), -math.log(70 * math.sqrt(2))),
    (LUNGS, then(ALL_WEEKS, every("0", "Confidence")), -math.log(70 * math.sqrt(2))),
    (LUNGS, then(ALL_WEEKS, every("1e9", "FVC")), -math.sqrt(2) * 10 - math.log(100 * math.sqrt(2))),
    (LUNGS, then(ALL_WEEKS, first("-1", "Confidence")), "out of range"),
    (LUNGS, then(ALL_WEEKS, first("", "Confidence")), "missing value"),
    (LUNGS, then(ALL_WEEKS, whole(lambda table: table.iloc[1:])), "missing id"),
    (NEUTRINOS, every(lambda cell: f"{float(cell) + 2 * math.pi!r}"), 0.0),
    (NEUTRINOS, every(lambda cell: f"{float(cell) + math.pi!r}", "azimuth"), every(lambda cell: f"-{cell}", "zenith")),
    (NEUTRINOS, every(lambda cell: f"{float(cell) + math.pi!r}", "zenith"), math.pi),
    (NEUTRINOS, whole(lambda table: table.iloc[::-1, ::-1]), UNCHANGED),
    (NEUTRINOS, first("inf"), "not finite"),
    (NEUTRINOS, first(""), "missing value"),
    (NEUTRINOS, whole(lambda table: table.reset_index()), "extra column"),
    (NEUTRINOS, whole(lambda table: pd.concat([table.iloc[:-1], table.head(1)])), "repeated id"),
    *((id_, every(lambda cell: cell + ".0"), UNCHANGED) for id_ in (CASSAVA, SHOP, PHONEMES, CAMERAS, CONTACTS)),
    *((id_, first(lambda cell: cell + ".5"), "not whole") for id_ in (CASSAVA, SHOP, PHONEMES, CAMERAS, CONTACTS)),
    *((id_, first("none"), "not a number") for id_ in (CASSAVA, SHOP, PHONEMES, CAMERAS, CONTACTS)),
    (CASSAVA, first("5"), "out of range"),
    (PHONEMES, first("39"), "out of range"),
    (PHONEMES, first("-1", "Id"), "unknown id"),
    (CAMERAS, first("676"), "out of range"),
    (SHOP, every("9"), 0.0),
    (SHOP, first("-1", "_id"), "unknown id"),
    *((id_, every(str.upper), 0.0) for id_ in (RICE, SEEDLINGS, SPEECH)),
    *((id_, every(word), "not a text") for id_ in (RICE, SEEDLINGS, SPEECH) for word in ("4", "1.5", "TRUE")),
    *((id_, first("4"), first("no class")) for id_ in (RICE, SEEDLINGS, SPEECH)),
    *((id_, first("NA"), "missing value") for id_ in (SEEDLINGS, SPEECH)),
    (RICE, every(""), 0.0),
    (RICE, first("NA"), first("no class")),
    (RICE, then(every("4"), first("")), "not a text"),
    (SPEECH, every("unknown"), 0.0),
    (SPECIES, every(lambda cell: cell + " 7 x"), UNCHANGED),
    (SPECIES, every(lambda cell: f"\t+0{cell} "), UNCHANGED),
    (SPECIES, every(lambda cell: cell + ".0"), "not a class number"),
    (SPECIES, every(lambda cell: cell + ",1"), "not a class number"),
    (SPECIES, first("1010"), "out of range"),
    (SPECIES, first("-1 5"), "out of range"),
    (SPECIES, first("  "), "not a class number"),
    (SPECIES, first(""), "missing value"),
    (CONTACTS, every(lambda cell: str(1 - int(cell))), -1.0),
    (CONTACTS, every("2"), 0.0),
    (CONTACTS, every("1"), 0.0),
    (WORDS, every(lambda cell: cell + " "), 1.0),
    (WORDS, first("NA"), "missing value"),
    (WORDS, first(""), "missing value"),
    (WORDS, every("7"), "not a text"),
    (WORDS, every("True"), "not a text"),
    (WORDS, every(lambda cell: cell + ".0", "id"), UNCHANGED),
    (WORDS, first("0.5", "id"), "malformed id"),
    (MOLECULES, first(""), first("nan")),
    (MOLECULES, first("NULL"), first("nan")),
    (MOLECULES, every(lambda cell: cell + "\n"), 1.0),
    (MOLECULES, every("12"), "not a text"),
    (MOLECULES, every("n/a"), "missing value"),
    (MOLECULES, first("C" * 10_001), "too long"),
    (MOLECULES, first(str.upper, "image_id"), "unknown id"),
    (CHAII, every(lambda cell: f"  {cell}\n"), UNCHANGED),
    (CHAII, then(every("True"), first("")), "not a text"),
    (CHAII, every(lambda cell: f"{cell} {cell}"), UNCHANGED),
    (CHAII, first("None"), first("")),
    (CHAII, every("none of these"), 0.0),
    (CHAII, every(""), "missing value"),
    (CHAII, every("1947"), "not a text"),
    (CHAII, then(every("1.5"), first("")), "not a text"),
    (CHAII, every("false"), "not a text"),
    (NQ, every(lambda cell: f" {cell.replace(':', ' : ')} "), UNCHANGED),
    (NQ, every(lambda cell: cell.replace(":", ":00")), UNCHANGED),
    (NQ, every(lambda cell: cell.replace(":", ":+")), UNCHANGED),
    (NQ, every(lambda cell: cell or "null"), UNCHANGED),
    (NQ, first("yes"), "not a span"),
    (NQ, first("17"), "not a span"),
    (NQ, every("17"), "not a span"),
    (NQ, first("5-9"), "not a span"),
    (NQ, first("1:2:3"), "not a span"),
    (NQ, first("1.0:2.0"), "not a span"),
    (NQ, first(":"), "not a span"),
    (NQ, first("1:" + "9" * 5000), "not a span"),
    (NQ, first("True"), "not a span"),
    (NQ, first(lambda cell: cell.replace("_short", ""), "example_id"), "unknown id"),
    (GESTURES, every(blanks("   ")), UNCHANGED),
    (GESTURES, every(lambda cell: f" {cell} "), UNCHANGED),
    (GESTURES, every(words(lambda word: "0" + word)), UNCHANGED),
    (GESTURES, every(lambda cell: str(int(cell)), "Id"), UNCHANGED),
    (GESTURES, every(lambda cell: cell + ".0", "Id"), UNCHANGED),
    (GESTURES, every(words(lambda word: "-" + word)), every(words(lambda word: "99" + word))),
    (GESTURES, every("  "), 1.0),
    (GESTURES, first(""), "missing value"),
    (GESTURES, first(blanks(",")), "not whole numbers"),
    (GESTURES, first("1.0"), "not whole numbers"),
    (GESTURES, every("3.0"), "not whole numbers"),
    (GESTURES, first("ok"), "not whole numbers"),
    (GESTURES, every(lambda cell: "Sample0" + cell, "Id"), "malformed id"),
    (SOUNDS, every(RENAMED.__getitem__), UNCHANGED),
    (SOUNDS, every(lambda cell: f"{float(cell) * 1e300 - 5e299!r}"), UNCHANGED),
    (SOUNDS, every("7"), every("-1e-300")),
    (SOUNDS, first("1e400"), "not finite"),
    (SOUNDS, first(""), "missing value"),
    (SOUNDS, first("x"), "not a number"),
    (SOUNDS, whole(lambda table: table.assign(further=0)), "extra column"),
    (SOUNDS, whole(lambda table: table[[*table.columns[1:], "fname"]]), "column order"),
    (SOUNDS, whole(lambda table: table[[*table.columns[:1], *table.columns[:0:-1]]]), "column order"),
    (ENGLISH, every(lambda cell: cell or "null"), UNCHANGED),
    (ENGLISH, every(lambda cell: cell or "N/A"), UNCHANGED),
    (ENGLISH, every(lambda cell: cell + " "), 0.0),
    (ENGLISH, first(HUGE), first("x")),
    (ENGLISH, every("7"), "not a text"),
    (ENGLISH, first(lambda cell: cell.replace("_", "-"), "id"), "unknown id"),
    (RUSSIAN, every(lambda cell: cell or "NA"), UNCHANGED),
    (RUSSIAN, every(lambda cell: cell + "\u0301"), 0.0),
    (RUSSIAN, every("7"), 0.0),
    (RUSSIAN, then(every("7"), first("")), 0.0),
    (RUSSIAN, every("True"), 0.0),
]


@pytest.mark.parametrize(("competition", "change", "expected"), CASES)
def test_as_published_or_refused(competition, change, expected, twins, tmp_path):
    dataset = twins(competition)
    columns = dataset.competition.schema.names
    gold = dataset.private / dataset.competition.gold_submission_file

    def outcome(change):
        table = read_csv(gold, dtype=str, keep_default_na=False)
        table = table.rename(columns=dataset.competition.schema.usual_names)[columns]
        change(table, columns[1:]).to_csv(tmp_path / "submission.csv", index=False)
        return score_submission(tmp_path / "submission.csv", dataset)

    if isinstance(expected, str):
        with pytest.raises(InvalidSubmission) as caught:
            outcome(change)
        kinds = {problem.kind for problem in caught.value.problems}
        assert kinds & set(expected.split(" or ")), caught.value
    elif isinstance(expected, float):
        assert outcome(change) == pytest.approx(expected, abs=1e-5, rel=1e-12)
    else:
        assert outcome(change) == outcome(expected)


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (lambda rows: [rows[0], *(["0", "0", *row] for row in rows[1:])], "not a table"),
        (lambda rows: [[], rows[0], [], *(["0", "0", *row] for row in rows[1:])], "not a table"),
        (lambda rows: [[], [*rows[0], *map(str, range(20_000))], *rows[1:]], "too many columns"),
        (lambda rows: [["\n", *rows[0], *map(str, range(20_000))], *rows[1:]], "too many columns"),
        (lambda rows: [["\n" * (1 << 20) + "x", *rows[0]], *rows[1:]], "not a table"),
    ],
    ids=["two nameless columns", "below blank lines", "wide header", "header over two lines", "header of a megabyte"],
)
def test_rows_and_headers_that_are_too_wide(change, kind, twins, tmp_path):
    dataset = twins(TITANIC)
    rows = list(csv.reader(StringIO(dataset.sample_submission.read_text())))
    with (tmp_path / "submission.csv").open("w", newline="") as file:
        csv.writer(file).writerows(change(rows))
    with pytest.raises(InvalidSubmission) as caught:
        score_submission(tmp_path / "submission.csv", dataset)
    assert [problem.kind for problem in caught.value.problems] == [kind]
