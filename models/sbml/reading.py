"""SBML documents as records: species, reactions, and their laws as formulas with numbers for parameters.

The objects of libsbml live no longer than their document, so their content is copied.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from screwbond.models.sbml.formulas import ARITIES, MOST_NODES, OPERATIONS, Tree, evaluate, extent, names_in, substitute

from bondgraph.errors import ModelError, Place, refusal
from bondgraph.output.extras import require_package
from screws.errors import plural

DEEPEST = 100
"""Maximum depth of tags, and of a formula with its functions expanded."""


@dataclass(frozen=True)
class Species:
    amount: float
    size: float
    as_amount: bool
    is_fixed: bool
    """True for an amount that reactions do not change."""


@dataclass(frozen=True)
class Conversion:
    """Reaction with its rate as a formula, amount per time, and the stoichiometric numbers of reactants and products."""

    reactants: Mapping[str, float]
    products: Mapping[str, float]
    rate: Tree
    line: int


@dataclass(frozen=True)
class NetworkContent:
    name: str
    species: Mapping[str, Species]
    reactions: Mapping[str, Conversion]


def network_content(text: str, file: str) -> NetworkContent:
    require_package(f'the network of "{file}"', "libsbml")
    _check_tags(text, file)
    return _Reader(file).read(text)


def _check_tags(text: str, file: str) -> None:
    """Raise E650 for document types and entities, which parsers expand, and for tags nested so deeply that the recursion of
    parsers fails."""
    if declared := re.search(r"<!(DOCTYPE|ENTITY)", text, re.IGNORECASE):
        raise _error(
            "E650", file, text.count("\n", 0, declared.start()) + 1, "it has a document type or entities", "without them"
        )
    depth = 0
    hidden = r"<!--.*?(?:-->|\Z)|<!\[CDATA\[.*?(?:\]\]>|\Z)|<\?.*?(?:\?>|\Z)"  # tags inside these do not count
    text = re.sub(hidden, lambda each: "\n" * each[0].count("\n"), text, flags=re.DOTALL)
    for tag in re.finditer(r"<(/?)[^\s<>!?/][^<>]*?(/?)>", text):
        depth += -1 if tag[1] else 0 if tag[2] else 1
        if depth > DEEPEST:
            line = text.count("\n", 0, tag.start()) + 1
            raise _error("E650", file, line, f"its tags are nested more than {DEEPEST} deep", "smaller formulas")


def _error(code: str, file: str, line: int, title: str, *cures: str) -> ModelError:
    return refusal(code, title, *cures, about=file, places=(Place(file, max(line, 1)),))


class _Reader:
    def __init__(self, file: str) -> None:
        self.file = file
        self.functions: dict[str, tuple[tuple[str, ...], Tree]] = {}
        self.values: dict[str, float] = {}
        self.nodes = 0

    def read(self, text: str) -> NetworkContent:
        import libsbml

        document = libsbml.readSBMLFromString(text)
        for k in range(document.getNumErrors()):
            error = document.getError(k)
            if error.getSeverity() >= libsbml.LIBSBML_SEV_ERROR:
                raise _error("E650", self.file, error.getLine(), f"it is not SBML: {error.getShortMessage()}", "a valid file")
        model = document.getModel()
        if model is None:
            raise _error("E650", self.file, 1, "it has no model", "an SBML file")
        self._refuse(model)
        for k in range(model.getNumFunctionDefinitions()):
            self._function(model.getFunctionDefinition(k))
        for item in (*_each(model, "Compartment"), *_each(model, "Parameter")):
            value = item.getSize() if item.getElementName() == "compartment" else item.getValue()
            if not math.isnan(value):
                self.values[item.getId()] = value
        species = {each.getId(): self._species(each) for each in _each(model, "Species")}
        self._assign(model, species)
        for each in _each(model, "Species"):
            one = species[each.getId()]
            if not (one.is_fixed or math.isfinite(one.amount)):
                title = f'the species "{each.getId()}" has no initial amount'
                raise _error("E652", self.file, each.getLine(), title, "its initial amount or concentration")
        reactions = {each.getId(): self._reaction(each, species) for each in _each(model, "Reaction")}
        if not species or not reactions:
            raise _error("E652", self.file, model.getLine(), "the model has no species, or no reactions", "a reaction network")
        title = model.getId() if re.fullmatch(r"\w+", model.getId() or "") else Path(self.file).stem
        return NetworkContent(title, species, reactions)

    def _refuse(self, model: Any) -> None:
        for word in ("Rule", "Event", "Constraint"):
            if items := _each(model, word):
                raise _error(
                    "E651", self.file, items[0].getLine(), f"{word.lower()}s are not supported", "a model with reactions only"
                )
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
                "E651", self.file, item.getLine(), f'the conversion factor of "{item.getId()}" is not supported', "omit it"
            )
        is_fixed = bool(item.getBoundaryCondition() or item.getConstant())
        return Species(amount, size, bool(item.getHasOnlySubstanceUnits()), is_fixed)

    def _assign(self, model: Any, species: dict[str, Species]) -> None:
        parameters = {each.getId() for each in _each(model, "Parameter")}
        trees, lines = dict[str, Tree](), dict[str, int]()
        for item in _each(model, "InitialAssignment"):
            symbol, line = item.getSymbol(), item.getLine()
            if symbol not in species and symbol not in parameters:
                title = f'the initial assignment of "{symbol}" is not supported'
                raise _error("E651", self.file, line, title, "initial assignments of species and parameters only")
            trees[symbol], lines[symbol] = self.tree(item.getMath(), line), line
        while trees:
            symbol = next((each for each, tree in trees.items() if trees.keys().isdisjoint(names_in(tree))), "")
            if not symbol:
                title = f"initial assignments define each other: {', '.join(trees)}"
                raise _error("E652", self.file, lines[next(iter(trees))], title, "a number for one of them")
            values = dict(self.values)
            for name, each in species.items():
                values[name] = each.amount if each.as_amount else each.amount / each.size
            value = self._number(trees.pop(symbol), values, lines[symbol])
            if symbol in species:
                old = species[symbol]
                species[symbol] = replace(old, amount=value if old.as_amount else value * old.size)
            else:
                self.values[symbol] = value

    def _number(self, tree: Tree, values: Mapping[str, float], line: int) -> float:
        try:
            value = float(evaluate(tree, values))
        except (KeyError, ArithmeticError, TypeError, ValueError) as error:
            raise _error(
                "E652", self.file, line, f"a formula has no value: {error}", "a number for every name in the formula"
            ) from None
        if not math.isfinite(value):
            raise _error("E652", self.file, line, f"a formula is {value}", "finite numbers")
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
                raise _error("E651", self.file, line, f'"{item.getId()}": a stoichiometry is not a positive number', "a number")
            side[name] = side.get(name, 0.0) + count
        return side

    def _bound(self, tree: Tree, values: Mapping[str, float], species: Mapping[str, Species], line: int) -> Tree:
        if tree[0] == "number":
            return tree
        if tree[0] != "name":
            bound = (tree[0], *(self._bound(each, values, species, line) for each in tree[1:]))
            if not any(names_in(bound)):
                self._number(bound, {}, line)  # raises if a formula of numbers has no value
            return bound
        name = tree[1]
        if name in values and not math.isnan(values[name]):
            return ("number", values[name])
        if name not in species:
            raise _error("E652", self.file, line, f'a kinetic law reads "{name}", which has no value', "a parameter of this name")
        one = species[name]
        if one.is_fixed and not math.isfinite(one.amount):
            raise _error("E652", self.file, line, f'a kinetic law reads "{name}", which has no value', "its initial amount")
        amount: Tree = ("number", one.amount) if one.is_fixed else tree
        return amount if one.as_amount or one.size == 1.0 else ("divide", amount, ("number", one.size))

    def tree(self, node: Any, line: int, arguments: Mapping[str, Tree] = MappingProxyType({}), depth: int = 0) -> Tree:
        import libsbml

        self.nodes += 1
        if node is None or depth > DEEPEST or self.nodes > MOST_NODES:
            raise _error("E650", self.file, line, "a formula is missing, nested too deeply or too long", "a smaller formula")
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
                nodes, deep = extent(body, dict(zip(names, map(extent, below), strict=True)))
                self.nodes += nodes
                if self.nodes > MOST_NODES or deep > DEEPEST:
                    raise _error("E650", self.file, line, f'the function "{name}" grows without bound', "a smaller formula")
                return substitute(body, dict(zip(names, below, strict=True)))
        word = _words().get(kind, name)
        if word not in OPERATIONS and word != "piecewise":
            raise _error(
                "E651", self.file, line, f'the operation "{word or node.getOperatorName()}" is not supported', "arithmetic"
            )
        least, most = ARITIES.get(word, (1, 1))
        if not least <= len(below) <= most:
            raise _error(
                "E650",
                self.file,
                line,
                f"the operation {word} has {plural(len(below), 'operand')}",
                "as many operands as the operation takes",
            )
        return (word, *below)


def _each(parent: Any, word: str) -> list[Any]:
    words = word if word == "Species" else f"{word}s"
    count = getattr(parent, f"getNum{words}", lambda: 0)()
    return [getattr(parent, f"get{word}")(k) for k in range(count)]


def _words() -> dict[int, str]:
    import libsbml

    kinds = {"PLUS": "plus", "MINUS": "minus", "TIMES": "times", "DIVIDE": "divide", "POWER": "power", "FUNCTION_POWER": "power"}
    kinds |= {"FUNCTION_ROOT": "root", "FUNCTION_LN": "ln", "FUNCTION_LOG": "log", "FUNCTION_ABS": "abs"}
    kinds |= {"FUNCTION_PIECEWISE": "piecewise", "FUNCTION_EXP": "exp", "FUNCTION_MIN": "min", "FUNCTION_MAX": "max"}
    kinds |= {f"RELATIONAL_{word.upper()}": word for word in ("lt", "leq", "gt", "geq")}
    kinds |= {f"FUNCTION_{word.upper()}": word for word in ("sin", "cos", "tan", "tanh", "floor", "arcsin", "arccos", "arctan")}
    return {getattr(libsbml, f"AST_{kind}"): word for kind, word in kinds.items()}
