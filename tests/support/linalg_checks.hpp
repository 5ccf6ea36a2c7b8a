// SPDX-License-Identifier: BSD-3-Clause
/// Checks of the operations on vectors and matrices on every device, with references in extended precision.
#pragma once

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace echelon::test {

/// A matrix with `gap` unused elements after each column (or row), on a device, and its host image.
template <class T>
class Stored {
 public:
  Stored(const Device& device, std::int64_t rows, std::int64_t columns, Layout layout, std::int64_t gap,
         unsigned seed)
      : view_(nullptr, rows, columns, (layout == Layout::column_major ? rows : columns) + gap, device,
              layout) {
    const std::int64_t major = layout == Layout::column_major ? columns : rows;
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> value(-1, 1);
    image_.resize(static_cast<std::size_t>(std::max<std::int64_t>(major * view_.leading(), 1)));
    for (T& element : image_) element = static_cast<T>(value(random));
    move();
  }
  [[nodiscard]] DenseView<T> view() {
    return {memory_.data(), view_.rows(), view_.columns(), view_.leading(), view_.device(), view_.layout()};
  }
  /// Element of the host image.
  T& operator()(std::int64_t i, std::int64_t j) {
    const bool by_column = view_.layout() == Layout::column_major;
    return image_[static_cast<std::size_t>(by_column ? i + j * view_.leading() : i * view_.leading() + j)];
  }
  /// Copies the image to the device.
  void move() { memory_ = Array<T>(view_.device(), std::span<const T>(image_)); }
  void fetch() { image_ = memory_.to_vector(); }
  [[nodiscard]] const std::vector<T>& image() const { return image_; }

 private:
  DenseView<T> view_;
  std::vector<T> image_;
  Array<T> memory_;
};

/// A sum in extended precision, and a bound of the rounding errors.
struct Exact {
  long double sum = 0;
  long double magnitude = 0;
  long double terms = 2;
  void add(long double term) {
    sum += term;
    magnitude += std::abs(term);
    terms += 1;
  }
  template <class T>
  [[nodiscard]] bool allows(T result) const {
    return std::abs(sum - static_cast<long double>(result)) <=
           magnitude * terms * std::numeric_limits<T>::epsilon();
  }
};

constexpr Layout layouts[] = {Layout::column_major, Layout::row_major};

/// Random elements, every fifth row empty, about one in `sparsity` of the others.
template <class T>
Csr<T> random_sparse(std::int64_t rows, std::int64_t columns, unsigned sparsity, bool full_lines,
                     unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> value(-1, 1);
  std::vector<Triplet<T>> elements;
  for (std::int32_t i = 0; i < rows; ++i) {
    for (std::int32_t j = 0; j < columns; ++j) {
      const bool full = full_lines && (i == rows / 2 || j == columns / 2);
      const bool kept = random() % sparsity == 0 && i % 5 != 0;
      if (full || kept) elements.push_back({i, j, static_cast<T>(value(random))});
    }
  }
  return Csr<T>::from_triplets(rows, columns, elements);
}

template <class T>
std::vector<std::pair<T, T>> factors() {
  return {{1, 0}, {-2, 1}, {T(0.5), T(-1.5)}, {0, 2}, {0, 0}};
}

/// C = alpha A B + beta C for one choice of shapes and layouts; the gaps between C's columns must stay.
template <class T>
void check_gemm(Context& context, std::int64_t rows, std::int64_t columns, std::int64_t terms, Layout a,
                Layout b, Layout c, T alpha, T beta) {
  SCOPED_TRACE(testing::Message() << context.device().name() << " " << rows << "x" << columns << "x" << terms
                                  << " layouts " << int(a) << int(b) << int(c) << " alpha " << alpha
                                  << " beta " << beta);
  Stored<T> A(context.device(), rows, terms, a, 3, 1);
  Stored<T> B(context.device(), terms, columns, b, 0, 2);
  Stored<T> C(context.device(), rows, columns, c, 2, 3);
  if (beta == 0 && rows * columns > 0) {  // must not be read
    C(rows - 1, columns - 1) = std::numeric_limits<T>::quiet_NaN();
    C.move();
  }
  Stored<T> before = C;
  gemm<T>(context, alpha, A.view(), B.view(), beta, C.view());
  C.fetch();
  for (std::int64_t j = 0; j < columns; ++j) {
    for (std::int64_t i = 0; i < rows; ++i) {
      Exact exact;
      if (beta != 0) exact.add(static_cast<long double>(beta) * before(i, j));
      for (std::int64_t k = 0; k < terms; ++k) exact.add(static_cast<long double>(alpha) * A(i, k) * B(k, j));
      ASSERT_TRUE(exact.allows(C(i, j))) << i << ", " << j << ": " << C(i, j);
      C(i, j) = before(i, j);
    }
  }
  for (std::size_t k = 0; k < C.image().size(); ++k) {
    const T expected = before.image()[k];
    ASSERT_TRUE(C.image()[k] == expected || expected != expected) << "a gap was written to";
  }
}

template <class T>
void check_gemm(const Device& device) {
  Context context(device);
  for (const Layout a : layouts) {
    for (const Layout b : layouts) {
      for (const Layout c : layouts) {
        check_gemm<T>(context, 33, 31, 1, a, b, c, 1, 0);
        check_gemm<T>(context, 31, 1, 65, a, b, c, T(0.5), T(-1.5));
        check_gemm<T>(context, 1, 33, 40, a, b, c, -2, 1);
      }
    }
  }
  for (const auto& [alpha, beta] : factors<T>()) {
    const Layout mixed = alpha > 0 ? Layout::column_major : Layout::row_major;
    check_gemm<T>(context, 17, 9, 0, mixed, Layout::column_major, mixed, alpha, beta);
    check_gemm<T>(context, 0, 9, 5, mixed, mixed, mixed, alpha, beta);
    check_gemm<T>(context, 260, 300, 37, mixed, Layout::row_major, mixed, alpha, beta);
  }
}

/// Dense products with a vector, for all shapes and layouts.
template <class T>
void check_gemv(const Device& device) {
  Context context(device);
  for (const auto& [rows, columns] : {std::pair<std::int64_t, std::int64_t>{0, 3},
                                      {3, 0},
                                      {1, 1},
                                      {31, 33},
                                      {1025, 7},
                                      {7, 1025},
                                      {300, 5000},
                                      {9000, 40}}) {
    for (const Layout layout : layouts) {
      for (const auto& [alpha, beta] : factors<T>()) {
        SCOPED_TRACE(testing::Message() << device.name() << " " << rows << " by " << columns << " layout "
                                        << int(layout) << " alpha " << alpha << " beta " << beta);
        Stored<T> A(device, rows, columns, layout, 1, 4);
        Stored<T> x(device, columns, 1, Layout::column_major, 0, 5);
        Stored<T> y(device, rows, 1, Layout::column_major, 0, 6);
        Stored<T> before = y;
        multiply<T>(context, alpha, A.view(), x.view(), beta, y.view());
        y.fetch();
        for (std::int64_t i = 0; i < rows; ++i) {
          Exact exact;
          if (beta != 0) exact.add(static_cast<long double>(beta) * before(i, 0));
          for (std::int64_t j = 0; j < columns; ++j) {
            exact.add(static_cast<long double>(alpha) * A(i, j) * x(j, 0));
          }
          ASSERT_TRUE(exact.allows(y(i, 0))) << i << ": " << y(i, 0);
        }
      }
    }
  }
}

/// Each of several columns has the bits of the product with that column alone, in every layout.
template <class T>
void check_several_columns(const Device& device, const Csr<T>& host) {
  Context context(device);
  const Csr<T> A = host.to(device);
  for (const std::int64_t columns : {0, 1, 2, 3, 5, 7, 8, 9, 17}) {
    for (const Layout x_layout : layouts) {
      const Layout y_layout = columns % 3 == 0 ? Layout::row_major : x_layout;
      for (const T beta : {T{0}, T(-1.5)}) {
        SCOPED_TRACE(testing::Message() << device.name() << " " << columns << " columns, layouts "
                                        << int(x_layout) << int(y_layout) << " beta " << beta);
        Stored<T> X(device, A.columns(), columns, x_layout, 2, 7);
        Stored<T> Y(device, A.rows(), columns, y_layout, 3, 8);
        Stored<T> before = Y;
        multiply<T>(context, T(0.75), A, X.view(), beta, Y.view());
        Y.fetch();
        for (std::int64_t c = 0; c < columns; ++c) {
          Stored<T> x(device, A.columns(), 1, Layout::column_major, 0, 9);
          Stored<T> y(device, A.rows(), 1, Layout::column_major, 0, 10);
          for (std::int64_t i = 0; i < A.columns(); ++i) x(i, 0) = X(i, c);
          for (std::int64_t i = 0; i < A.rows(); ++i) y(i, 0) = before(i, c);
          x.move();
          y.move();
          multiply<T>(context, T(0.75), A, x.view(), beta, y.view());
          y.fetch();
          for (std::int64_t i = 0; i < A.rows(); ++i) {
            ASSERT_EQ(Y(i, c), y(i, 0)) << "element " << i << ", " << c;
            Y(i, c) = before(i, c);
          }
        }
        ASSERT_EQ(Y.image(), before.image()) << "a gap was written to";
      }
    }
  }
}

template <class T>
void check_transposed(const Device& device, const Csr<T>& host) {
  Context context(device);
  const Csr<T> A = host.to(device);
  for (const auto& [alpha, beta] : factors<T>()) {
    for (const Layout layout : layouts) {
      SCOPED_TRACE(testing::Message() << device.name() << " " << A.rows() << " by " << A.columns()
                                      << " layout " << int(layout) << " alpha " << alpha << " beta " << beta);
      Stored<T> X(device, A.rows(), 3, layout, 1, 11);
      Stored<T> Y(device, A.columns(), 3, layout, 2, 12);
      Stored<T> before = Y;
      multiply_transposed<T>(context, alpha, A, X.view(), beta, Y.view());
      Y.fetch();
      std::vector<Exact> exact(static_cast<std::size_t>(3 * A.columns()));
      for (std::int64_t c = 0; c < 3; ++c) {
        Exact* sums = exact.data() + c * A.columns();
        for (std::int64_t j = 0; j < A.columns(); ++j) {
          if (beta != 0) sums[j].add(static_cast<long double>(beta) * before(j, c));
        }
        for (std::int64_t i = 0; i < A.rows(); ++i) {
          for (std::int64_t k = host.row_offsets()[i]; k < host.row_offsets()[i + 1]; ++k) {
            sums[host.column_indices()[k]].add(static_cast<long double>(alpha) * host.values()[k] * X(i, c));
          }
        }
        for (std::int64_t j = 0; j < A.columns(); ++j) {
          ASSERT_TRUE(sums[j].allows(Y(j, c))) << j << ", " << c << ": " << Y(j, c);
        }
      }
      Stored<T> again = before;
      multiply_transposed<T>(context, alpha, A, X.view(), beta, again.view());
      again.fetch();
      EXPECT_EQ(again.image(), Y.image()) << "other bits on repetition";
    }
  }
}

template <class T>
void check_add(const Device& device) {
  Context context(device);
  for (const auto& [rows, columns] :
       {std::pair<std::int64_t, std::int64_t>{0, 0}, {1, 1}, {31, 33}, {1025, 3}, {3, 1025}}) {
    for (const Layout a : layouts) {
      for (const Layout c : layouts) {
        for (const std::int64_t gap : {0, 4}) {
          for (const auto& [alpha, beta] : factors<T>()) {
            SCOPED_TRACE(testing::Message()
                         << device.name() << " " << rows << " by " << columns << " layouts " << int(a)
                         << int(c) << " gap " << gap << " alpha " << alpha << " beta " << beta);
            Stored<T> A(device, rows, columns, a, gap, 13);
            Stored<T> B(device, rows, columns, c, gap, 14);
            Stored<T> C(device, rows, columns, c, gap, 15);
            Stored<T> in_place = B;
            add<T>(context, alpha, A.view(), beta, B.view(), C.view());
            axpby<T>(context, alpha, A.view(), beta, in_place.view());
            C.fetch();
            in_place.fetch();
            for (std::int64_t j = 0; j < columns; ++j) {
              for (std::int64_t i = 0; i < rows; ++i) {
                Exact exact;
                exact.add(static_cast<long double>(alpha) * A(i, j));
                exact.add(static_cast<long double>(beta) * B(i, j));
                ASSERT_TRUE(exact.allows(C(i, j))) << i << ", " << j << ": " << C(i, j);
                ASSERT_EQ(in_place(i, j), C(i, j));
              }
            }
          }
        }
      }
    }
  }
}

/// dot, sum and the norms of a vector of n elements with `step` from one to the next.
template <class T>
void check_reductions(Context& context, std::int64_t n, std::int64_t step) {
  SCOPED_TRACE(testing::Message() << context.device().name() << " " << n << " elements, step " << step);
  const Layout layout = step == 1 ? Layout::column_major : Layout::row_major;
  Stored<T> x(context.device(), n, 1, layout, step - 1, 16);
  Stored<T> y(context.device(), n, 1, layout, step - 1, 17);
  Exact product;
  Exact sum_of;
  Exact magnitudes;
  Exact squares;
  double largest = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    product.add(static_cast<long double>(x(i, 0)) * y(i, 0));
    sum_of.add(x(i, 0));
    magnitudes.add(std::abs(x(i, 0)));
    squares.add(static_cast<long double>(x(i, 0)) * x(i, 0));
    largest = std::max(largest, std::abs(static_cast<double>(x(i, 0))));
  }
  const double expected_norm = static_cast<double>(std::sqrt(squares.sum));
  // The sums are taken in double whatever T is.
  EXPECT_TRUE(product.allows(dot<T>(context, x.view(), y.view())));
  EXPECT_TRUE(sum_of.allows(sum<T>(context, x.view())));
  EXPECT_TRUE(magnitudes.allows(norm1<T>(context, x.view())));
  EXPECT_NEAR(norm2<T>(context, x.view()), expected_norm, 1e-14 * expected_norm);
  EXPECT_EQ(norm_inf<T>(context, x.view()), largest);
  // Results that stay in the memory of the device equal those that are returned.
  Array<double> results(context.device(), 5);
  dot<T>(context, x.view(), y.view(), results.data());
  sum<T>(context, x.view(), results.data() + 1);
  norm1<T>(context, x.view(), results.data() + 2);
  norm2<T>(context, x.view(), results.data() + 3);
  norm_inf<T>(context, x.view(), results.data() + 4);
  EXPECT_EQ(results.to_vector(),
            (std::vector<double>{dot<T>(x.view(), y.view()), sum<T>(x.view()), norm1<T>(x.view()),
                                 norm2<T>(x.view()), norm_inf<T>(context, x.view())}));
}

