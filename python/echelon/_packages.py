# SPDX-License-Identifier: BSD-3-Clause
"""Arrays and sparse matrices of PyTorch, CuPy and JAX. Only packages that the caller has imported are used.

Arrays of PyTorch and CuPy in a GPU's memory are used in place, by DLPack, and results are made there. Those of JAX, which
nobody may write to, are copied to the host and back."""
from __future__ import annotations

import sys
from typing import Any, NamedTuple

import numpy as np

_CUDA = 2  # kDLCUDA of DLPack


def package_of(a: Any) -> str:
    """Name of the package that a's type is from."""
    return type(a).__module__.partition(".")[0]


def gpu_of(a: Any) -> str:
    """The device of an array of PyTorch or CuPy in a GPU's memory, as "cuda:0"; otherwise an empty text."""
    if isinstance(a, np.ndarray) or package_of(a) not in ("torch", "cupy"):
        return ""
    kind, number = a.__dlpack_device__()
    return f"cuda:{number}" if kind == _CUDA else ""


def element_type(a: Any) -> Any:
    """The type of a's elements as NumPy names it, or as a's package does if NumPy has no such type."""
    try:
        return np.dtype(a.dtype)
    except TypeError:
        pass  # the type of another package, by whose name NumPy may know it
    try:
        return np.dtype(str(a.dtype).rpartition(".")[2])
    except TypeError:
        return a.dtype


def refuse_gradients(a: Any, name: str) -> Any:
    """a, without its history if gradients are off; raises TypeError if PyTorch would lose a gradient."""
    if package_of(a) != "torch" or not a.requires_grad:
        return a
    if sys.modules["torch"].is_grad_enabled():
        raise TypeError(f"{name} requires gradients, which this function does not track: echelon.torch.solve tracks them, and "
                        f"{name}.detach() is the same tensor without them")
    return a.detach()


def imported(a: Any) -> Any:
    """CuPy's array of a's memory if a gives that by `__cuda_array_interface__` alone, as arrays of Numba do, and the program
    uses CuPy; otherwise a itself."""
    if "cupy" in sys.modules and hasattr(a, "__cuda_array_interface__") and not hasattr(a, "__dlpack__"):
        return sys.modules["cupy"].asarray(a)
    return a


def usable_on_gpu(array: Any, dtype: np.dtype[Any], by_columns: bool = False) -> Any:
    """The array itself if it has this type and is contiguous by rows or, as `by_columns` demands, by columns, or else a copy
    in the same memory. What its package has queued for it is done: the library works on a stream of its own."""
    if package_of(array) == "torch":
        torch = sys.modules["torch"]
        array = array.to(getattr(torch, dtype.name))
        if array.ndim == 2 and (by_columns or array.mT.is_contiguous()):
            array = array.mT.contiguous().mT
        else:
            array = array.contiguous()
        torch.cuda.current_stream(array.device).synchronize()
        return array
    cupy = sys.modules["cupy"]
    array = array.astype(dtype, copy=False)
    if not array.flags.f_contiguous and (by_columns or not array.flags.c_contiguous):
        array = cupy.asfortranarray(array) if by_columns else cupy.ascontiguousarray(array)
    with array.device:
        cupy.cuda.get_current_stream().synchronize()
    return array


def empty_on_gpu(like: Any, shape: tuple[int, ...], by_columns: bool = False) -> Any:
    """An array of the package, the device and the type of elements of `like`."""
    if package_of(like) == "torch":
        if by_columns and len(shape) == 2:
            return like.new_empty(shape[::-1]).mT
        return like.new_empty(shape)
    cupy = sys.modules["cupy"]
    with cupy.cuda.Device(like.device.id):
        return cupy.empty(shape, like.dtype, order="F" if by_columns else "C")


