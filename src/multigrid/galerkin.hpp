// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "backend/targets.hpp"

#include <echelon/matrix/csr.hpp>

#include <cstdint>
#include <optional>

namespace echelon::multigrid {

/// An upper bound of the nonzeros of P^T A P from the lengths of the rows of P: the sum over the rows i of
/// |P_i| min(n_c, sum of |P_k| over the columns k of row i), at most n_c^2. One pass over the pattern of A.
/// Waits.
template <class Target, class T>
[[nodiscard]] double galerkin_bound(const Csr<T>& A, const Csr<T>& P);

/// Zeroes the rows and columns of C = R A P that consist of rounding errors: row i, if it has no element
/// above 64 eps times the sum over k of r_ik^2 |a_kk|. Such rows belong to coarse vectors in the null space
/// of A, such as the constant on a part of a mesh without boundary condition, and a smoother would divide by
/// their diagonal elements. `known` is the largest magnitude in A, if it is known. Waits.
template <class Target, class T>
void clear_rounding(const Csr<T>& R, const Csr<T>& A, Csr<T>& C, const std::optional<double>& known);

/// Permutation that transposes P: for each value of P^T its index among the values of P. P has fewer than
/// 2^32 nonzeros. Waits.
template <class Target, class T>
[[nodiscard]] Array<std::uint32_t> transposition(const Csr<T>& P);

/// R = P^T for a known pattern: the values of P are copied from their `places`.
template <class Target, class T>
void transpose_values(const Csr<T>& P, const Array<std::uint32_t>& places, Csr<T>& R);

}  // namespace echelon::multigrid
