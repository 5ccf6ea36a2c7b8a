// SPDX-License-Identifier: BSD-3-Clause
// The dense kernels of every instruction set that this processor has: factors times factors plus the Schur
// complement give the front, rows and columns exchanged as reported.
#include "sparse_direct/multifrontal/host/kernels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <span>
#include <stop_token>
#include <utility>
#include <vector>

namespace echelon::sparse_direct {
namespace {

template <class T>
std::vector<std::pair<const char*, const FrontKernels<T>*>> all_kernels() {
  std::vector<std::pair<const char*, const FrontKernels<T>*>> list = {{"portable", portable_kernels<T>()}};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    list.emplace_back("avx2", avx2_kernels<T>());
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"))
    list.emplace_back("avx512", avx512_kernels<T>());
#endif
  return list;
}

/// Rows of a front and how many of them are fully summed.
struct Shape {
  int size;
  int pivots;
};
const std::vector<Shape> shapes = {{1, 1},   {2, 1},     {3, 3},    {8, 8},   {9, 8},
                                   {17, 5},  {31, 31},   {33, 12},  {64, 9},  {70, 70},
                                   {97, 33}, {130, 129}, {257, 80}, {300, 1}, {310, 150}};

/// A dense matrix, column-major.
struct Matrix {
  int n;
  std::vector<double> a;
  explicit Matrix(int order) : n(order), a(static_cast<std::size_t>(order) * order) {}
  double& operator()(int i, int j) { return a[i + static_cast<std::size_t>(j) * n]; }
  double operator()(int i, int j) const { return a[i + static_cast<std::size_t>(j) * n]; }
};

Matrix random_matrix(int n, bool symmetric, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> value;  // floats are exact in both precisions
  Matrix m(n);
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < n; ++i) m(i, j) = static_cast<double>(value(random));
  }
  for (int j = 0; j < n && symmetric; ++j) {
    for (int i = 0; i < j; ++i) m(i, j) = m(j, i);
  }
  return m;
}

/// The parts of a front in the memory that kernels expect.
template <class T>
struct Parts {
  int size, pivots;
  std::vector<T> lower, upper, update, diagonal;
  std::vector<std::int32_t> row_ids, column_ids, exchanges;
  Parts(const Matrix& m, int fully_summed)
      : size(m.n),
        pivots(fully_summed),
        row_ids(fully_summed),
        column_ids(fully_summed),
        exchanges(fully_summed) {
    for (int j = 0; j < pivots; ++j) {
      for (int i = 0; i < size; ++i) lower.push_back(static_cast<T>(m(i, j)));
    }
    for (int i = 0; i < pivots; ++i) {
      for (int j = pivots; j < size; ++j) upper.push_back(static_cast<T>(m(i, j)));
    }
    for (int j = pivots; j < size; ++j) {
      for (int i = pivots; i < size; ++i) update.push_back(static_cast<T>(m(i, j)));
    }
    diagonal.resize(2 * static_cast<std::size_t>(pivots));
    std::iota(row_ids.begin(), row_ids.end(), 0);
    column_ids = row_ids;
  }
  [[nodiscard]] double in_lower(int i, int j) const { return lower[i + static_cast<std::size_t>(j) * size]; }
  [[nodiscard]] double in_upper(int i, int j) const {
    return upper[(j - pivots) + static_cast<std::size_t>(i) * (size - pivots)];
  }
  [[nodiscard]] double in_update(int i, int j) const {
    return update[(i - pivots) + static_cast<std::size_t>(j - pivots) * (size - pivots)];
  }
};

/// Row `i` of the permuted front is this row of the original.
int origin(const std::vector<std::int32_t>& ids, int i) {
  return i < static_cast<int>(ids.size()) ? ids[i] : i;
}

template <class T>
double rounding(const Matrix& m) {
  return 10.0 * m.n * static_cast<double>(std::numeric_limits<T>::epsilon());
}

template <class T>
class FrontKernelsTest : public testing::Test {};
using Precisions = testing::Types<float, double>;
TYPED_TEST_SUITE(FrontKernelsTest, Precisions);

