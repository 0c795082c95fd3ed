"""Reaction networks from SBML: species and reactions as Ce and Re where the laws are reversible mass action, else as one block of
rates.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from types import MappingProxyType
from typing import Any

from screwbond.models.parts.reactions import Reaction, Stoichiometry

from bondgraph import J0, J1, TF, Block, Ce, Graph, Re, Se
from bondgraph.errors import ModelError, Place, refusal
from bondgraph.interchange.short.documents import text_of
from bondgraph.output.extras import require_package
from screws import scalars

LARGEST = 5_000_000
"""Maximum size of a file, bytes."""
DEEPEST = 100
"""Maximum depth of tags, and of a formula behind all its functions."""
MOST_NODES = 100_000
"""Maximum number of operations of all formulas."""

Tree = tuple[Any, ...]
"""Formula: ("number", value), ("name", id), ("time",), or the name of an operation and its operands."""


def _power(base: Any, exponent: Any) -> Any:
    """Return a power; a whole exponent is a product."""
    return base ** (int(exponent) if isinstance(exponent, float) and exponent.is_integer() else exponent)


OPERATIONS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "plus": lambda *a: reduce(lambda x, y: x + y, a) if a else 0.0,
        "minus": lambda *a: -a[0] if len(a) == 1 else a[0] - a[1],
        "times": lambda *a: reduce(lambda x, y: x * y, a) if a else 1.0,
        "divide": lambda a, b: a / b,
        "power": _power,
        "root": lambda degree, a: a ** (1.0 / degree),
        "log": lambda base, a: scalars.log(a) / scalars.log(base),
        "ln": scalars.log,
        "abs": scalars.absolute,
        "min": lambda *a: reduce(scalars.minimum, a),
        "max": lambda *a: reduce(scalars.maximum, a),
        "lt": scalars.less,
        "leq": scalars.less_equal,
        "gt": lambda a, b: scalars.less(b, a),
        "geq": lambda a, b: scalars.less_equal(b, a),
        "arcsin": scalars.asin,
        "arccos": scalars.acos,
        "arctan": scalars.atan,
    }
    | {name: getattr(scalars, name) for name in ("exp", "sin", "cos", "tan", "tanh", "floor", "sqrt")}
)
"""Operations of formulas that are read; and piecewise."""
_ARITIES = dict.fromkeys(("plus", "times"), (0, MOST_NODES)) | dict.fromkeys(("min", "max", "piecewise"), (1, MOST_NODES))
_ARITIES |= dict.fromkeys(("divide", "power", "root", "log", "lt", "leq", "gt", "geq"), (2, 2)) | {"minus": (1, 2)}
"""Least and most operands of operations that have not one."""


@dataclass(frozen=True)
class Law:
    """Formula of a file as a function of these names."""

    tree: Tree
    names: tuple[str, ...]

    def __call__(self, *values: Any) -> Any:
        """Return the value of the formula."""
        return evaluated(self.tree, dict(zip(self.names, values, strict=True)))


def evaluated(tree: Tree, values: Mapping[str, Any]) -> Any:
    """Return the value of a formula for numbers, symbols or scalars by name."""
    word, *operands = tree
    if word == "number":
        return operands[0]
    if word == "name":
        return values[operands[0]]
    computed = [evaluated(each, values) for each in operands]
    if word == "piecewise":
        *pairs, last = computed if len(computed) % 2 else [*computed, 0.0]
        for value, condition in reversed(list(zip(pairs[::2], pairs[1::2], strict=True))):
            last = scalars.where(condition, value, last)
        return last
    return OPERATIONS[word](*computed)


def names_in(tree: Tree) -> Iterator[str]:
    """Yield the names that a formula reads."""
    if tree[0] == "name":
        yield tree[1]
    elif tree[0] != "number":
        for each in tree[1:]:
            yield from names_in(each)


@dataclass(frozen=True)
class Species:
    """Species with its amount at the start, the size of its compartment, and what its name means in formulas."""

    amount: float
    size: float
    as_amount: bool
    held: bool
    """True for an amount that reactions do not change."""


@dataclass(frozen=True)
class Conversion:
    """Reaction with its rate as a formula, amount per time, and the numbers of what it takes and makes."""

    reactants: Mapping[str, float]
    products: Mapping[str, float]
    rate: Tree
    line: int


@dataclass(frozen=True)
class SBMLNetwork:
    """Network of a file: its graph, whether it has bonds, and if not, why."""

    graph: Graph
    has_bonds: bool
    reason: str
    """Reaction that is no reversible mass action, or the cycle without detailed balance; "" with bonds."""


def read_sbml(path: str | os.PathLike[str], name: str = "") -> SBMLNetwork:
    """Return the reaction network of an SBML file (extra `sbml`), its graph called `name`, by default as the model.

    With reversible mass action alone, whose constants keep detailed balance, species are Ce and reactions Re: the amount of a
    species X is `X.q`, and there is an account of the free energy over R T. Else the graph is one block "network" of rates, whose
    states are the amounts, `network.X`. `reason` says why.

    Raises `ModelError` E630 for a file that cannot be read; E650 for one that is no valid SBML, has entities, or is nested
    deep; E651 for what is not read: rules, events, delays, operations; E652 for unknown names and numbers that are missing.
    `ExtraError` E416 where libsbml is missing.

    Source: Hucka et al. 2003 (SBML); Gawthrop and Crampin 2014 (Ce and Re).
    """
    return parse_sbml(*text_of(path, LARGEST), name)


def parse_sbml(text: str, file: str = "network.xml", name: str = "") -> SBMLNetwork:
    """Return the network of the text of an SBML file, as `read_sbml`; messages call it `file`."""
    require_package(f'the network of "{file}"', "libsbml")
    _check_tags(text, file)
    reader = _Reader(file)
    title, species, reactions = reader.read(text)
    graph = _with_bonds(name or title, species, reactions)
    if isinstance(graph, str):
        return SBMLNetwork(_rates(name or title, species, reactions), False, graph)
    return SBMLNetwork(graph, True, "")


def _with_bonds(name: str, species: Mapping[str, Species], reactions: Mapping[str, Conversion]) -> Graph | str:
    """Return a network of Ce and Re, or the reason why it has none."""
    try:
        reversible = _mass_action(species, reactions)
        if isinstance(reversible, str):
            return reversible
        net = Stoichiometry(tuple(species), reversible, {})
        return _bonds(name, species, net, net.constants(name, {}))
    except ModelError as error:  # a cycle has no detailed balance
        return error.problems[0].title
    except (ArithmeticError, ValueError):
        return "its constants are out of range"


def _check_tags(text: str, file: str) -> None:
    """Raise E650 for document types and entities, and for tags that are nested deep: parsers expand the one and recurse on the
    other."""
    if declared := re.search(r"<!(DOCTYPE|ENTITY)", text, re.IGNORECASE):
        raise _error(
            "E650", file, text.count("\n", 0, declared.start()) + 1, "it has a document type or entities", "without them"
        )
    depth = 0
    for tag in re.finditer(r"<(/?)[A-Za-z_][^<>]*?(/?)>", text):
        depth += -1 if tag[1] else 0 if tag[2] else 1
        if depth > DEEPEST:
            line = text.count("\n", 0, tag.start()) + 1
            raise _error("E650", file, line, f"its tags are nested more than {DEEPEST} deep", "smaller formulas")


def _error(code: str, file: str, line: int, title: str, *cures: str) -> ModelError:
    return refusal(code, title, *cures, about=file, places=(Place(file, max(line, 1)),))


class _Reader:
    """Reader of a document of libsbml into records: its objects live no longer than the document."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.functions: dict[str, tuple[tuple[str, ...], Tree]] = {}
        self.values: dict[str, float] = {}
        self.nodes = 0

    def read(self, text: str) -> tuple[str, dict[str, Species], dict[str, Conversion]]:
        """Return the name of the model, its species and its reactions."""
        import libsbml

        document = libsbml.readSBMLFromString(text)
        for k in range(document.getNumErrors()):
            error = document.getError(k)
            if error.getSeverity() >= libsbml.LIBSBML_SEV_ERROR:
                raise _error("E650", self.file, error.getLine(), f"it is no SBML: {error.getShortMessage()}", "a valid file")
        model = document.getModel()
        if model is None:
            raise _error("E650", self.file, 1, "it has no model", "a file of SBML")
        self._refuse(model)
        for k in range(model.getNumFunctionDefinitions()):
            self._function(model.getFunctionDefinition(k))
        for item in (*_each(model, "Compartment"), *_each(model, "Parameter")):
            value = item.getSize() if item.getElementName() == "compartment" else item.getValue()
            if not math.isnan(value):
                self.values[item.getId()] = value
        species = {each.getId(): self._species(each) for each in _each(model, "Species")}
        for each in _each(model, "InitialAssignment"):
            self._assign(each, species)
        reactions = {each.getId(): self._reaction(each, species) for each in _each(model, "Reaction")}
        if not species or not reactions:
            raise _error("E652", self.file, model.getLine(), "the model has no species, or no reactions", "a reaction network")
        title = model.getId() if re.fullmatch(r"\w+", model.getId() or "") else Path(self.file).stem
        return title, species, reactions

    def _refuse(self, model: Any) -> None:
        """Raise E651 for parts of SBML that would change the motion and are not read."""
        for word in ("Rule", "Event", "Constraint"):
            if items := _each(model, word):
                raise _error("E651", self.file, items[0].getLine(), f"{word.lower()}s are not read", "a model of reactions alone")
        for each in _each(model, "Compartment"):
            if not each.getConstant():
                title = f'the compartment "{each.getId()}" is not constant'
                raise _error("E651", self.file, each.getLine(), title, 'constant="true"')

    def _function(self, item: Any) -> None:
        count = item.getNumArguments()
        arguments = tuple(item.getArgument(k).getName() for k in range(count))
        if item.getBody() is None:
            raise _error("E652", self.file, item.getLine(), f'the function "{item.getId()}" has no formula', "its formula")
        self.functions[item.getId()] = (arguments, self.tree(item.getBody(), item.getLine()))

    def _species(self, item: Any) -> Species:
        size = self.values.get(item.getCompartment(), math.nan)
        if not (size > 0 and math.isfinite(size)):
            title = f'the compartment "{item.getCompartment()}" of "{item.getId()}" has no size'
            raise _error("E652", self.file, item.getLine(), title, "a positive size")
        amount = item.getInitialConcentration() * size if item.isSetInitialConcentration() else item.getInitialAmount()
        if item.isSetConversionFactor():
            raise _error(
                "E651", self.file, item.getLine(), f'the conversion factor of "{item.getId()}" is not read', "without it"
            )
        held = bool(item.getBoundaryCondition() or item.getConstant())
        return Species(amount, size, bool(item.getHasOnlySubstanceUnits()), held)

    def _assign(self, item: Any, species: dict[str, Species]) -> None:
        """Apply an initial assignment: a number for a species, parameter or compartment."""
        line, symbol = item.getLine(), item.getSymbol()
        values = dict(self.values)
        for name, each in species.items():
            values[name] = each.amount if each.as_amount else each.amount / each.size
        value = self._number(self.tree(item.getMath(), line), values, line)
        if symbol in species:
            old = species[symbol]
            species[symbol] = Species(value if old.as_amount else value * old.size, old.size, old.as_amount, old.held)
        elif symbol in self.values or symbol not in species:
            self.values[symbol] = value

    def _number(self, tree: Tree, values: Mapping[str, float], line: int) -> float:
        try:
            value = float(evaluated(tree, values))
        except (KeyError, ArithmeticError, TypeError, ValueError) as error:
            raise _error(
                "E652", self.file, line, f"a formula has no value at the start: {error}", "numbers for its names"
            ) from None
        if not math.isfinite(value):
            raise _error("E652", self.file, line, f"a formula is {value} at the start", "finite numbers")
        return value

    def _reaction(self, item: Any, species: Mapping[str, Species]) -> Conversion:
        line, law = item.getLine(), item.getKineticLaw()
        if law is None or law.getMath() is None:
            raise _error("E652", self.file, line, f'the reaction "{item.getId()}" has no kinetic law', "its kinetic law")
        local = {each.getId(): each.getValue() for each in (*_each(law, "LocalParameter"), *_each(law, "Parameter"))}
        tree = self._bound(self.tree(law.getMath(), line), {**self.values, **local}, species, line)
        sides = [self._side(item, word, species, line) for word in ("Reactant", "Product")]
        return Conversion(sides[0], sides[1], tree, line)

    def _side(self, item: Any, word: str, species: Mapping[str, Species], line: int) -> dict[str, float]:
        side: dict[str, float] = {}
        for each in _each(item, word):
            name, count = each.getSpecies(), each.getStoichiometry() if each.isSetStoichiometry() else 1.0
            if name not in species:
                raise _error("E652", self.file, line, f'"{item.getId()}" has the unknown species "{name}"', ", ".join(species))
            if not (count > 0 and math.isfinite(count)) or each.isSetStoichiometryMath():
                raise _error("E651", self.file, line, f'"{item.getId()}": a stoichiometry is no positive number', "a number")
            side[name] = side.get(name, 0.0) + count
        return side

    def _bound(self, tree: Tree, values: Mapping[str, float], species: Mapping[str, Species], line: int) -> Tree:
        """Return a formula with the numbers of its parameters, and concentrations as amounts over sizes."""
        if tree[0] == "number":
            return tree
        if tree[0] != "name":
            return (tree[0], *(self._bound(each, values, species, line) for each in tree[1:]))
        name = tree[1]
        if name in values and not math.isnan(values[name]):
            return ("number", values[name])
        if name not in species:
            raise _error("E652", self.file, line, f'a kinetic law reads "{name}", which has no value', "a parameter of this name")
        one = species[name]
        amount: Tree = ("number", one.amount) if one.held else tree
        return amount if one.as_amount or one.size == 1.0 else ("divide", amount, ("number", one.size))

    def tree(self, node: Any, line: int, arguments: Mapping[str, Tree] = MappingProxyType({}), depth: int = 0) -> Tree:
        """Return a formula of libsbml as a tree, its functions expanded."""
        import libsbml

        self.nodes += 1
        if node is None or depth > DEEPEST or self.nodes > MOST_NODES:
            raise _error("E650", self.file, line, "a formula is missing, nested deep or very long", "a smaller formula")
        kind, name = node.getType(), node.getName()
        if node.isNumber():
            return ("number", node.getInteger() if kind == libsbml.AST_INTEGER else node.getValue())
        constants = {libsbml.AST_CONSTANT_PI: math.pi, libsbml.AST_CONSTANT_E: math.e}
        if kind in constants:
            return ("number", constants[kind])
        if kind == libsbml.AST_NAME:
            return arguments.get(name, ("name", name))
        below = [self.tree(node.getChild(k), line, arguments, depth + 1) for k in range(node.getNumChildren())]
        if kind == libsbml.AST_FUNCTION and name in self.functions:
            names, body = self.functions[name]
            if len(names) == len(below):
                return _substituted(body, dict(zip(names, below, strict=True)))
        word = _words().get(kind, name)
        if word not in OPERATIONS and word != "piecewise":
            raise _error("E651", self.file, line, f'the operation "{word or node.getOperatorName()}" is not read', "arithmetic")
        least, most = _ARITIES.get(word, (1, 1))
        if not least <= len(below) <= most:
            raise _error("E650", self.file, line, f"the operation {word} has {len(below)} operands", "those that it needs")
        return (word, *below)


