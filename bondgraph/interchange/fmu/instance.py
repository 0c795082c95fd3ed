"""Instance of an FMU for co-simulation, FMI 2.0 and 3.0: created, set up and freed through ctypes."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Mapping, Sequence
from ctypes import byref, c_bool, c_char_p, c_double, c_int, c_size_t, c_uint32, c_void_p
from typing import Any

from bondgraph.errors import Problem, RunError
from bondgraph.interchange.fmu.archive import Archive
from bondgraph.interchange.fmu.description import FmuVariable
from bondgraph.interchange.fmu.messages import listener, logger

_WARNING = 1
"""Largest status at which an FMU continues."""
_MAX_MESSAGES = 4
"""Maximum number of messages of an FMU that an error shows."""
_CURE = "other inputs, parameters, period or offset"
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
_LOGGER = ctypes.CFUNCTYPE(None, c_void_p, c_int, c_char_p, c_char_p)


class _Callbacks(ctypes.Structure):
    """Functions that an FMU of version 2 may call."""

    _fields_ = [(name, c_void_p) for name in ("logger", "allocate", "free", "finished", "environment")]


class FmuInstance:
    """Instance of an FMU for the block named `element`, on the time grid `start` + count x `period`, s.

    Machine code calls its functions by address. `words` holds the addresses of the functions that make a step and end the
    initialisation; then, for each of the `groups` ("Set" or "Get", with variables of one type), the addresses of the group's
    function, references and values.
    """

    def __init__(
        self, archive: Archive, element: str, period: float, start: float, groups: Sequence[tuple[str, Sequence[FmuVariable]]]
    ):
        self._archive, self._version, self._element = archive, archive.description.version, element
        self.period, self.start, self._messages, self._component = period, start, list[str](), c_void_p()
        try:
            self._code = ctypes.CDLL(str(archive.library))
        except OSError as error:
            cure = "the FMU exported for this operating system and processor"
            raise self.failed("has a library that cannot be loaded", start, str(error), cure=cure) from None
        version = f"fmi{self._version}"
        self._free = self._function(f"{version}FreeInstance")
        self._free.restype = None
        self.words = [_address(self._function(f"{version}{name}")) for name in ("DoStep", "ExitInitializationMode")]
        self._arrays = [(verb, variables[0].type_name, *_arrays(self._version, variables)) for verb, variables in groups]
        for verb, name, references, values in self._arrays:
            function = self._function(f"{version}{verb}{name}")
            self.words += [_address(function), ctypes.addressof(references), ctypes.addressof(values)]
        self._component.value = self._instantiate()
        if not self._component:
            raise self.failed("cannot be instantiated", start)

    @property
    def address(self) -> int:
        return self._component.value or 0

    def begin(self, parameters: Mapping[FmuVariable, float]) -> None:
        for variable, value in parameters.items():
            references, values = _arrays(self._version, [variable])
            try:
                values[0] = value if variable.is_real else round(value)
                fits = variable.is_real or values[0] == round(value)
            except (ValueError, OverflowError):
                fits = False
            if not fits:
                what = f'cannot take {value:.9g} for "{variable.name}", of type {variable.type_name}'
                raise self.failed(what, self.start, cure=f"another value of the parameter {variable.name}")
            one = c_size_t(1)
            self._call(
                f"fmi{self._version}Set{variable.type_name}", references, one, values, *([one] if self._version == 3 else [])
            )
        flag, start, none = _FLAG[self._version], c_double(self.start), c_double(0.0)
        span = (flag(0), none, start, flag(0), none)
        if self._version == 2:
            self._call("fmi2SetupExperiment", *span)
        self._call(f"fmi{self._version}EnterInitializationMode", *(span if self._version == 3 else ()))

    def failed(self, what: str, time: float, *details: str, cure: str = _CURE) -> RunError:
        words = (*details, *self._messages[-_MAX_MESSAGES:])
        self._messages.clear()
        title = f'the FMU of "{self._element}" {what} at t = {time:.9g} s'
        why = words or ("the FMU gives no reason",)
        return RunError(Problem("E692", title, why, cures=(cure,)))

    def _function(self, name: str) -> Any:
        try:
            return getattr(self._code, name)
        except AttributeError:
            cure = "the FMU exported again for co-simulation, with its complete library"
            raise self.failed(f"has no function {name}", self.start, cure=cure) from None

    def _call(self, name: str, *arguments: Any) -> None:
        if (status := self._function(name)(self._component, *arguments)) > _WARNING:
            raise self.failed(f"fails in {name} with status {status}", self.start)

    def _instantiate(self) -> int | None:
        version, flag, description, messages = self._version, _FLAG[self._version], self._archive.description, self._messages

        def record(status: int, message: bytes | None) -> None:
            if status > _WARNING and message:
                messages.append(message.decode(errors="replace"))

        name, token = c_char_p(self._element.encode()), c_char_p(description.token.encode())
        off, on = flag(0), flag(1)
        if version == 2:
            self._logger, c = listener(record), ctypes.CDLL("ucrtbase" if sys.platform == "win32" else None)
            allocate, release, environment = (ctypes.cast(each, c_void_p) for each in (c.calloc, c.free, self._logger))
            self._callbacks = _Callbacks(logger(), allocate, release, None, environment)
            place = c_char_p(self._archive.resources.as_uri().encode())
            arguments: tuple[Any, ...] = (name, c_int(1), token, place, byref(self._callbacks), off, on)
            make = self._function("fmi2Instantiate")
        else:
            self._logger = _LOGGER(lambda _, status, category, message: record(status, message))
            place, nothing = c_char_p(f"{self._archive.resources}/".encode()), c_void_p()
            flags, none = (off, on, off, off), (nothing, c_size_t(0), nothing)
            arguments = (name, token, place, *flags, *none, self._logger, nothing)
            make = self._function("fmi3InstantiateCoSimulation")
        make.restype = c_void_p
        instance: int | None = make(*arguments)
        return instance

    def free(self) -> None:
        if self._component:
            self._free(self._component)
            self._component = c_void_p()

    def __del__(self) -> None:
        self.free()


def _arrays(version: int, variables: Sequence[FmuVariable]) -> tuple[Any, Any]:
    count = len(variables)
    return (c_uint32 * count)(*(each.reference for each in variables)), (_TYPES[version][variables[0].type_name] * count)()


def _address(function: Any) -> int:
    return ctypes.cast(function, c_void_p).value or 0
