"""What a trial of a campaign may take, in a process that has much already."""

import subprocess
import sys

import pytest

HELD = """
import json, mmap, resource, sys
from campaigns.processes import limit_addresses
held = mmap.mmap(-1, 7 << 30)  # as by many libraries
limit_addresses(256 << 20)
try:
    json.loads("[" * 100_000)  # its stack grows by more than there is
except RecursionError:
    print("refused")
try:
    bytearray(512 << 20)
except MemoryError:
    print("too much")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="addresses are counted on Linux only")
def test_the_limit_is_besides_what_a_process_has():
    said = subprocess.run([sys.executable, "-c", HELD], capture_output=True, text=True, check=False)
    assert (said.returncode, said.stdout.split("\n")) == (0, ["refused", "too much", ""]), said.stderr