def _each(parent: Any, word: str) -> list[Any]:
    """Return the items of a list of libsbml."""
    plural = {"Species": "Species"}.get(word, f"{word}s")
    count = getattr(parent, f"getNum{plural}", lambda: 0)()
    return [getattr(parent, f"get{word}")(k) for k in range(count)]


def _words() -> dict[int, str]:
    """Return the words of operators by their kind in libsbml."""
    import libsbml

    kinds = {"PLUS": "plus", "MINUS": "minus", "TIMES": "times", "DIVIDE": "divide", "POWER": "power", "FUNCTION_POWER": "power"}
    kinds |= {"FUNCTION_ROOT": "root", "FUNCTION_LN": "ln", "FUNCTION_LOG": "log", "FUNCTION_ABS": "abs"}
    kinds |= {"FUNCTION_PIECEWISE": "piecewise", "FUNCTION_EXP": "exp", "FUNCTION_MIN": "min", "FUNCTION_MAX": "max"}
    kinds |= {f"RELATIONAL_{word.upper()}": word for word in ("lt", "leq", "gt", "geq")}
    kinds |= {f"FUNCTION_{word.upper()}": word for word in ("sin", "cos", "tan", "tanh", "floor", "arcsin", "arccos", "arctan")}
    return {getattr(libsbml, f"AST_{kind}"): word for kind, word in kinds.items()}


