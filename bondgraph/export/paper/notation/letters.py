"""Letters: LaTeX of every value of a system, all distinct.

A letter that several values share gets the number of the part: e_{2.3} is the effort of part 2.3.
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
from bondgraph.export.symbols import LOCAL_LETTERS, greek_or_letter, text
from bondgraph.output.tex import escape_latex

DOTS = ("", r"\dot", r"\ddot", r"\dddot")
ARROW = r"\to "
_LITTLE = ("of", "a", "the", "at", "in", "and", "for", "to")
_MAX_WORD, _SHORTENED = 8, 4
"""Maximum length of a word used as a symbol, and the number of letters kept of longer words."""
WORDS = LOCAL_LETTERS | {
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
    "count": "N",
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
"""Letter in the literature for each word in a longer name."""

RESERVED = frozenset({"t", "u", "e"})
"""Letters that need the number of a part, because they also denote the time, external values of equal parts and the number e."""


@dataclass(frozen=True)
class Letter:
    """Letter of a value, in pieces: its scripts and the number of its part."""

    core: str
    below: str = ""
    above: str = ""
    owner: str = ""
    dots: int = 0

    @property
    def latex(self) -> str:
        core = f"{DOTS[self.dots]}{{{self.core}}}" if self.dots else self.core
        below = ",".join(filter(None, (self.below, self.owner)))
        return core + (f"_{{{below}}}" if below else "") + (f"^{{{self.above}}}" if self.above else "")

    @property
    def appearance(self) -> str:
        """Return a key of the letter's appearance, equal for letters that look alike."""
        return _FONTS.sub("", _ALIKE.sub(lambda match: LOOKALIKES.get(match[0], match[0]), self.latex))


LOOKALIKES = {
    **{r"\alpha": "a", r"\eta": "n", r"\iota": "i", r"\kappa": "k", r"\nu": "v", r"\omega": "w", r"\rho": "p", r"\chi": "x"},
    **{r"\upsilon": "u", r"\varepsilon": r"\epsilon", r"\varphi": r"\phi", r"\vartheta": r"\theta", "I": "l", "1": "l"},
}
_ALIKE = re.compile(r"\\[a-z]+|[A-Za-z\d]")
_FONTS = re.compile(r"\\(?:mathrm|mathsf|mathbf|mathit|text|boldsymbol|left|right|,| )|[{}\s]")


@dataclass(frozen=True)
class Letters:
    """LaTeX of values by name; within equal parts, a letter stands for the index of the part."""

    letters: Mapping[str, Letter]
    parts: Parts
    tree: tuple[Branch, ...]
    used: set[str] = field(default_factory=set)
    """Values whose letters occur, the first of each group of corresponding values; each needs an entry in the list of symbols."""
    inside: tuple[Branch, ...] = ()
    """Branches in which letters stand for the indices of parts."""
    renamed: Mapping[str, str] = field(default_factory=dict)
    """Names of external values inside these branches."""

    def __getitem__(self, name: str) -> str:
        name = name.removesuffix(":computed")
        if name.startswith("-"):
            return f"-{self[name[1:]]}"
        if name in self.renamed:
            return self.renamed[name]
        self.used.add(self.first(name))
        return self.letter(name).latex

    def letter(self, name: str) -> Letter:
        letter = self.letters[name]
        return replace(letter, owner=self.number(letter.owner)) if self.inside and letter.owner else letter

    def number(self, number: str) -> str:
        """Return the number of a part, with letters instead of the indices of equal parts."""
        for branch in self.inside:
            prefix = branch.members[0].number
            ends = number.split(ARROW)
            number = ARROW.join(branch.index + end[len(prefix) :] if _begins(end, prefix, ".") else end for end in ends)
        return number

    def within(self, branch: Branch, renamed: Mapping[str, str]) -> Letters:
        return replace(self, inside=(*self.inside, branch), renamed={**self.renamed, **renamed})

    def first(self, name: str) -> str:
        """Return the corresponding value in the first of the equal parts, if every part has one; else the value itself."""
        first = self._counterpart(name)
        return first if first in self.shared else name

    @cached_property
    def shared(self) -> frozenset[str]:
        """Values of the first part that have a counterpart in every equal part."""
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
        """Return the LaTeX of the first value of a group, with letters for the indices of equal parts."""
        around = [branch for branch, _ in self._around(name) if branch.index] if name in self.shared else []
        return replace(self, inside=tuple(around), renamed={}).letter(name).latex

    def ranges(self, name: str) -> list[tuple[str, tuple[str, ...]]]:
        """Return the letters in `general(name)` that stand for indices of equal parts, each with these indices."""
        around = self._around(name) if name in self.shared else ()
        return [(branch.index, tuple(part.number for part in branch.members)) for branch, _ in around if branch.index]

    def _around(self, name: str) -> list[tuple[Branch, str]]:
        surrounding: list[tuple[Branch, str]] = []
        path = ""
        for word in self.parts.owner(name).path.split("."):
            path = f"{path}.{word}" if path else word
            if path in self._members:
                surrounding.append((self._members[path], path))
                path = self._members[path].members[0].path
        return surrounding

    @cached_property
    def _members(self) -> Mapping[str, Branch]:
        return {part.path: branch for top in self.tree for branch in top.all() for part in branch.members}


def _begins(text: str, start: str, after: str) -> bool:
    return text == start or (text.startswith(start) and text[len(start)] in after)


