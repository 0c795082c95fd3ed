"""Messages of an FMU of version 2: its logger takes a format and values, like `printf`, which machine code turns into text."""

from __future__ import annotations

import ctypes
import platform
import sys
from collections.abc import Callable
from typing import Any

from bondgraph.emit.cached_build import build_once
from bondgraph.emit.llvm import Library, compile_ir

_LISTENER = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p)
_MAX_LENGTH = 1024
"""Maximum length of a message, bytes; longer messages are truncated."""
_BY_VALUE = sys.platform == "win32" or (sys.platform == "darwin" and platform.machine() == "arm64")
"""True if C's `va_list` is a pointer, passed by value; False if it is a record, passed by address."""
_IR = f"""declare i32 @vsnprintf(ptr, i64, ptr, ptr)
declare void @llvm.va_start.p0(ptr)
declare void @llvm.va_end.p0(ptr)
define void @say(ptr %environment, ptr %name, i32 %status, ptr %category, ptr %format, ...) {{
  %list = alloca [4 x i64], align 16
  %text = alloca [{_MAX_LENGTH} x i8]
  call void @llvm.va_start.p0(ptr %list)
  %first = load ptr, ptr %list
  %length = call i32 @vsnprintf(ptr %text, i64 {_MAX_LENGTH}, ptr %format, ptr {"%first" if _BY_VALUE else "%list"})
  call void @llvm.va_end.p0(ptr %list)
  call void %environment(i32 %status, ptr %text)
  ret void
}}
"""


@build_once
def _library() -> Library:
    c = ctypes.CDLL("msvcrt" if sys.platform == "win32" else None)
    printf = getattr(c, "_vsnprintf" if sys.platform == "win32" else "vsnprintf")
    return compile_ir(_IR, {"vsnprintf": ctypes.cast(printf, ctypes.c_void_p).value or 0}, quick=True)


def logger() -> int:
    """Return the address of a logger for FMI 2.0; an FMU calls it with the address of a `listener` as environment."""
    return _library().address("say")


def listener(record: Callable[[int, bytes | None], None]) -> Any:
    return _LISTENER(record)
