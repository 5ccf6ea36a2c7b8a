# SPDX-License-Identifier: BSD-3-Clause
"""What is A and what is b: matrices, operators and vectors of NumPy, SciPy and others as the extension takes them.

Arrays are used in place where their layout allows it, and copied otherwise; they are never written to, except `out`. Those in
a GPU's memory stay there."""
from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._errors import DeviceMismatch, DimensionMismatch, EfficiencyWarning, InvalidMatrix
from ._packages import (SparseArrays, element_type, empty_on_gpu, gpu_of, imported, package_of, refuse_gradients, sparse_arrays,
                        usable_on_gpu)

FLOAT32 = np.dtype(np.float32)
FLOAT64 = np.dtype(np.float64)
COMPLEX64 = np.dtype(np.complex64)
COMPLEX128 = np.dtype(np.complex128)
_CORES = {FLOAT32: _core.float32, FLOAT64: _core.float64, COMPLEX128: _core.complex128}


def core_of(dtype: np.dtype[Any]) -> Any:
    """The part of the extension for this type of numbers."""
    return _CORES[dtype]


def scalar_type(dtype: Any, name: str, *, complex_too: bool = False) -> np.dtype[Any]:
    """float32 or float64, or with `complex_too` complex128, in which numbers of this type are computed with."""
    known = "float32, float64, complex64, complex128, integers and booleans are supported"
    try:
        dtype = np.dtype(dtype).newbyteorder("=")
    except TypeError:
        raise TypeError(f"{name} has elements of type {dtype}; {known}") from None
    if dtype == FLOAT32:
        return FLOAT32
    if dtype == FLOAT64 or dtype.kind in "iub":
        return FLOAT64
    if dtype in (COMPLEX64, COMPLEX128):
        if complex_too:
            return COMPLEX128
        raise TypeError(f"{name} is complex ({dtype}), and real numbers are needed here: complex systems are solved by "
                        "echelon.solve, echelon.factor and echelon.Solver")
    raise TypeError(f"{name} has elements of type {dtype}; {known}")


def in_single_complex(x: Any) -> Any:
    """x, rounded to complex64."""
    return x.astype(COMPLEX64) if hasattr(x, "astype") else x.to(sys.modules["torch"].complex64)


def common_type(first: np.dtype[Any], second: np.dtype[Any]) -> np.dtype[Any]:
    """complex128 if one of them is, float32 if both are, or else float64."""
    if COMPLEX128 in (first, second):
        return COMPLEX128
    return FLOAT32 if first == second == FLOAT32 else FLOAT64


def _refuse_complex(dtype: np.dtype[Any], wanted: np.dtype[Any], name: str) -> None:
    """Refuses to drop imaginary parts."""
    if dtype.kind == "c" and wanted.kind != "c":
        raise TypeError(f"{name} is complex ({dtype}), and real numbers are needed here")


def is_sparse(A: Any) -> bool:
    """Whether A is a sparse matrix of SciPy, or of CuPy, which has its attributes."""
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