TYPED_TEST(FrontKernelsTest, Cholesky_ReproducesTheFront) {
  using T = TypeParam;
  for (const auto& [name, kernels] : all_kernels<T>()) {
    for (const auto& [size, pivots] : shapes) {
      SCOPED_TRACE(testing::Message() << name << " " << size << " " << pivots);
      Matrix m = random_matrix(size, true, 1);
      for (int i = 0; i < size; ++i) m(i, i) = 4.0 * size;
      Parts<T> f(m, pivots);
      PackBuffers<T> buffers;
      std::vector<T> scratch;
      ASSERT_EQ(kernels->factor_cholesky(buffers, scratch, size, pivots, f.lower.data(), f.update.data()),
                pivots);
      double worst = 0;
      for (int j = 0; j < size; ++j) {
        for (int i = j; i < size; ++i) {
          double sum = j >= pivots ? f.in_update(i, j) : 0;
          for (int p = 0; p < std::min(j + 1, pivots); ++p) sum += f.in_lower(i, p) * f.in_lower(j, p);
          worst = std::max(worst, std::abs(sum - m(i, j)) / (4.0 * size));
        }
      }
      EXPECT_LT(worst, rounding<T>(m));
    }
  }
}

TYPED_TEST(FrontKernelsTest, CholeskyOfIndefinite_NamesColumnAndPivot) {
  using T = TypeParam;
  for (const auto& [name, kernels] : all_kernels<T>()) {
    for (const int bad : {0, 3, 7, 8, 20, 40}) {
      SCOPED_TRACE(testing::Message() << name << " " << bad);
      Matrix m(50);
      for (int i = 0; i < 50; ++i) m(i, i) = i == bad ? -2 : 4;
      Parts<T> f(m, 45);
      PackBuffers<T> buffers;
      std::vector<T> scratch;
      EXPECT_EQ(kernels->factor_cholesky(buffers, scratch, 50, 45, f.lower.data(), f.update.data()), bad);
      EXPECT_EQ(f.in_lower(bad, bad), -2);
    }
  }
}

/// Fronts of which some columns have large elements in rows that cannot be pivots.
Matrix with_large_rows_below(int size, int pivots, bool symmetric) {
  Matrix m = random_matrix(size, symmetric, 2);
  for (int j = 0; j < pivots; j += 3) {
    for (int i = pivots; i < size; ++i) {
      m(i, j) *= 4096;
      if (symmetric) m(j, i) = m(i, j);
    }
  }
  return m;
}

template <class T>
void check_lu(const FrontKernels<T>& kernels, const Matrix& m, int pivots, T threshold, bool may_delay) {
  Parts<T> f(m, pivots);
  PackBuffers<T> buffers;
  const UnsymmetricFront<T> front{f.size,          f.pivots,         f.lower.data(),      f.upper.data(),
                                  f.update.data(), f.row_ids.data(), f.column_ids.data(), f.exchanges.data()};
  const int done = kernels.factor_lu(buffers, front, {threshold, threshold, 0}).eliminated;
  EXPECT_TRUE(may_delay || done == pivots) << done;
  const auto rest = [&](int i, int j) {
    if (i < done || j < done) return 0.0;
    if (j < pivots) return f.in_lower(i, j);
    return i < pivots ? f.in_upper(i, j) : f.in_update(i, j);
  };
  double worst = 0;  // relative to |L| |U|, which bounds the rounding errors
  double largest_multiplier = 0;
  for (int j = 0; j < f.size; ++j) {
    for (int i = 0; i < f.size; ++i) {
      const double expected = m(origin(f.row_ids, i), origin(f.column_ids, j));
      double sum = rest(i, j);
      double magnitude = std::abs(sum) + std::abs(expected);
      for (int p = 0; p < std::min({i + 1, j + 1, done}); ++p) {
        const double u = j < pivots ? f.in_lower(p, j) : f.in_upper(p, j);
        const double term = p == i ? u : f.in_lower(i, p) * u;
        sum += term;
        magnitude += std::abs(term);
      }
      if (j < done && i > j) largest_multiplier = std::max(largest_multiplier, std::abs(f.in_lower(i, j)));
      if (sum != expected) worst = std::max(worst, std::abs(sum - expected) / magnitude);
    }
  }
  EXPECT_LT(worst, rounding<T>(m));
  EXPECT_LE(largest_multiplier, 1.001 / static_cast<double>(threshold));
}

