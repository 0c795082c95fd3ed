"""Rates, guards, resets and ticks of a model, read from its Markdown page alone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from tests.export.reading.functions import Function, own_letters
from tests.export.reading.grammar import Language, Node, Parser, after
from tests.export.reading.markdown import captioned, formulas, functions, literal, section, tables, with_index
from tests.export.reading.point import Circular, Point
from tests.export.reading.records import Definition, Family, Implicit, Machine, Move, State
from tests.export.reading.tokens import Unreadable, own_letter, tokens_of
from tests.export.reading.values import halves, seven_of


def reading(letter: str) -> Node:
    return lambda at: at.letter(letter)


class Page:
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
        for family in self.families:
            if family.of(text):
                for number, path in zip(family.numbers, family.paths, strict=True):
                    other = path + name.removeprefix(family.paths[0]) if name.startswith(family.paths[0]) else name
                    yield with_index(text, family.letter, number), other
                return
        yield text, name

    def add(self, letter: str, size: tuple[int, ...], name: str) -> None:
        if letter in self.sizes:
            raise Unreadable(f"{letter} has two meanings")
        tokens = tuple(tokens_of(letter))
        self.sizes[letter], self.names[letter] = size, name
        self.letters.setdefault(tokens[0], []).append((tokens, letter))
        self.letters[tokens[0]].sort(key=lambda known: -len(known[0]))

    def read_symbols(self) -> None:
        for table in captioned(self.text, "Parameters."):
            for symbol, name, _, value in table[1:]:
                for letter, path, number in self.valued(symbol, name, value):
                    self.add(letter, np.shape(number), path)
                    self.parameters[letter] = number
        for table in captioned(self.text, "States."):
            for symbol, name, _, rate, value in table[1:]:
                rates = [one for one, _ in self.each(rate.strip("$"))] if rate.startswith("$") else [None]
                for k, (letter, path, number) in enumerate(self.valued(symbol, name, value)):
                    self.add(letter, np.shape(number), path)
                    self.states[letter] = State(path, letter, rates[k % len(rates)], number)
        for table in captioned(self.text, "Further symbols."):
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
        values = [literal(text) for text in formulas(value)]
        for k, (letter, path) in enumerate(self.each(symbol.strip("$"), name.split("`")[1])):
            yield letter, path, values[k if len(values) > 1 else 0]

    def heads(self) -> dict[str, str]:
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
                raise Unreadable(f"{own[0]} is not explained by an equation")
            return reading(self.own[own[0]]), own[1]
        if list(tokens[place : place + 3]) == ["u", "_", "{"]:
            end = list(tokens).index("}", place) + 1
            if "".join(tokens[place:end]) in self.standing:
                found = self.symbol(tokens_of(self.standing["".join(tokens[place:end])]), 0)
                return None if found is None else (found[0], end)
        return None

    def alone(self, text: str) -> str | None:
        tokens = tokens_of(text)
        if "".join(tokens) in self.standing:
            return self.alone(self.standing["".join(tokens)])
        known = self.letters.get(tokens[0], ()) if tokens else ()
        return next((letter for these, letter in known if these == tuple(tokens)), None)

    def state_number(self, tokens: Sequence[str], word: str) -> float:
        letter = self.alone("".join(tokens))
        if letter not in self.machines:
            raise Unreadable(f"{''.join(tokens)} is not a mode")
        return float({name.replace(" ", ""): k for name, k in self.machines[letter].states.items()}[word.replace(" ", "")])

    # functions

    def read_functions(self) -> None:
        for _, body in functions(self.text):
            function = Function(body, self)
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
        machine_table = r"^\*\*.*?\(state machine\)\*\* \$(.*?)\$: .*\n+(?:(?:Figure|Table) .*\n+)*((?:\|.*\n?)*)"
        for machine, rows in re.findall(machine_table, body, re.MULTILINE):
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
        rest = clauses.split(r"\text{, }") if clauses else []
        group, pairs = len(self.definitions), [clause.split(" = ", 1) for clause in rest]
        self.own = {letter: f"{letter} of {group}" for left, _ in pairs for letter in own_letters(left)}
        self.names |= {name: name for name in self.own.values()}
        try:
            for left, right in pairs:
                if set(own_letters(left)) & set(own_letters(right)):
                    raise Unreadable(f"a letter depends on itself: {left} = {right}")
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
        found = [self.alone(part.strip()) for part in re.split(r" [+-] |^- ", law.text.split(" = ")[1])]
        return [letter for letter in found if letter is not None]

    @staticmethod
    def apart(text: str) -> list[str]:
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
            raise Unreadable(f"{left} is not a state")
        return letter, self.expression(right)

    def read_clocks(self) -> None:
        for table in tables(section(self.text, "Clocks and time events")):
            for block, when, what in table[1:]:
                if "t_n" in when:
                    for one, path in self.each(what, block.strip("`")):
                        self.clocks[path] = [self.assignment(text) for text in formulas(one)]

    # numbers

    @cached_property
    def by_name(self) -> dict[str, str]:
        return {name: letter for letter, name in self.names.items()}

    def at(self, t: float, x: Mapping[str, Any], m: Mapping[str, float], p: Mapping[str, Any] | None = None) -> Point:
        given = {**self.parameters, **({} if p is None else p), **m}
        while True:
            try:
                return Point(self, t, dict(x), given).solved()
            except Circular as circle:
                if circle.letter in self.torn:
                    raise Unreadable(f"{circle.letter} depends on itself") from circle
                self.torn.add(circle.letter)

    @property
    def unknowns(self) -> list[str]:
        free = [name for name in self.sizes if not (name in self.definitions or name in self.states or name in self.parameters)]
        return [name for name in free if name not in self.machines and self.names[name] != "time"] + sorted(self.torn)

    def fitting(self, letter: str, value: Any) -> Any:
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
