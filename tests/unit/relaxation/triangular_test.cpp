// SPDX-License-Identifier: BSD-3-Clause
#include "support/problems.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace echelon {
namespace {

using test::random_dense;

const std::vector<Device> host_devices = {Device::serial(), Device::openmp(2)};

/// Random numbers in one triangle, `diagonal` added to the diagonal, and zeros in the other triangle.
template <class T>
Dense<T> random_triangle(std::int64_t n, bool lower, double diagonal, unsigned seed) {
  Dense<T> a = random_dense<T>(n, n, seed);
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < n; ++i) {
      if (lower ? i < j : i > j) a(i, j) = 0;
    }
    a(j, j) = static_cast<T>(diagonal + std::abs(static_cast<double>(a(j, j))));
  }
  return a;
}

/// Copy of a matrix in another layout, with a leading dimension larger than its rows.
template <class T>
struct Copy {
  std::vector<T> elements;
  DenseView<T> view;
  Copy(const Dense<T>& a, Layout layout)
      : elements(static_cast<std::size_t>((a.rows() + 3) * a.rows())),
        view(elements.data(), a.rows(), a.rows(), a.rows() + 3, Device(), layout) {
    for (std::int64_t j = 0; j < a.rows(); ++j) {
      for (std::int64_t i = 0; i < a.rows(); ++i) view(i, j) = a(i, j);
    }
  }
};

/// x by substitution, in extended precision.
template <class T>
std::vector<long double> substitute(const Dense<T>& a, const Dense<T>& b, bool lower) {
  const std::int64_t n = a.rows();
  std::vector<long double> x(static_cast<std::size_t>(n));
  for (std::int64_t step = 0; step < n; ++step) {
    const std::int64_t i = lower ? step : n - 1 - step;
    long double sum = b(i, 0);
    for (std::int64_t j = lower ? 0 : i + 1; j < (lower ? i : n); ++j) {
      sum -= static_cast<long double>(a(i, j)) * x[static_cast<std::size_t>(j)];
    }
    x[static_cast<std::size_t>(i)] = sum / static_cast<long double>(a(i, i));
  }
  return x;
}

template <class T>
class TriangularIterativeOf : public testing::Test {};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(TriangularIterativeOf, Reals);

TYPED_TEST(TriangularIterativeOf, DominantTriangle_AgreesWithSubstitution) {
  using T = TypeParam;
  for (const Device& device : host_devices) {
    for (const std::int64_t n : {1, 2, 31, 33, 64, 65, 257}) {
      for (const bool lower : {true, false}) {
        const Dense<T> a = random_triangle<T>(n, lower, static_cast<double>(n), 3);
        const Dense<T> b = random_dense<T>(n, 1, 4);
        const std::vector<long double> expected = substitute(a, b, lower);
        const Copy<T> by_column(a, Layout::column_major);
        const Copy<T> by_row(a, Layout::row_major);
        const Csr<T> sparse = to_csr(MatrixRef<T>(a));
        for (const MatrixRef<T>& form :
             {MatrixRef<T>(by_column.view), MatrixRef<T>(by_row.view), MatrixRef<T>(sparse)}) {
          TriangularIterative<T> solver(device, {.stop = {.rtol = 0}});
          ASSERT_TRUE(solver.setup(form).ready());
          Dense<T> x(Device(), n, 1);
          const Report report = solver.solve(b, x);
          EXPECT_LE(report.iterations, n + 2);
          for (std::int64_t i = 0; i < n; ++i) {
            EXPECT_NEAR(x[i], static_cast<double>(expected[static_cast<std::size_t>(i)]),
                        8 * std::numeric_limits<T>::epsilon());
          }
        }
      }
    }
  }
}

TYPED_TEST(TriangularIterativeOf, Chain_TakesASweepForEachUnknown) {
  using T = TypeParam;
  const std::int64_t n = 90;
  std::vector<Triplet<T>> elements;
  for (std::int32_t i = 0; i < n; ++i) {
    elements.push_back({i, i, 1});
    if (i > 0) elements.push_back({i, i - 1, -1});
  }
  const Csr<T> a = Csr<T>::from_triplets(n, n, elements);
  Dense<T> b(Device(), n, 1);
  for (std::int64_t i = 0; i < n; ++i) b[i] = 1;
  TriangularIterative<T> solver({}, {.stop = {.rtol = 0}});
  ASSERT_TRUE(solver.setup(a).ready());
  Dense<T> x(Device(), n, 1);
  const Report report = solver.solve(b, x);
  EXPECT_EQ(report.status, Status::converged);
  EXPECT_EQ(report.iterations, n + 1);  // the last sweep finds no residual
  for (std::int64_t i = 0; i < n; ++i) EXPECT_EQ(x[i], static_cast<T>(i + 1));
}

TYPED_TEST(TriangularIterativeOf, OverflowBeforeTheEnd_DoesNotSpoilTheSolution) {
  using T = TypeParam;
  // Iterates grow by factors of 1e4 for 100 sweeps, although the solution is small.
  const std::int64_t n = 200;
  Dense<T> a(Device(), n, n);
  for (std::int64_t k = 0; k < n * n; ++k) a[k] = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    a(i, i) = 1;
    if (i > 0) a(i, i - 1) = static_cast<T>(1e4);
    if (i > 1) a(i, i - 2) = static_cast<T>(1e4);
  }
  Dense<T> b(Device(), n, 1);
  for (std::int64_t i = 0; i < n; ++i) b[i] = static_cast<T>(i < 2 ? 1 + (i == 1 ? 1e4 : 0) : 1 + 2e4);
  TriangularIterative<T> solver;
  ASSERT_TRUE(solver.setup(a).ready());
  Dense<T> x(Device(), n, 1);
  const Report report = solver.solve(b, x);
  EXPECT_EQ(report.status, Status::converged) << report.message;
  for (std::int64_t i = 0; i < n; ++i) EXPECT_EQ(x[i], T{1});
}

TYPED_TEST(TriangularIterativeOf, OtherMatrices_AreRefused) {
  using T = TypeParam;
  TriangularIterative<T> solver;
  Dense<T> a = random_triangle<T>(5, true, 1, 1);
  a(1, 3) = 1;
  for (const bool sparse : {true, false}) {
    const Csr<T> csr = to_csr(MatrixRef<T>(a));
    const Report report = solver.setup(sparse ? MatrixRef<T>(csr) : MatrixRef<T>(a));
    EXPECT_EQ(report.status, Status::breakdown);
    EXPECT_NE(report.message.find("needs a triangular matrix"), std::string::npos) << report.message;
    EXPECT_EQ(report.row, 1);
  }
  const Dense<T> rectangular = random_dense<T>(3, 2, 1);
  EXPECT_THROW(static_cast<void>(solver.setup(rectangular)), DimensionMismatch);
}

TYPED_TEST(TriangularIterativeOf, ZeroOnTheDiagonal_IsSingular) {
  using T = TypeParam;
  TriangularIterative<T> solver;
  Dense<T> a = random_triangle<T>(5, false, 1, 1);
  a(2, 2) = 0;
  EXPECT_EQ(solver.setup(a).status, Status::singular);
  const Csr<T> csr = to_csr(MatrixRef<T>(a));  // without an element there
  const Report report = solver.setup(csr);
  EXPECT_EQ(report.status, Status::singular);
  EXPECT_EQ(report.row, 2);
}

}  // namespace
}  // namespace echelon
