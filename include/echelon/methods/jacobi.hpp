// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/solver.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace echelon {

struct JacobiOptions {
  static constexpr std::string_view name = "jacobi";
  static constexpr Targets targets = Targets::both;
  Stop stop = {};
  std::string variant = "point";
  double weight = 1;
  std::int64_t sweeps = 1;

  static std::vector<Option<JacobiOptions>> table() {
    return with_stop_options<JacobiOptions>(
        {{"variant",
          +[](JacobiOptions& o) -> std::string& { return o.variant; },
          "point: divide by a_ii; l1: by sign(a_ii) sum_j |a_ij|, which never diverges for SPD A",
          {},
          {"point", "l1"}},
         {"weight",
          +[](JacobiOptions& o) -> double& { return o.weight; },
          "damping; 2/3 to 0.8 smooths, 1 is the classical method",
          {0, 2, true, true}},
         {"sweeps",
          +[](JacobiOptions& o) -> std::int64_t& { return o.sweeps; },
          "sweeps per application as a preconditioner",
          {1, 1000}}});
  }
};

/// Weighted and l1 Jacobi: x <- x + weight D^-1 (b - A x).
/// As a solver it converges when A is strictly diagonally dominant (weight <= 1); as a preconditioner it
/// starts from x = 0. l1: Baker, Falgout, Kolev, Yang, SIAM J. Sci. Comput. 33 (2011).
/// A sweep costs one product with A and 3 n flops; 2 n elements are held.
template <class T>
class Jacobi : public Solver<T> {
 public:
  explicit Jacobi(const Device& device = {}, const JacobiOptions& options = {})
      : Solver<T>(make_solver<T>(device, options)) {}
};

}  // namespace echelon