class Stencil:
    """A matrix that couples the points of a grid with their neighbours, given by coefficients: no row offsets, no indices.

    `solve` and `Solver` take it for the methods "structured-multigrid", "auto" and those that take operators ("cg", "minres",
    "bicgstab", "gmres"). Constant coefficients take no memory by point.

    Parameters
    ----------
    points : sequence of int
        Points along one to three axes, the first numbered fastest: point (x, y, z) is row ``x + nx * (y + ny * z)``, the order
        of a contiguous array of shape ``points[::-1]``.
    coefficients : mapping
        From offsets, (dx, dy) with distances of -1, 0 or 1 along the axes, to numbers, or to arrays of shape ``points[::-1]``
        with the coefficient in the row of each point.
    boundary : str or sequence of str
        "dirichlet" (neighbours beyond the ends of an axis are left out), "neumann" (their coefficients are added to those of
        the nearest point of the grid) or "periodic", for all axes or for each.

    Examples
    --------
    >>> import numpy as np, echelon
    >>> A = echelon.Stencil((50, 40), {(0, 0): 4.0, (1, 0): -1.0, (-1, 0): -1.0, (0, 1): -1.0, (0, -1): -1.0})
    >>> A
    <echelon.Stencil 5-point, 50 x 40, constant coefficients>
    >>> x, report = echelon.solve(A, np.ones(2000), method="structured-multigrid", return_report=True)
    >>> report.solved, report.iterations < 10
    (True, True)
    """

    def __init__(self, points: Sequence[int], coefficients: Mapping[Sequence[int], Any],
                 boundary: str | Sequence[str] = "dirichlet") -> None:
        points = [int(p) for p in points]
        values = [as_numpy(value) for value in coefficients.values()]
        self.dtype = FLOAT32 if values and all(scalar_type(value.dtype, "a coefficient") == FLOAT32 for value in values) \
            else FLOAT64
        constant = all(value.ndim == 0 for value in values)
        size = int(np.prod(points, dtype=object))
        self._offsets = [tuple(int(d) for d in offset) + (0,) * (3 - len(offset)) for offset in coefficients]
        if any(len(offset) != 3 for offset in self._offsets):
            raise InvalidMatrix("the offset of a stencil has one distance for each axis, three at most")
        self._points, self._constant = points, constant
        self._boundaries = [boundary] if isinstance(boundary, str) else list(boundary)
        self._values = [self._array(value, size, constant) for value in values]
        self._matrix = self._on(self.dtype)
        self.shape = (self._matrix.rows, self._matrix.columns)

    def _array(self, value: NDArray[Any], size: int, constant: bool) -> NDArray[Any]:
        if value.ndim > 1 and value.shape != tuple(self._points[::-1]):
            raise DimensionMismatch(f"a coefficient has the shape {value.shape}; it should be a number, or an array of shape "
                                    f"{tuple(self._points[::-1])}")
        if value.ndim == 0 and not constant:
            value = np.full(size, value)
        return np.ascontiguousarray(value, self.dtype).reshape(-1)

    def _on(self, dtype: np.dtype[Any]) -> Any:
        """The matrix of the extension with coefficients of this type."""
        values = [value.astype(dtype, copy=False) for value in self._values]
        return core_of(dtype).Matrix.stencil(self._points, self._boundaries, self._offsets, values, self._constant)

    def matrix(self, dtype: np.dtype[Any]) -> Any:
        """The matrix of the extension in this type."""
        return self._matrix if dtype == self.dtype else self._on(dtype)

    def tocsr(self) -> Any:
        """The matrix as a scipy.sparse.csr_array, without zeros."""
        return scipy_csr(self._matrix.stencil_csr())

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_matrix"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._matrix = self._on(self.dtype)

    def __repr__(self) -> str:
        return f"<echelon.Stencil {self._matrix.describe_stencil()}>"


def _own_type(A: Any) -> Any:
    """Type of the elements of A."""
    if isinstance(A, Symmetric):
        A = A.matrix
    if is_operator(A):
        return getattr(A, "dtype", None) or FLOAT64
    return A.dtype if isinstance(A, Stencil) else element_type(A if hasattr(A, "dtype") else as_numpy(A))


def type_of_matrix(A: Any, *, complex_too: bool = False) -> np.dtype[Any]:
    """float32 or float64, or with `complex_too` complex128, in which A is used."""
    return scalar_type(_own_type(A), "A", complex_too=complex_too)


def is_single_complex(A: Any, b: Any) -> bool:
    """Whether the x of A x = b is returned in complex64: A or b is, and neither has more digits."""
    kinds = (_own_type(A), element_type(b))
    return COMPLEX64 in kinds and all(kind in (COMPLEX64, FLOAT32) for kind in kinds)


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


def _usable(array: Any, dtype: np.dtype[Any]) -> Any:
    """The array itself if the library can use it in place, or else a copy in the same memory."""
    if gpu_of(array):
        return usable_on_gpu(array, dtype)
    array = array.astype(dtype, order="K", copy=False)
    if not _has_view(array):
        array = np.array(array, order="F" if array.ndim == 2 and array.strides[0] < array.strides[1] else "C")
    return array


def _indices(array: Any) -> Any:
    """Indices of 32 or 64 bits, contiguous, in the memory where they are."""
    kind = element_type(array)
    if gpu_of(array):
        return usable_on_gpu(array, kind if kind in (np.int32, np.int64) else np.dtype(np.int64))
    array = as_numpy(array)
    return array if kind in (np.int32, np.int64) and array.flags.c_contiguous else np.ascontiguousarray(array, np.int64)


