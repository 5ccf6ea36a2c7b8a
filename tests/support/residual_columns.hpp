// SPDX-License-Identifier: BSD-3-Clause
/// Figures of several vectors against those of each alone, for tests on every device.
#pragma once

#include "backend/dispatch.hpp"
#include "linalg/residual_check.hpp"
#include "support/multigrid_cases.hpp"

#include <echelon/matrix/csr.hpp>
#include <echelon/matrix/dense.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

namespace echelon::test {

class ResidualColumnsCases {
 public:
  /// More vectors than are read together; one is zero, one too small for its squares, one has a NaN.
  static std::vector<double> vectors(std::int64_t n, unsigned columns) {
    std::vector<double> elements;
    for (unsigned column = 0; column < columns; ++column) {
      std::vector<double> one = MultigridCases::random_vector(n, column + 1);
      for (double& value : one) value *= column == 2 ? 0 : column == 3 ? 1e-200 : 1;
      if (column == 5 && n > 0) one.back() = std::numeric_limits<double>::quiet_NaN();
      elements.insert(elements.end(), one.begin(), one.end());
    }
    return elements;
  }

  /// Tridiagonal, with a full last row.
  static Csr<double> arrow(std::int64_t n) {
    std::vector<Triplet<double>> triplets;
    for (std::int64_t i = 0; i < n; ++i) {
      const auto row = static_cast<std::int32_t>(i);
      triplets.push_back({row, row, 3});
      if (i > 0) triplets.push_back({row, row - 1, -1.0 / static_cast<double>(i)});
      if (i + 1 < n)
        triplets.push_back({static_cast<std::int32_t>(n - 1), row, 0.1 * static_cast<double>(i % 7)});
    }
    return Csr<double>::from_triplets(n, n, triplets);
  }

  static void expect_as_alone(const Device& device) {
    for (const std::int64_t n : {0, 1, 31, 33, 1025, 9000}) {
      for (const unsigned columns : {1U, 2U, 8U, 35U}) expect_as_alone(device, n, columns);
    }
  }

 private:
  static bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }
  static void expect_same(const VectorFacts& found, const VectorFacts& expected) {
    EXPECT_PRED2(same, found.norm2, expected.norm2);
    EXPECT_PRED2(same, found.norm_inf, expected.norm_inf);
    EXPECT_EQ(found.nonfinite, expected.nonfinite);
  }

  static void expect_as_alone(const Device& device, std::int64_t n, unsigned columns) {
    SCOPED_TRACE(::testing::Message() << n << " rows, " << columns << " columns");
    const Csr<double> A = arrow(n).to(device);
    const std::vector<double> elements = vectors(n, columns);
    const Dense<double> x(n, columns, Array<double>(device, std::span<const double>(elements)));
    Dense<double> r(device, n, columns);
    Dense<double> alone(device, n, 1);
    const std::unique_ptr<ResidualCheck<double>> check =
        on_target(device, [&]<class Target>() { return make_residual_check<Target, double>(device); });
    std::vector<const double*> pointers;
    for (std::int64_t j = 0; j < columns; ++j) pointers.push_back(x.view().column(j));
    const std::vector<VectorFacts> of_vectors = check->vectors(n, pointers);
    const auto together = static_cast<int>(std::min<std::size_t>(columns, most_columns));
    const MultiVector<const double> right(x.data(), n, x.leading(), together);
    const std::vector<VectorFacts> of_residuals =
        check->residuals(A, right, right, {r.data(), n, r.leading(), together});
    ASSERT_EQ(of_vectors.size(), columns);
    ASSERT_EQ(of_residuals.size(), static_cast<std::size_t>(together));
    for (std::size_t j = 0; j < columns; ++j) {
      expect_same(of_vectors[j], check->vector(n, pointers[j]));
      if (j < of_residuals.size())
        expect_same(of_residuals[j], check->residual(A, pointers[j], pointers[j], alone.data()));
    }
  }
};

}  // namespace echelon::test