template <class T>
void check_reductions(const Device& device) {
  Context context(device);
  for (const std::int64_t n : {0, 1, 2, 31, 33, 1025, 4097, 70001, 1000003})
    check_reductions<T>(context, n, 1);
  for (const std::int64_t n : {0, 1, 33, 70001}) check_reductions<T>(context, n, 3);
}

/// norm2 does not overflow if the result is representable; NaN and Inf propagate.
inline void check_extreme_norms(const Device& device) {
  Context context(device);
  const auto norm = [&](std::vector<double> host) {
    Array<double> x(device, std::span<const double>(host));
    const auto n = static_cast<std::int64_t>(host.size());
    return norm2<double>(context, DenseView<const double>(x.data(), n, 1, n, device));
  };
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr double tiniest = std::numeric_limits<double>::denorm_min();
  EXPECT_NEAR(norm({3e200, -4e200}) / 5e200, 1.0, 1e-15);
  EXPECT_NEAR(norm({3e-200, 4e-200, 0}) / 5e-200, 1.0, 1e-15);
  EXPECT_NEAR(norm({1e300, 1e-300, 1}) / 1e300, 1.0, 1e-15);
  EXPECT_EQ(norm({tiniest, 0}), tiniest);
  EXPECT_EQ(norm({std::numeric_limits<double>::max()}), std::numeric_limits<double>::max());
  // Magnitudes on both sides of the threshold below which norm2 treats numbers as small.
  EXPECT_NEAR(norm({0x1.8p-511, 0x1p-512, 0x1.8p-512}) / (0x1p-512 * std::sqrt(9 + 1 + 2.25)), 1.0, 1e-15);
  EXPECT_EQ(norm({1, -infinity, 1e300}), infinity);
  EXPECT_TRUE(std::isnan(norm({1, nan, 1e300})));
  EXPECT_TRUE(std::isnan(norm({infinity, nan})));
  EXPECT_TRUE(std::isnan(norm({1e-300, nan})));
}

}  // namespace echelon::test
