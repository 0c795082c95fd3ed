"""Pages, docstrings, messages and captions contain no phrases that a native engineer would not write."""

from __future__ import annotations

import ast
import re
from itertools import pairwise
from pathlib import Path

import pytest

from docs.error_pages import TABLE
from tests.syntax import ROOT, files, nodes

NOT_AN_INVERSION = "longer|more|less|fewer|better|larger|smaller|wider|way|few|such|matter|doubt|need"
PHRASES = (
    (" no ", rf"(?<![tT]here )\b(?:is|are|was|were) no (?!(?:{NOT_AN_INVERSION})\b)\w+", "is not a ..."),
    (" none", r"\b(?:that|which|what|who|here|they) (?:is|are) none\b", "invalid, unknown, missing"),
    ("that there ", r"\bthat there (?:is|are) (?:not|none)\b", "unknown, missing"),
    ("told", r"\btold\b", "known, stated, distinguished"),
    ("obody", r"\b[Nn]obody\b", "never, nothing, no one"),
    ("but for ", r"\bbut for\b(?! several)", "except for"),
    ("in the place of", r"\bin the place of\b", "instead of"),
    ("o many ", r"\b[Ss]o many (?!that|equal|more)", "this many"),
    (" on", r"\b(?:[Gg]oe?s?|went|going) on\b", "continue"),
    ("anew", r"(?<!return )(?<!if )\banew\b(?!\s?[=:])", "again, re-"),
    ("to and fro", r"\bto and fro\b", "back and forth"),
    ("stand", r"\bstands? (?:twice|behind|before|beside)\b", "is, appears, precedes"),
    ("for ever", r"\bfor ever\b", "forever"),
    ("seldom", r"(?<![`_])\bseldom\b", "rarely"),
    ("unlike ", r"\bunlike (?:values|ends|targets|units|seeds|components|lengths|sides|sizes?|distances|counts?)\b", "different"),
    ("e not", r"\bhave not (?:one|this|any)\b|\bhave not[,.;:)\"]", "lack"),
    ("s not", r"\bhas not (?:one|this|any)\b|\bhas not[,.;:)\"]", "lacks"),
    ("what is ", r"\b[Ww]hat is (?:to be|asked|given|wanted|needed|none|told|said)\b", "name the thing"),
    ("asked ", r"\basked (?:for|of)\b", "requested, needed"),
    (" had", r"\b(?:be|is|are) had\b", "available, found"),
    ("nothing ", r"\bnothing (?:bears|decides|says which)\b", "unsupported, undetermined"),
    (", for ", r", for (?:they|it|there) (?!to\b)", "because"),
    ("way", r"\bways? of the (?:gripper|hand|tool|ball|finger|object)\b", "path"),
    ("since the touch", r"\bsince the touch\b", "since impact"),
    ("ircular frequenc", r"\b[Cc]ircular frequenc(?:y|ies)\b", "angular frequency"),
    ("side by side", r"\bgo side by side\b", "run side by side"),
    ('"""Most', r'"""Most ', "Maximum number of"),
    ('"""Least', r'"""Least (?!squares)', "Minimum"),
    ("other way round", r"\bthe other way round\b", "reversed, inverse, swapped"),
    ("besides", r"\b[Bb]esides\b", "in addition to, other than, also"),
    ("ll else", r"(?<!\.)\b[Aa]ll else\b", "everything else"),
    ("looked at", r"\blooked at\b", "examined, checked"),
    ("of a size", r"\bof a size\b", "of this size"),
    ("what is ", r"\b[Ww]hat is (?:left|read|around|inside|varied|lacking|drawn|kept|stored|open)\b", "name the thing"),
    ("what was ", r"\b[Ww]hat was (?:left|read|varied|drawn|kept|stored|supplied|turned down)\b", "name the thing"),
    ("kn", r"\bkn(?:ow|ows|ew) (?:no|nothing) ", "is independent of, does not support"),
    ("some ", r"\bsome (?:ten\b|twenty\b|\d)", "about"),
    ("put right", r"\bput right\b", "corrected"),
    ("no say", r"\bhas no say\b", "does not matter"),
    ("in vain", r"\bin vain\b", "needlessly"),
    ("in place of", r"\bin place of\b", "instead of"),
    ("egin", r"\b[Bb]egin of\b|\bthe begin\b", "beginning, start"),
    ("rom which on", r"\bfrom which on\b", "minimum number for which, above which"),
    ("f yours", r"\bof yours\b", "your, your own"),
    ("its like", r"\band its like\b", "and similar"),
    (" no more", r"\b(?:counts|fires|grows|holds|moves|needs) no more\b", "no longer counts, does not fire again"),
    ("cannot have", r"\b(?:processes|tools|others) cannot have\b", "cannot be sent to"),
    ("as a part of", r"\bas a part of (?!a letter)", "as a fraction of, relative to"),
    ("goes too far", r"\bgo(?:es)? (?:too far|round in a circle|there and back)\b", "overshoots, forms a cycle, alternates"),
    (" behind the ", r"\bbehind the (?:last|first|parameters|values|title|nodes|stack)\b", "after"),
)
"""String that every match contains, pattern, and replacement."""

