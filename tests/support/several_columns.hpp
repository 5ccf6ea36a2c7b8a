// SPDX-License-Identifier: BSD-3-Clause
/// Solves with several right-hand sides against solves with one of them, for tests on every device.
#pragma once

#include "support/multigrid_cases.hpp"

#include <echelon/solver.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace echelon::test {

class SeveralColumns {
 public:
  /// Random right-hand sides of different magnitudes, one of them zero. By default, more than are iterated
  /// together on the host.
  static std::vector<double> right_hand_sides(std::int64_t n, unsigned columns = 11) {
    std::vector<double> b;
    for (unsigned column = 0; column < columns; ++column) {
      std::vector<double> one = MultigridCases::random_vector(n, column + 1);
      for (double& value : one) value *= column == 4 ? 0 : column == 9 ? 1e-200 : 1 + column;
      b.insert(b.end(), one.begin(), one.end());
    }
    return b;
  }

  /// Expects that every column has the status, the iterations and the bits of a solve with it alone.
  static void expect_as_alone(const std::string& method, const Device& device, const Options& options,
                              const Csr<double>& host, const std::vector<double>& elements) {
    const Csr<double> A = host.to(device);
    const std::int64_t n = A.rows();
    const std::int64_t columns = static_cast<std::int64_t>(elements.size()) / n;
    const Dense<double> b(n, columns, Array<double>(device, std::span<const double>(elements)));
    Solver<double> solver = make_solver<double>(method, device, options);
    ASSERT_TRUE(solver.setup(A).ready());
    Dense<double> x(device, n, columns);
    const Report together = solver.solve(b, x);
    ASSERT_EQ(together.columns.size(), static_cast<std::size_t>(columns));
    const std::vector<double> all = x.to_vector();
    Dense<double> again(device, n, columns);
    static_cast<void>(solver.solve(b, again));
    EXPECT_TRUE(again.to_vector() == all) << "a second solve";
    for (std::int64_t column = 0; column < columns; ++column) {
      Dense<double> alone(device, n, 1);
      const Report report =
          solver.solve(DenseView<const double>(b.view().column(column), n, 1, n, device), alone.view());
      const auto c = static_cast<std::size_t>(column);
      EXPECT_EQ(together.columns[c].status, report.status) << "column " << column;
      EXPECT_EQ(together.columns[c].iterations, report.iterations) << "column " << column;
      const auto first = all.begin() + column * n;
      EXPECT_TRUE(std::vector<double>(first, first + n) == alone.to_vector()) << "column " << column;
    }
  }
};

}  // namespace echelon::test
