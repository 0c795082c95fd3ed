"""A page in Markdown -> the model that it describes: rates, guards, resets and updates of clocks, from the page and nothing else.

Letters are evaluated by need, in whatever order the page prints them. Those that no equation gives, or that need themselves, are
unknowns, found with Newton's method from the equations that are left over. A time derivative is taken along the motion, with a
complex step, or with differences where one is inside another.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from tests.export.latex_reader import Language, Node, Parser, Unreadable, after, digits, halves, own_letter, seven_of, tokens_of

STEP = 1e-30
"""Of a derivative with a complex step, s."""
SPAN = 2e-3
"""Of a derivative with differences, s."""
AROUND = ((1, 4 / 5), (2, -1 / 5), (3, 4 / 105), (4, -1 / 280))
"""Weights of central differences of order eight."""

NOTE = " In the notation of the source: "
"""What stands behind the formula of a function: the same for a reader of its source."""


class Circular(Exception):
    """A letter that needs itself."""

    def __init__(self, letter: str):
        super().__init__(letter)
        self.letter = letter


class Nested(Exception):
    """A time derivative inside one that is taken with a complex step."""


# --------------------------------------------------------------------------------------------------------------- the text


def formulas(text: str) -> list[str]:
    return re.findall(r"(?<!\\)\$((?:\\.|[^$\\])+)\$", re.sub(r"`[^`]*`", "", text))


def tables(text: str) -> Iterator[list[list[str]]]:
    """Tables of a text, each as its rows of cells, without the line below the head."""
    rows: list[list[str]] = []
    for line in [*text.splitlines(), ""]:
        if line.startswith("| "):
            rows.append([cell.strip() for cell in re.split(r"(?<!\\) \|(?: |$)", line[2:].rstrip())][:-1])
        elif rows:
            yield [rows[0], *rows[2:]]
            rows = []


def section(text: str, title: str) -> str:
    """What stands below a heading, up to the next one of any kind."""
    found = re.search(rf"^#+ {re.escape(title)}\n(.*?)(?=^#|\Z)", text, re.MULTILINE | re.DOTALL)
    return found[1] if found else ""


def literal(text: str) -> Any:
    """A number, (1, 2) or [1, 2; 3, 4]."""

    def number(text: str) -> float:
        tokens, sign = tokens_of(text), 1.0
        if tokens[0] == "-":
            tokens, sign = tokens[1:], -1.0
        if tokens[:2] == [r"\tfrac", "{"]:
            above, below = "".join(tokens[2:-1]).split("}{")
            return sign * float(above) / float(below)
        return sign * (np.inf if tokens == [r"\infty"] else float("".join(tokens)))

    text = text.strip()
    if text[0] == "(":
        return np.array([number(part) for part in text[1:-1].split(",")])
    if text[0] == "[":
        return np.array([[number(part) for part in row.split(",")] for row in text[1:-1].split(";")])
    return number(text)


def with_index(text: str, letter: str, number: str) -> str:
    """A formula of parts that are alike, for one of them."""
    return re.sub(rf"(?<!\\math..\{{)(?<=[{{,\s]){letter}(?=[.,}}\\])", number, text)


@dataclass(frozen=True)
class Family:
    """Parts that are alike: their letter, numbers and paths."""

    letter: str
    numbers: tuple[str, ...]
    paths: tuple[str, ...]

    def of(self, text: str) -> bool:
        return with_index(text, self.letter, "") != text


@dataclass(frozen=True)
class Definition:
    """(letters) = an expression; more than one letter for a function with more than one result."""

    letters: tuple[str, ...]
    node: Node
    text: str


@dataclass(frozen=True)
class Implicit:
    """left = right, which holds by the choice of unknowns; `also` where the condition does not hold."""

    cases: tuple[tuple[Node, Node], ...]
    condition: Node
    text: str

    def residual(self, at: Point) -> np.ndarray:
        """Left less right, without what is rounding."""
        case = self.cases[0 if len(self.cases) == 1 or self.condition(at) else 1]
        left, right = (np.ravel(np.asarray(side(at))) for side in case)
        return np.where(np.abs(left - right) <= 1e-14 * (np.abs(left) + np.abs(right)), 0.0, left - right)


@dataclass(frozen=True)
class Move:
    """A row of a state machine's table."""

    source: str
    target: str
    guard: Node | None
    resets: tuple[tuple[str, Node], ...]
    what: str