def _substituted(tree: Tree, arguments: Mapping[str, Tree]) -> Tree:
    if tree[0] == "name":
        return arguments.get(tree[1], tree)
    return tree if tree[0] == "number" else (tree[0], *(_substituted(each, arguments) for each in tree[1:]))


def _mass_action(species: Mapping[str, Species], reactions: Mapping[str, Conversion]) -> tuple[Reaction, ...] | str:
    """Return the reactions with their two constants in amounts, or the reason why one of them is no reversible mass action."""
    import sympy

    symbols = {name: sympy.Symbol(name, positive=True) for name in species}
    balanced = []
    for name, each in reactions.items():
        integers = all(count == int(count) for side in (each.reactants, each.products) for count in side.values())
        sides = [{s: int(n) for s, n in side.items()} for side in (each.reactants, each.products)]
        held = {s: species[s].amount for s in species if species[s].held}
        try:
            poly = sympy.Poly(evaluated(each.rate, symbols), *symbols.values())
            terms = {exponents: float(coefficient) for exponents, coefficient in poly.terms()}
        except (sympy.PolynomialError, sympy.CoercionFailed, TypeError, ValueError, ArithmeticError):
            return f'the rate of "{name}" is no polynomial of amounts'
        powers = [tuple(side.get(s, 0) if s not in held else 0 for s in species) for side in sides]
        forward, reverse = terms.pop(powers[0], 0.0), -terms.pop(powers[1], 0.0)
        if not integers or terms or not (forward > 0 and reverse > 0) or powers[0] == powers[1] or not all(sides):
            return f'the reaction "{name}" is no reversible mass action'
        for s, amount in held.items():  # the law has their amounts as numbers
            if amount <= 0:
                return f'"{s}" is held at zero'
            forward, reverse = forward / amount ** sides[0].get(s, 0), reverse / amount ** sides[1].get(s, 0)
        balanced.append(Reaction(sides[0], sides[1], forward, reverse, each.line, 1, name))
    return tuple(balanced)


