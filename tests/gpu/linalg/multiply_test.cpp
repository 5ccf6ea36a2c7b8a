// SPDX-License-Identifier: BSD-3-Clause
// Sparse products on the GPU against the same sums in extended precision on the host.
#include "gpu/gpu_fixture.hpp"
#include "matrix/row_blocks.hpp"
#include "support/problems.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace echelon {
namespace {

using test::GpuTest;
using test::random_dense;

/// A pattern: how many columns there are, and which of them row i uses, in ascending order.
struct Shape {
  std::string name;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::function<std::vector<std::int32_t>(std::int64_t)> row;
};

std::vector<std::int32_t> every(std::int64_t columns, std::int64_t step, std::int64_t first = 0) {
  std::vector<std::int32_t> result;
  for (std::int64_t j = first; j < columns; j += step) result.push_back(static_cast<std::int32_t>(j));
  return result;
}

Shape scattered(std::int64_t rows, std::int64_t columns, std::int64_t per_row) {
  const std::string name =
      std::to_string(rows) + "x" + std::to_string(columns) + "_about_" + std::to_string(per_row) + "_a_row";
  return {name, rows, columns, [=](std::int64_t i) {
            return columns == 0 ? std::vector<std::int32_t>{}
                                : every(columns, std::max<std::int64_t>(columns / per_row, 1), i % columns);
          }};
}

Shape with_long_rows(std::int64_t n, std::vector<std::int64_t> long_rows, std::int64_t length) {
  const std::string name =
      std::to_string(n) + "_with_" + std::to_string(long_rows.size()) + "_rows_of_" + std::to_string(length);
  return {name, n, n, [=](std::int64_t i) {
            const bool is_long = std::find(long_rows.begin(), long_rows.end(), i) != long_rows.end();
            return is_long ? every(length, 1) : std::vector<std::int32_t>{static_cast<std::int32_t>(i)};
          }};
}

std::vector<Shape> shapes() {
  std::vector<Shape> result;
  for (const std::int64_t n : {0, 1, 2, 31, 32, 33, 1023, 1025}) {
    for (const std::int64_t per_row : {1, 7, 8, 64}) result.push_back(scattered(n, n, per_row));
  }
  result.push_back(scattered(1025, 33, 33));
  result.push_back(scattered(33, 70000, 3000));
  result.push_back(scattered(5, 0, 1));
  result.push_back(scattered(0, 5, 1));
  result.push_back({"all_empty", 5000, 10, [](std::int64_t) { return std::vector<std::int32_t>{}; }});
  result.push_back({"every_third_row", 10007, 10007, [](std::int64_t i) {
                      return i % 3 == 0 ? every(10007, 1000, i % 1000) : std::vector<std::int32_t>{};
                    }});
  result.push_back({"dense_column", 4099, 4099, [](std::int64_t i) {
                      return i == 0 ? std::vector<std::int32_t>{0}
                                    : std::vector<std::int32_t>{0, static_cast<std::int32_t>(i)};
                    }});
  result.push_back(with_long_rows(60000, {17}, 2049));           // longer than a block
  result.push_back(with_long_rows(60000, {0, 1, 59999}, 5000));  // several, first and last
  result.push_back(with_long_rows(60000, {30000}, 60000));       // an arrow
  result.push_back(with_long_rows(60000, {0, 5, 59999}, 50000));
  return result;
}

/// Rows with the columns i + difference, as far as these exist; every row i with i % period == 3 is other(i).
Shape with_stencil(std::string name, std::int64_t n, std::vector<std::int64_t> differences,
                   std::int64_t period = 0,
                   std::function<std::vector<std::int32_t>(std::int64_t)> other = {}) {
  return {std::move(name), n, n, [=](std::int64_t i) {
            if (period > 0 && i % period == 3) return other(i);
            std::vector<std::int32_t> row;
            for (const std::int64_t difference : differences) {
              const std::int64_t j = i + difference;
              if (j >= 0 && j < n) row.push_back(static_cast<std::int32_t>(j));
            }
            return row;
          }};
}

/// Shapes with stencils, large enough for them to be used.
std::vector<Shape> stencil_shapes() {
  static constexpr std::int64_t n = 200011;
  const std::vector<std::int64_t> seven{-3600, -60, -1, 0, 1, 60, 3600};
  std::vector<std::int64_t> box;
  for (const std::int64_t plane : {-3600, 0, 3600}) {
    for (const std::int64_t line : {-60, 0, 60}) {
      for (const std::int64_t point : {-1, 0, 1}) box.push_back(plane + line + point);
    }
  }
  std::vector<std::int64_t> band;
  for (std::int64_t difference = -50; difference < 50; ++difference) band.push_back(difference);
  return {
      with_stencil("7_points", n, seven),
      with_stencil("27_points", 50021, box),
      with_stencil("band", 12345, band),
      with_stencil("rows_without_stencil", n, seven, 500,
                   [](std::int64_t i) { return every(n, 30011, i * i % 1000); }),
      with_stencil("longer_rows", n, seven, 97,
                   [](std::int64_t i) { return every(std::min(n, i + 40), 1, i); }),
      with_stencil("longer_rows_without_stencil", n, seven, 500,
                   [](std::int64_t i) { return every(n, 3001, i * i % 1000); }),
      with_stencil("rows_longer_than_a_block", n, seven, 100000, [](std::int64_t) { return every(n, 17); }),
      with_stencil("empty_rows", n, seven, 5, [](std::int64_t) { return std::vector<std::int32_t>{}; }),
  };
}

template <class T>
Csr<T> build(const Shape& shape, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> value(-1, 1);
  std::vector<std::int64_t> offsets{0};
  std::vector<std::int32_t> columns;
  std::vector<T> values;
  for (std::int64_t i = 0; i < shape.rows; ++i) {
    for (const std::int32_t j : shape.row(i)) {
      columns.push_back(j);
      values.push_back(static_cast<T>(value(random)));
    }
    offsets.push_back(static_cast<std::int64_t>(columns.size()));
  }
  const Device host;
  return Csr<T>(shape.rows, shape.columns, Array<std::int64_t>(host, std::span<const std::int64_t>(offsets)),
                Array<std::int32_t>(host, std::span<const std::int32_t>(columns)),
                Array<T>(host, std::span<const T>(values)));
}

/// |y_i - (alpha A x + beta y0)_i| over what rounding may amount to: (terms + 2) eps sum |terms|.
template <class T>
double largest_excess(const Csr<T>& A, T alpha, const Dense<T>& x, T beta, const Dense<T>& y0,
                      const std::vector<T>& y) {
  double worst = 0;
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    long double sum = 0;
    long double size = 0;
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
      const long double term = static_cast<long double>(alpha) * A.values()[k] * x[A.column_indices()[k]];
      sum += term;
      size += std::abs(term);
    }
    if (beta != 0) {
      sum += static_cast<long double>(beta) * y0[i];
      size += std::abs(static_cast<long double>(beta) * y0[i]);
    }
    const auto terms = static_cast<long double>(A.row_offsets()[i + 1] - A.row_offsets()[i] + 2);
    const long double allowed = terms * std::numeric_limits<T>::epsilon() * size;
    const long double error = std::abs(sum - static_cast<long double>(y[static_cast<std::size_t>(i)]));
    if (!(error <= allowed)) return std::numeric_limits<double>::infinity();
    if (allowed > 0) worst = std::max(worst, static_cast<double>(error / allowed));
  }
  return worst;
}

