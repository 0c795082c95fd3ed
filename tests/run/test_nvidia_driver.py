"""Calls of the NVIDIA driver, whose signatures match `cuda-bindings`."""

import os
import shutil
import subprocess
import sys
from enum import IntEnum
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from bondgraph.errors import RunError
from tests.inner.devices import NvidiaDevice

HERE = Path(__file__).parent


class Result(IntEnum):
    CUDA_SUCCESS = 0
    CUDA_ERROR_INVALID_VALUE = 1
    CUDA_ERROR_OUT_OF_MEMORY = 2
    CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER = 36
    CUDA_ERROR_NO_DEVICE = 100
    CUDA_ERROR_NO_BINARY_FOR_GPU = 209
    CUDA_ERROR_ECC_UNCORRECTABLE = 214
    CUDA_ERROR_INVALID_PTX = 218
    CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222
    CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES = 701
    CUDA_ERROR_LAUNCH_TIMEOUT = 702
    CUDA_ERROR_SYSTEM_DRIVER_MISMATCH = 803


class Driver:
    def __init__(self, gpus=1, **fails):
        self.fails, self.called = fails, []
        given = {
            "cuDeviceGetCount": [gpus],
            "cuDeviceGet": ["gpu"],
            "cuDevicePrimaryCtxRetain": ["context"],
            "cuDeviceGetAttribute": [2],
            "cuDeviceGetName": [b"a GPU\0\0"],
            "cuMemGetInfo": [1000, 2000],
            "cuModuleLoadData": ["module"],
            "cuModuleGetFunction": ["kernel"],
            "cuFuncGetAttribute": [40],
            "cuOccupancyMaxActiveBlocksPerMultiprocessor": [0 if fails.get("occupancy") else 3],
            "cuMemAlloc": [4096],
        }
        self.given = given
        self.CUdevice_attribute = self.CUfunction_attribute = SimpleNamespace(
            CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO=87,
            CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT=16,
            CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR=39,
            CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES=3,
        )
        self.CUdeviceptr = int

    def __getattr__(self, name):
        if not name.startswith("cu"):
            raise AttributeError(name)

        def call(*arguments):
            self.called.append(name)
            fault = self.fails.get(name, Result.CUDA_SUCCESS)
            if isinstance(fault, Exception):
                raise fault
            return (fault, *self.given.get(name, []))

        return call


def use(device):
    kernel = device.load("text", "advance_runs")
    device.memory_left(kernel)
    address = device.allocate(80)
    device.clear(address, 80)
    device.copy_in(address, np.zeros(3))
    device.launch(kernel, 2, address)
    device.copy_out(np.zeros(3), address)
    device.free(address)


