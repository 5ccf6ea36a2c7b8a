// SPDX-License-Identifier: BSD-3-Clause
/// Matrices for Gauss-Jordan elimination, and measures of its results.
#pragma once

#include "support/gallery.hpp"

#include <echelon/generate.hpp>
#include <echelon/rref.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <type_traits>
#include <variant>
#include <vector>

namespace echelon::test {

template <class T>
constexpr double unit = static_cast<double>(std::numeric_limits<T>::epsilon());

template <class T>
Dense<T> zeros(std::int64_t rows, std::int64_t columns) {
  Dense<T> a(Device(), rows, columns);
  std::fill_n(a.data(), rows * columns, T{0});
  return a;
}

/// a b, summed in extended precision.
template <class T>
Dense<T> product(const Dense<T>& a, const Dense<T>& b) {
  Dense<T> c(Device(), a.rows(), b.columns());
  std::vector<long double> sums(static_cast<std::size_t>(a.rows()));
  for (std::int64_t j = 0; j < b.columns(); ++j) {
    std::fill(sums.begin(), sums.end(), 0.0L);
    for (std::int64_t k = 0; k < b.rows(); ++k) {
      const long double factor = b(k, j);
      for (std::int64_t i = 0; i < a.rows(); ++i) sums[static_cast<std::size_t>(i)] += factor * a(i, k);
    }
    for (std::int64_t i = 0; i < a.rows(); ++i) c(i, j) = static_cast<T>(sums[static_cast<std::size_t>(i)]);
  }
  return c;
}

template <class T>
Dense<T> columns_of(const Dense<T>& a, const std::vector<std::int64_t>& columns) {
  Dense<T> part(Device(), a.rows(), static_cast<std::int64_t>(columns.size()));
  for (std::size_t k = 0; k < columns.size(); ++k) {
    std::copy_n(a.data() + columns[k] * a.rows(), a.rows(),
                part.data() + static_cast<std::int64_t>(k) * a.rows());
  }
  return part;
}

template <class T>
double largest_magnitude(const Dense<T>& a) {
  double largest = 0;
  for (std::int64_t e = 0; e < a.rows() * a.columns(); ++e) {
    const double magnitude = std::abs(static_cast<double>(a[e]));
    if (!(magnitude <= largest)) largest = magnitude;
  }
  return largest;
}

template <class T>
double largest_difference(const Dense<T>& a, const Dense<T>& b) {
  double largest = 0;
  for (std::int64_t e = 0; e < a.rows() * a.columns(); ++e) {
    const double difference = std::abs(static_cast<double>(a[e]) - static_cast<double>(b[e]));
    if (!(difference <= largest)) largest = difference;
  }
  return largest;
}

/// Singular values from 1 down to 1 / condition, equally spaced in their logarithms, and random reflections
/// from both sides.
template <class T>
Dense<T> with_condition(std::int64_t n, double condition, unsigned seed) {
  std::vector<double> a(static_cast<std::size_t>(n * n), 0.0);
  for (std::int64_t i = 0; i < n; ++i) {
    const double share = n > 1 ? static_cast<double>(i) / static_cast<double>(n - 1) : 0;
    a[static_cast<std::size_t>(i * n + i)] = std::pow(condition, -share);
  }
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  const auto reflect = [&](std::int64_t along, std::int64_t across) {
    std::vector<double> v(static_cast<std::size_t>(n));
    for (double& element : v) element = normal(random);
    const double square = std::inner_product(v.begin(), v.end(), v.begin(), 0.0);
    for (std::int64_t j = 0; j < n; ++j) {
      double dot = 0;
      for (std::int64_t i = 0; i < n; ++i) {
        dot += v[static_cast<std::size_t>(i)] * a[static_cast<std::size_t>(i * along + j * across)];
      }
      for (std::int64_t i = 0; i < n; ++i) {
        a[static_cast<std::size_t>(i * along + j * across)] -=
            2 * dot / square * v[static_cast<std::size_t>(i)];
      }
    }
  };
  for (int k = 0; k < 4 && n > 1; ++k) reflect(1, n), reflect(n, 1);
  Dense<T> result(Device(), n, n);
  for (std::int64_t e = 0; e < n * n; ++e) result[e] = static_cast<T>(a[static_cast<std::size_t>(e)]);
  return result;
}

/// LAPACK's test matrices for general systems, by their number.
template <class T>
Dense<T> lapack_type(int type, std::int64_t n, unsigned seed) {
  const double tiny = static_cast<double>(std::numeric_limits<T>::min()) / unit<T> / 4;
  Dense<T> a =
      with_condition<T>(n, type == 8 ? std::sqrt(0.1 / unit<T>) : (type == 9 ? 0.1 / unit<T> : 2), seed);
  if (type <= 3) {
    a = random_dense<T>(n, n, seed);
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t i = 0; i < n; ++i) {
        const bool kept = type == 1 ? i == j : (type == 2 ? i <= j : i >= j);
        if (!kept) a(i, j) = 0;
        if (i == j) a(i, j) += a(i, j) < 0 ? T{-2} : T{2};
        if (i != j) a(i, j) /= static_cast<T>(n);
      }
    }
  }
  const std::int64_t begin = type == 5 ? 0 : (type == 6 ? n - 1 : n - (n + 1) / 2);
  const std::int64_t end = type == 5 ? 1 : n;
  for (std::int64_t j = begin; type >= 5 && type <= 7 && j < end; ++j) {
    std::fill_n(a.data() + j * n, n, T{0});
  }
  if (type == 10) a = scaled(a, static_cast<T>(tiny));
  if (type == 11) a = scaled(a, static_cast<T>(1 / tiny));
  return a;
}

