"""Library of an FMU, called by ctypes: instances for co-simulation, of FMI 2.0 and 3.0."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Mapping, Sequence
from ctypes import byref, c_bool, c_char_p, c_double, c_int, c_size_t, c_uint32, c_void_p
from typing import Any

from screwbond.models.fmu.archive import Archive
from screwbond.models.fmu.description import Variable

from bondgraph.errors import Problem, RunError

_WARNING = 1
"""Largest status with which an FMU goes on."""
_MOST_WORDS = 4
"""Most messages of an FMU that an error shows."""
_TYPES: Mapping[int, Mapping[str, Any]] = {
    2: {"Real": c_double, "Integer": c_int, "Boolean": c_int},
    3: {
        "Float64": c_double,
        "Float32": ctypes.c_float,
        "Boolean": c_bool,
        **{f"{sign}Int{n}": getattr(ctypes, f"c_{sign.lower()}int{n}") for sign in ("", "U") for n in (8, 16, 32, 64)},
    },
}
"""C type of each type of variable, by version."""
_FLAG = {2: c_int, 3: c_bool}
_LOGGER = {
    2: ctypes.CFUNCTYPE(None, c_void_p, c_char_p, c_int, c_char_p, c_char_p),
    3: ctypes.CFUNCTYPE(None, c_void_p, c_int, c_char_p, c_char_p),
}


class _Callbacks(ctypes.Structure):
    """Functions that an FMU of version 2 may call."""

    _fields_ = [(name, c_void_p) for name in ("logger", "allocate", "free", "finished", "environment")]


class Port:
    """Variables of one type that are set or read together: their places in a list, and their references and values in C."""

    def __init__(self, version: int, kind: str, variables: Sequence[tuple[int, Variable]]):
        self.setter, self.getter = f"fmi{version}Set{kind}", f"fmi{version}Get{kind}"
        self.places = [place for place, _ in variables]
        count, entry = len(variables), _TYPES[version][kind]
        self.is_real = entry in (c_double, ctypes.c_float)
        self.values = (entry * count)()
        references = (c_uint32 * count)(*(variable.reference for _, variable in variables))
        self.arguments = (references, c_size_t(count), self.values, *((c_size_t(count),) if version == 3 else ()))


def ports(version: int, variables: Sequence[Variable]) -> list[Port]:
    """Return variables by their types."""
    of_kind: dict[str, list[tuple[int, Variable]]] = {}
    for place, variable in enumerate(variables):
        of_kind.setdefault(variable.kind, []).append((place, variable))
    return [Port(version, kind, each) for kind, each in of_kind.items()]


class Instance:
    """Instance of an FMU for the block named `element`, on its own grid: `start` + count x `period`, s."""

    def __init__(self, archive: Archive, element: str, period: float, start: float):
        self._archive, self._version, self._element = archive, archive.description.version, element
        self._period, self._start, self.count = period, start, 0
        self._code, self._words = ctypes.CDLL(str(archive.library)), list[str]()
        self._time, self._ends = c_double(), c_bool()
        others = () if self._version == 2 else tuple(byref(each) for each in (c_bool(), self._ends, c_bool(), c_double()))
        self._do_step, self._step = f"fmi{self._version}DoStep", (self._time, c_double(period), _FLAG[self._version](1), *others)
        self._component = c_void_p()
        self._component.value = self._made()
        if not self._component:
            raise self._failed("cannot be instantiated")

    def _made(self) -> int | None:
        """Instantiate; return the address of the instance."""
        version, flag, description = self._version, _FLAG[self._version], self._archive.description
        name, token = c_char_p(self._element.encode()), c_char_p(description.token.encode())
        off, on = flag(0), flag(1)
        if version == 2:
            self._logger = _LOGGER[2](lambda _, name, status, category, message: self._hear(status, message))
            c = ctypes.CDLL("ucrtbase" if sys.platform == "win32" else None)
            functions = (self._logger, c.calloc, c.free)
            self._callbacks = _Callbacks(*(ctypes.cast(each, c_void_p) for each in functions), None, None)
            place = c_char_p(self._archive.resources.as_uri().encode())
            arguments: tuple[Any, ...] = (name, c_int(1), token, place, byref(self._callbacks), off, on)
            make = self._code.fmi2Instantiate
        else:
            self._logger = _LOGGER[3](lambda _, status, category, message: self._hear(status, message))
            place, nothing = c_char_p(f"{self._archive.resources}/".encode()), c_void_p()
            flags, none = (off, on, off, off), (nothing, c_size_t(0), nothing)
            arguments = (name, token, place, *flags, *none, self._logger, nothing)
            make = self._code.fmi3InstantiateCoSimulation
        make.restype = c_void_p
        made: int | None = make(*arguments)
        return made

    def _hear(self, status: int, message: bytes | None) -> None:
        if status > _WARNING and message:
            self._words.append(message.decode(errors="replace"))

    def _failed(self, what: str) -> RunError:
        words, self._words = tuple(self._words[-_MOST_WORDS:]), []
        title = f'the FMU of "{self._element}" {what}'
        return RunError(Problem("E692", title, words or ("it gives no reason",), cures=("other inputs, parameters or period",)))

    @property
    def time(self) -> float:
        """Time that it has reached, s."""
        return self._start + self.count * self._period

    def _call(self, name: str, *arguments: Any) -> None:
        """Call a function of the FMU for this instance; E692 with its words if it fails."""
        if (status := getattr(self._code, name)(self._component, *arguments)) > _WARNING:
            raise self._failed(f"fails in {name} at t = {self.time:.9g} s with status {status}")

    def begin(self, starts: Sequence[Port], values: Sequence[float]) -> None:
        """Initialise with these start values."""
        flag, start, none = _FLAG[self._version], c_double(self._start), c_double(0.0)
        self.set(starts, values)
        span = (flag(0), none, start, flag(0), none)
        if self._version == 2:
            self._call("fmi2SetupExperiment", *span)
        self._call(f"fmi{self._version}EnterInitializationMode", *(span if self._version == 3 else ()))
        self._call(f"fmi{self._version}ExitInitializationMode")

    def set(self, of: Sequence[Port], values: Sequence[float]) -> None:
        """Set variables to these values."""
        for port in of:
            for k, place in enumerate(port.places):
                port.values[k] = values[place] if port.is_real else round(values[place])
            self._call(port.setter, *port.arguments)

    def get(self, of: Sequence[Port], values: list[float]) -> None:
        """Read variables into these values."""
        for port in of:
            self._call(port.getter, *port.arguments)
            for k, place in enumerate(port.places):
                values[place] = float(port.values[k])

    def step(self) -> None:
        """Go on by a period."""
        self._time.value = self.time
        self._call(self._do_step, *self._step)
        if self._ends.value:
            raise self._failed(f"asks to end the run at t = {self.time:.9g} s")
        self.count += 1

    def __del__(self) -> None:
        if getattr(self, "_component", None):
            free = getattr(self._code, f"fmi{self._version}FreeInstance")
            free.restype = None
            free(self._component)
            self._component = c_void_p()
