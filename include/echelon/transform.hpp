// SPDX-License-Identifier: BSD-3-Clause
/// What makes one sparse matrix of another. Every function works on the device of A and leaves its result
/// there. On a GPU it synchronises where it says so, to learn how much memory the result takes.
#pragma once

#include <echelon/coo.hpp>
#include <echelon/csr.hpp>
#include <echelon/dense.hpp>

#include <cstdint>

namespace echelon {

/// A^T. Throws InvalidMatrix when A has more rows than a 32-bit index counts. Memory besides the result: on
/// the host, 16 (double) or 12 (float) bytes a nonzero, or 8 a column and thread where A has a band; on a
/// GPU 32.
template <class T>
[[nodiscard]] Csr<T> transpose(const Csr<T>& A);
/// A^T: a copy whose row and column indices have changed places.
template <class T>
[[nodiscard]] Coo<T> transpose(const Coo<T>& A);

}  // namespace echelon
