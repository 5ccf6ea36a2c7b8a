# SPDX-License-Identifier: BSD-3-Clause
"""Solutions of linear systems through which PyTorch differentiates.

The gradient costs one more solve with the transpose of A, by the factorisation or the hierarchy of the first."""
from __future__ import annotations

from typing import Any

import torch

from ._packages import sparse_arrays
from ._solve import Solver

__all__ = ["solve"]


class _Pattern:
    """Where the elements of A are that have a gradient, and how a gradient becomes a tensor as A is."""

    def __init__(self, A: Any) -> None:
        arrays = sparse_arrays(A)
        self.rows = self.columns = None
        if arrays is None:
            return
        first, second = (torch.as_tensor(index, dtype=torch.int64) for index in (arrays.offsets_or_rows, arrays.indices))
        if arrays.format != "coo":
            major = torch.arange(len(first) - 1, device=first.device)
            first = torch.repeat_interleave(major, first[1:] - first[:-1], output_size=len(second))
        self.rows, self.columns = (second, first) if arrays.format == "csc" else (first, second)

    def products(self, left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
        """Elements of ``left @ right.T`` where A has elements: of shape (nonzeros,), or (n, n) of a dense A."""
        left, right = (v.unsqueeze(1) if v.ndim == 1 else v for v in (left, right))
        if self.rows is None:
            return left @ right.mT
        return (left[self.rows] * right[self.columns]).sum(1)


class _Solution(torch.autograd.Function):
    """x with ``A @ x = b``, or with A's transpose, as a function of A's elements and of b."""

    @staticmethod
    def forward(ctx: Any, elements: torch.Tensor, b: torch.Tensor, solver: Solver, pattern: _Pattern, trans: str) -> Any:
        x = solver.solve(b.detach(), trans=trans)
        ctx.solver, ctx.pattern, ctx.trans = solver, pattern, trans
        ctx.save_for_backward(elements, x)
        return x

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        elements, x = ctx.saved_tensors
        trans = "N" if ctx.trans == "T" else "T"
        adjoint = _Solution.apply(elements, gradients[0], ctx.solver, ctx.pattern, trans)
        of_elements = None
        if ctx.needs_input_grad[0]:
            left, right = (adjoint, x) if ctx.trans == "N" else (x, adjoint)
            of_elements = -ctx.pattern.products(left, right)
        return of_elements, adjoint if ctx.needs_input_grad[1] else None, None, None, None


def solve(A: Any, b: torch.Tensor, *, values: torch.Tensor | None = None, method: str = "auto", device: str | None = None,
          **options: Any) -> torch.Tensor:
    """Solve ``A @ x = b``, with gradients of x with respect to b and to the elements of A.

    Parameters
    ----------
    A : tensor, or sparse matrix of SciPy
        A dense tensor, or a sparse one (COO, CSR or CSC). Its gradient has its pattern.
    b : tensor of shape (n,) or (n, k)
        Right-hand sides, of A's type, on A's device.
    values : tensor of shape (nonzeros,), optional
        Elements of a sparse A in the order in which it stores them, in place of its own. They get the gradient, so that A may
        be a constant pattern, and a matrix of SciPy.
    method, device, options
        As in `echelon.Solver`. "auto" takes a direct method, which a gradient of full accuracy needs; that of an iterative
        method is as accurate as its tolerance.

    Returns
    -------
    x : tensor
        Of b's shape. ``x.backward()`` solves once more with the transpose of A; second derivatives work, too.

    Raises
    ------
    SolveError
        The system is not solved.

    Examples
    --------
    >>> import torch, echelon.torch
    >>> A = torch.tensor([[4.0, 1.0], [2.0, 3.0]], dtype=torch.float64, requires_grad=True)
    >>> b = torch.tensor([5.0, 5.0], dtype=torch.float64, requires_grad=True)
    >>> x = echelon.torch.solve(A, b)
    >>> x.sum().backward()
    >>> b.grad.round(decimals=3)
    tensor([0.1000, 0.3000], dtype=torch.float64)
    >>> A.grad.round(decimals=3)
    tensor([[-0.1000, -0.1000],
            [-0.3000, -0.3000]], dtype=torch.float64)
    """
    if not isinstance(b, torch.Tensor):
        raise TypeError(f"b is a tensor of PyTorch here, not {type(b).__name__}")
    if method == "auto":
        options.setdefault("methods", "direct")
    solver = Solver(method, device=device, **options)
    if isinstance(A, torch.Tensor) and A.layout == torch.sparse_coo:
        A = A.coalesce()
    arrays = sparse_arrays(A)
    if arrays is None:
        if values is not None:
            raise TypeError("values are those of a sparse A; a dense one has its own")
        elements = A
        solver.setup(A.detach())
    else:
        elements = _elements(A, arrays.values, values)
        solver.setup(A.detach() if isinstance(A, torch.Tensor) else A)
        if values is not None:
            solver.update(values.detach())
    if elements.dtype != b.dtype:
        raise TypeError(f"A has elements of type {elements.dtype} and b of {b.dtype}: convert one of them")
    x: torch.Tensor = _Solution.apply(elements, b, solver, _Pattern(A), "N")
    return x


def _elements(A: Any, own: Any, values: torch.Tensor | None) -> torch.Tensor:
    """The tensor of a sparse A's elements that gets the gradient."""
    if values is not None:
        if tuple(values.shape) != tuple(own.shape):
            raise ValueError(f"values has the shape {tuple(values.shape)}; A stores {own.shape[0]} elements")
        return values
    return own if isinstance(A, torch.Tensor) else torch.as_tensor(own)
