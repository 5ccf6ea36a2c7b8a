// SPDX-License-Identifier: BSD-3-Clause
/// Matrices of subdomains: given ones, and those that are derived from an assembled matrix.
#pragma once

#include "domain_decomposition/bddc/subdomains/partition.hpp"

#include <echelon/domain_decomposition/bddc.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace echelon::bddc {

/// Origin of the subdomain matrices.
enum class MatrixOrigin {
  given,      ///< by the caller
  exact,      ///< of a diagonally dominant A: every subdomain matrix is semidefinite
  heuristic,  ///< of any other A: subdomain matrices may be indefinite
};
[[nodiscard]] std::string to_string(MatrixOrigin origin);

struct Subdomains {
  std::vector<SubdomainMatrix> matrices;
  MatrixOrigin origin = MatrixOrigin::given;
};

/// Difference between an element of a given matrix and its mirror image, relative to the largest element,
/// that counts as rounding.
inline constexpr double symmetry_rounding = 1e-10;

/// Checks given matrices by themselves. Throws InvalidMatrix, which names the subdomain.
void check_subdomain_matrices(const std::vector<SubdomainMatrix>& subdomains);

/// Checks that the matrices sum up to A, to `tolerance` of its largest element. Throws DimensionMismatch for
/// unknowns beyond A, and InvalidMatrix for another sum, with the first element that differs.
void check_sum(const std::vector<SubdomainMatrix>& subdomains, const Csr<double>& A, double tolerance);

/// The subdomains with every connected component of a matrix as a subdomain of its own.
[[nodiscard]] std::vector<SubdomainMatrix> split_disconnected(const std::vector<SubdomainMatrix>& subdomains);

/// Splits a symmetric A by a partition of its nodes. A subdomain has the nodes of its part, and their
/// neighbours in parts of larger number, which are shared. Element a_ij belongs in equal shares to all
/// subdomains that have both nodes. The diagonal of a subdomain is the sum of the magnitudes of its elements
/// in the row, and its share of the excess a_ii - sum |a_ij|, which is not negative for a diagonally dominant
/// A. For any other A, -a_ij takes the place of |a_ij| (blocks of a node, made symmetric), so that a
/// subdomain matrix maps constants to zero where A does.
[[nodiscard]] Subdomains split(const Csr<double>& A, std::int64_t block_size, const Partition& partition);

}  // namespace echelon::bddc
