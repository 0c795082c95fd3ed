"""Ticks whose new values come from an external library (FMI 2.0 and 3.0), with an instance for each run."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from bondgraph.emit.kernel import Kernel
from bondgraph.emit.llvm import compile_ir
from bondgraph.errors import RunError
from bondgraph.run.program.library_code import FIELDS, LibraryVariables, tick_text
from bondgraph.run.python_callbacks import PythonCallback

_MADE = 1
_PLACES = {name: index for index, name in enumerate(FIELDS)}


class LibraryInstance(Protocol):
    """Instance of a library in a run; its first tick is at `start`, s."""

    start: float
    period: float
    words: Sequence[int]
    """Addresses of the functions that do a step and end the initialisation, followed by the addresses of the function,
    references and values of each group of inputs and outputs."""

    @property
    def address(self) -> int:
        """Address that the library's functions take as their first argument."""

    def failed(self, what: str, time: float) -> RunError:
        """Return the error of a call that failed at `time` (s), with the messages of the library."""

    def free(self) -> None: ...


class LibraryUnit(LibraryVariables, Protocol):
    def begin(self, element: str, t: float, parameters: Sequence[float]) -> LibraryInstance:
        """Return a new instance that is being initialised and may still take inputs; t is the time of the first tick, s."""


@dataclass(frozen=True)
class LibraryTick:
    """Ticks of a block that uses an open library.

    Parameters
    ----------
    element, unit : name of the block, and its library.
    kernel : x after the tick, (n,), without the new outputs.
    places : indices in x of the outputs, of the sampled inputs, and of the number of steps.
    parameters : indices in p of the parameters of the block.
    """

    element: str
    unit: LibraryUnit
    kernel: Kernel
    places: tuple[int, ...]
    parameters: tuple[int, ...]


class LibraryKernel(Kernel):
    """Tick of a library in one run. Its machine code needs Python's lock only at the first tick, which creates the instance."""

    _tick: LibraryTick
    _words: np.ndarray
    _numbers: np.ndarray
    _faults: list[str]
    _callback: PythonCallback
    _instance: LibraryInstance | None

    def __init__(self, tick: LibraryTick):
        kernel, (*places, steps) = tick.kernel, tick.places
        text, faults = tick_text(tick.unit, places, steps)
        words = np.zeros(len(FIELDS) + 3 * (len(tick.unit.inputs) + len(tick.unit.outputs)), dtype=np.uint64)
        flags, begin = np.zeros(1), weakref.WeakMethod(self._begin)  # weak: a cycle would keep the instance alive after the run
        callback = PythonCallback(lambda: _living(begin)())
        library = compile_ir(text, {"table": words.ctypes.data}, quick=True)
        address = library.address("tick")
        function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (len(kernel.sizes) + 1))(address)
        super().__init__(kernel.name, kernel.sizes, kernel.n_out, address, function, None, (library, kernel, flags))
        state: dict[str, Any] = {"tick": tick, "words": words, "numbers": words.view(float), "faults": faults}
        self.__dict__.update({f"_{name}": value for name, value in state.items()}, _callback=callback, _instance=None)
        for name, place in (("begin", callback.address), ("kernel", kernel.address or 0), ("flags", flags.ctypes.data)):
            words[_PLACES[name]] = place

    def _begin(self) -> int:
        tick, words, numbers = self._tick, self._words, self._numbers
        p = (ctypes.c_double * self.sizes[2]).from_address(int(words[_PLACES["parameters"]]))
        instance = tick.unit.begin(tick.element, float(numbers[_PLACES["time"]]), [p[place] for place in tick.parameters])
        self.__dict__["_instance"] = instance
        step, initialised, *groups = instance.words
        for name, word in (("instance", instance.address), ("step", step), ("initialised", initialised)):
            words[_PLACES[name]] = word
        words[len(FIELDS) :] = groups
        numbers[_PLACES["start"]], numbers[_PLACES["period"]] = instance.start, instance.period
        return _MADE

    def check(self) -> None:
        self._callback.check()
        fault, instance = int(self._words[_PLACES["fault"]]), self._instance
        if fault and instance is not None:
            self.__dict__["_instance"] = None
            instance.free()
            status, (number, value) = int(self._words[_PLACES["status"]]), self._numbers[[_PLACES["number"], _PLACES["value"]]]
            what = self._faults[fault - 1].format(status=status, value=value)
            raise instance.failed(what, float(instance.start + (number - 1.0) * instance.period))

    def __repr__(self) -> str:
        return f"LibraryKernel({self._tick.element!r})"


def _living(method: weakref.WeakMethod[Callable[[], int]]) -> Callable[[], int]:
    bound = method()
    assert bound is not None, "machine code runs for as long as its kernel lives"
    return bound