@dataclass
class Machine:
    """A state machine: its path, its letter, its states by name, and the rows of its table."""

    path: str
    letter: str
    states: Mapping[str, int]
    start: str
    moves: list[Move] = field(default_factory=list)


@dataclass(frozen=True)
class State:
    name: str
    letter: str
    rate: str | None
    start: Any


# --------------------------------------------------------------------------------------------------------------- functions


SHARED = r"\mathsf{s}"


def own_letters(text: str) -> list[str]:
    """Letters without serifs of a list of them."""
    tokens, place, found = tokens_of(text), 0, []
    while place < len(tokens):
        one = own_letter(tokens, place)
        if one:
            found.append(one[0])
        place = one[1] if one else place + 1
    return found


class Function:
    """A function of the page: its head, and the equations of its letters without serifs, each evaluated by need."""

    def __init__(self, body: str, page: Page):
        first, *rest = formulas(body)
        head = re.fullmatch(r"(.*?) = \\mathrm\{(\w+)\}_\{(\d+)\}\((.*)\)", first)
        if head is None:
            raise Unreadable(f"no head of a function: {first}")
        self.name, self.number = head[2], head[3]
        self.results, self.arguments = own_letters(head[1]), own_letters(head[4])
        self.many, self.zeros = head[1].startswith("("), "all others 0" in body
        self.sizes: dict[str, tuple[int, ...]] = {}
        self.given: dict[tuple[str, str], Node] = {}
        self.language = Language(self.letter, page.called, page.no_states, page.no_derivative, False, page.doubts)
        for text in rest:
            size = re.fullmatch(r"(.*) \\in \\mathbb\{R\}\^\{([\d \\times]+)\}", text)
            if size:
                self.sizes[size[1]] = tuple(map(int, re.findall(r"\d+", size[2])))
            else:
                self.equation(text)

    def equation(self, text: str) -> None:
        """letter = [letter = ...] value; a shared part has one letter alone."""
        tokens = tokens_of(text)
        targets = []
        while found := self.target(tokens):
            letter, index, place = found
            if tokens[place : place + 1] != ["="]:
                break
            targets.append((letter, index))
            tokens = tokens[place + 1 :]
            if letter == SHARED and SHARED not in self.results:
                break
        if not targets:
            raise Unreadable(f"no letter is given by {text}")
        parser = Parser(text, self.language, tokens)
        node = parser.whole(parser.choice)
        if any(token in ("=", r"\le", "<") for token in tokens) and r"\text{ if }" not in tokens and tokens[0] != "[":
            self.language.doubts.append(f"a comparison without brackets: {text}")
        for target in targets:
            if target in self.given:
                raise Unreadable(f"{target} is given twice in D{self.number}")
            self.given[target] = node

    def target(self, tokens: Sequence[str]) -> tuple[str, str, int] | None:
        found = self.bare(tokens, 0)
        return found if found and (found[0] in self.results or found[0] == SHARED) else None

    @staticmethod
    def bare(tokens: Sequence[str], place: int) -> tuple[str, str, int] | None:
        found = own_letter(tokens, place) if place < len(tokens) else None
        if found is None:
            return None
        (letter, place), index = found, ""
        if list(tokens[place : place + 2]) == ["_", "{"]:
            end = list(tokens).index("}", place)
            index, place = "".join(tokens[place + 2 : end]), end + 1
        return letter, index, place

    def letter(self, tokens: Sequence[str], place: int) -> tuple[Node, int] | None:
        found = self.bare(tokens, place)
        if found is None:
            return None
        letter, index, after = found
        if letter in self.arguments:
            if not index:
                return (lambda at: at[letter]), after
            depth = len(self.sizes.get(letter, ()))
            places = digits([int(number) for number in index.split(",")], depth)
            return (lambda at: at[letter][places].item()), after
        return (lambda at: self.value(at, (letter, index))), after

    def value(self, at: dict[Any, Any], what: tuple[str, str]) -> Any:
        if what not in at:
            if what not in self.given:
                if self.zeros and what[0] in self.results:
                    return 0.0
                raise Unreadable(f"D{self.number} gives no {what}")
            at[what] = self.given[what](at)
        return at[what]

    def __call__(self, *values: Any) -> Any:
        if len(values) != len(self.arguments):
            raise Unreadable(f"D{self.number} takes {len(self.arguments)} arguments, not {len(values)}")
        at: dict[Any, Any] = {}
        for letter, value in zip(self.arguments, values, strict=True):
            size = self.sizes.get(letter, ())
            if np.size(value) != np.prod(size, dtype=int):
                raise Unreadable(f"D{self.number}: {letter} is {size}, the page gives {np.shape(value)}")
            at[letter] = np.reshape(value, size) if size else np.asarray(value).item()
        found = tuple(self.result(at, letter) for letter in self.results)
        return found if self.many else found[0]

    def result(self, at: dict[Any, Any], letter: str) -> Any:
        size = self.sizes.get(letter, ())
        if not size:
            return self.value(at, (letter, ""))
        if (letter, "") in self.given:
            return np.reshape(self.value(at, (letter, "")), size)
        mark = "," if max(size) > 9 and len(size) > 1 else ""
        places = [mark.join(str(k + 1) for k in place) for place in np.ndindex(*size)]
        return np.array([self.value(at, (letter, place)) for place in places]).reshape(size)