def contiguous(array: Any, dtype: np.dtype[Any]) -> Any:
    """The array itself if it has this type and is contiguous in the order of its indices, or else a copy in its memory."""
    if not gpu_of(array):
        return np.ascontiguousarray(array, dtype)
    if package_of(array) == "torch":
        torch = sys.modules["torch"]
        array = array.to(getattr(torch, dtype.name)).contiguous()
        torch.cuda.current_stream(array.device).synchronize()
        return array
    cupy = sys.modules["cupy"]
    array = cupy.ascontiguousarray(array, dtype)
    with array.device:
        cupy.cuda.get_current_stream().synchronize()
    return array


def new_array(like: Any) -> Any:
    """An array of this shape and type, contiguous in the order of its indices, in the memory of `like`."""
    return empty_on_gpu(like, tuple(like.shape)) if gpu_of(like) else np.empty(like.shape, like.dtype)


class SparseArrays(NamedTuple):
    """A sparse matrix by its arrays: offsets of rows or columns and indices ("csr", "csc"), or rows and columns ("coo")."""

    format: str
    shape: tuple[int, ...]
    offsets_or_rows: Any
    indices: Any
    values: Any

    @property
    def dtype(self) -> Any:
        """Type of the elements."""
        return self.values.dtype


def _torch_arrays(A: Any) -> SparseArrays | None:
    torch = sys.modules["torch"]
    shape = tuple(A.shape)
    if A.layout == torch.sparse_coo:
        A = A.coalesce()
        rows, columns = A.indices()
        return SparseArrays("coo", shape, rows, columns, A.values())
    if A.layout == torch.sparse_csr:
        return SparseArrays("csr", shape, A.crow_indices(), A.col_indices(), A.values())
    if A.layout == torch.sparse_csc:
        return SparseArrays("csc", shape, A.ccol_indices(), A.row_indices(), A.values())
    if A.layout == torch.strided:
        return None
    raise TypeError(f"a tensor with the layout {A.layout} is not supported: sparse_csr, sparse_csc, sparse_coo and strided are")


def _jax_arrays(A: Any) -> SparseArrays | None:
    kind = type(A).__name__
    if kind not in ("BCSR", "BCOO", "CSR", "CSC", "COO"):
        return None
    if getattr(A, "n_batch", 0) or getattr(A, "n_dense", 0):
        raise TypeError(f"a {kind} matrix with batch or dense dimensions is not supported")
    if kind == "BCOO":
        return SparseArrays("coo", A.shape, A.indices[:, 0], A.indices[:, 1], A.data)
    if kind == "COO":
        return SparseArrays("coo", A.shape, A.row, A.col, A.data)
    return SparseArrays("csc" if kind == "CSC" else "csr", A.shape, A.indptr, A.indices, A.data)


def _scipy_arrays(A: Any) -> SparseArrays:
    """Of a matrix of SciPy or CuPy; of one in another format by its conversion to CSR. On a GPU the library takes indices to
    ascend."""
    if A.format not in ("csr", "csc", "coo"):
        A = A.tocsr()
    if package_of(A) == "cupyx" and A.format == "csr" and not A.has_canonical_format:
        A = A.copy()
        A.sum_duplicates()
    if A.format == "coo":
        return SparseArrays("coo", A.shape, A.row, A.col, A.data)
    nonzeros = int(A.indptr[-1])
    indices, values = A.indices, A.data
    if len(values) != nonzeros:  # SciPy's arrays may be longer than the matrix
        indices, values = indices[:nonzeros], values[:nonzeros]
    return SparseArrays(A.format, A.shape, A.indptr, indices, values)


def sparse_arrays(A: Any) -> SparseArrays | None:
    """The arrays of a sparse matrix of any of these packages; None for other objects."""
    if isinstance(A, SparseArrays):
        return A
    if hasattr(A, "tocsr") and hasattr(A, "format"):
        return _scipy_arrays(A)
    package = package_of(A)
    if package == "torch":
        return _torch_arrays(A)
    if package == "jax":
        return _jax_arrays(A)
    if package == "sparse" and hasattr(A, "to_scipy_sparse"):
        return _scipy_arrays(A.to_scipy_sparse())
    return None
