# SPDX-License-Identifier: BSD-3-Clause
"""What is A and what is b: matrices, operators and vectors of NumPy, SciPy and others as the extension takes them.

Arrays are used in place where their layout allows it, and copied otherwise; they are never written to, except `out`."""
from __future__ import annotations

import sys
import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._errors import DimensionMismatch, EfficiencyWarning

FLOAT32 = np.dtype(np.float32)
FLOAT64 = np.dtype(np.float64)
_CORES = {FLOAT32: _core.float32, FLOAT64: _core.float64}


def core_of(dtype: np.dtype[Any]) -> Any:
    """The half of the extension for this type of numbers."""
    return _CORES[dtype]


def scalar_type(dtype: Any, name: str) -> np.dtype[Any]:
    """float32 or float64, in which numbers of this type are computed with."""
    dtype = np.dtype(dtype).newbyteorder("=")
    if dtype == FLOAT32:
        return FLOAT32
    if dtype == FLOAT64 or dtype.kind in "iub":
        return FLOAT64
    if dtype.kind == "c":
        raise TypeError(f"{name} is complex ({dtype}), which is not supported yet: solve the real system "
                        "[[A.real, -A.imag], [A.imag, A.real]] for [x.real, x.imag]")
    raise TypeError(f"{name} has elements of type {dtype}; float32, float64, integers and booleans are supported")


def common_type(first: np.dtype[Any], second: np.dtype[Any]) -> np.dtype[Any]:
    """float32 if both are, or else float64."""
    return FLOAT32 if first == second == FLOAT32 else FLOAT64


def is_sparse(A: Any) -> bool:
    """Whether A is a sparse matrix of SciPy, or of a package with its attributes."""
    return hasattr(A, "tocsr") and hasattr(A, "format")


def is_operator(A: Any) -> bool:
    """Whether A is known by its products, as scipy.sparse.linalg.LinearOperator is."""
    return hasattr(A, "matvec") and hasattr(A, "shape") and not is_sparse(A)


class Symmetric(NamedTuple):
    """A symmetric matrix of which one triangle is stored; `symmetric` makes one."""

    matrix: Any
    stored: str


def symmetric(triangle: Any, stored: str = "lower") -> Symmetric:
    """A symmetric matrix by its lower or upper triangle, for the functions of this package.

    Parameters
    ----------
    triangle : sparse matrix
        The elements on and below (``stored="lower"``) or on and above (``"upper"``) the diagonal, and no others.

    Examples
    --------
    >>> import echelon, numpy as np, scipy.sparse as sp
    >>> L = sp.csr_matrix([[2.0, 0.0], [1.0, 3.0]])
    >>> echelon.solve(echelon.symmetric(L), np.array([4.0, 7.0]))
    array([1., 2.])
    """
    if stored not in ("lower", "upper"):
        raise ValueError(f"stored is 'lower' or 'upper', not {stored!r}")
    if not is_sparse(triangle):
        raise TypeError("symmetric() takes a sparse matrix; a dense one needs all of its elements")
    return Symmetric(triangle, stored)


def type_of_matrix(A: Any) -> np.dtype[Any]:
    """float32 or float64, in which A is used."""
    if isinstance(A, Symmetric):
        A = A.matrix
    if is_operator(A):
        return scalar_type(getattr(A, "dtype", None) or FLOAT64, "A")
    return scalar_type(A.dtype if is_sparse(A) else as_numpy(A).dtype, "A")


def _has_view(array: NDArray[Any]) -> bool:
    """Whether the library can use the array in place: no dimension runs backwards, and one is contiguous."""
    flags = array.flags
    if not flags.aligned or not array.dtype.isnative:
        return False
    if flags.c_contiguous or flags.f_contiguous:
        return True
    strides = array.strides
    if min(strides) <= 0 or any(stride % array.itemsize for stride in strides):
        return False
    return array.ndim == 1 or array.itemsize in strides


