"""Internal names of `bondgraph.devices` that tests use."""

# ruff: noqa: F401

from bondgraph.devices import choose
from bondgraph.devices.choose import device_of
from bondgraph.devices.device import DeviceFacts, LoadedKernel, lost, out_of_memory
from bondgraph.devices.nvidia import NvidiaDevice
