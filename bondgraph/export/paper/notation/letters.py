"""Letters: a system and its parts in; LaTeX of every value, each different from all others, out.

A value that shares its letter with others bears the number of its part: e_{2.3} is the effort of part 2.3.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from bondgraph.assembly.system import System
from bondgraph.export.paper.notation.parts import Branch, Parts
from bondgraph.export.symbols import LOCAL, greek_or_letter, text
from bondgraph.output.tex import escape_latex

DOTS = ("", r"\dot", r"\ddot", r"\dddot")
ARROW = r"\to "
_LITTLE = ("of", "a", "the", "at", "in", "and", "for", "to")
_WHOLE, _SHORTENED = 8, 4
"""Most letters of a word that stands for itself, and how many of a longer one."""
WORDS = LOCAL | {
    "centre": "c",
    "radius": "r",
    "gravity": "g",
    "angle": r"\varphi",
    "position": "x",
    "velocity": "v",
    "acceleration": "a",
    "rate": r"\omega",
    "pose": "H",
    "frame": "H",
    "twist": "T",
    "state": "H",
    "point": "p",
    "axis": "a",
    "axes": "a",
    "breaks": r"t_{\mathrm{b}}",
    "time": "t",
    "count": r"\nu",
    "ratio": "n",
    "modulus": "r",
    "length": "L",
    "height": "h",
    "distance": "d",
    "area": "A",
    "volume": "V",
    "density": r"\rho",
    "voltage": "U",
    "amplitude": "A",
    "phase": r"\varphi_0",
    "gain": "k",
    "slope": r"\beta",
    "speed": "v",
    "wrench": "W",
    "momentum": "p",
    "coefficients": "c",
    "fixed": "H",
    "restitution": r"\epsilon",
    "friction": r"\mu",
    "torque": r"\tau",
    "value": "w",
    "period": r"T_{\mathrm{s}}",
    "offset": r"t_0",
    "quaternion": r"\eta",
}
"""Letters of the literature for words of longer names."""

RESERVED = frozenset({"t", "u", "e"})
"""Letters that no value bears without the number of its part: time, what comes from outside of one of many equal parts."""


@dataclass(frozen=True)
class Letter:
    """The letter of a value in pieces: what is raised or lowered, and the number of its part."""

    core: str
    below: str = ""
    above: str = ""
    owner: str = ""
    dots: int = 0

    @property
    def latex(self) -> str:
        """The whole."""
        core = f"{DOTS[self.dots]}{{{self.core}}}" if self.dots else self.core
        below = ",".join(filter(None, (self.below, self.owner)))
        return core + (f"_{{{below}}}" if below else "") + (f"^{{{self.above}}}" if self.above else "")


@dataclass(frozen=True)
class Letters:
    """LaTeX of values by name; within one of many parts that are alike, its number is the letter that stands for it."""

    letters: Mapping[str, Letter]
    parts: Parts
    tree: tuple[Branch, ...]
    asked: set[str] = field(default_factory=set)
    """The first of each group of values that was asked for: they need an entry in the list of symbols."""
    inside: tuple[Branch, ...] = ()
    """The branches whose numbers are letters."""
    given: Mapping[str, str] = field(default_factory=dict)
    """Values from outside of such branches -> what they are called inside."""

    def __getitem__(self, name: str) -> str:
        """LaTeX of a value; of `-x` with its sign."""
        name = name.removesuffix(":computed")
        if name.startswith("-"):
            return f"-{self[name[1:]]}"
        if name in self.given:
            return self.given[name]
        self.asked.add(self.first(name))
        return self.letter(name).latex

    def letter(self, name: str) -> Letter:
        """The letter of a value."""
        letter = self.letters[name]
        return replace(letter, owner=self.number(letter.owner)) if self.inside and letter.owner else letter

    def number(self, number: str) -> str:
        """The number of a part, with the letters that stand for it."""
        for branch in self.inside:
            known = branch.members[0].number
            ends = number.split(ARROW)
            number = ARROW.join(branch.index + end[len(known) :] if _begins(end, known, ".") else end for end in ends)
        return number

    def within(self, branch: Branch, given: Mapping[str, str]) -> Letters:
        """The same, as they are written in what one of many equal parts stands for."""
        return replace(self, inside=(*self.inside, branch), given={**self.given, **given})

    def first(self, name: str) -> str:
        """The value of the same meaning in the first of the parts that are alike, if each of them has one; else itself."""
        first = self._counterpart(name)
        return first if first in self.shared else name

    @cached_property
    def shared(self) -> frozenset[str]:
        """Values of the first of parts that are alike which every other has too."""
        counts = Counter(map(self._counterpart, self.letters))
        return frozenset(
            name for name, count in counts.items() if count == math.prod(len(branch.members) for branch, _ in self._around(name))
        )

    def _counterpart(self, name: str) -> str:
        for branch, path in self._around(name):
            first = branch.members[0].path
            name = " -> ".join(first + end[len(path) :] for end in name.split(" -> "))
        return name

    def general(self, name: str) -> str:
        """LaTeX of the first of a group of values, with letters for the numbers of parts."""
        around = [branch for branch, _ in self._around(name) if branch.index] if name in self.shared else []
        return replace(self, inside=tuple(around), given={}).letter(name).latex

    def ranges(self, name: str) -> list[tuple[str, tuple[str, ...]]]:
        """The letters for numbers of parts in `general`, and what they stand for."""
        around = self._around(name) if name in self.shared else ()
        return [(branch.index, tuple(part.number for part in branch.members)) for branch, _ in around if branch.index]

    def _around(self, name: str) -> list[tuple[Branch, str]]:
        """The branches that a value lies in, from outside to inside, each with the part that it lies in."""
        found: list[tuple[Branch, str]] = []
        path = ""
        for word in self.parts.owner(name).path.split("."):
            path = f"{path}.{word}" if path else word
            if path in self._members:
                found.append((self._members[path], path))
                path = self._members[path].members[0].path
        return found

    @cached_property
    def _members(self) -> Mapping[str, Branch]:
        return {part.path: branch for top in self.tree for branch in top.all() for part in branch.members}


def _begins(text: str, start: str, after: str) -> bool:
    return text == start or (text.startswith(start) and text[len(start)] in after)


def letters_of(system: System, parts: Parts, tree: tuple[Branch, ...], names: Iterable[str]) -> Letters:
    """Letters of these values; those of parts that are alike bear their numbers in any case."""
    many = [part.path for top in tree for branch in top.all() if branch.index for part in branch.members]
    found: dict[str, Letter] = {}
    rates = {state.rate: state.name for state in system.states}
    for name in dict.fromkeys(names):
        found[name] = _base(system, name, many)
    for rate, state in sorted(rates.items(), key=lambda pair: pair[1] in rates):
        if rate in found and state in found and not (system.values[rate].symbol and not found[rate].dots):
            found[rate] = replace(found[state], dots=found[state].dots + 1)
    alike = {name for name in found if any(_begins(parts.owner(name).path, path, ".") for path in many)}
    while numbered := _to_be_numbered(found, alike):
        found |= {name: replace(found[name], owner=_number(parts, name)) for name in numbered}
    taken: set[str] = set()
    for name, letter in found.items():
        count = 2
        while letter.latex in taken:
            letter = replace(found[name], below=",".join(filter(None, (found[name].below, f"({count})"))))
            count += 1
        taken.add(letter.latex)
        found[name] = letter
    return Letters(found, parts, tree)


def _to_be_numbered(found: Mapping[str, Letter], alike: Collection[str]) -> list[str]:
    """What has no number of its part yet, and needs it: it is like others, or its letter is; a number may make it so."""
    clashes = Counter(letter.latex for letter in found.values())
    return [
        name
        for name, letter in found.items()
        if name != "time" and not letter.owner and (clashes[letter.latex] > 1 or letter.latex in RESERVED or name in alike)
    ]


def _number(parts: Parts, name: str) -> str:
    ends = name.split(" -> ")
    if len(ends) == 2:
        return ARROW.join(parts.owner(end.partition(":")[0]).number for end in ends)
    return parts.owner(name).number


def _base(system: System, name: str, many: Collection[str]) -> Letter:
    value = system.values.get(name)
    if name == "time":
        return Letter("t")
    # a symbol with the name of one of many equal parts is none for all of them
    symbol = value.symbol if value is not None else ""
    if symbol and not any(_begins(name, path, ".:") and path.partition(".")[0] in symbol.replace("\\ ", " ") for path in many):
        found = split(symbol)
        dotted = re.fullmatch(r"\\(d{1,2})ot\s*(\{?)(\\?[A-Za-z]+)\}?", found.core)
        return replace(found, core=dotted[3], dots=len(dotted[1])) if dotted else found
    path, _, local = name.rpartition(".")
    if name in system.modes:
        return Letter(r"\sigma")
    if ":" in local or " -> " in name:
        return Letter(LOCAL.get(name.rpartition(":")[2], text(name.rpartition(":")[2])))
    dots = len(local) - len(local.rstrip("'"))
    local = local.rstrip("'")
    port = path.rpartition(".")[2] if local in ("effort", "flow") and path.rpartition(".")[2].isdigit() else ""
    letter, number = greek_or_letter(local)
    if letter.startswith(r"\text"):
        return replace(_of_words(local), dots=dots)
    return Letter(letter, port or number, dots=dots)


def _of_words(name: str) -> Letter:
    """The letter of a name of several words: that of the main one, with the others below it.

    The main word is the last one (before "of") that the literature has a letter for, else the last that is a letter, with what
    follows it as an index ("zB"), else the last: if it is not long, it stands for itself.
    """
    head, *rest = (_WORD.findall(part) for part in re.split(r"(?<=[^\W_])[\s_]+of[\s_]+(?=[^\W_])", name, maxsplit=1))
    order = [word for part in (head, *rest) for word in reversed(part)]
    if not order:
        return Letter(r"\mathrm{x}")
    known = next((word for word in order if word.lower() in WORDS), None)
    main = known or next(filter(_SHORT.fullmatch, order), None) or next(filter(str.isalpha, order), order[0])
    words = [word for part in (head, *rest) for word in part]
    words.remove(main)
    letter = split(WORDS[main.lower()]) if known else Letter(main[0], main[1:]) if _SHORT.fullmatch(main) else _standing(main)
    others = r"\ ".join(escape_latex(word) for k, word in enumerate(words) if word not in _LITTLE or k == len(words) - 1)
    return replace(letter, below=",".join(filter(None, (letter.below, _upright(others)))))


def _standing(word: str) -> Letter:
    """A word that stands for itself: a Greek letter, or an upright word that is not long."""
    written = escape_latex(word if len(word) <= _WHOLE else word[:_SHORTENED])
    return Letter(written.strip("$")) if re.fullmatch(r"\$\\[a-zA-Z]+\$", written) else Letter(_upright(written))


def _upright(words: str) -> str:
    """Text as a part of a letter; with signs that only text can hold, as text."""
    return "" if not words else rf"\text{{{words}}}" if "$" in words else rf"\mathrm{{{words}}}"


_WORD = re.compile(r"[^\W\d_]+\d*|\d+")
_SHORT = re.compile(r"(?!(?:of|at|in|to)$)[A-Za-z][A-Za-z]?\d*")
"""A letter with an index."""


_TOKEN = re.compile(r"\\[a-zA-Z]+|\\.|.", re.DOTALL)


def split(symbol: str) -> Letter:
    """A symbol in pieces: what is under and over its letter at the outermost level; with several of these it is kept whole."""
    tokens = _TOKEN.findall(symbol)
    core, found = "", {"_": "", "^": ""}
    at = 0
    while at < len(tokens):
        token = tokens[at]
        if token in found:
            at += 1
            while tokens[at].isspace():
                at += 1
            group, at = _group(tokens, at)
            if found[token]:
                return Letter(f"{{{symbol}}}")
            found[token] = group
        elif any(found.values()) and not token.isspace():
            return Letter(f"{{{symbol}}}")
        else:
            group, after = _group(tokens, at)
            core += "".join(tokens[at:after])
            at = after
    return Letter(core.strip(), found["_"], found["^"])


def _group(tokens: list[str], at: int) -> tuple[str, int]:
    """What a token or a pair of braces encloses, and where it ends."""
    if tokens[at] != "{":
        return tokens[at], at + 1
    depth, end = 0, at
    while True:
        depth += {"{": 1, "}": -1}.get(tokens[end], 0)
        end += 1
        if depth == 0:
            return "".join(tokens[at + 1 : end - 1]), end