TYPED_TEST(FrontKernelsTest, Lu_ReproducesTheFront) {
  using T = TypeParam;
  for (const auto& [name, kernels] : all_kernels<T>()) {
    for (const auto& [size, pivots] : shapes) {
      SCOPED_TRACE(testing::Message() << name << " " << size << " " << pivots);
      check_lu<T>(*kernels, random_matrix(size, false, 3), pivots, T(1e-3), false);
      check_lu<T>(*kernels, with_large_rows_below(size, pivots, false), pivots, T(0.1), true);
    }
  }
}

TYPED_TEST(FrontKernelsTest, LuOfZeros_EliminatesNothing) {
  using T = TypeParam;
  for (const auto& [name, kernels] : all_kernels<T>()) {
    Parts<T> f(Matrix(20), 12);
    PackBuffers<T> buffers;
    const UnsymmetricFront<T> front{20,
                                    12,
                                    f.lower.data(),
                                    f.upper.data(),
                                    f.update.data(),
                                    f.row_ids.data(),
                                    f.column_ids.data(),
                                    f.exchanges.data()};
    EXPECT_EQ(kernels->factor_lu(buffers, front, {T(0.1), T(0.001), 0}).eliminated, 0) << name;
  }
}

template <class T>
void check_ldlt(const FrontKernels<T>& kernels, const Matrix& m, int pivots, T threshold, bool may_delay) {
  Parts<T> f(m, pivots);
  PackBuffers<T> buffers;
  std::vector<T> scratch;
  const SymmetricFront<T> front{f.size,          f.pivots,         f.lower.data(),
                                f.update.data(), f.row_ids.data(), f.diagonal.data()};
  const int done = kernels.factor_ldlt(buffers, scratch, front, {threshold, threshold, 0}).eliminated;
  EXPECT_TRUE(may_delay || done == pivots) << done;
  const auto l = [&](int i, int p) { return i == p ? 1.0 : i > p ? f.in_lower(i, p) : 0.0; };
  const auto l_times_d = [&](int i, int p) {
    const auto& d = f.diagonal;
    double sum = l(i, p) * static_cast<double>(d[2 * p]);
    if (d[2 * p + 1] != 0) sum += l(i, p + 1) * static_cast<double>(d[2 * p + 1]);
    if (p > 0 && d[2 * p - 1] != 0) sum += l(i, p - 1) * static_cast<double>(d[2 * p - 1]);
    return sum;
  };
  double worst = 0;  // relative to |L| |D L^T|
  double largest_multiplier = 0;
  for (int j = 0; j < f.size; ++j) {
    for (int i = j; i < f.size; ++i) {
      const double expected = m(origin(f.row_ids, i), origin(f.row_ids, j));
      double sum = 0;
      if (j >= done) sum = j < pivots ? f.in_lower(i, j) : f.in_update(i, j);
      double magnitude = std::abs(sum) + std::abs(expected);
      for (int p = 0; p < std::min(i + 1, done); ++p) {
        const double term = l_times_d(j, p);
        sum += l(i, p) * term;
        magnitude += std::abs(l(i, p) * term);
      }
      if (j < done && i > j) largest_multiplier = std::max(largest_multiplier, std::abs(f.in_lower(i, j)));
      if (sum != expected) worst = std::max(worst, std::abs(sum - expected) / magnitude);
    }
  }
  EXPECT_LT(worst, rounding<T>(m) / static_cast<double>(threshold));
  EXPECT_LE(largest_multiplier, 1.001 / static_cast<double>(threshold));
}

TYPED_TEST(FrontKernelsTest, Ldlt_ReproducesTheFront) {
  using T = TypeParam;
  for (const auto& [name, kernels] : all_kernels<T>()) {
    for (const auto& [size, pivots] : shapes) {
      SCOPED_TRACE(testing::Message() << name << " " << size << " " << pivots);
      check_ldlt<T>(*kernels, random_matrix(size, true, 4), pivots, T(0.01), pivots < size);
      check_ldlt<T>(*kernels, with_large_rows_below(size, pivots, true), pivots, T(0.01), true);
      Matrix zero_diagonal = random_matrix(size, true, 5);
      for (int i = 0; i < pivots; ++i) zero_diagonal(i, i) = 0;
      check_ldlt<T>(*kernels, zero_diagonal, pivots, T(0.01), pivots < size || pivots == 1);
    }
  }
}

