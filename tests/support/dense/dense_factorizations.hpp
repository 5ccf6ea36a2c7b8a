// SPDX-License-Identifier: BSD-3-Clause
/// Checks that dense direct methods share.
#pragma once

#include "support/gallery.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <string>

namespace echelon::test {

/// Expects solutions for three right-hand sides that pass LAPACK's test, a condition estimate, and a status
/// that tells whether A is singular to working precision.
template <class T>
void expect_solved(const std::string& method, const Options& options, const Device& device, const Dense<T>& a,
                   const std::string& what) {
  constexpr double passing = 30;  // LAPACK's threshold
  const std::int64_t n = a.rows();
  const Dense<T> b = random_dense<T>(n, 3, 99);
  Dense<T> x(Device(), n, 3);
  Solver<T> solver = make_solver<T>(method, device, options);
  const Report setup = solver.setup(a);
  const Report report = solver.solve(b, x);
  const std::string where =
      solver.describe() + ", " + what + ", n = " + std::to_string(n) + " on " + device.name();
  // Factors that are called singular to working precision may solve.
  EXPECT_TRUE(report.status == Status::direct || report.status == setup.status) << where << ": " << report;
  EXPECT_FALSE(report.row) << where;
  EXPECT_TRUE(report.reciprocal_condition) << where;
  EXPECT_LT(scaled_residual<T>(a, x, b), passing) << where;
}

}  // namespace echelon::test