def _usable(array: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """The array itself if the library can use it in place, or else a copy."""
    array = array.astype(dtype, order="K", copy=False)
    if not _has_view(array):
        array = np.array(array, order="F" if array.ndim == 2 and array.strides[0] < array.strides[1] else "C")
    return array


def _indices(array: Any) -> Any:
    return array if array.dtype in (np.int32, np.int64) and array.flags.c_contiguous else np.ascontiguousarray(array, np.int64)


def _sparse_matrix(A: Any, dtype: np.dtype[Any], stored: str) -> Any:
    if len(A.shape) != 2:
        raise DimensionMismatch(f"A has {len(A.shape)} dimensions; a matrix has 2")
    if A.format not in ("csr", "csc", "coo"):
        A = A.tocsr()
    core = core_of(dtype)
    rows, columns = A.shape
    if A.format == "coo":
        values = np.ascontiguousarray(A.data, dtype)
        return core.Matrix.sparse("coo", rows, columns, _indices(A.row), _indices(A.col), values, stored)
    nonzeros = int(A.indptr[-1])
    indices, values = A.indices, A.data
    if len(values) != nonzeros:  # SciPy's arrays may be longer than the matrix
        indices, values = indices[:nonzeros], values[:nonzeros]
    matrix = core.Matrix.sparse(A.format, rows, columns, _indices(A.indptr), _indices(indices),
                                np.ascontiguousarray(values, dtype), stored)
    if A.format == "csr" and stored == "all" and indices.dtype == np.int32 and not matrix.is_in_place:
        warnings.warn("A has unsorted or repeated column indices and is copied; A.sum_duplicates() would avoid this",
                      EfficiencyWarning, stacklevel=4)
    return matrix


def _product(function: Any, dtype: np.dtype[Any]) -> Any:
    """A product of an operator as the extension calls it: vectors of one dimension, in the operator's type."""
    def product(x: NDArray[Any]) -> NDArray[Any]:
        y = np.asarray(function(x))
        if y.dtype.kind == "c":
            raise TypeError("the product of an operator is complex, which is not supported yet")
        return np.ascontiguousarray(y, dtype).reshape(-1)
    return product


def _operator(A: Any, dtype: np.dtype[Any]) -> Any:
    rows, columns = A.shape
    transposed = getattr(A, "rmatvec", None)
    return core_of(dtype).Matrix.linear_operator(rows, columns, _product(A.matvec, dtype),
                                                 _product(transposed, dtype) if callable(transposed) else None)


def as_matrix(A: Any, dtype: np.dtype[Any]) -> Any:
    """Matrix of the extension that refers to A's arrays, or to copies where their layout or type does not suit."""
    if isinstance(A, Symmetric):
        return _sparse_matrix(A.matrix, dtype, A.stored)
    if is_sparse(A):
        return _sparse_matrix(A, dtype, "all")
    if is_operator(A):
        return _operator(A, dtype)
    array = as_numpy(A)
    if array.ndim != 2:
        raise DimensionMismatch(f"A has {array.ndim} dimensions; a matrix has 2")
    return core_of(dtype).Matrix.dense(_usable(array, dtype))


def preconditioner_function(M: Any, dtype: np.dtype[Any]) -> Any:
    """z = M r of a preconditioner: a callable, an operator, or a matrix that approximates the inverse."""
    if is_operator(M):
        return _product(M.matvec, dtype)
    if callable(M):
        return _product(M, dtype)
    return _product(lambda r: M @ r, dtype)


def as_numpy(a: Any) -> NDArray[Any]:
    """A dense array of any package, or lists, as an array of NumPy: in place where that is possible."""
    if isinstance(a, np.ma.MaskedArray):
        raise TypeError("a masked array has elements that are not known: pass a.filled(value)")
    if hasattr(a, "__dlpack__") and not isinstance(a, np.ndarray):
        try:
            return np.from_dlpack(a)
        except (TypeError, RuntimeError, BufferError):
            pass  # what NumPy cannot import in this way it may convert
    return np.asarray(a)


def in_family_of(b: Any, x: NDArray[Any]) -> Any:
    """x as an array of the package that b comes from; of NumPy for lists and sparse matrices."""
    if isinstance(b, np.ndarray) or not hasattr(b, "__dlpack__"):
        return x
    package = b.__array_namespace__() if hasattr(b, "__array_namespace__") else sys.modules[type(b).__module__.partition(".")[0]]
    return package.from_dlpack(x)


def dense_vectors(b: Any) -> NDArray[Any]:
    """b as an array of NumPy."""
    return np.asarray(b.toarray()) if is_sparse(b) else as_numpy(b)


def is_plain_vector(b: Any, rows: int, dtype: np.dtype[Any]) -> bool:
    """Whether b is what `as_vectors` would return, and may be written to: a quick test for the usual case."""
    return type(b) is np.ndarray and b.dtype is dtype and b.shape == (rows,) and b.flags.carray


def as_vectors(b: Any, rows: int, dtype: np.dtype[Any], name: str = "b") -> NDArray[Any]:
    """Vectors of `rows` elements as the library can use them: b itself or a copy."""
    array = b if type(b) is np.ndarray else dense_vectors(b)
    if array.dtype is not dtype:
        scalar_type(array.dtype, name)
    if array.ndim not in (1, 2) or array.shape[0] != rows:
        raise DimensionMismatch(f"{name} has the shape {array.shape}; it should be a vector of {rows} elements, or a matrix "
                                f"of {rows} rows")
    return _usable(array, dtype)


def result_like(b: NDArray[Any], rows: int, out: Any) -> NDArray[Any]:
    """Array for a result of `rows` rows with the columns, the order and the type of b: `out`, if it is one."""
    shape = (rows, *b.shape[1:])
    if out is None:
        by_columns = b.ndim == 2 and b.flags.f_contiguous and not b.flags.c_contiguous
        return np.empty(shape, b.dtype, order="F" if by_columns else "C")
    if type(out) is not np.ndarray or out.shape != shape or out.dtype != b.dtype:
        raise ValueError(f"out should be a NumPy array of shape {shape} and type {b.dtype}, not "
                         f"{getattr(out, 'dtype', type(out))} of shape {getattr(out, 'shape', None)}")
    if not out.flags.writeable or not _has_view(out):
        raise ValueError("out should be writable and contiguous in one of its dimensions")
    return out


def scipy_csr(arrays: tuple[Any, Any, Any, Any]) -> Any:
    """A sparse matrix of the extension as scipy.sparse.csr_array."""
    try:
        from scipy.sparse import csr_array
    except ImportError as error:
        raise ImportError("sparse results are matrices of SciPy: pip install scipy") from error
    shape, offsets, indices, values = arrays
    if len(values) < 2**31:
        offsets = offsets.astype(np.int32)  # SciPy has one type of indices in a matrix
    return csr_array((values, indices, offsets), shape=shape)


def python_matrix(result: Any) -> Any:
    """A matrix of the extension as a NumPy array or a scipy.sparse.csr_array."""
    return scipy_csr(result) if isinstance(result, tuple) else result
