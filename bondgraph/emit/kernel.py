"""Kernels: compiled or interpreted routines as Python callables, which map blocks of inputs to a row of outputs."""

from __future__ import annotations

import ctypes
import functools
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bondgraph.emit.cached_build import build_once
from bondgraph.errors import Problem, ProblemError
from screws.errors import plural

_ARRAY = np.ndarray
_FLOAT = np.dtype(float)
_DATA = object.__basicsize__  # NumPy's binary interface: the data pointer follows the object's head
_pointer = ctypes.c_void_p.from_address
_LINE = 64


class KernelError(ProblemError, ValueError):
    """Error for a kernel that is called with blocks or an output array of the wrong shape or type."""


def address_of(array: np.ndarray) -> int:
    """Return the address of an array's first element (`array.ctypes.data` takes five times as long)."""
    return _pointer(id(array) + _DATA).value or 0


def aligned_zeros(count: int) -> np.ndarray:
    block = np.zeros(count + _LINE // 8)
    start = (-int(block.ctypes.data) // 8) % (_LINE // 8)
    return block[start : start + count]


_probe = np.zeros(1)
if address_of(_probe) != _probe.ctypes.data:  # another interpreter or another NumPy

    def address_of(array: np.ndarray) -> int:
        return int(array.ctypes.data)


@dataclass(frozen=True, eq=False)
class Kernel:
    """Callable routine; several threads may call it simultaneously.

    Parameters
    ----------
    sizes, n_out : length of each block, and number of outputs.
    address : address of the machine code `void name(const double *block0, ..., double *out)`, valid as long as this record is
        referenced; None for a routine that is evaluated by interpreting its `steps`.
    function : this code as a ctypes function of addresses; without machine code, a Python function of arrays `(length,)` or
        `(samples, length)` that writes to its last argument, an array `(n_out,)` or `(samples, n_out)`.
    loop : machine code `void (int64 samples, int64 stride of each block, blocks, out)`; None for an interpreted routine.
    keep : owner of the machine code.
    steps : `InterpretedSteps` of a Jacobian that is interpreted; None for all other routines.
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

    @property
    def is_machine_code(self) -> bool:
        return self.address is not None

    def check(self) -> None:
        """Raise the exception, if any, of an earlier call by machine code."""

    def __call__(self, *blocks: Any, out: np.ndarray | None = None) -> np.ndarray:
        """Return the outputs (n_out,) at blocks (length,); a block of length 1 may be a number.

        `out` is a contiguous array for the result that overlaps no block; a new array by default. Raises `KernelError` E395 for a
        wrong number or shape of blocks, or an unsuitable `out`.
        """
        arrays = self._arrays(blocks)
        if out is None:
            out, addresses = np.empty(self.n_out), [address_of(array) for array in arrays]
        else:
            addresses = self._check_out(arrays, out, (self.n_out,))
        if not self.is_machine_code:
            self.function(*arrays, out)
        else:
            self.function(*addresses, address_of(out))
        return out

    def bind(self, *blocks: np.ndarray, out: np.ndarray) -> Callable[[], Any]:
        """Return a function without arguments that evaluates the current contents of these arrays, contiguous floats, into `out`.

        It is for Python loops in which even looking up addresses takes noticeable time.
        """
        arrays = self._arrays(blocks)
        for position, (block, array) in enumerate(zip(blocks, arrays, strict=True)):
            if block is not array:
                raise self._misfit(f"block {position} to bind is not a contiguous array of floats, but {_kind(block)}")
        addresses = self._check_out(arrays, out, (self.n_out,))
        if not self.is_machine_code:
            return functools.partial(self.function, *arrays, out)
        call = functools.partial(self.function, *addresses, address_of(out))
        call.__dict__["owners"] = (*arrays, out, self)  # addresses are valid as long as their owners live
        return call

    def many(self, *blocks: Any, out: np.ndarray | None = None) -> np.ndarray:
        """Return the outputs (samples, n_out) at many samples; a compiled kernel runs no Python between samples.

        Each block is (samples, length), or (length,) if it is the same in all samples; a block of length 1 may also be (samples,)
        or a number. `out` is a contiguous array for the result that overlaps no block; a new array by default. Raises
        `KernelError` E395 for a wrong number or shape of blocks, different numbers of samples, or an unsuitable `out`.
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
            raise self._misfit(f"it is called with {plural(len(blocks), 'block')}")
        arrays: list[np.ndarray] = []
        for block, n in zip(blocks, self.sizes, strict=True):
            if not (block.__class__ is _ARRAY and block.dtype is _FLOAT and block.shape == (n,) and block.flags.c_contiguous):
                original, block = block, np.ascontiguousarray(block, dtype=float)  # makes (1,) of a number
                if block.shape != (n,):
                    raise self._misfit(f"block {len(arrays)} is {_kind(original)}")
            arrays.append(block)
        return arrays

    def _samples(self, blocks: tuple[Any, ...]) -> tuple[list[np.ndarray], int]:
        if len(blocks) != len(self.sizes):
            raise self._misfit(f"it is called with {plural(len(blocks), 'block')}")
        arrays: list[np.ndarray] = []
        counts = set()
        for position, (argument, n) in enumerate(zip(blocks, self.sizes, strict=True)):
            block = np.ascontiguousarray(argument, dtype=float)
            if n == 1 and block.ndim == 1 and len(block) != 1:
                block = block.reshape(-1, 1)
            if block.ndim not in (1, 2) or block.shape[-1] != n:
                raise self._misfit(f"block {position} is {_kind(argument)}")
            if block.ndim == 2:
                counts.add(len(block))
            arrays.append(block)
        if len(counts) > 1:
            raise self._misfit(f"the blocks have {' and '.join(map(str, sorted(counts)))} samples")
        return arrays, counts.pop() if counts else 1

    def _check_out(self, arrays: list[np.ndarray], out: np.ndarray, shape: tuple[int, ...]) -> list[int]:
        if out.__class__ is not np.ndarray or out.dtype != _FLOAT or out.shape != shape:
            raise self._misfit(f"`out` is {_kind(out)}, not an array {shape} of floats")
        if not (out.flags.c_contiguous and out.flags.writeable):
            raise self._misfit("`out` is not a contiguous array that can be written")
        start = address_of(out)
        end = start + out.nbytes
        addresses = [address_of(array) for array in arrays]
        for position, address in enumerate(addresses):
            if address < end and start < address + arrays[position].nbytes:
                raise self._misfit(f"`out` overlaps block {position}, which the code reads while it writes")
        return addresses

    def _misfit(self, what: str) -> KernelError:
        count, lengths = len(self.sizes), ", ".join(map(str, self.sizes))
        takes = (
            f"it takes {plural(count, 'block')} of length{'s'[: count - 1]} {lengths} and gives {plural(self.n_out, 'output')}"
        )
        return KernelError(Problem("E395", f'kernel "{self.name}" is called with unsuitable arguments', (what, takes)))


def _kind(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array {value.shape} of {value.dtype}"
    return f"a {type(value).__name__} of shape {np.shape(value)}"


def machine_kernel(
    name: str, sizes: tuple[int, ...], n_out: int, address: int, loop: int, keep: Any, has_loop: bool = True
) -> Kernel:
    """Return a kernel of the code and the loop at these addresses, which `keep` owns; the loop calls this code (`has_loop`), or
    code that it takes as its last argument."""
    pointers = [ctypes.c_void_p] * (len(sizes) + 1)
    function = ctypes.CFUNCTYPE(None, *pointers)(address)
    strides = [ctypes.c_int64] * (1 + len(sizes))
    if has_loop:
        return Kernel(name, sizes, n_out, address, function, ctypes.CFUNCTYPE(None, *strides, *pointers)(loop), keep)
    each = ctypes.CFUNCTYPE(None, *strides, *pointers, ctypes.c_void_p)(loop)

    def many(*arguments: int) -> None:
        each(*arguments, address)

    return Kernel(name, sizes, n_out, address, function, many, keep)


LANES = (2, 4, 8, 16)
MANY = 64
AT_SAMPLE = "at_sample"
"""Name of the SIMD kernel for values checked after a run: rates, powers, energies, entries of the constraint matrix."""


@dataclass(frozen=True, eq=False)
class LaneKernels:
    """Routines for several runs in SIMD lanes: the number of `lanes`, the addresses of the routines by name, and the object
    that keeps them loaded. Their blocks and outputs have one number per lane for each number of a `Kernel`."""

    lanes: int
    addresses: Mapping[str, int]
    keep: Any = field(repr=False)


class InterpretedKernel(Kernel):
    """Kernel that Python evaluates; machine code calls it through a callback.

    If the callback fails, for example because of an interrupt, its outputs are NaN, and `check` raises the exception.
    """

    steps = loop = keep = None
    is_machine_code = False  # type: ignore[assignment]
    _errors: list[BaseException]

    def __init__(self, name: str, sizes: tuple[int, ...], n_out: int, function: Callable[..., Any]):
        self.__dict__.update(name=name, sizes=sizes, n_out=n_out, function=function, _errors=[])

    @functools.cached_property
    def _called(self) -> Any:
        def called(*addresses: int) -> None:
            *blocks, out = (_array_at(address, n) for address, n in zip(addresses, (*self.sizes, self.n_out), strict=True))
            try:
                self.function(*blocks, out)
            except BaseException as error:
                self._errors.append(error)
                out[:] = np.nan

        return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (len(self.sizes) + 1))(called)

    @property
    def address(self) -> int:  # type: ignore[override]
        return ctypes.cast(self._called, ctypes.c_void_p).value or 0

    def check(self) -> None:
        if self._errors:
            error, *_ = self._errors
            self._errors.clear()
            raise error

    def __repr__(self) -> str:
        return f"InterpretedKernel({self.name!r}, sizes={self.sizes}, n_out={self.n_out})"


def _array_at(address: int | None, count: int) -> np.ndarray:
    if not count:
        return np.zeros(0)
    return np.ctypeslib.as_array((ctypes.c_double * count).from_address(address or 0))


class DeferredKernel(Kernel):
    """Kernel that is compiled at its first call, or when its address is first needed."""

    steps = None
    made: Callable[[], Kernel]

    def __init__(
        self, name: str, sizes: tuple[int, ...], n_out: Callable[[], int], make: Callable[[], Kernel], machine_code: bool = True
    ):
        lock, make_cached = threading.Lock(), functools.cache(make)

        def made() -> Kernel:
            with lock:
                kernel = make_cached()
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
        if self.is_made:
            self.made().check()

    def __repr__(self) -> str:
        return f"DeferredKernel({self.name!r}, sizes={self.sizes}, n_out={self.n_out})"


def deferred_together(
    names: Iterable[str], sizes: tuple[int, ...], n_out: int, make: Callable[[], Mapping[str, Kernel]], machine_code: bool
) -> dict[str, DeferredKernel]:
    """Return kernels by name, all with blocks of these sizes and `n_out` outputs, that are compiled together at the first use."""
    kernels: dict[str, DeferredKernel] = {}

    @build_once
    def every() -> Mapping[str, Kernel]:
        made = make()
        for kernel in kernels.values():
            kernel.__dict__["is_made"] = True
        return made

    def one(name: str) -> Kernel:
        return every()[name]

    for name in names:
        kernels[name] = DeferredKernel(name, sizes, lambda: n_out, functools.partial(one, name), machine_code)
    return kernels
