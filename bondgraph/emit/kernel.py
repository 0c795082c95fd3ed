"""A compiled routine as a Python callable: blocks of inputs in, a row of outputs out."""

from __future__ import annotations

import ctypes
import functools
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bondgraph.emit.cached_build import once
from bondgraph.errors import Problem, ProblemError

_ARRAY = np.ndarray
_FLOAT = np.dtype(float)
_DATA = object.__basicsize__  # NumPy's binary interface: the data pointer follows the object's head
_pointer = ctypes.c_void_p.from_address
_LINE = 64
"""Bytes of a line of the processor's cache."""


class KernelError(ProblemError, ValueError):
    """A kernel is called with blocks that do not fit."""


def address_of(array: np.ndarray) -> int:
    """Address of an array's first element (`array.ctypes.data` takes five times as long)."""
    return _pointer(id(array) + _DATA).value or 0


def aligned_zeros(count: int) -> np.ndarray:
    """So many zeros, of which the first lies where vectors are read fastest."""
    block = np.zeros(count + _LINE // 8)
    start = (-int(block.ctypes.data) // 8) % (_LINE // 8)
    return block[start : start + count]


_probe = np.zeros(1)
if address_of(_probe) != _probe.ctypes.data:  # another interpreter or another NumPy

    def address_of(array: np.ndarray) -> int:
        """Address of an array's first element."""
        return int(array.ctypes.data)


@dataclass(frozen=True, eq=False)
class Kernel:
    """A routine that can be called.

    `sizes` holds the length of each block and `n_out` the count of outputs. `address` is where the machine code
    `void name(const double *block0, ..., double *out)` starts, None for a routine that has `steps`; it holds as long as
    this record is referenced. `function` is that code as a ctypes function of addresses; of an `InterpretedKernel` a
    Python function of arrays `(..., length)` that writes the array `(..., n_out)` given last. `loop` is the machine code
    `void (long samples, long stride of each block, blocks, out)`. `steps` is what machine code that interprets goes through to
    evaluate the routine, where it has no address. Calls may run in several threads at once.
    """

    name: str
    sizes: tuple[int, ...]
    n_out: int
    address: int | None
    function: Callable[..., Any] = field(repr=False)
    loop: Callable[..., Any] | None = field(repr=False, default=None)
    keep: Any = field(repr=False, default=None)
    steps: Any = field(repr=False, default=None)

    is_made = True
    """Whether its code is there already."""

    @property
    def is_machine_code(self) -> bool:
        """Whether it is compiled, or will be at its first use."""
        return self.address is not None

    def check(self) -> None:
        """Raise what a call by machine code has left behind."""

    def __call__(self, *blocks: Any, out: np.ndarray | None = None) -> np.ndarray:
        """Outputs (n_out,) at blocks (length,); a block of length 1 may be a number.

        `out` is where to write, contiguous, apart from all blocks; a new array by default. Raises `KernelError` E395, if blocks
        or `out` do not fit.
        """
        arrays = self._arrays(blocks)
        if out is None:
            out, places = np.empty(self.n_out), [address_of(array) for array in arrays]
        else:
            places = self._check_out(arrays, out, (self.n_out,))
        if not self.is_machine_code:
            self.function(*arrays, out)
        else:
            self.function(*places, address_of(out))
        return out

    def bind(self, *blocks: np.ndarray, out: np.ndarray) -> Callable[[], Any]:
        """A function without arguments that evaluates the present content of these arrays into `out`.

        For loops in Python where even the look-up of addresses counts. The arrays must be contiguous, of floats.
        """
        arrays = self._arrays(blocks)
        for position, (given, array) in enumerate(zip(blocks, arrays, strict=True)):
            if given is not array:
                raise self._misfit(f"block {position} to bind is not a contiguous array of floats, but {_kind(given)}")
        places = self._check_out(arrays, out, (self.n_out,))
        if not self.is_machine_code:
            return functools.partial(self.function, *arrays, out)
        call = functools.partial(self.function, *places, address_of(out))
        call.__dict__["owners"] = (*arrays, out, self)  # addresses hold as long as what they are of
        return call

    def many(self, *blocks: Any, out: np.ndarray | None = None) -> np.ndarray:
        """Outputs (samples, n_out) at many samples, without Python between them.

        Each block is (samples, length), or (length,) for what is the same in all samples; one of length 1 may also be (samples,)
        or a number. `out` is where to write, contiguous; a new array by default. Raises `KernelError` E395, if blocks do not fit,
        or differ in their number of samples.
        """
        arrays, samples = self._samples(blocks)
        if out is None:
            out = np.empty((samples, self.n_out))
        else:
            self._check_out(arrays, out, (samples, self.n_out))
        if self.loop is None:
            self.function(*arrays, out)
        else:
            strides = [n if array.ndim == 2 else 0 for array, n in zip(arrays, self.sizes, strict=True)]
            self.loop(samples, *strides, *map(address_of, arrays), address_of(out))
        return out

    def _arrays(self, blocks: tuple[Any, ...]) -> list[np.ndarray]:
        if len(blocks) != len(self.sizes):
            raise self._misfit(f"{len(blocks)} blocks are given")
        arrays: list[np.ndarray] = []
        for block, n in zip(blocks, self.sizes, strict=True):
            if not (block.__class__ is _ARRAY and block.dtype is _FLOAT and block.shape == (n,) and block.flags.c_contiguous):
                given, block = block, np.ascontiguousarray(block, dtype=float)  # makes (1,) of a number
                if block.shape != (n,):
                    raise self._misfit(f"block {len(arrays)} is {_kind(given)}")
            arrays.append(block)
        return arrays

    def _samples(self, blocks: tuple[Any, ...]) -> tuple[list[np.ndarray], int]:
        if len(blocks) != len(self.sizes):
            raise self._misfit(f"{len(blocks)} blocks are given")
        arrays: list[np.ndarray] = []
        counts = set()
        for position, (given, n) in enumerate(zip(blocks, self.sizes, strict=True)):
            block = np.ascontiguousarray(given, dtype=float)
            if n == 1 and block.ndim == 1 and len(block) != 1:
                block = block.reshape(-1, 1)
            if block.ndim not in (1, 2) or block.shape[-1] != n:
                raise self._misfit(f"block {position} is {_kind(given)}")
            if block.ndim == 2:
                counts.add(len(block))
            arrays.append(block)
        if len(counts) > 1:
            raise self._misfit(f"the blocks have {' and '.join(map(str, sorted(counts)))} samples")
        return arrays, counts.pop() if counts else 1

    def _check_out(self, arrays: list[np.ndarray], out: np.ndarray, shape: tuple[int, ...]) -> list[int]:
        """Refuse an `out` that does not fit; the addresses of the blocks."""
        if out.__class__ is not np.ndarray or out.dtype != _FLOAT or out.shape != shape:
            raise self._misfit(f"`out` is {_kind(out)}, not an array {shape} of floats")
        if not (out.flags.c_contiguous and out.flags.writeable):
            raise self._misfit("`out` is not a contiguous array that can be written")
        start = address_of(out)
        end = start + out.nbytes
        places = [address_of(array) for array in arrays]
        for position, place in enumerate(places):
            if place < end and start < place + arrays[position].nbytes:
                raise self._misfit(f"`out` overlaps block {position}; the code reads blocks while it writes")
        return places

    def _misfit(self, what: str) -> KernelError:
        lengths = ", ".join(map(str, self.sizes))
        details = (what, f"it takes {len(self.sizes)} blocks of lengths {lengths} and gives {self.n_out} outputs")
        return KernelError(Problem("E395", f'kernel "{self.name}" is called with blocks that do not fit', details))


def _kind(given: Any) -> str:
    if isinstance(given, np.ndarray):
        return f"an array {given.shape} of {given.dtype}"
    return f"a {type(given).__name__} of shape {np.shape(given)}"


def machine_kernel(name: str, sizes: tuple[int, ...], n_out: int, address: int, loop: int, keep: Any, own: bool = True) -> Kernel:
    """A kernel from the addresses of its code and of its loop, which may be its `own` or takes the code as its last argument;
    `keep` owns them."""
    pointers = [ctypes.c_void_p] * (len(sizes) + 1)
    function = ctypes.CFUNCTYPE(None, *pointers)(address)
    strides = [ctypes.c_int64] * (1 + len(sizes))
    if own:
        return Kernel(name, sizes, n_out, address, function, ctypes.CFUNCTYPE(None, *strides, *pointers)(loop), keep)
    each = ctypes.CFUNCTYPE(None, *strides, *pointers, ctypes.c_void_p)(loop)

    def many(*arguments: int) -> None:
        each(*arguments, address)

    return Kernel(name, sizes, n_out, address, function, many, keep)


LANES = (2, 4, 8, 16)
"""How many runs may go side by side."""
MANY = 64
"""Runs from which on kernels are made for that."""
AT_SAMPLE = "at_sample"
"""The kernel in lanes of what is looked at in a finished run: rates, powers, energies, the entries of the constraints' matrix."""


@dataclass(frozen=True, eq=False)
class LaneKernels:
    """Routines for several runs side by side: how many `lanes` there are, where the code of each routine starts, by its name, and
    what keeps it loaded. Blocks and outputs have a number of every lane where those of a `Kernel` have one."""

    lanes: int
    addresses: Mapping[str, int]
    keep: Any = field(repr=False)


class InterpretedKernel(Kernel):
    """A routine that Python evaluates; machine code calls it back.

    An exception on the way, such as an interrupt, leaves outputs that are not numbers; `check` raises it.
    """

    steps = loop = keep = None
    is_machine_code = False  # type: ignore[assignment]
    _errors: list[BaseException]

    def __init__(self, name: str, sizes: tuple[int, ...], n_out: int, function: Callable[..., Any]):
        self.__dict__.update(name=name, sizes=sizes, n_out=n_out, function=function, _errors=[])

    @functools.cached_property
    def _called(self) -> Any:
        """The C function of addresses."""

        def called(*places: int) -> None:
            *blocks, out = (_array_at(place, n) for place, n in zip(places, (*self.sizes, self.n_out), strict=True))
            try:
                self.function(*blocks, out)
            except BaseException as error:
                self._errors.append(error)
                out[:] = np.nan

        return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (len(self.sizes) + 1))(called)

    @property
    def address(self) -> int:  # type: ignore[override]
        """Where machine code finds it."""
        return ctypes.cast(self._called, ctypes.c_void_p).value or 0

    def check(self) -> None:
        """Raise what a call by machine code has left behind."""
        if self._errors:
            error, *_ = self._errors
            self._errors.clear()
            raise error

    def __repr__(self) -> str:
        return f"InterpretedKernel({self.name!r}, sizes={self.sizes}, n_out={self.n_out})"


def _array_at(place: int | None, count: int) -> np.ndarray:
    """The numbers that lie at an address."""
    if not count:
        return np.zeros(0)
    return np.ctypeslib.as_array((ctypes.c_double * count).from_address(place or 0))


class DeferredKernel(Kernel):
    """A kernel that is compiled when it is first called, or first asked for its address."""

    steps = None
    made: Callable[[], Kernel]

    def __init__(
        self, name: str, sizes: tuple[int, ...], n_out: Callable[[], int], make: Callable[[], Kernel], machine_code: bool = True
    ):
        lock, once = threading.Lock(), functools.cache(make)

        def made() -> Kernel:
            with lock:
                kernel = once()
                self.__dict__["is_made"] = True
                return kernel

        self.__dict__.update(name=name, sizes=sizes, made=made, is_made=False)
        self.__dict__.update(_width=functools.cache(n_out), _machine_code=machine_code)

    is_machine_code = property(lambda self: self._machine_code)
    n_out = property(lambda self: self._width())  # type: ignore[assignment]
    address = property(lambda self: self.made().address)  # type: ignore[assignment]
    function = property(lambda self: self.made().function)  # type: ignore[assignment]
    loop = property(lambda self: self.made().loop)  # type: ignore[assignment]
    keep = property(lambda self: self.made().keep)

    def check(self) -> None:
        """Raise what a call by machine code has left behind."""
        if self.is_made:
            self.made().check()

    def __repr__(self) -> str:
        return f"DeferredKernel({self.name!r}, sizes={self.sizes}, n_out={self.n_out})"


def deferred_together(
    names: Iterable[str], sizes: tuple[int, ...], n_out: int, make: Callable[[], Mapping[str, Kernel]], machine_code: bool
) -> dict[str, DeferredKernel]:
    """Kernels by name, all with blocks of these sizes and so many outputs, that are all compiled when the first is needed."""
    found: dict[str, DeferredKernel] = {}

    @once
    def every() -> Mapping[str, Kernel]:
        made = make()
        for kernel in found.values():
            kernel.__dict__["is_made"] = True
        return made

    def one(name: str) -> Kernel:
        return every()[name]

    for name in names:
        found[name] = DeferredKernel(name, sizes, lambda: n_out, functools.partial(one, name), machine_code)
    return found
