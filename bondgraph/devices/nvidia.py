"""NVIDIA GPUs through the driver alone, by NVIDIA's own `cuda-bindings`."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from bondgraph.devices.device import ON_THE_CPU, DeviceFacts, LoadedKernel, lost, out_of_memory
from bondgraph.errors import Problem, RunError
from bondgraph.output.extras import require_package

THREADS = 64
"""Number of threads per block; small, since each thread takes as many registers as it can get."""
_MAX_KERNELS = 8
"""Maximum number of kernels that stay loaded, because the driver takes seconds to compile a kernel."""
_OLD = {36, 209, 222, 803, 804}
"""Result codes of a driver or GPU that is too old for a call, a binary or a version of PTX."""
_MEMORY = {2, 701}
"""Result codes for too little memory, or too few registers or too little stack for a launch."""
_NO_GPU = {34, 46, 100, 101}
"""Result codes that report no driver, no GPU, or a GPU that is in use."""
_LOST = {4, 201, 214, 220, 702, 709, 802, 810, 999}
"""Result codes after which a GPU is lost: reset, memory or link error, watchdog, end of its context."""


class NvidiaDevice:
    def __init__(self, number: int = 0, driver: Any = None):
        """Open the GPU of this number; `driver` replaces the module `cuda.bindings.driver` in tests.

        Raises `ExtraError` E416 without `cuda-bindings`; `RunError` E287 without a driver or this GPU, E288 for a driver that
        is too old.
        """
        self._name = f"cuda:{number}"
        self._driver = _driver() if driver is None else driver
        self._call("cuInit", 0)
        count = self._call("cuDeviceGetCount")
        if number >= count:
            there = "available: " + (", ".join(f'"cuda:{k}"' for k in range(count)) or "none")
            raise _no_gpu(f'there is no GPU "{self._name}"', there)
        gpu = self._call("cuDeviceGet", number)
        self._context = self._call("cuDevicePrimaryCtxRetain", gpu)
        self._use()
        facts = self._driver.CUdevice_attribute
        ratio, processors, resident = (
            int(self._call("cuDeviceGetAttribute", getattr(facts, f"CU_DEVICE_ATTRIBUTE_{name}"), gpu))
            for name in ("SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO", "MULTIPROCESSOR_COUNT", "MAX_THREADS_PER_MULTIPROCESSOR")
        )
        title = self._call("cuDeviceGetName", 100, gpu).split(b"\0")[0].decode()
        self.facts = DeviceFacts(self._name, title, ratio, processors * resident)
        self._processors, self._stack = processors, 0
        self._kernels = dict[tuple[str, str], tuple[Any, LoadedKernel]]()

    def memory_left(self, kernel: LoadedKernel) -> int:
        """Return the bytes that remain free beside the stacks of a kernel. At its first launch the driver reserves, and then
        keeps, stacks for all threads that the GPU can hold."""
        self._use()
        more = max(kernel.stack - self._stack, 0) * self.facts.threads
        return int(self._call("cuMemGetInfo")[0]) - more

    def load(self, text: str, entry: str) -> LoadedKernel:
        self._use()
        if (text, entry) in self._kernels:
            return self._kernels[text, entry][1]
        while len(self._kernels) >= _MAX_KERNELS:
            self._call("cuModuleUnload", self._kernels.pop(next(iter(self._kernels)))[0])
        module = self._call("cuModuleLoadData", text.encode() + b"\0")
        kernel = self._call("cuModuleGetFunction", module, entry.encode())
        size = self._driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES
        stack = int(self._call("cuFuncGetAttribute", size, kernel))
        each = int(self._call("cuOccupancyMaxActiveBlocksPerMultiprocessor", kernel, THREADS, 0))
        if not each:
            raise out_of_memory(self._name, f"a block of {THREADS} threads exceeds a multiprocessor")
        loaded = LoadedKernel(kernel, stack, THREADS, each * self._processors)
        self._kernels[text, entry] = module, loaded
        return loaded

    def allocate(self, size: int) -> int:
        self._use()
        return int(self._call("cuMemAlloc", max(size, 1)))

    def free(self, address: int) -> None:
        self._use()
        self._call("cuMemFree", self._driver.CUdeviceptr(address))

    def clear(self, address: int, size: int) -> None:
        self._use()
        if size:
            self._call("cuMemsetD8", self._driver.CUdeviceptr(address), 0, size)

    def copy_in(self, address: int, array: np.ndarray) -> None:
        self._use()
        if array.nbytes:
            self._call("cuMemcpyHtoD", self._driver.CUdeviceptr(address), array.ctypes.data, array.nbytes)

    def copy_out(self, array: np.ndarray, address: int) -> None:
        self._use()
        if array.nbytes:
            self._call("cuMemcpyDtoH", array.ctypes.data, self._driver.CUdeviceptr(address), array.nbytes)

    def launch(self, kernel: LoadedKernel, blocks: int, argument: int) -> None:
        self._use()
        arguments = (argument,), (ctypes.c_uint64,)
        self._call("cuLaunchKernel", kernel.handle, blocks, 1, 1, kernel.threads, 1, 1, 0, 0, arguments, 0)
        self._stack = max(self._stack, kernel.stack)
        self._call("cuCtxSynchronize")

    def _use(self) -> None:
        self._call("cuCtxSetCurrent", self._context)

    def _call(self, name: str, *arguments: Any) -> Any:
        try:
            function: Callable[..., tuple[Any, ...]] = getattr(self._driver, name)
            result, *values = function(*arguments)
        except (AttributeError, RuntimeError) as error:
            why = str(error).strip().splitlines()[0]
            if name == "cuInit" and not re.search(r"[Ff]unction .*not found", why):
                raise _no_gpu("NVIDIA's driver is not installed", why) from error
            raise self._too_old(f"{name}: {why}") from error
        if int(result) == 0:
            return values[0] if len(values) == 1 else values
        raise self._error(name, result)

    def _error(self, name: str, result: Any) -> RunError:
        code, why = int(result), f"{name} returned {getattr(result, 'name', result)}"
        if code in _NO_GPU:
            return _no_gpu(f'there is no GPU "{self._name}" to run on', why)
        if code in _OLD:
            return self._too_old(why)
        if code in _MEMORY:
            return out_of_memory(self._name, why)
        if code in _LOST:
            return lost(self._name, why)
        return RunError(Problem("E293", f'the driver of "{self._name}" refuses to continue', (why,), cures=(ON_THE_CPU,)))

    def _too_old(self, why: str) -> RunError:
        cures = ("a newer driver", ON_THE_CPU)
        return RunError(Problem("E288", f'the driver of "{self._name}" or the GPU itself is too old', (why,), cures=cures))


def _no_gpu(title: str, why: str) -> RunError:
    cures = (ON_THE_CPU, 'device="auto", which uses a GPU only if there is one', "nvidia-smi, which lists what the driver sees")
    return RunError(Problem("E287", title, (why,), cures=cures))


def _driver() -> Any:
    require_package("a connection to an NVIDIA GPU", "cuda")
    require_package("a connection to an NVIDIA GPU", "cuda.bindings")
    try:
        from cuda.bindings import driver
    except ImportError as error:
        raise _no_gpu("the package cuda-bindings cannot be loaded", str(error)) from error
    return driver
