// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/enum_words.hpp>
#include <echelon/export.h>
#include <echelon/solver.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace echelon {

/// Weights with which subdomains contribute to the values that they share.
enum class BddcScaling {
  cardinality,  ///< 1 / number of subdomains
  stiffness,    ///< diagonal elements of the subdomain matrices
  deluxe,       ///< blocks of the Schur complements, for each class of the interface
};
constexpr std::array<EnumWord<BddcScaling>, 3> words_of(BddcScaling) {
  return {{{BddcScaling::cardinality, "cardinality"},
           {BddcScaling::stiffness, "stiffness"},
           {BddcScaling::deluxe, "deluxe"}}};
}

/// Factorisation of the interiors of subdomains.
enum class BddcInterior {
  sparse_cholesky,
  cholesky,
  lu,
};
constexpr std::array<EnumWord<BddcInterior>, 3> words_of(BddcInterior) {
  return {{{BddcInterior::sparse_cholesky, "sparse-cholesky"},
           {BddcInterior::cholesky, "cholesky"},
           {BddcInterior::lu, "lu"}}};
}

/// Factorisation of the Schur complements of subdomains.
enum class BddcSchur {
  sparse_cholesky,  ///< of the subdomain matrix: the Schur complement is not formed
  cholesky,
  lu,
  crout_iterative,  ///< up to a tolerance, made symmetric
};
constexpr std::array<EnumWord<BddcSchur>, 4> words_of(BddcSchur) {
  return {{{BddcSchur::sparse_cholesky, "sparse-cholesky"},
           {BddcSchur::cholesky, "cholesky"},
           {BddcSchur::lu, "lu"},
           {BddcSchur::crout_iterative, "crout-iterative"}}};
}

struct ECHELON_API BddcOptions {
  static constexpr std::string_view name = "bddc";
  static constexpr Targets targets = Targets::all;
  /// Stopping criteria.
  Stop stop = {};
  /// Number of subdomains, at most the number of nodes; 0: one for each 2000 unknowns, and at least 4.
  std::int64_t subdomains = 0;
  /// Name of a file with the subdomain of each row, in place of `subdomains`.
  std::string partition = {};
  /// Unknowns per node of a system of equations, 1 to 16; divides the number of rows.
  std::int64_t block_size = 1;
  /// Use the values in corners as coarse unknowns.
  bool corners = true;
  /// Use averages over edges as coarse unknowns.
  bool edges = true;
  /// Use averages over faces as coarse unknowns.
  bool faces = true;
  /// Largest number of nodes of a class of the interface that counts as a corner, 0 to 1000.
  std::int64_t vertex_size = 1;
  /// Make corners of the two nodes of each edge that are farthest apart: for elastic subdomains without
  /// enough corners of their own.
  bool edge_ends = false;
  /// Weights with which subdomains contribute to the values that they share.
  BddcScaling scaling = BddcScaling::stiffness;
  /// Factorisation of the interiors of subdomains.
  BddcInterior interior = BddcInterior::sparse_cholesky;
  /// Factorisation of the Schur complements of subdomains.
  BddcSchur schur = BddcSchur::sparse_cholesky;
  /// Largest change by a sweep of crout-iterative at which an element of the factors, for a unit diagonal,
  /// has converged.
  double schur_tolerance = 0;
  /// Exchange rows in crout-iterative. The operator is then L U, which is not symmetric before the iteration
  /// has converged; without, L D^-1 L^T with the diagonal D of L takes its place, which is.
  bool schur_pivoting = false;

  /// Describes each option.
  static std::vector<Option<BddcOptions>> table();
};

/// Balancing domain decomposition by constraints: conjugate gradients on the Schur complement of the
/// interface between subdomains, preconditioned by problems in the subdomains that share corner values and
/// averages over edges and faces. As a preconditioner of another method it is applied to all of A. The
/// preconditioned operator has eigenvalues of at least 1, and for elliptic equations a condition number that
/// grows like (1 + log(H/h))^2 and does not depend on the number of subdomains. For symmetric positive
/// definite or semidefinite A. The matrices of the subdomains are given
/// (<echelon/domain_decomposition/bddc.hpp>), or derived from A, which is exact for diagonally dominant A and
/// a heuristic for others. Set-up: a sparse factorisation of each subdomain and of its interior, and one of
/// the coarse problem. C. Dohrmann, A preconditioner for substructuring based on constrained energy
/// minimization, SIAM J. Sci. Comput. 25 (2003); J. Mandel, C. Dohrmann, R. Tezaur, Appl. Numer. Math. 54
/// (2005).
template <class T>
using Bddc = SolverOf<T, BddcOptions>;

}  // namespace echelon