def _values(array: Any, dtype: np.dtype[Any]) -> Any:
    """Elements of a sparse matrix, contiguous, in the memory where they are."""
    array = refuse_gradients(array, "A")
    _refuse_complex(element_type(array), dtype, "A")
    return usable_on_gpu(array, dtype) if gpu_of(array) else np.ascontiguousarray(as_numpy(array), dtype)


def _sparse_matrix(A: SparseArrays, dtype: np.dtype[Any], stored: str) -> Any:
    if len(A.shape) != 2:
        raise DimensionMismatch(f"A has {len(A.shape)} dimensions; a matrix has 2")
    matrix = core_of(dtype).Matrix.sparse(A.format, *A.shape, _indices(A.offsets_or_rows), _indices(A.indices),
                                          _values(A.values, dtype), stored)
    if A.format == "csr" and stored == "all" and element_type(A.indices) == np.int32 and not matrix.is_in_place:
        warnings.warn("A has unsorted or repeated column indices and is copied; A.sum_duplicates() would avoid this",
                      EfficiencyWarning, stacklevel=4)
    return matrix


def _product(function: Any, dtype: np.dtype[Any]) -> Any:
    """A product of an operator as the extension calls it: vectors of one dimension, in the operator's type."""
    def product(x: NDArray[Any]) -> NDArray[Any]:
        y = np.asarray(function(x))
        _refuse_complex(y.dtype, dtype, "the product of an operator")
        return np.ascontiguousarray(y, dtype).reshape(-1)
    return product


def _operator(A: Any, dtype: np.dtype[Any]) -> Any:
    rows, columns = A.shape
    adjoint = getattr(A, "rmatvec", None)
    transposed = None
    if callable(adjoint):
        transposed = _product((lambda x: np.conj(adjoint(np.conj(x)))) if dtype == COMPLEX128 else adjoint, dtype)
    return core_of(dtype).Matrix.linear_operator(rows, columns, _product(A.matvec, dtype), transposed)


def as_matrix(A: Any, dtype: np.dtype[Any]) -> Any:
    """Matrix of the extension that refers to A's arrays, or to copies where their layout or type does not suit."""
    stored = "all"
    if isinstance(A, Stencil):
        if dtype == COMPLEX128:
            raise TypeError("A is a stencil with real coefficients and b is complex: pass A.tocsr(), or solve for the real and "
                            "the imaginary part of b")
        return A.matrix(dtype)
    if isinstance(A, Symmetric):
        A, stored = A
    arrays = sparse_arrays(A)
    if arrays is not None:
        return _sparse_matrix(arrays, dtype, stored)
    if is_operator(A):
        return _operator(A, dtype)
    array = dense_array(A, "A")
    if array.ndim != 2:
        raise DimensionMismatch(f"A has {array.ndim} dimensions; a matrix has 2")
    _refuse_complex(element_type(array), dtype, "A")
    return core_of(dtype).Matrix.dense(_usable(array, dtype))


def preconditioner_function(M: Any, dtype: np.dtype[Any], rows: int) -> Any:
    """z = M r of a preconditioner of a system of this many rows: a callable, an operator, or a matrix that approximates the
    inverse."""
    shape = getattr(M, "shape", None)
    if shape is not None and tuple(shape) != (rows, rows):
        raise DimensionMismatch(f"the preconditioner M is of shape {tuple(shape)}, the system has {rows} rows")
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
    elif hasattr(a, "__cuda_array_interface__"):
        raise TypeError(f"{type(a).__name__} is in a GPU's memory without DLPack: import cupy, whose arrays refer to it")
    return np.asarray(a)


def dense_array(a: Any, name: str) -> Any:
    """A dense array where it is: one of PyTorch or CuPy in a GPU's memory itself, others as an array of NumPy."""
    if type(a) is np.ndarray:
        return a
    if hasattr(a, "toarray") and is_sparse(a):
        return dense_array(a.toarray(), name)
    a = imported(refuse_gradients(a, name))
    return a if gpu_of(a) else as_numpy(a)


