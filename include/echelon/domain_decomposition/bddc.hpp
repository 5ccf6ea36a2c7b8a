// SPDX-License-Identifier: BSD-3-Clause
/// Unassembled operators and partitions for the method `bddc`.
#pragma once

#include <echelon/export.h>
#include <echelon/matrix/csr.hpp>
#include <echelon/solver.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace echelon {

/// Dense symmetric matrices of finite elements, whose sum is the assembled matrix. Element e has the unknowns
/// indices[begin[e]], ..., indices[begin[e + 1] - 1], k of them, and k^2 elements in `values`, which follow
/// those of element e - 1.
struct ECHELON_API ElementMatrices {
  std::int64_t unknowns = 0;              ///< rows of the assembled matrix
  std::vector<std::int64_t> begin = {0};  ///< elements + 1
  std::vector<std::int32_t> indices = {};
  std::vector<double> values = {};

  [[nodiscard]] std::int64_t elements() const { return static_cast<std::int64_t>(begin.size()) - 1; }
};

/// The part of a symmetric A that belongs to a subdomain: A is the sum of the matrices of all subdomains,
/// each added to the rows and columns `unknowns` of A.
struct ECHELON_API SubdomainMatrix {
  std::vector<std::int32_t> unknowns;  ///< ascending
  Csr<double> matrix;                  ///< row i belongs to unknowns[i]
};

/// The sum of all element matrices. Throws InvalidMatrix, which names the element, for sizes that do not
/// agree, unknowns out of range or repeated, elements that are NaN or Inf, and matrices that are not
/// symmetric to 1e-10 of their largest element.
[[nodiscard]] ECHELON_API Csr<double> assemble(const ElementMatrices& elements);

/// Subdomain of each element: a partition of the graph of elements, whose edges weigh as many unknowns as two
/// elements share, by METIS. Every subdomain has an element. Throws InvalidMatrix as assemble() does, and
/// BadOption if `subdomains` is not between 1 and the number of elements.
[[nodiscard]] ECHELON_API std::vector<std::int32_t> partition_elements(const ElementMatrices& elements,
                                                                       std::int64_t subdomains);

/// The sums of the element matrices of each subdomain. Throws InvalidMatrix as assemble() does, and BadOption
/// for a partition of another length, with negative numbers, or with a subdomain without elements.
[[nodiscard]] ECHELON_API std::vector<SubdomainMatrix> subdomain_matrices(
    const ElementMatrices& elements, std::span<const std::int32_t> subdomain_of_element);

/// Subdomain of each row of a square A on the host: a partition of the graph of A + A^T, whose nodes are
/// groups of `block_size` successive rows, by METIS. Every subdomain has a row. Throws DimensionMismatch for
/// an A that is not square, and BadOption if `subdomains` is not between 1 and the number of nodes.
[[nodiscard]] ECHELON_API std::vector<std::int32_t> partition_rows(const Csr<double>& A,
                                                                   std::int64_t subdomains,
                                                                   std::int64_t block_size = 1);

/// Splits an assembled symmetric A on the host into matrices of subdomains, as `bddc` does. A subdomain has
/// its own nodes of `block_size` unknowns, and their neighbours in subdomains of larger number, which are
/// shared. For a diagonally dominant A every matrix is semidefinite; for others it is a heuristic, and
/// matrices may be indefinite. Throws DimensionMismatch for an A that is not square, and BadOption for a
/// partition of another length, with negative numbers, with a subdomain without rows, or that divides a node.
[[nodiscard]] ECHELON_API std::vector<SubdomainMatrix> subdomain_matrices(
    const Csr<double>& A, std::span<const std::int32_t> subdomain_of_row, std::int64_t block_size = 1);

/// Gives the matrices of the subdomains to `bddc`, or to a method that is preconditioned by it, for later
/// set-ups, which check that their sum is A; an empty list removes those given before. A matrix that is not
/// connected becomes several subdomains. Throws InvalidMatrix, which names the subdomain, for matrices that
/// do not fit their unknowns, are not symmetric or not finite, and Error if the solver takes none.
template <class T>
ECHELON_API void set_subdomain_matrices(Solver<T>& solver, std::vector<SubdomainMatrix> subdomains);

/// Gives the subdomain of each row of A, counted from 0, to `bddc`, or to a method that is preconditioned by
/// it, for later set-ups; an empty list removes those given before. Neighbouring rows in different subdomains
/// belong to both: the row in the subdomain of larger number is shared. Throws BadOption for negative numbers
/// and for subdomains without rows, and Error if the solver takes no partition.
template <class T>
ECHELON_API void set_partition(Solver<T>& solver, std::vector<std::int32_t> subdomain_of_row);

}  // namespace echelon