# -------------------------------------------------------------------------------------------------------------------- page


def reading(letter: str) -> Node:
    return lambda at: at.letter(letter)


class Page:
    """A page, read."""

    def __init__(self, text: str):
        self.text = re.sub(r"!\[[^\]]*\]\(data:image[^)]*\)", "", text)
        self.poses, self.doubts = "A pose $H$ is a matrix" in self.text, []
        self.families = self.read_families()
        self.sizes: dict[str, tuple[int, ...]] = {}
        self.letters: dict[str, list[tuple[tuple[str, ...], str]]] = {}
        self.names: dict[str, str] = {}
        self.machines: dict[str, Machine] = {}
        self.standing: dict[str, str] = {}
        self.needed: set[str] = set()
        self.own: dict[str, str] = {}
        self.unreadable: list[str] = []
        self.functions: dict[tuple[str, str], Function] = {}
        self.parameters: dict[str, Any] = {}
        self.states: dict[str, State] = {}
        self.read_symbols()
        self.language = Language(self.symbol, self.called, self.state_number, self.derivative, self.poses, self.doubts)
        self.read_functions()
        self.definitions: dict[str, Definition] = {}
        self.implicit: list[Implicit] = []
        self.clocks: dict[str, list[tuple[str, Node]]] = {}
        self.read_equations()
        self.read_clocks()
        used = set(self.needed)
        self.energy = [self.energy_law(text) for text in formulas(section(self.text, "Energy"))]
        self.needed = used
        self.torn: set[str] = set()

    # letters

    def read_families(self) -> list[Family]:
        found = re.findall(r"\$([a-z])\$ = ([\d., ]+) \((.*?)\)(?=[;.])", section(self.text, "Conventions"))
        return [Family(letter, tuple(n.strip().split(", ")), tuple(p.split(", "))) for letter, n, p in found]

    def each(self, text: str, name: str = "") -> Iterator[tuple[str, str]]:
        """A letter and its name, for each of parts that are alike."""
        for family in self.families:
            if family.of(text):
                for number, path in zip(family.numbers, family.paths, strict=True):
                    other = path + name.removeprefix(family.paths[0]) if name.startswith(family.paths[0]) else name
                    yield with_index(text, family.letter, number), other
                return
        yield text, name

    def add(self, letter: str, size: tuple[int, ...], name: str) -> None:
        if letter in self.sizes:
            raise Unreadable(f"{letter} stands for two things")
        tokens = tuple(tokens_of(letter))
        self.sizes[letter], self.names[letter] = size, name
        self.letters.setdefault(tokens[0], []).append((tokens, letter))
        self.letters[tokens[0]].sort(key=lambda known: -len(known[0]))

    def read_symbols(self) -> None:
        for table in tables(section(self.text, "Parameters")):
            for symbol, name, _, value in table[1:]:
                for letter, path, number in self.valued(symbol, name, value):
                    self.add(letter, np.shape(number), path)
                    self.parameters[letter] = number
        for table in tables(section(self.text, "States")):
            for symbol, name, _, rate, value in table[1:]:
                rates = [one for one, _ in self.each(rate.strip("$"))] if rate.startswith("$") else [None]
                for k, (letter, path, number) in enumerate(self.valued(symbol, name, value)):
                    self.add(letter, np.shape(number), path)
                    self.states[letter] = State(path, letter, rates[k % len(rates)], number)
        for table in tables(section(self.text, "Further symbols")):
            for row in table[1:]:
                for symbol, name, size in (row[:3], row[4:7]):
                    if symbol:
                        for letter, path in self.each(symbol.strip("$"), name.strip("`")):
                            self.add(letter, tuple(int(n) for n in size.split(" x ")) if size else (), path)
        for number, local, symbol, states, start in re.findall(
            r"^\*\*([\w.]+) (.*?) \(state machine\)\*\* \$(.*?)\$: (.*?); it starts in (`[^`]*`)(?: \([^`]*\))?\.$",
            self.text,
            re.MULTILINE,
        ):
            whole, paths = list(self.each(f"_{{{number}}}")), self.heads()
            for (index, _), (letter, _) in zip(whole, self.each(symbol) if len(whole) > 1 else [(symbol, "")], strict=True):
                above = index[2:-1].rpartition(".")[0]
                own = re.sub(r"\\(.)", r"\1", local)
                path = f"{paths[above]}.{own}" if above else own
                self.add(letter, (), path)
                numbers = {name: int(k) for name, k in re.findall(r"`(.*?)` \((\d+)\)", states)}
                self.machines[letter] = Machine(path, letter, numbers, start)

    def valued(self, symbol: str, name: str, value: str) -> Iterator[tuple[str, str, Any]]:
        """Letter, name and value of a row, for each of parts that are alike, which may share one value."""
        values = [literal(text) for text in formulas(value)]
        for k, (letter, path) in enumerate(self.each(symbol.strip("$"), name.split("`")[1])):
            yield letter, path, values[k if len(values) > 1 else 0]

    def heads(self) -> dict[str, str]:
        """Paths of nested graphs by number."""
        found: dict[str, str] = {}
        for number, local in re.findall(r"^### ([\w.]+) (.*)$", self.text, re.MULTILINE):
            family = next((f for f in self.families if f.letter == number), None)
            if family:
                found |= dict(zip(family.numbers, family.paths, strict=True))
            else:
                for index, _ in self.each(f"_{{{number}}}"):
                    above = index[2:-1].rpartition(".")[0]
                    found[index[2:-1]] = f"{found[above]}.{local}" if above in found else local
        return found

    def symbol(self, tokens: Sequence[str], place: int) -> tuple[Node, int] | None:
        for known, letter in self.letters.get(tokens[place], ()):
            end = place + len(known)
            if tuple(tokens[place:end]) == known:
                self.needed.add(letter)
                return reading(letter), end
        if own := own_letter(tokens, place):
            if own[0] not in self.own and own[0].startswith(r"\tilde") and own[0][7:-1] in self.own:
                return None  # the matrix of a cross product
            if own[0] not in self.own:
                raise Unreadable(f"{own[0]} is explained by no equation")
            return reading(self.own[own[0]]), own[1]
        if list(tokens[place : place + 3]) == ["u", "_", "{"]:
            end = list(tokens).index("}", place) + 1
            if "".join(tokens[place:end]) in self.standing:
                found = self.symbol(tokens_of(self.standing["".join(tokens[place:end])]), 0)
                return None if found is None else (found[0], end)
        return None

    def alone(self, text: str) -> str | None:
        """The letter that a text is, if it is one."""
        tokens = tokens_of(text)
        if "".join(tokens) in self.standing:
            return self.alone(self.standing["".join(tokens)])
        known = self.letters.get(tokens[0], ()) if tokens else ()
        return next((letter for these, letter in known if these == tuple(tokens)), None)

    def state_number(self, tokens: Sequence[str], word: str) -> float:
        letter = self.alone("".join(tokens))
        if letter not in self.machines:
            raise Unreadable(f"{''.join(tokens)} is no mode")
        return float({name.replace(" ", ""): k for name, k in self.machines[letter].states.items()}[word.replace(" ", "")])

    # functions

    def read_functions(self) -> None:
        for body in re.findall(r"^\*\*D\d+ .*?\*\* (.*)$", self.text, re.MULTILINE):
            function = Function(body.partition(NOTE)[0], self)
            self.functions[function.name, function.number] = function

    def called(self, name: str, index: str, arguments: Sequence[Node]) -> Node:
        standing = self.standing.get(rf"\mathrm{{{name}}}_{{{index}}}")
        if standing is not None:
            return self.called(*re.fullmatch(r"\\mathrm\{(\w+)\}_\{(\d+)\}", standing).groups(), arguments)  # type: ignore[union-attr]
        if (name, index) not in self.functions:
            raise Unreadable(f"no function {name}_{index}")
        function = self.functions[name, index]
        return lambda at: function(*(argument(at) for argument in arguments))

    @staticmethod
    def no_states(tokens: Sequence[str], word: str) -> float:
        raise Unreadable(f"the name {word} of a state in a function")

    @staticmethod
    def no_derivative(node: Node) -> Node:
        raise Unreadable("a time derivative in a function")

    def derivative(self, node: Node) -> Node:
        return lambda at: at.derivative(node)

    # equations

    def read_equations(self) -> None:
        body = self.text.split("## Equations\n", 1)[1].split("\n### Energy\n")[0].split("\n### Method\n")[0]
        for letter in "".join(family.letter for family in self.families):
            for table in tables(body):
                if table[0][0] == letter:
                    for what, *stand in table[1:]:
                        for number, other in zip(table[0][1:], stand, strict=True):
                            self.standing["".join(tokens_of(with_index(what.strip("$"), letter, number)))] = other.strip("$")
        blocks: list[str] = []
        waiting: list[str] = []
        for block in body.split("\n\n"):
            texts = re.findall(r"&emsp; \$((?:\\.|[^$\\])+)\$ &emsp; \(", block)
            blocks += texts
        for text in blocks:
            main, _, clauses = text.replace(r"\text{with }", r"\text{ with }").partition(r"\text{ with }")
            waiting += [main] if main else []
            if clauses or not re.search(r"\\(mathsf|boldsymbol)", main):
                groups = zip(*(list(self.each(one)) for one in [*waiting, clauses or main]), strict=True)
                for *group, (with_what, _) in groups:
                    self.read_group([one for one, _ in group], with_what if clauses else "")
                waiting = []
        for machine, rows in re.findall(r"^\*\*.*?\(state machine\)\*\* \$(.*?)\$: .*\n+((?:\|.*\n?)*)", body, re.MULTILINE):
            for letter, _ in self.each(machine):
                one = rows
                for family in self.families:
                    for number in family.numbers:
                        if letter != machine and with_index(machine, family.letter, number) == letter:
                            one = with_index(rows, family.letter, number)
                for table in tables(one):
                    self.machines[letter].moves += [self.move(*row[1:]) for row in table[1:]]

    def expression(self, text: str) -> Node:
        parser = Parser(text, self.language)
        return parser.whole(parser.choice)

    def read_group(self, equations: Sequence[str], clauses: str) -> None:
        """Equations, with the letters that stand behind the last of them, which are theirs alone."""
        rest = clauses.split(r"\text{, }") if clauses else []
        group, pairs = len(self.definitions), [clause.split(" = ", 1) for clause in rest]
        self.own = {letter: f"{letter} of {group}" for left, _ in pairs for letter in own_letters(left)}
        self.names |= {name: name for name in self.own.values()}
        try:
            for left, right in pairs:
                if set(own_letters(left)) & set(own_letters(right)):
                    raise Unreadable(f"a letter explains itself: {left} = {right}")
                letters, node = tuple(self.own[letter] for letter in own_letters(left)), self.expression(right)
                split = after(lambda value: halves(value, self.poses), node) if len(letters) > 1 else node
                self.definitions |= dict.fromkeys(letters, Definition(letters, split, f"{left} = {right}"))
            for text in equations:
                self.read_equation(text)
        except Unreadable as error:
            self.unreadable.append(f"{equations[0]}: {error}")
        self.own = {}

    def read_equation(self, text: str) -> None:
        if text.startswith(r"\tfrac{d}{dt}(") and re.fullmatch(r"\\tfrac\{d\}\{dt\}\([^()]*\) = \S*", text):
            left, right = text.split(" = ")
            if (letter := self.alone(right)) and letter not in self.definitions:
                self.definitions[letter] = Definition((letter,), self.expression(left), text)
                return
        left, right = text.split(" = ", 1)
        other = right.partition(r" \text{, else } ")[2]
        letters = tuple(self.alone(part) for part in (left[1:-1].split(", ") if left[0] == "(" else [left]))
        if left[0] == "(" and len(letters) > 1:
            letters = tuple(self.alone(part) for part in self.apart(left[1:-1]))
        if " = " in other and r"\text" not in other.split(" = ")[0]:
            first, condition = right.partition(r" \text{, else } ")[0].split(r" \text{ if } ")
            cases = [(left, first), tuple(other.split(" = ", 1))]
            nodes = tuple((self.expression(a), self.expression(b)) for a, b in cases)
            self.implicit.append(Implicit(nodes, self.expression(condition), text))
        elif None in letters or any(letter in self.definitions or letter in self.states for letter in letters):
            self.implicit.append(Implicit(((self.expression(left), self.expression(right)),), lambda at: True, text))
        else:
            definition = Definition(letters, self.expression(right), text)  # type: ignore[arg-type]
            self.definitions |= dict.fromkeys(definition.letters, definition)

    def energy_law(self, text: str) -> Implicit:
        left, right = text.split(" = ")
        return Implicit(((self.expression(left), self.expression(right)),), lambda at: True, text)

    def powers(self, law: Implicit) -> list[str]:
        """Letters of the powers in a law of energy."""
        found = [self.alone(part.strip()) for part in re.split(r" [+-] |^- ", law.text.split(" = ")[1])]
        return [letter for letter in found if letter is not None]

    @staticmethod
    def apart(text: str) -> list[str]:
        """Parts between commas that stand in no brackets."""
        found, depth = [""], 0
        for sign in text:
            depth += {"{": 1, "(": 1, "}": -1, ")": -1}.get(sign, 0)
            if sign == "," and not depth:
                found.append("")
            else:
                found[-1] += sign
        return found

    def move(self, source: str, target: str, guard: str, what: str) -> Move:
        resets = tuple(self.assignment(text) for text in formulas(what) if ":=" in text)
        node = self.expression(guard.strip("$")) if guard[0] == "$" else None
        return Move(source.strip("`"), target.strip("`"), node, resets, what)

    def assignment(self, text: str) -> tuple[str, Node]:
        left, right = text.split(" := ")
        letter = self.alone(left)
        if letter not in self.states:
            raise Unreadable(f"{left} is no state")
        return letter, self.expression(right)

    def read_clocks(self) -> None:
        for table in tables(section(self.text, "Clocks and breaks of time")):
            for block, when, what in table[1:]:
                if "t_n" in when:
                    for one, path in self.each(what, block.strip("`")):
                        self.clocks[path] = [self.assignment(text) for text in formulas(one)]

    # numbers

    @cached_property
    def by_name(self) -> dict[str, str]:
        """Letters by the names of the model."""
        return {name: letter for letter, name in self.names.items()}

    def at(self, t: float, x: Mapping[str, Any], m: Mapping[str, float], p: Mapping[str, Any] | None = None) -> Point:
        """The model at a time, with states, modes and parameters (else the page's) by letter; unknowns found."""
        given = {**self.parameters, **({} if p is None else p), **m}
        while True:
            try:
                return Point(self, t, dict(x), given).solved()
            except Circular as circle:
                if circle.letter in self.torn:
                    raise Unreadable(f"{circle.letter} needs itself") from circle
                self.torn.add(circle.letter)

    @property
    def unknowns(self) -> list[str]:
        """Letters that no equation gives, but that some equation needs."""
        free = [name for name in self.sizes if not (name in self.definitions or name in self.states or name in self.parameters)]
        return [name for name in free if name not in self.machines and self.names[name] != "time"] + sorted(self.torn)

    def fitting(self, letter: str, value: Any) -> Any:
        """A value in the size of its letter; a row stays one."""
        if letter not in self.sizes:
            return value
        size = self.sizes[letter]
        if np.shape(value) == size:
            return value
        if np.size(value) == np.prod(size, dtype=int):
            if np.ndim(value) == 2 and len(size) == 1 and np.shape(value)[0] == 1:
                return value
            return np.reshape(value, size) if size else np.asarray(value).item()
        if self.poses and size == (7,) and np.shape(value) == (4, 4):
            return seven_of(value)
        if np.ndim(value) == 0:
            return np.full(size, value)
        raise Unreadable(f"{letter} has the size {size}, its equation gives {np.shape(value)}: {self.definitions[letter].text}")