@pytest.mark.parametrize(
    ("code", "says", "fails"),
    [
        (
            "E287",
            "NVIDIA's driver is not installed",
            {"cuInit": RuntimeError('"cuda" is a driver library and can only be found')},
        ),
        ("E287", "cuInit returned CUDA_ERROR_NO_DEVICE", {"cuInit": Result.CUDA_ERROR_NO_DEVICE}),
        ("E287", "available: none", {"gpus": 0}),
        ("E288", "cuInit returned CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", {"cuInit": Result.CUDA_ERROR_SYSTEM_DRIVER_MISMATCH}),
        ("E288", "not found", {"cuDevicePrimaryCtxRetain": RuntimeError('Function "cuDevicePrimaryCtxRetain" not found')}),
        ("E288", "UNSUPPORTED_PTX_VERSION", {"cuModuleLoadData": Result.CUDA_ERROR_UNSUPPORTED_PTX_VERSION}),
        ("E288", "NO_BINARY_FOR_GPU", {"cuModuleLoadData": Result.CUDA_ERROR_NO_BINARY_FOR_GPU}),
        ("E290", "cuMemAlloc returned CUDA_ERROR_OUT_OF_MEMORY", {"cuMemAlloc": Result.CUDA_ERROR_OUT_OF_MEMORY}),
        ("E290", "LAUNCH_OUT_OF_RESOURCES", {"cuLaunchKernel": Result.CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES}),
        ("E290", "a block of 64 threads exceeds", {"occupancy": True}),
        ("E292", "cuCtxSynchronize returned CUDA_ERROR_LAUNCH_TIMEOUT", {"cuCtxSynchronize": Result.CUDA_ERROR_LAUNCH_TIMEOUT}),
        ("E292", "ECC", {"cuMemcpyDtoH": Result.CUDA_ERROR_ECC_UNCORRECTABLE}),
        ("E293", "cuModuleLoadData returned CUDA_ERROR_INVALID_PTX", {"cuModuleLoadData": Result.CUDA_ERROR_INVALID_PTX}),
        ("E293", "INVALID_VALUE", {"cuMemFree": Result.CUDA_ERROR_INVALID_VALUE}),
    ],
)
def test_every_fault_has_its_code(code, says, fails):
    with pytest.raises(RunError, match=rf"{code} [\s\S]*{says}[\s\S]*try: .*device=None"):
        use(NvidiaDevice(driver=Driver(**fails)))


def test_a_number_beyond_the_gpus_lists_those_that_are_there():
    with pytest.raises(RunError, match=r'E287 there is no GPU "cuda:2"\n  available: "cuda:0", "cuda:1"'):
        NvidiaDevice(2, Driver(gpus=2))


def test_kernels_stay_loaded_up_to_a_number():
    device = NvidiaDevice(driver=Driver())
    kernels = [device.load(f"text {k % 9}", "advance_runs") for k in range(9)]
    assert device.load("text 8", "advance_runs") is kernels[8]
    called = device._driver.called
    assert called.count("cuModuleLoadData") == 9 and called.count("cuModuleUnload") == 1


def test_stacks_count_once():
    """The free memory that the driver reports after the first launch already excludes the stacks."""
    device = NvidiaDevice(driver=Driver())
    kernel = device.load("text", "advance_runs")
    assert (device.facts.threads, kernel.blocks) == (4, 6)
    assert device.memory_left(kernel) == 1000 - 4 * 40
    device.launch(kernel, 1, 4096)
    assert device.memory_left(kernel) == 1000


SCRIPT = """
import numpy as np
from bondgraph.devices.nvidia import NvidiaDevice
device = NvidiaDevice()
kernel = device.load(".visible .entry advance_runs", "advance_runs")
address = device.allocate(800)
device.clear(address, 800)
device.copy_in(address + 80, np.arange(10.0))
device.launch(kernel, 16, address)
words = np.empty(20)
device.copy_out(words, address)
device.free(address)
print(device.facts, kernel.stack, kernel.blocks, words.view(np.int64)[0], words[8:].tolist())
"""


@pytest.mark.skipif(shutil.which("gcc") is None or sys.platform != "linux", reason="needs gcc and Linux")
def test_the_calls_are_those_of_cuda_bindings(tmp_path):
    pytest.importorskip("cuda.bindings", reason="NVIDIA'S PACKAGE IS NOT TESTED: cuda-bindings is not installed")
    library = tmp_path / "libcuda.so.1"
    build = ["gcc", "-shared", "-fPIC", "-o", library, HERE / "stand_in_driver.c", "-ldl", "-Wl,-soname,libcuda.so.1"]
    subprocess.run(build, check=True)
    environment = {**os.environ, "LD_LIBRARY_PATH": str(tmp_path), "PYTHONPATH": str(HERE.parents[1])}
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=False)
    facts = "DeviceFacts(name='cuda:0', title='stand-in', single_to_double=2, threads=8192)"
    moved = [0.0, 0.0, *map(float, range(10))]
    assert done.stdout.strip() == f"{facts} 4560 16 16064 {moved}", done.stderr