def _bonds(name: str, species: Mapping[str, Species], net: Stoichiometry, constants: Mapping[str, float]) -> Graph:
    """Return Ce and Re with the junctions between them; kappa is the forward constant over the K of its reactants."""
    graph = Graph(name)
    nodes = {each: J0(f"{each} node", domain="chemical") for each in species}
    for each, one in species.items():
        if one.held:
            graph.connect(Se(each, math.log(constants[each] * one.amount), domain="chemical"), nodes[each])
        else:
            graph.connect(Ce(each, constants[each], initial=one.amount), nodes[each])
    for reaction in net.reactions:
        kappa = reaction.forward / math.prod(constants[s] ** n for s, n in reaction.reactants.items())
        part = Re(reaction.text, kappa)
        for port, side in (("1", reaction.reactants), ("2", reaction.products)):
            sum_of_side = J1(f"{reaction.text} {'takes' if port == '1' else 'makes'}", domain="chemical")
            for s, n in side.items():
                numbers = TF(f"{reaction.text} {n} {s} {port}", float(n), structural=True) if n > 1 else None
                if port == "1" and numbers is None:
                    graph.connect(nodes[s], sum_of_side)
                elif port == "1":
                    graph.connect(nodes[s], numbers.port("2")).connect(numbers.port("1"), sum_of_side)  # type: ignore[union-attr]
                elif numbers is None:
                    graph.connect(sum_of_side, nodes[s])
                else:
                    graph.connect(sum_of_side, numbers.port("1")).connect(numbers.port("2"), nodes[s])
            ends = (sum_of_side, part.port(port))
            graph.connect(*(ends if port == "1" else ends[::-1]))
    return graph


def _rates(name: str, species: Mapping[str, Species], reactions: Mapping[str, Conversion]) -> Graph:
    """Return a network as a block of rates of amounts."""
    equations: list[tuple[str, Any, Sequence[str]]] = []
    terms: dict[str, list[tuple[float, str]]] = {each: [] for each in species}
    for each, reaction in reactions.items():
        names = tuple(dict.fromkeys(names_in(reaction.rate)))
        equations.append((each, Law(reaction.rate, names), names))
        for sign, side in ((-1.0, reaction.reactants), (1.0, reaction.products)):
            for s, count in side.items():
                terms[s].append((sign * count, each))
    free = {each: one.amount for each, one in species.items() if not one.held}
    for each in free:
        tree: Tree = ("plus", *(("times", ("number", count), ("name", rate)) for count, rate in terms[each]), ("number", 0.0))
        names = tuple(dict.fromkeys(rate for _, rate in terms[each]))
        equations.append((f"{each} rate", Law(tree, names), names))
    graph = Graph(name)
    graph.add(Block("network", equations, states=free, rates={each: f"{each} rate" for each in free}))
    return graph