TYPED_TEST(FrontKernelsTest, LdltOfExchanges_TakesPairs) {
  using T = TypeParam;
  for (const auto& [name, kernels] : all_kernels<T>()) {
    Matrix m(40);  // rows i and 39 - i are partners
    for (int i = 0; i < 40; ++i) m(i, 39 - i) = 1;
    Parts<T> f(m, 40);
    PackBuffers<T> buffers;
    std::vector<T> scratch;
    const SymmetricFront<T> front{
        40, 40, f.lower.data(), f.update.data(), f.row_ids.data(), f.diagonal.data()};
    EXPECT_EQ(kernels->factor_ldlt(buffers, scratch, front, {T(0.01), T(0.01), 0}).eliminated, 40) << name;
    for (int p = 0; p < 40; p += 2) {
      EXPECT_EQ(f.diagonal[2 * p], 0);
      EXPECT_EQ(f.diagonal[2 * p + 1], 1);
      EXPECT_EQ(f.row_ids[p] + f.row_ids[p + 1], 39);
    }
  }
}

/// Substitution with one and with several right-hand sides, against products with the triangles.
TYPED_TEST(FrontKernelsTest, Substitution_InvertsTheTriangles) {
  using T = TypeParam;
  for (const auto& [name, kernels] : all_kernels<T>()) {
    for (const Shape& shape : shapes) {
      const int size = shape.size;
      const int pivots = shape.pivots;
      for (const int columns : {1, 2, 5, 16}) {
        SCOPED_TRACE(testing::Message() << name << " " << size << " " << pivots << " " << columns);
        Matrix m = random_matrix(size, false, 6);
        for (int i = 0; i < size; ++i) m(i, i) = 3.0 * size;
        const Parts<T> f(m, pivots);
        const int done = std::max(1, pivots - 2);
        const FactoredFront<T> front{size, pivots, done, f.lower.data(), f.upper.data()};
        std::vector<T> b(static_cast<std::size_t>(size) * columns);
        for (std::size_t k = 0; k < b.size(); ++k) b[k] = static_cast<T>(static_cast<double>(k % 13) - 6);
        const auto at = [&](const std::vector<T>& w, int i, int c) {
          return static_cast<double>(w[i * columns + c]);
        };
        const auto upper = [&](int p, int j) { return j < pivots ? f.in_lower(p, j) : f.in_upper(p, j); };
        const double bound = 100 * rounding<T>(m) * size;
        std::vector<T> w = b;
        kernels->lower.in_front(front, columns, w.data());
        for (int c = 0; c < columns; ++c) {
          for (int i = 0; i < size; ++i) {
            double sum = i >= done ? at(w, i, c) : 0;
            for (int p = 0; p < std::min(i + 1, done); ++p) sum += f.in_lower(i, p) * at(w, p, c);
            ASSERT_NEAR(sum, at(b, i, c), bound);
          }
        }
        w = b;
        kernels->lower_transposed.in_front(front, columns, w.data());
        for (int c = 0; c < columns; ++c) {
          for (int p = 0; p < done; ++p) {
            double sum = 0;
            for (int i = p; i < size; ++i) sum += f.in_lower(i, p) * at(w, i, c);
            ASSERT_NEAR(sum, at(b, p, c), bound);
          }
        }
        w = b;
        kernels->upper.in_front(front, columns, w.data());
        for (int c = 0; c < columns; ++c) {
          for (int p = 0; p < done; ++p) {
            double sum = 0;
            for (int j = p; j < size; ++j) sum += upper(p, j) * at(w, j, c);
            ASSERT_NEAR(sum, at(b, p, c), bound);
          }
        }
        w = b;
        kernels->upper_transposed.in_front(front, columns, w.data());
        for (int c = 0; c < columns; ++c) {
          for (int j = 0; j < size; ++j) {
            double sum = j >= done ? at(w, j, c) : 0;
            for (int p = 0; p < std::min(j + 1, done); ++p) sum += upper(p, j) * at(w, p, c);
            ASSERT_NEAR(sum, at(b, j, c), bound);
          }
        }
      }
    }
  }
}

