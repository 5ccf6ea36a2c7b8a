// SPDX-License-Identifier: BSD-3-Clause
#include <echelon/error.hpp>
#include <echelon/matrix/dense.hpp>
#include <echelon/solver.hpp>

#include <gtest/gtest.h>

#include <limits>
#include <numeric>
#include <vector>

namespace echelon::test {
namespace {

TEST(DenseView, ElementAccess_FollowsLayout) {
  std::vector<int> memory(20);
  std::iota(memory.begin(), memory.end(), 0);
  const DenseView<int> by_column(memory.data(), 3, 4, 5);
  const DenseView<int> by_row(memory.data(), 4, 3, 5, Device(), Layout::row_major);
  for (std::int64_t i = 0; i < 3; ++i) {
    for (std::int64_t j = 0; j < 4; ++j) {
      EXPECT_EQ(by_column(i, j), i + 5 * j);
      EXPECT_EQ(by_row(j, i), by_column(i, j));
      EXPECT_EQ(by_column.column(j)[i], by_column(i, j));
    }
  }
}

TEST(DenseView, StdVector_IsOneColumn) {
  std::vector<double> vector = {1, 2, 3};
  const DenseView<double> view = vector;
  const DenseView<const double> reading = view;
  EXPECT_EQ(view.rows(), 3);
  EXPECT_EQ(view.columns(), 1);
  view(1, 0) = 7;
  EXPECT_EQ(reading(1, 0), 7);
  EXPECT_EQ(vector[1], 7);

  const std::vector<double> nothing;
  const DenseView<const double> empty = nothing;
  EXPECT_EQ(empty.rows(), 0);
  EXPECT_EQ(empty.leading(), 1) << "as BLAS asks for";
}

TEST(DenseView, VectorWithStride_IsOneColumn) {
  std::vector<double> memory = {1, -1, 2, -1, 3, -1};
  const DenseView<double> view = DenseView<double>::strided(memory.data(), 3, 2);
  EXPECT_EQ(view.rows(), 3);
  EXPECT_EQ(view.columns(), 1);
  EXPECT_EQ(view(2, 0), 3);
  const Csr<double> A = Csr<double>::from_triplets(3, 3, {{0, 0, 2}, {1, 1, 4}, {2, 2, 8}});
  std::vector<double> result(9, 7);
  Solver<double> solver = make_solver<double>("sparse-lu", Device());
  ASSERT_TRUE(solver.setup(A).ready());
  ASSERT_TRUE(solver.solve(view, DenseView<double>::strided(result.data(), 3, 3)).solved());
  EXPECT_EQ(result, (std::vector<double>{0.5, 7, 7, 0.5, 7, 7, 0.375, 7, 7}));
}

TEST(Dense, View_SharesElements) {
  for (const std::int64_t n : {0, 1, 31, 33, 1025}) {
    Dense<double> a(Device(), n, 3);
    const DenseView<double> view = a;
    EXPECT_EQ(view.rows(), n);
    EXPECT_EQ(view.columns(), 3);
    EXPECT_GE(view.leading(), 1);
    for (std::int64_t j = 0; j < 3; ++j) {
      for (std::int64_t i = 0; i < n; ++i) view(i, j) = static_cast<double>(10 * i + j);
    }
    for (std::int64_t e = 0; e < 3 * n; ++e) EXPECT_EQ(a[e], 10 * (e % n) + e / n);
    const Dense<double> copy = a.to(Device::serial());
    EXPECT_EQ(copy.to_vector(), a.to_vector());
    EXPECT_EQ(copy.device(), Device::serial());
    EXPECT_EQ(a.bytes(), static_cast<std::size_t>(n) * 24);
  }
}

TEST(Dense, ImpossibleShapes_Throw) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  EXPECT_THROW(Dense<float>(Device(), -1, 1), InvalidMatrix);
  EXPECT_THROW(Dense<float>(Device(), 1, -1), InvalidMatrix);
  EXPECT_THROW(Dense<float>(Device(), most, most), InvalidMatrix);
  EXPECT_EQ(Dense<float>(Device(), most, 0).rows(), most);
}

}  // namespace
}  // namespace echelon::test
