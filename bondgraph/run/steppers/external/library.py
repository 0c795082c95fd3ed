"""Finds and loads the shared libraries that the scikit-sundae wheel ships -> functions with C prototypes.

The files have hashed names and are no public interface: the version and the width of an index are checked, and where
anything differs from what was tested `available()` says so and the other solvers are used.
"""

from __future__ import annotations

import ctypes
import functools
import glob
import os
import sys
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

_LIBRARIES = (
    *("core", "nvecserial", "sunmatrixdense", "sunmatrixband", "sunmatrixsparse"),
    *("sunlinsoldense", "sunlinsolband", "sunlinsolsuperlumt", "cvode"),
)
_V, _D, _I, _L = ctypes.c_void_p, ctypes.c_double, ctypes.c_int, ctypes.c_long
_PROTOTYPES: dict[str, tuple[str, Any, tuple[Any, ...]]] = {
    "SUNDIALSGetVersion": ("core", _I, (ctypes.c_char_p, _I)),
    "SUNContext_Create": ("core", _I, (_I, _V)),
    "SUNContext_Free": ("core", _I, (_V,)),
    "SUNContext_ClearErrHandlers": ("core", _I, (_V,)),
    "N_VGetArrayPointer": ("core", _V, (_V,)),
    "N_VDestroy": ("core", None, (_V,)),
    "SUNMatDestroy": ("core", None, (_V,)),
    "SUNLinSolFree": ("core", _I, (_V,)),
    "SUNNonlinSolFree": ("core", _I, (_V,)),
    "N_VNew_Serial": ("nvecserial", _V, (ctypes.c_int32, _V)),
    "SUNDenseMatrix": ("sunmatrixdense", _V, (ctypes.c_int32, ctypes.c_int32, _V)),
    "SUNDenseMatrix_Data": ("sunmatrixdense", _V, (_V,)),
    "SUNDenseMatrix_LData": ("sunmatrixdense", ctypes.c_int32, (_V,)),
    "SUNBandMatrix": ("sunmatrixband", _V, (ctypes.c_int32, ctypes.c_int32, ctypes.c_int32, _V)),
    "SUNBandMatrix_Data": ("sunmatrixband", _V, (_V,)),
    "SUNBandMatrix_LDim": ("sunmatrixband", ctypes.c_int32, (_V,)),
    "SUNBandMatrix_StoredUpperBandwidth": ("sunmatrixband", ctypes.c_int32, (_V,)),
    "SUNSparseMatrix": ("sunmatrixsparse", _V, (ctypes.c_int32, ctypes.c_int32, ctypes.c_int32, _I, _V)),
    "SUNSparseMatrix_Data": ("sunmatrixsparse", _V, (_V,)),
    "SUNSparseMatrix_IndexValues": ("sunmatrixsparse", _V, (_V,)),
    "SUNSparseMatrix_IndexPointers": ("sunmatrixsparse", _V, (_V,)),
    "SUNLinSol_Dense": ("sunlinsoldense", _V, (_V, _V, _V)),
    "SUNLinSol_Band": ("sunlinsolband", _V, (_V, _V, _V)),
    "SUNLinSol_SuperLUMT": ("sunlinsolsuperlumt", _V, (_V, _V, _I, _V)),
    "SUNNonlinSol_FixedPoint": ("cvode", _V, (_V, _I, _V)),
    "CVodeCreate": ("cvode", _V, (_I, _V)),
    "CVodeInit": ("cvode", _I, (_V, _V, _D, _V)),
    "CVodeReInit": ("cvode", _I, (_V, _D, _V)),
    "CVodeWFtolerances": ("cvode", _I, (_V, _V)),
    "CVodeSetUserData": ("cvode", _I, (_V, _V)),
    "CVodeSetMaxNumSteps": ("cvode", _I, (_V, _L)),
    "CVodeSetMaxStep": ("cvode", _I, (_V, _D)),
    "CVodeSetMaxHnilWarns": ("cvode", _I, (_V, _I)),
    "CVodeSetStopTime": ("cvode", _I, (_V, _D)),
    "CVodeSetLinearSolver": ("cvode", _I, (_V, _V, _V)),
    "CVodeSetNonlinearSolver": ("cvode", _I, (_V, _V)),
    "CVodeSetJacFn": ("cvode", _I, (_V, _V)),
    "CVode": ("cvode", _I, (_V, _D, _V, _V, _I)),
    "CVodeGetNumSteps": ("cvode", _I, (_V, _V)),
    "CVodeGetNumErrTestFails": ("cvode", _I, (_V, _V)),
    "CVodeGetNumNonlinSolvConvFails": ("cvode", _I, (_V, _V)),
    "CVodeGetCurrentStep": ("cvode", _I, (_V, _V)),
    "CVodeGetDky": ("cvode", _I, (_V, _D, _I, _V)),
    "CVodeFree": ("cvode", None, (_V,)),
}