/// Upper triangular matrix of Kahan: every pivot is of moderate size, but the matrix is singular to working
/// precision for large n.
template <class T>
Dense<T> kahan(std::int64_t n, double angle) {
  Dense<T> a = zeros<T>(n, n);
  double row = 1;
  for (std::int64_t i = 0; i < n; ++i, row *= std::sin(angle)) {
    a(i, i) = static_cast<T>(row);
    for (std::int64_t j = i + 1; j < n; ++j) a(i, j) = static_cast<T>(-row * std::cos(angle));
  }
  return a;
}

template <class T>
Dense<T> lotkin(std::int64_t n) {
  Dense<T> a = hilbert<T>(n);
  for (std::int64_t j = 0; j < n; ++j) a(0, j) = 1;
  return a;
}

template <class T>
Dense<T> frank(std::int64_t n) {
  Dense<T> a = zeros<T>(n, n);
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i <= std::min(j + 1, n - 1); ++i) a(i, j) = static_cast<T>(n - std::max(i, j));
  }
  return a;
}

template <class T>
Dense<T> vandermonde(std::int64_t n) {
  Dense<T> a(Device(), n, n);
  for (std::int64_t i = 0; i < n; ++i) {
    T power = 1;
    for (std::int64_t j = 0; j < n; ++j, power *= static_cast<T>(i + 1) / static_cast<T>(n)) a(i, j) = power;
  }
  return a;
}

template <class T>
double norm_one(const Dense<T>& a) {
  double largest = 0;
  for (std::int64_t j = 0; j < a.columns(); ++j) {
    double sum = 0;
    for (std::int64_t i = 0; i < a.rows(); ++i) sum += std::abs(static_cast<double>(a(i, j)));
    largest = std::max(largest, sum);
  }
  return largest;
}

/// ||I - X A||_1 / (n ||A||_1 ||X||_1 eps), or with A X: LAPACK's measure.
template <class T>
double inverse_ratio(const Dense<T>& left, const Dense<T>& right) {
  const std::int64_t n = left.rows();
  if (n == 0) return 0;
  // Both factors are scaled to about 1, so that the product does not overflow.
  const Dense<T> a = scaled(left, static_cast<T>(std::ldexp(1.0, -std::ilogb(largest_magnitude(left)))));
  const Dense<T> b = scaled(right, static_cast<T>(std::ldexp(1.0, -std::ilogb(largest_magnitude(right)))));
  const double one =
      std::ldexp(1.0, -std::ilogb(largest_magnitude(left)) - std::ilogb(largest_magnitude(right)));
  Dense<T> off = product(a, b);
  for (std::int64_t i = 0; i < n; ++i) off(i, i) -= static_cast<T>(one);
  return norm_one(off) / (static_cast<double>(n) * norm_one(a) * norm_one(b) * unit<T>);
}

/// Matrices with element growth under partial or other pivoting, from the library's generators.
template <class T>
std::vector<Dense<T>> growth_matrices() {
  constexpr bool wide = std::is_same_v<T, double>;
  std::vector<Dense<T>> all;
  const auto add = [&](const char* generator, const Options& options) {
    all.push_back(std::get<Dense<T>>(make_matrix<T>(generator, options)));
  };
  add("gepp-growth", {{"n", wide ? 45 : 18}});
  add("gfpp", {{"n", wide ? 70 : 25}});
  add("foster", {{"n", wide ? 40 : 20}});
  add("wright", {{"n", wide ? 40 : 20}});
  add("druinsky-toledo", {{"k", 60}});
  add("hilbert", {{"n", 6}});
  add("frank", {{"n", 8}});
  return all;
}

/// Expects R in reduced row echelon form, and A = A(:, pivots) R up to rounding.
template <class T>
void expect_reduced(const Dense<T>& a, const EchelonForm<T>& form, double bound) {
  const std::int64_t rank = form.facts.rank;
  ASSERT_EQ(static_cast<std::int64_t>(form.pivot_columns.size()), rank);
  ASSERT_EQ(form.R.rows(), a.rows());
  ASSERT_EQ(form.R.columns(), a.columns());
  EXPECT_TRUE(std::is_sorted(form.pivot_columns.begin(), form.pivot_columns.end()));
  Dense<T> top(Device(), rank, a.columns());
  for (std::int64_t j = 0; j < a.columns(); ++j) {
    for (std::int64_t i = 0; i < a.rows(); ++i) {
      if (i < rank) top(i, j) = form.R(i, j);
      const bool before_pivot = i >= rank || j < form.pivot_columns[static_cast<std::size_t>(i)];
      if (before_pivot) {
        EXPECT_EQ(form.R(i, j), T{0});
      }
    }
  }
  for (std::int64_t k = 0; k < rank; ++k) {
    for (std::int64_t i = 0; i < a.rows(); ++i) {
      EXPECT_EQ(form.R(i, form.pivot_columns[static_cast<std::size_t>(k)]), i == k ? T{1} : T{0});
    }
  }
  const double scale = largest_magnitude(a) * std::max(1.0, largest_magnitude(top)) * unit<T> *
                       static_cast<double>(std::max(a.rows(), a.columns()));
  EXPECT_LE(largest_difference(product(columns_of(a, form.pivot_columns), top), a), bound * scale);
  std::vector<std::int64_t> rows = form.row_permutation;
  std::sort(rows.begin(), rows.end());
  for (std::int64_t i = 0; i < a.rows(); ++i) EXPECT_EQ(rows[static_cast<std::size_t>(i)], i);
}

}  // namespace echelon::test
