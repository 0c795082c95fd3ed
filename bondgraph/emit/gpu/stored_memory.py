"""Points-to analysis: find the regions of memory that procedures store to, regardless of the order of instructions.

Each region of memory outside procedures is an object, identified by its number. What a pointer may point to follows from the
initial tables and from what procedures store in them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NamedTuple

from bondgraph.emit.instructions import PRIMITIVES, Applied, Called, Instruction, Literal, Name, Return, Term, Variable
from bondgraph.emit.kernel_language.language import POINTER
from bondgraph.emit.procedure import Procedure

Objects = frozenset[int]
_EMPTY: Objects = frozenset()
_ADDRESSES = frozenset({POINTER})
_LOAD, _STORE = PRIMITIVES["load ptr"], PRIMITIVES["store ptr"]


class Pointers(NamedTuple):
    """Addresses in the initial memory.

    Parameters
    ----------
    of_fields : objects that each field of a table points to, by its name, such as "Control.p".
    of_objects : objects that the entries of each array of addresses point to.
    """

    of_fields: Mapping[str, Objects]
    of_objects: Mapping[int, Objects]


def stored_objects(
    procedures: Iterable[Procedure],
    memory: Pointers,
    arguments: Mapping[str, Mapping[str, Objects]],
    targets: Callable[[Called, str], Iterable[str]],
    readers: Collection[str] = (),
) -> Objects:
    """Return the objects that the procedures may store to, other than fields of tables.

    Parameters
    ----------
    arguments : objects that each argument points to, for each procedure that is called from outside.
    targets : function (call by address, field from which the address was loaded, or "") -> names of the functions that it
        may reach. A function that is not a procedure stores to its last array argument, unless it is one of the
        `readers`.
    """
    return _Analysis(procedures, memory, targets, readers).stored(arguments)


def fits(procedure: Procedure | None, call: Called) -> bool:
    if procedure is None:
        return call.gives == "void" and all(operand.kind in _ADDRESSES for operand in call.operands)
    kinds = [kind.split()[0] for kind in procedure.arguments.values()]
    return procedure.result == call.gives and kinds == [operand.kind for operand in call.operands]


def _moves_pointers(step: Instruction) -> bool:
    if isinstance(step, Applied):
        return step.primitive.name.startswith(("at ", "store ")) or step.primitive is _LOAD
    return isinstance(step, Called) or (isinstance(step, Return) and step.value is not None and step.value.kind in _ADDRESSES)


class _Analysis:
    """Objects that each pointer may point to, extended until nothing changes."""

    def __init__(
        self,
        procedures: Iterable[Procedure],
        memory: Pointers,
        targets: Callable[[Called, str], Iterable[str]],
        readers: Collection[str],
    ) -> None:
        self.by_name = {procedure.name: procedure for procedure in procedures}
        self.steps = {name: [*filter(_moves_pointers, each.instructions)] for name, each in self.by_name.items()}
        self.targets, self.readers = targets, readers
        self.of: dict[object, Objects] = defaultdict(frozenset)
        self.of.update({("field", name): objects for name, objects in memory.of_fields.items()})
        self.of.update({("object", number): objects for number, objects in memory.of_objects.items()})
        self.found: Objects = _EMPTY
        self.has_changed = False
        self._locals: dict[tuple[str, str], int] = {}

    def stored(self, arguments: Mapping[str, Mapping[str, Objects]]) -> Objects:
        for name, passed in arguments.items():
            for argument, objects in passed.items():
                self.of["name", name, argument] = objects
        self.has_changed = True
        while self.has_changed:
            self.has_changed = False
            for procedure in self.by_name.values():
                self._visit(procedure)
        return frozenset(number for number in self.found if number >= 0)

    def _visit(self, procedure: Procedure) -> None:
        fields = dict[str, str]()
        loaded = dict[str, str]()
        for step in self.steps[procedure.name]:
            match step:
                case Applied(primitive, operands, result) if primitive.name.startswith("at ") and result:
                    self._grow(("name", procedure.name, result.name), self._objects(procedure, operands[0]))
                    index = operands[1]
                    if isinstance(index, Literal) and index.field:
                        fields[result.name] = index.field
                case Applied(primitive, (place,), Name() as result) if primitive is _LOAD:
                    field = fields.get(place.name, "") if isinstance(place, Name) else ""
                    loaded[result.name] = field
                    for key in self._places(procedure, place, field):
                        self._grow(("name", procedure.name, result.name), self.of[key])
                case Applied(primitive, (place, value), None) if primitive.name.startswith("store "):
                    field = fields.get(place.name, "") if isinstance(place, Name) else ""
                    if primitive is _STORE:
                        for key in self._places(procedure, place, field):
                            self._grow(key, self._objects(procedure, value))
                    if not field:
                        self._store(self._objects(procedure, place))
                case Called():
                    self._call(procedure, step, loaded)
                case Return(value) if value is not None and value.kind in _ADDRESSES:
                    self._grow(("result", procedure.name), self._objects(procedure, value))
                case _:
                    continue

    def _call(self, procedure: Procedure, step: Called, loaded: Mapping[str, str]) -> None:
        if isinstance(step.function, str):
            names: Iterable[str] = (step.function,)
        else:
            names = self.targets(step, loaded.get(step.function.name, "") if isinstance(step.function, Name) else "")
        passed = [self._objects(procedure, operand) for operand in step.operands]
        for name in names:
            if name in self.readers:
                continue
            if name not in self.by_name:
                arrays = [objects for objects, operand in zip(passed, step.operands, strict=True) if operand.kind in _ADDRESSES]
                self._store(arrays[-1] if arrays else _EMPTY)
                continue
            for argument, objects in zip(self.by_name[name].arguments, passed, strict=True):
                self._grow(("name", name, argument), objects)
            if step.result:
                self._grow(("name", procedure.name, step.result.name), self.of["result", name])

    def _objects(self, procedure: Procedure, operand: Term) -> Objects:
        match operand:
            case Variable(name):
                return frozenset({self._local(procedure.name, name)})
            case Name("ptr", name):
                return self.of["name", procedure.name, name]
            case _:
                return _EMPTY

    def _local(self, procedure: str, name: str) -> int:
        return self._locals.setdefault((procedure, name), -1 - len(self._locals))

    def _places(self, procedure: Procedure, place: Term, field: str) -> Iterable[object]:
        if field:
            return (("field", field),)
        return [("object", number) for number in self._objects(procedure, place)]

    def _store(self, objects: Objects) -> None:
        if not objects <= self.found:
            self.found |= objects
            self.has_changed = True

    def _grow(self, key: object, objects: Objects) -> None:
        if not objects <= self.of[key]:
            self.of[key] |= objects
            self.has_changed = True