class SundialsMissing(Exception):
    """Why the libraries cannot be used here."""


@dataclass(frozen=True)
class Sundials:
    """Loaded libraries: functions by name with prototypes, and their addresses for machine code."""

    functions: SimpleNamespace
    addresses: dict[str, int]
    version: str


def _files() -> dict[str, str]:
    """Path of each library beside the package: Linux and Windows `scikit_sundae.libs`, macOS `sksundae/.dylibs`."""
    try:
        import sksundae._cy_cvode
    except ImportError as failure:
        raise SundialsMissing(f"scikit-sundae is not installed or does not load ({failure})") from failure
    package = os.path.dirname(os.path.abspath(sksundae._cy_cvode.__file__))
    folders = (os.path.join(os.path.dirname(package), "scikit_sundae.libs"), os.path.join(package, ".dylibs"))
    found = {}
    for name in _LIBRARIES:
        patterns = [os.path.join(folder, f"*sundials_{name}[-.]*") for folder in folders]
        hits = sorted(path for pattern in patterns for path in glob.glob(pattern))
        if not hits:
            raise SundialsMissing(f"the library sundials_{name} is not beside scikit-sundae in {package}")
        found[name] = hits[0]
    return found


@functools.cache
def _load() -> Sundials | str:
    try:
        files = _files()
        libraries = {name: ctypes.CDLL(path) for name, path in files.items()}
    except (SundialsMissing, OSError) as failure:
        return str(failure)
    functions: dict[str, Any] = {}
    for name, (library, result, arguments) in _PROTOTYPES.items():
        function = getattr(libraries[library], name, None)
        if function is None:
            return f"the shipped libraries lack {name}"
        function.restype, function.argtypes = result, arguments
        functions[name] = function
    text = ctypes.create_string_buffer(64)
    functions["SUNDIALSGetVersion"](text, 64)
    version = text.value.decode()
    if not version.startswith("7."):
        return f"SUNDIALS {version} is shipped; this interface was made for 7.x"
    addresses = {name: ctypes.cast(function, ctypes.c_void_p).value or 0 for name, function in functions.items()}
    loaded = Sundials(SimpleNamespace(**functions), addresses, version)
    return loaded if _narrow_indices(loaded.functions) else "the shipped SUNDIALS does not use 32-bit indices"


def _narrow_indices(api: SimpleNamespace) -> bool:
    """Whether the index arrays of a sparse matrix (and lengths) are 32 bits wide."""
    context = ctypes.c_void_p()
    if api.SUNContext_Create(0, ctypes.byref(context)):
        return False
    # A serial vector's content begins with its length as an index, then an int flag (1: owns its data), then a pointer.
    vector = api.N_VNew_Serial(3, context)
    content = ctypes.cast(vector, ctypes.POINTER(ctypes.c_void_p))[0]
    head = ctypes.cast(content, ctypes.POINTER(ctypes.c_int32))
    narrow = head[0] == 3 and head[1] == 1
    api.N_VDestroy(vector)
    api.SUNContext_Free(ctypes.byref(context))
    return narrow


def load() -> Sundials:
    """The loaded libraries; `SundialsMissing` with the reason why there are none."""
    loaded = _load()
    if isinstance(loaded, str):
        raise SundialsMissing(loaded)
    return loaded


def available() -> tuple[bool, str]:
    """Whether SUNDIALS can be used here, and its version or the reason why not."""
    loaded = _load()
    return (False, loaded) if isinstance(loaded, str) else (True, f"SUNDIALS {loaded.version} on {sys.platform}")