ARCHAIC = ("lest", "whence", "thence", "hither", "thither", "nought", "naught", "aright", "amiss", "whilst", "exacter")
PHRASES += tuple((word, rf"\b{word}\b", "a word of today") for word in ARCHAIC)

FRONT = ("README.md", "CHANGELOG.md", "examples/README.md", "benchmarks/README.md")
PAGES = [*(ROOT / page for page in FRONT), TABLE, *sorted((ROOT / "docs").rglob("*.md"))]
SOURCES = [path for package in ("bondgraph", "screws", "models", "screwbond") for path in files(package)]
OLD_NAMES = ROOT / "screws" / "names" / "renamed.py"


def text_of(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    return " ".join(
        (re.sub(r"^```.*?^```|`[^`\n]*`", "``", text, flags=re.DOTALL | re.MULTILINE) if path in PAGES else text).split()
    )


def inversions(text: str) -> list[str]:
    return [
        f"{text[max(found.start() - 40, 0) : found.end() + 20]!r}: write {instead!r}"
        for part, pattern, instead in PHRASES
        if part in text
        for found in re.finditer(pattern, text)
    ]


@pytest.mark.parametrize("paths", [PAGES, SOURCES], ids=["pages", "sources"])
def test_no_page_or_source_has_a_phrase_of_the_list(paths: list[Path]) -> None:
    found = [f"{path.relative_to(ROOT)}: {each}" for path in paths if path != OLD_NAMES for each in inversions(text_of(path))]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "text",
    [
        "a name which is no state",
        "a palette that there is not",
        "what is none",
        "it is told",
        "way of the gripper",
        "it goes on with 3",
    ],
)
def test_a_phrase_is_noticed(text: str) -> None:
    assert inversions(text)
    assert not inversions("there is no state, it is no longer one, so many that none fits")


def uncounted(path: Path) -> list[str]:
    """Return the places where an f-string prints a length before a noun in the plural, without `plural`."""
    return [
        f"{path.name}:{joined.lineno} {following.value[:30]!r}"
        for joined in nodes(path, ast.JoinedStr)
        for value, following in pairwise(joined.values)
        if isinstance(value, ast.FormattedValue) and ast.unparse(value.value).startswith("len(")
        if isinstance(following, ast.Constant) and re.match(r" (?!is\b|has\b|bytes\b)[a-z]+s\b", following.value)
    ]


def test_no_message_counts_one_noun_in_the_plural(tmp_path: Path) -> None:
    assert not [place for path in SOURCES for place in uncounted(path)]
    (planted := tmp_path / "planted.py").write_text('f"{len(states)} states, {len(model.modes) - 1} modes of {name} runs"')
    assert len(uncounted(planted)) == 2