template <class T>
void check_shape_on(const Device& gpu, const Shape& shape, T alpha, T beta) {
  const Csr<T> A = build<T>(shape, 11);
  const Dense<T> x = random_dense<T>(shape.columns, 1, 12);
  Dense<T> y0 = random_dense<T>(shape.rows, 1, 13);
  if (beta == 0) {  // must not be read
    for (std::int64_t i = 0; i < shape.rows; ++i) y0[i] = std::numeric_limits<T>::quiet_NaN();
  }
  const Csr<T> A_gpu = A.to(gpu);
  const Dense<T> x_gpu = x.to(gpu);
  std::vector<T> first;
  for (int repetition = 0; repetition < 3; ++repetition) {
    Dense<T> y = y0.to(gpu);
    multiply<T>(alpha, A_gpu, x_gpu, beta, y);
    const std::vector<T> result = y.to_vector();
    if (repetition > 0) {
      EXPECT_EQ(result, first) << "other bits on repetition";
      continue;
    }
    EXPECT_LE(largest_excess<T>(A, alpha, x, beta, y0, result), 1.0);
    first = result;
  }
}

/// A product with stencils has the bits of one without.
template <class T>
void check_stencils_on(const Device& gpu, const Shape& shape) {
  SCOPED_TRACE(shape.name);
  const Csr<T> host = build<T>(shape, 11);
  const Csr<T> plain = host.to(gpu);
  const Csr<T> compressed = host.to(gpu);
  CsrAccess::find_stencils(compressed);
  EXPECT_EQ(CsrAccess::stencils(plain), nullptr);
  ASSERT_NE(CsrAccess::stencils(compressed), nullptr);
  const Dense<T> x = random_dense<T>(shape.columns, 1, 12).to(gpu);
  Dense<T> expected(gpu, shape.rows, 1);
  Dense<T> y(gpu, shape.rows, 1);
  multiply<T>(1, plain, x, 0, expected);
  multiply<T>(1, compressed, x, 0, y);
  EXPECT_EQ(y.to_vector(), expected.to_vector());
}

