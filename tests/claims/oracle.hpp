// SPDX-License-Identifier: BSD-3-Clause
/// Exact facts about small linear systems: ranks modulo primes, and solutions in 512 bits.
#pragma once

#include "claims/linear_system.hpp"
#include "support/big_float.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace echelon::claims {

using test::BigFloat;

/// Rank of A and of [A b] modulo a prime p, at most those over the rational numbers.
struct Ranks {
  std::size_t matrix = 0;
  std::size_t augmented = 0;
};
/// Elimination modulo p < 2^62; a double is an integer times a power of two, which are numbers modulo p.
[[nodiscard]] Ranks ranks_modulo(const Elements& A, const std::vector<double>& b, std::uint64_t p);

/// Facts about A x = b.
struct Facts {
  std::size_t rank = 0;
  bool consistent = false;   ///< b is in the range of A
  bool nonsingular = false;  ///< A is square and of full rank
  bool symmetric = false;
  bool positive_definite = false;
  bool diagonally_dominant = false;  ///< strictly, by rows or by columns
  bool triangular = false;           ///< lower or upper, without zeros on the diagonal
  /// ||D A E||_inf ||(D A E)^-1||_inf of a nonsingular A, where the powers of two in D and E bring the
  /// largest elements of rows and columns near 1.
  double condition = 0;
  /// The solution for a nonsingular A; empty if 512 bits do not resolve it.
  std::vector<BigFloat> x;
  BigFloat x_norm;            ///< its largest magnitude
  BigFloat b_norm2;           ///< ||b||_2^2
  BigFloat b_norm_inf;        ///< ||b||_inf
  BigFloat A_norm_inf;        ///< ||A||_inf
  BigFloat A_norm_frobenius;  ///< ||A||_F^2
};
[[nodiscard]] Facts find_facts(const LinearSystem& system);

/// How well x satisfies the equations, without rounding errors.
struct Residuals {
  double relative = 0;          ///< ||b - A x||_2 / ||b||_2; infinite for b = 0 and a residual other than 0
  double backward_error = 0;    ///< ||b - A x||_inf / (||A||_inf ||x||_inf + ||b||_inf)
  double normal_equations = 0;  ///< ||A^T r||_2 / (||A||_F ||r||_2); 0 for r = 0
  std::optional<double> error;  ///< ||x - x*||_inf / ||x*||_inf for a nonsingular A; infinite for x* = 0 != x
};
/// x has finite elements, one for each column of A.
[[nodiscard]] Residuals measure(const LinearSystem& system, const Facts& facts, const std::vector<double>& x);

/// Distance of the residual r of x from the least one, of norm ||r*||, by its part P r in the range of A.
/// Both can be small where A^T r is not: rounding errors of a large x suffice for that.
struct LeastSquaresErrors {
  double excess = 0;          ///< ||r||_2 / ||r*||_2 - 1; infinite for r* = 0
  double backward_error = 0;  ///< ||P r||_2 / (||A||_F ||x||_2 + ||b||_2)
};
[[nodiscard]] LeastSquaresErrors measure_least_squares(const LinearSystem& system, const Facts& facts,
                                                       const std::vector<double>& x);

}  // namespace echelon::claims