def letters_of(system: System, parts: Parts, tree: tuple[Branch, ...], names: Iterable[str]) -> Letters:
    many = [part.path for top in tree for branch in top.all() if branch.index for part in branch.members]
    letters: dict[str, Letter] = {}
    rates = {state.rate: state.name for state in system.states}
    for name in dict.fromkeys(names):
        letters[name] = _base(system, name, many)
    for rate, state in sorted(rates.items(), key=lambda pair: pair[1] in rates):
        if rate in letters and state in letters and not (system.values[rate].symbol and not letters[rate].dots):
            letters[rate] = replace(letters[state], dots=letters[state].dots + 1)
    alike = {name for name in letters if any(_begins(parts.owner(name).path, path, ".") for path in many)}
    while numbered := _to_be_numbered(letters, alike):
        letters |= {name: replace(letters[name], owner=_number(parts, name)) for name in numbered}
    taken: set[str] = set()
    for name, letter in letters.items():
        count = 2
        while letter.appearance in taken:
            letter = replace(letters[name], below=",".join(filter(None, (letters[name].below, f"({count})"))))
            count += 1
        taken.add(letter.appearance)
        letters[name] = letter
    return Letters(letters, parts, tree)


def _to_be_numbered(letters: Mapping[str, Letter], alike: Collection[str]) -> list[str]:
    clashes = Counter(letter.appearance for letter in letters.values())
    return [
        name
        for name, letter in letters.items()
        if name != "time" and not letter.owner and (clashes[letter.appearance] > 1 or letter.latex in RESERVED or name in alike)
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
    # a symbol that names one of several equal parts is wrong for the other parts
    symbol = value.symbol if value is not None else ""
    if symbol and not any(_begins(name, path, ".:") and path.partition(".")[0] in symbol.replace("\\ ", " ") for path in many):
        own_letter = split(symbol)
        dotted = re.fullmatch(r"\\(d{1,2})ot\s*(\{?)(\\?[A-Za-z]+)\}?", own_letter.core)
        return replace(own_letter, core=dotted[3], dots=len(dotted[1])) if dotted else own_letter
    path, _, local = name.rpartition(".")
    if name in system.modes:
        return Letter(r"\sigma")
    if ":" in local or " -> " in name:
        return Letter(LOCAL_LETTERS.get(name.rpartition(":")[2], text(name.rpartition(":")[2])))
    dots = len(local) - len(local.rstrip("'"))
    local = local.rstrip("'")
    port = path.rpartition(".")[2] if local in ("effort", "flow") and path.rpartition(".")[2].isdigit() else ""
    letter, number = greek_or_letter(local)
    if letter.startswith(r"\text"):
        return replace(_of_words(local), dots=dots)
    return Letter(letter, port or number, dots=dots)


def _of_words(name: str) -> Letter:
    """Return the letter of a name of several words: the letter of its main word, with the other words as subscript."""
    head, *rest = (_WORD.findall(part) for part in re.split(r"(?<=[^\W_])[\s_]+of[\s_]+(?=[^\W_])", name, maxsplit=1))
    order = [word for part in (head, *rest) for word in reversed(part)]
    if not order:
        return Letter(r"\mathrm{x}")
    literature_word = next((word for word in order if word.lower() in WORDS), None)
    main = literature_word or next(filter(_SHORT.fullmatch, order), None) or next(filter(str.isalpha, order), order[0])
    words = [word for part in (head, *rest) for word in part]
    words.remove(main)
    if literature_word:
        letter = split(WORDS[main.lower()])
    else:
        letter = Letter(main[0], main[1:]) if _SHORT.fullmatch(main) else _upright_letter(main)
    others = r"\ ".join(escape_latex(word) for k, word in enumerate(words) if word not in _LITTLE or k == len(words) - 1)
    return replace(letter, below=",".join(filter(None, (letter.below, _upright(others)))))


def _upright_letter(word: str) -> Letter:
    written = escape_latex(word if len(word) <= _MAX_WORD else word[:_SHORTENED])
    return Letter(written.strip("$")) if re.fullmatch(r"\$\\[a-zA-Z]+\$", written) else Letter(_upright(written))


def _upright(words: str) -> str:
    return "" if not words else rf"\text{{{words}}}" if "$" in words else rf"\mathrm{{{words}}}"


_WORD = re.compile(r"[^\W\d_]+\d*|\d+")
_SHORT = re.compile(r"(?!(?:of|at|in|to)$)[A-Za-z][A-Za-z]?\d*")
_TOKEN = re.compile(r"\\[a-zA-Z]+|\\.|.", re.DOTALL)


def split(symbol: str) -> Letter:
    tokens = _TOKEN.findall(symbol)
    core, scripts = "", {"_": "", "^": ""}
    at = 0
    while at < len(tokens):
        token = tokens[at]
        if token in scripts:
            at += 1
            while tokens[at].isspace():
                at += 1
            group, at = _group(tokens, at)
            if scripts[token]:
                return Letter(f"{{{symbol}}}")
            scripts[token] = group
        elif any(scripts.values()) and not token.isspace():
            return Letter(f"{{{symbol}}}")
        else:
            group, after = _group(tokens, at)
            core += "".join(tokens[at:after])
            at = after
    return Letter(core.strip(), scripts["_"], scripts["^"])


def _group(tokens: list[str], at: int) -> tuple[str, int]:
    if tokens[at] != "{":
        return tokens[at], at + 1
    depth, end = 0, at
    while True:
        depth += {"{": 1, "}": -1}.get(tokens[end], 0)
        end += 1
        if depth == 0:
            return "".join(tokens[at + 1 : end - 1]), end
