// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/enum_words.hpp>
#include <echelon/export.h>
#include <echelon/solver.hpp>

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace echelon {

enum class JacobiVariant {
  point,  ///< a_ii
  l1,     ///< sign(a_ii) sum_j |a_ij|, which never diverges for symmetric positive definite A
};
constexpr std::array<EnumWord<JacobiVariant>, 2> words_of(JacobiVariant) {
  return {{{JacobiVariant::point, "point"}, {JacobiVariant::l1, "l1"}}};
}

struct ECHELON_API JacobiOptions {
  static constexpr std::string_view name = "jacobi";
  static constexpr Targets targets = Targets::all;
  static constexpr bool takes_complex = true;
  static constexpr bool takes_complex_on_cuda = true;
  /// Stopping criteria.
  Stop stop = {};
  /// Divisor of each element of the residual.
  JacobiVariant variant = JacobiVariant::point;
  /// Damping, 0 < weight < 2; 2/3 to 0.8 smooths, 1 is the classical method.
  double weight = 1;
  /// Sweeps per application as a preconditioner, 1 to 1000.
  std::int64_t sweeps = 1;

  /// Describes each option.
  static std::vector<Option<JacobiOptions>> table();
};

/// Weighted and l1 Jacobi: x <- x + weight D^-1 (b - A x).
/// As a solver it converges when A is strictly diagonally dominant (weight <= 1); as a preconditioner it
/// starts from x = 0. l1: Baker, Falgout, Kolev, Yang, SIAM J. Sci. Comput. 33 (2011).
/// A sweep costs one product with A and 3 n flops; 2 n elements are held.
template <class T>
using Jacobi = SolverOf<T, JacobiOptions>;

}  // namespace echelon
