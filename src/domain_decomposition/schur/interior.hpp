// SPDX-License-Identifier: BSD-3-Clause
/// The interior block A_II of a sparse matrix, and the scaling of a matrix whose interior is eliminated.
#pragma once

#include "domain_decomposition/schur/implementation.hpp"
#include "sparse_direct/matching/scaling.hpp"

#include <echelon/matrix/csr.hpp>
#include <echelon/matrix/dense.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace echelon::schur {

/// A_II, with rows and columns ascending, on the host.
template <class T>
[[nodiscard]] Csr<T> interior_block(const Csr<T>& A, const InterfacePartition& partition);

/// A map of the interior's rows to each other as one of all rows, identical in the interface; empty if the
/// map is.
[[nodiscard]] std::vector<std::int32_t> in_all_rows(const InterfacePartition& partition,
                                                    std::span<const std::int32_t> of_interior);

/// Extends a scaling of A_II to A: factors of the interface are powers of two that bring the largest scaled
/// elements of its rows of A_BI and columns of A_IB into [1, 2). Pivots are compared with these elements.
template <class T>
[[nodiscard]] sparse_direct::Scaling with_border_scaling(const Csr<T>& A, const InterfacePartition& partition,
                                                         const sparse_direct::Scaling& of_interior);

/// Factors, powers of two, that bring a positive diagonal of A into [1, 4).
template <class T>
[[nodiscard]] std::vector<double> unit_diagonal_scale(const Csr<T>& A);

/// ||R A_II C||_1 for diagonal R and C of all rows and columns; empty ones are identities.
template <class T>
[[nodiscard]] double interior_norm_one(const Csr<T>& A, const InterfacePartition& partition,
                                       const std::vector<double>& rows, const std::vector<double>& columns);

/// Divides the elements of S, which is on the host, by the factors of their rows and columns.
template <class T>
void remove_scaling(const InterfacePartition& partition, const sparse_direct::Scaling& scaling, Dense<T>& S);

/// Copies the lower triangle of a matrix on the host to the upper one, of a Hermitian matrix its conjugate.
template <class T>
void mirror_lower_triangle(Dense<T>& S, bool conjugates);

}  // namespace echelon::schur