class Point:
    """A page at a time, with states, modes and guesses of unknowns: letters by need."""

    def __init__(self, page: Page, t: Any, x: dict[str, Any], given: Mapping[str, Any], base: tuple[Point, Any] | None = None):
        self.page, self.t, self.x, self.given, self.base = page, t, x, given, base
        self.known: dict[str, Any] = {}
        self.guesses: dict[str, Any] = {}
        self.open: list[str] = []

    def letter(self, letter: str) -> Any:
        if letter in self.guesses:
            return self.guesses[letter]
        if letter in self.known:
            return self.known[letter]
        if letter in self.open:
            raise Circular(letter)
        self.open.append(letter)
        try:
            self.known[letter] = self.value(letter)
        finally:
            self.open.pop()
        return self.known[letter]

    def value(self, letter: str) -> Any:
        page = self.page
        if letter in page.states:
            if self.base is None:
                return self.x[letter]
            before, step = self.base
            return before.letter(letter) + step * before.rate(letter)
        if letter in self.given:
            return self.given[letter]
        if page.names[letter] == "time":
            return self.t
        if self.base is not None and letter in self.base[0].guesses and letter not in page.definitions:
            raise Unreadable(f"the time derivative of what needs the unknown {letter}")
        if letter not in page.definitions:
            raise Unreadable(f"no equation gives {letter} ({page.names[letter]})")
        definition = page.definitions[letter]
        try:
            value = definition.node(self)
        except (ValueError, TypeError) as error:
            raise Unreadable(f"{definition.text}: {error}") from error
        if len(definition.letters) > 1:
            if not isinstance(value, tuple) or len(value) != len(definition.letters):
                raise Unreadable(f"{len(definition.letters)} letters have one value: {definition.text}")
            self.known |= {name: page.fitting(name, one) for name, one in zip(definition.letters, value, strict=True)}
            return self.known[letter]
        return page.fitting(letter, value)

    def rate(self, state: str) -> Any:
        """Of a state, in its size."""
        rate, size = self.page.states[state].rate, self.page.sizes[state]
        return np.zeros(size)[()] if rate is None else np.reshape(self.letter(rate), size)[()]

    def derivative(self, node: Node) -> Any:
        """Along the motion."""
        if self.base is not None and isinstance(self.base[1], complex):
            raise Nested
        try:
            return np.imag(node(self.moved(1j * STEP))) / STEP
        except Nested:
            return sum(weight / SPAN * (node(self.moved(k * SPAN)) - node(self.moved(-k * SPAN))) for k, weight in AROUND)

    def moved(self, step: Any) -> Point:
        return Point(self.page, self.t + step, self.x, self.given, (self, step))

    def solved(self) -> Point:
        """This point with the unknowns that fulfil the equations which give no letter."""
        page = self.page
        sought = [name for name in page.unknowns if name in page.torn or name in page.needed]
        if not sought and not page.implicit:
            self.rates()
            return self
        sizes = [int(np.prod(page.sizes[name], dtype=int)) for name in sought]
        ends = np.cumsum(sizes)

        def with_guess(z: np.ndarray) -> Point:
            point = Point(page, self.t, self.x, self.given)
            for name, end, size in zip(sought, ends, sizes, strict=True):
                point.guesses[name] = z[end - size : end].reshape(page.sizes[name])[()] if page.sizes[name] else float(z[end - 1])
            return point

        def residual(z: np.ndarray) -> np.ndarray:
            point = with_guess(z)
            rows = [equation.residual(point) for equation in page.implicit]
            for name in page.torn:
                rows.append(np.ravel(np.asarray(point.guesses[name]) - np.asarray(point.value(name))))
            return np.concatenate(rows)

        point = with_guess(root_of(residual, sum(sizes), not page.torn))
        point.rates()
        return point

    def rates(self) -> dict[str, Any]:
        """Of all states, by letter."""
        return {letter: self.rate(letter) for letter, state in self.page.states.items() if state.rate is not None}


