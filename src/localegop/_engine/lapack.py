"""Cholesky factors and what follows from them, by the LAPACK of SciPy, without holding Python's lock.

SciPy's own wrappers hold the lock, so that threads would wait for each other. All arrays are square and
contiguous; of symmetric ones only the lower triangle counts, and results are put in the place of what was
given. In LAPACK's order of columns, the lower triangle of an array is the upper one.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cython_lapack

Array = NDArray[np.float64]

STRIP = 64  # rows that are mirrored at a time
UPPER, PLAIN = ctypes.c_char(b"U"), ctypes.c_char(b"N")  # plain: the diagonal is not one


def factorize(matrix: Array) -> bool:
    """Turn a matrix (n, n) into its lower factor; whether it was positive definite."""
    return _call("dpotrf", matrix, _size(matrix)) == 0


def invert(factor: Array) -> bool:
    """Turn a lower factor (n, n) into the inverse of the matrix; whether that exists."""
    return _call("dpotri", factor, _size(factor)) == 0


def invert_factor(factor: Array) -> bool:
    """Turn a lower factor (n, n) into its own inverse, lower too; whether that exists.

    Sums of squares over its columns are the diagonal of the inverse of the matrix, for half the time.
    """
    info, size = ctypes.c_int(), _size(factor)
    _routine("dtrtri")(
        *(ctypes.byref(each) for each in (UPPER, PLAIN, size)),
        _address(factor),
        ctypes.byref(size),
        ctypes.byref(info),
    )
    return info.value == 0


def mirror(matrix: Array) -> None:
    """Make a matrix (n, n) symmetric, of which the lower triangle counts."""
    for first in range(0, len(matrix), STRIP):
        last = min(first + STRIP, len(matrix))
        matrix[:first, first:last] = matrix[first:last, :first].T
        corner = matrix[first:last, first:last]
        corner[:] = np.tril(corner) + np.tril(corner, -1).T


def solve(factor: Array, right: Array) -> Array:
    """Solve the system of a lower factor (n, n) for right-hand sides (n, K)."""
    columns = np.array(right.T, order="C")
    info, size = ctypes.c_int(), _size(factor)
    others = ctypes.c_int(len(columns))
    _routine("dpotrs")(
        *(ctypes.byref(each) for each in (UPPER, size, others)),
        _address(factor),
        ctypes.byref(size),
        _address(columns),
        ctypes.byref(size),
        ctypes.byref(info),
    )
    return np.ascontiguousarray(columns.T)


def _call(name: str, matrix: Array, size: ctypes.c_int) -> int:
    info = ctypes.c_int()
    _routine(name)(
        ctypes.byref(UPPER), ctypes.byref(size), _address(matrix), ctypes.byref(size), ctypes.byref(info)
    )
    return info.value


def _size(matrix: Array) -> ctypes.c_int:
    assert matrix.flags.c_contiguous and matrix.shape[0] == matrix.shape[1]
    return ctypes.c_int(len(matrix))


def _address(matrix: Array) -> ctypes.c_void_p:
    return ctypes.c_void_p(matrix.ctypes.data)


def _routine(name: str) -> Any:
    """Return a routine that is to be called with addresses."""
    if name not in _routines:
        capsule = cython_lapack.__pyx_capi__[name]
        name_of, pointer_of = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
        name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
        pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        _routines[name] = ctypes.CFUNCTYPE(None)(pointer_of(capsule, name_of(capsule)))
    return _routines[name]


_routines: dict[str, Any] = {}