def in_family_of(b: Any, x: Any) -> Any:
    """x as an array of the package and the memory that b comes from; of NumPy for lists, sparse matrices and packages that
    import no arrays."""
    if isinstance(b, np.ndarray) or type(x) is not np.ndarray or not hasattr(b, "__dlpack__"):
        return x
    if b.__dlpack_device__()[0] != np.empty(0).__dlpack_device__()[0]:  # of JAX, on a GPU
        return sys.modules["jax"].device_put(x, b.device)
    package = b.__array_namespace__() if hasattr(b, "__array_namespace__") else sys.modules.get(package_of(b))
    from_dlpack = getattr(package, "from_dlpack", None)
    return x if from_dlpack is None else from_dlpack(x)


def is_plain_vector(b: Any, rows: int, dtype: np.dtype[Any]) -> bool:
    """Whether b is what `as_vectors` would return, and may be written to: a quick test for the usual case."""
    return type(b) is np.ndarray and b.dtype is dtype and b.shape == (rows,) and b.flags.carray


def as_vectors(b: Any, rows: int, dtype: np.dtype[Any], name: str = "b") -> Any:
    """Vectors of `rows` elements as the library can use them: b itself or a copy in the same memory."""
    array = dense_array(b, name)
    if array.dtype is not dtype:
        scalar_type(element_type(array), name, complex_too=dtype == COMPLEX128)
    if array.ndim not in (1, 2) or array.shape[0] != rows:
        raise DimensionMismatch(f"{name} has the shape {tuple(array.shape)}; it should be a vector of {rows} elements, or a "
                                f"matrix of {rows} rows")
    return _usable(array, dtype)


def copied(array: Any, dtype: np.dtype[Any]) -> Any:
    """A copy of this type in the same memory, contiguous in one of its dimensions."""
    if gpu_of(array):
        return usable_on_gpu(array + 0, dtype)
    copy = np.array(array, dtype, order="K")
    return copy if copy.flags.f_contiguous else np.ascontiguousarray(copy)


def in_columns(b: Any) -> Any:
    """b with contiguous columns: itself or a copy."""
    return usable_on_gpu(b, element_type(b), by_columns=True) if gpu_of(b) else np.asfortranarray(b)


def _is_by_columns(b: Any) -> bool:
    if b.ndim != 2:
        return False
    if package_of(b) == "torch":
        return not b.is_contiguous() and bool(b.mT.is_contiguous())
    return bool(b.flags.f_contiguous and not b.flags.c_contiguous)


def _address(array: Any) -> Any:
    return array.data_ptr() if package_of(array) == "torch" else array.data.ptr


def _checked_out(out: Any, shape: tuple[int, ...], b: Any) -> Any:
    """`out`, if it is an array of this shape, of the type, the package and the memory of b."""
    kind, device = element_type(b), gpu_of(b)
    if not device and type(out) is not np.ndarray or device and package_of(out) != package_of(b):
        raise ValueError(f"out should be an array of {package_of(b)}, as b is, not {type(out).__name__}")
    if tuple(out.shape) != shape or element_type(out) != kind or gpu_of(out) != device:
        raise ValueError(f"out should be an array of shape {shape} and type {kind}{' on ' + device if device else ''}, not of "
                         f"type {element_type(out)} and shape {tuple(out.shape)}{' on ' + gpu_of(out) if gpu_of(out) else ''}")
    in_place = _address(usable_on_gpu(out, kind)) == _address(out) if device else out.flags.writeable and _has_view(out)
    if not in_place:
        raise ValueError("out should be writable and contiguous in one of its dimensions")
    return out


def result_like(b: Any, rows: int, out: Any) -> Any:
    """Array for a result of `rows` rows with the columns, the order, the type and the memory of b: `out`, if it is one."""
    shape = (rows, *b.shape[1:])
    if out is not None:
        return _checked_out(out, shape, b)
    if gpu_of(b):
        return empty_on_gpu(b, shape, _is_by_columns(b))
    return np.empty(shape, b.dtype, order="F" if _is_by_columns(b) else "C")


def check_one_memory(name: str, array: Any, where: str, device: str) -> None:
    """Raises DeviceMismatch unless the array is on `device`, the GPU of `where`, or on the host if that is empty."""
    if gpu_of(array) != device:
        raise DeviceMismatch(f"{name} is {'on ' + gpu_of(array) if gpu_of(array) else 'in host memory'}, and {where} is "
                             f"{'on ' + device if device else 'in host memory'}: move one of them")


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