def root_of(residual: Callable[[np.ndarray], np.ndarray], count: int, affine: bool) -> np.ndarray:
    """Where residuals vanish, by Newton's method from zero, of least norm where they leave something open."""
    z = np.zeros(count)
    slopes = size = left = np.zeros(0)
    for round_ in range(100):
        left = residual(z)
        if not affine or round_ == 0:
            around = np.ones(count) if affine else 1e-6 * np.maximum(1.0, np.abs(z))
            columns = [(residual(z + d) - (left if affine else residual(z - d))) for d in np.diag(around)]
            slopes = np.array(columns).T.reshape(len(left), count) / (around if affine else 2.0 * around)
            size = np.abs(slopes).max(axis=1, initial=0.0)
            size = np.maximum(size, 1e-6 * size.max(initial=1e-300))
        step = np.linalg.lstsq(slopes / size[:, None], -left / size, rcond=1e-11)[0]
        z = z + step
        if np.abs(step).max(initial=0.0) <= 1e-13 * max(np.abs(z).max(initial=0.0), 1e-9) or (affine and round_ == 4):
            break
    if (np.abs(residual(z)) > 1e-9 * (size * max(np.abs(z).max(initial=0.0), 1e-9) + np.abs(left))).any():
        raise Unreadable("the equations that are left over do not hold for any values of the unknowns")
    return z
