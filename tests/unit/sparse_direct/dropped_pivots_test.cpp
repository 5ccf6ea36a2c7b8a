// SPDX-License-Identifier: BSD-3-Clause
/// Matrices for which fronts reject good pivots: elements over many decades, which scaling does not even out.
#include "support/big_float.hpp"
#include "support/problems.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace echelon::test {
namespace {

/// Five elements in each row, one of them on the diagonal, with magnitudes over `decades`.
Csr<double> wide_range(std::int32_t n, double decades, unsigned seed) {
  std::mt19937 random(seed);
  const auto uniform = [&] { return static_cast<double>(random()) / 4294967296.0; };
  const auto value = [&] {
    const double magnitude = std::pow(10.0, decades * (uniform() - 0.5));
    return uniform() < 0.5 ? -magnitude : magnitude;
  };
  std::vector<Triplet<double>> triplets;
  for (std::int32_t i = 0; i < n; ++i) {
    triplets.push_back({i, i, value()});
    for (int k = 0; k < 4; ++k) {
      const auto j = static_cast<std::int32_t>(random() % static_cast<std::uint32_t>(n));
      triplets.push_back({i, j, value()});
    }
  }
  return Csr<double>::from_triplets(n, n, triplets);
}

/// Whether fronts rejected pivots that do not depend on others, and A was factored left-looking.
bool was_factored_again(const Report& report) {
  return std::any_of(report.warnings.begin(), report.warnings.end(), [](const std::string& warning) {
    return warning.find("rejected pivots that do not depend on others") != std::string::npos;
  });
}

/// max |x - x*| / max |x*| for the exact solution x*.
double relative_error(const Csr<double>& A, const std::vector<double>& b, const std::vector<double>& x) {
  const Csr<double> columns = transpose(A);  // the rows of A one after the other, once it is dense
  const std::vector<BigFloat> exact = solve_exactly(to_dense(MatrixRef<double>(columns)).to_vector(), b);
  double error = 0;
  double size = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    error = std::max(error, std::abs((BigFloat(x[i]) - exact[i]).to_double()));
    size = std::max(size, std::abs(exact[i].to_double()));
  }
  return error / size;
}

TEST(DroppedPivots, LeftLookingInstead_HasFullRankAndTheSolution) {
  int factored_again = 0;
  for (const std::int32_t n : {8, 12, 20}) {
    for (const double decades : {24.0, 32.0}) {
      for (unsigned seed = 0; seed < 500; ++seed) {
        const Csr<double> A = wide_range(n, decades, seed);
        auto solver = make_solver<double>("sparse-lu", Device(), {{"factorization", "multifrontal"}});
        const Report factored = solver.setup(A);
        if (!was_factored_again(factored)) continue;
        SCOPED_TRACE(std::to_string(n) + " " + std::to_string(decades) + " " + std::to_string(seed));
        ++factored_again;
        EXPECT_EQ(factored.rank, n) << factored;
        std::vector<double> b(static_cast<std::size_t>(n));
        for (std::size_t i = 0; i < b.size(); ++i) b[i] = 1.0 + static_cast<double>(i % 3);
        std::vector<double> x(b.size());
        const Report report = solver.solve(b, x);
        ASSERT_EQ(report.status, Status::direct) << report;
        ASSERT_TRUE(report.error_estimate) << report;
        EXPECT_LE(relative_error(A, b, x), std::max(10 * *report.error_estimate, 1e-15)) << report;
        EXPECT_GE(report.expected_digits(), 10) << report;
      }
    }
  }
  EXPECT_GE(factored_again, 3);  // rounding decides for which
}

}  // namespace
}  // namespace echelon::test