class Multiply : public GpuTest {};

TEST_F(Multiply, Stencils_SameBits) {
  for (const Shape& shape : stencil_shapes()) {
    check_stencils_on<double>(gpu, shape);
    check_stencils_on<float>(gpu, shape);
  }
}

TEST_F(Multiply, NoCommonStencil_NoneUsed) {
  const Shape shape{"scattered", 200011, 200011,
                    [](std::int64_t i) { return every(200011, 28000 + i % 977, i * i % 1000); }};
  const Csr<double> A = build<double>(shape, 11).to(gpu);
  CsrAccess::find_stencils(A);
  EXPECT_EQ(CsrAccess::stencils(A), nullptr);
  const Csr<double> small = build<double>(with_stencil("small", 1000, {-1, 0, 1}), 11).to(gpu);
  CsrAccess::find_stencils(small);
  EXPECT_EQ(CsrAccess::stencils(small), nullptr);
  CsrAccess::find_stencils(build<double>(shape, 11));  // on the host there is nothing to find
}

TEST_F(Multiply, Sparse_AgreesWithHost_Double) {
  for (const Shape& shape : shapes()) {
    SCOPED_TRACE(shape.name);
    check_shape_on<double>(gpu, shape, 1, 0);
  }
}

TEST_F(Multiply, Sparse_AgreesWithHost_Float) {
  for (const Shape& shape : shapes()) {
    SCOPED_TRACE(shape.name);
    check_shape_on<float>(gpu, shape, 1, 0);
  }
}

TEST_F(Multiply, AlphaAndBeta) {
  for (const Shape& shape : {scattered(1025, 1025, 7), with_long_rows(60000, {5}, 60000),
                             with_long_rows(60000, {5}, 3000), scattered(33, 70000, 3000)}) {
    for (const double alpha : {0.0, 1.0, -1.0, 0.3}) {
      for (const double beta : {0.0, 1.0, -2.5}) {
        SCOPED_TRACE(shape.name + " alpha " + std::to_string(alpha) + " beta " + std::to_string(beta));
        check_shape_on<double>(gpu, shape, alpha, beta);
        check_shape_on<float>(gpu, shape, static_cast<float>(alpha), static_cast<float>(beta));
      }
    }
  }
}

TEST_F(Multiply, SeveralColumns) {
  const Csr<double> A = build<double>(scattered(1025, 1025, 7), 3);
  const Dense<double> X = random_dense<double>(1025, 3, 4);
  Dense<double> Y(gpu, 1025, 3);
  multiply<double>(1.0, A.to(gpu), X.to(gpu), 0.0, Y);
  const std::vector<double> together = Y.to_vector();
  for (std::int64_t j = 0; j < 3; ++j) {
    Dense<double> x(Device(), 1025, 1);
    std::copy_n(X.view().column(j), 1025, x.data());
    Dense<double> y(gpu, 1025, 1);
    multiply<double>(1.0, A.to(gpu), x.to(gpu), 0.0, y);
    EXPECT_EQ(y.to_vector(),
              std::vector<double>(together.begin() + 1025 * j, together.begin() + 1025 * (j + 1)));
  }
}

TEST_F(Multiply, Dense_AgreesWithHost) {
  for (const std::int64_t rows : {0, 1, 31, 33, 1025}) {
    for (const std::int64_t columns : {0, 1, 33, 257}) {
      SCOPED_TRACE(std::to_string(rows) + " by " + std::to_string(columns));
      const Dense<double> A = random_dense<double>(rows, columns, 5);
      const Dense<double> x = random_dense<double>(columns, 1, 6);
      Dense<double> y(gpu, rows, 1);
      multiply<double>(1.0, A.to(gpu), x.to(gpu), 0.0, y);
      const std::vector<double> result = y.to_vector();
      for (std::int64_t i = 0; i < rows; ++i) {
        long double sum = 0;
        for (std::int64_t j = 0; j < columns; ++j) sum += static_cast<long double>(A(i, j)) * x[j];
        EXPECT_NEAR(result[static_cast<std::size_t>(i)], static_cast<double>(sum), 1e-13 * (columns + 1.0));
      }
    }
  }
}

TEST_F(Multiply, MixedDevices_ErrorNamesBoth) {
  const Csr<double> A = build<double>(scattered(33, 33, 7), 1);
  const Dense<double> x = random_dense<double>(33, 1, 2);
  Dense<double> y(Device(), 33, 1);
  EXPECT_THROW(multiply<double>(1.0, A.to(gpu), x, 0.0, y), DeviceMismatch);
}

}  // namespace
}  // namespace echelon