/// Substitution with one right-hand side, by one thread and by a team, gives what that in a front gives. The
/// second front has the rows after the pivots of the first one, in reverse order.
TYPED_TEST(FrontKernelsTest, VectorSubstitution_AgreesWithThatInFronts) {
  using T = TypeParam;
  for (const auto& [name, kernels] : all_kernels<T>()) {
    for (const Shape& shape : shapes) {
      const int size = shape.size;
      const int pivots = shape.pivots;
      SCOPED_TRACE(testing::Message() << name << " " << size << " " << pivots);
      Matrix m = random_matrix(size, false, 6);
      for (double& element : m.a) element /= size;  // unit triangles are well-conditioned, too
      for (int i = 0; i < size; ++i) m(i, i) = 3;
      const Parts<T> f(m, pivots);
      const int done = std::max(1, pivots - 2);
      const FactoredFront<T> front{size, pivots, done, f.lower.data(), f.upper.data()};
      MultifrontalFactors<T> factors;
      factors.kind = FactorKind::lu;
      std::vector<T> panel = f.lower;
      panel.insert(panel.end(), f.upper.begin(), f.upper.end());
      factors.values = Array<T>(Device::serial(), std::span<const T>(panel));
      factors.fronts.push_back({.size = size, .pivots = pivots, .eliminated = done});
      for (int i = size; i-- > done;) factors.row_numbers.push_back(i);
      factors.column_numbers = factors.row_numbers;
      const auto check = [&](const TriangleKernels<T>& triangle) {
        std::vector<T> x(static_cast<std::size_t>(size));
        for (int i = 0; i < size; ++i) x[i] = static_cast<T>(i % 13 - 6);
        std::vector<T> expected = x;
        std::reverse(expected.begin() + done, expected.end());
        triangle.in_front(front, 1, expected.data());
        std::reverse(expected.begin() + done, expected.end());
        const double bound = 100 * rounding<T>(m) * size;
        const auto substitute = [&](const auto& kernel) {
          std::vector<T> result = x;
          std::vector<T> w(x.size());
          kernel(result.data(), w.data());
          for (int i = 0; i < size; ++i) {
            ASSERT_NEAR(static_cast<double>(result[i]), static_cast<double>(expected[i]), bound) << i;
          }
        };
        substitute([&](T* y, T* w) { triangle.vector(factors, {0, 1, size, nullptr}, y, w); });
        substitute([&](T* y, T* w) {  // as the top of a subtree: sums for the later rows are kept apart
          std::vector<T> outside(x.size());
          triangle.vector(factors, {0, 1, done, outside.data()}, y, w);
          for (int i = done; i < size; ++i) y[i] += outside[i];
        });
        substitute([&](T* y, T* w) { triangle.divided(factors, factors.fronts.front(), Team{}, y, w); });
      };
      check(kernels->lower);
      check(kernels->unit_lower);
      check(kernels->lower_transposed);
      check(kernels->unit_lower_transposed);
      check(kernels->upper);
      check(kernels->upper_transposed);
    }
  }
}

/// Kernels of fronts heed a request to stop, which comes before they begin here.
TYPED_TEST(FrontKernelsTest, Cancelled_EliminatesNothing) {
  using T = TypeParam;
  std::stop_source source;
  source.request_stop();
  const CancellationToken cancel = source.get_token();
  const Matrix m = random_matrix(600, true, 1);
  for (const auto& [name, kernels] : all_kernels<T>()) {
    SCOPED_TRACE(name);
    PackBuffers<T> buffers;
    buffers.cancel = &cancel;
    std::vector<T> scratch;
    Parts<T> f(m, 300);
    const std::vector<T> update = f.update;
    EXPECT_EQ(kernels->factor_cholesky(buffers, scratch, f.size, f.pivots, f.lower.data(), f.update.data()),
              0);
    const UnsymmetricFront<T> unsymmetric{
        f.size,          f.pivots,         f.lower.data(),      f.upper.data(),
        f.update.data(), f.row_ids.data(), f.column_ids.data(), f.exchanges.data()};
    const PivotThresholds<T> thresholds{T(0.1), T(0.001), 0, T(1e-3)};
    EXPECT_EQ(kernels->factor_lu(buffers, unsymmetric, thresholds).eliminated, 0);
    const SymmetricFront<T> symmetric{
        f.size, f.pivots, f.lower.data(), f.update.data(), f.column_ids.data(), f.diagonal.data()};
    EXPECT_EQ(kernels->factor_ldlt(buffers, scratch, symmetric, thresholds).eliminated, 0);
    EXPECT_EQ(f.update, update);
  }
}

}  // namespace
}  // namespace echelon::sparse_direct
