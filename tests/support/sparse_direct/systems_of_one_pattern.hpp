// SPDX-License-Identifier: BSD-3-Clause
/// Random systems with one pattern, and the errors of their solutions.
#pragma once

#include <echelon/methods/sparse_batch.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <utility>
#include <vector>

namespace echelon::test {

/// Square pattern with a diagonal, the elements right of it (in the last row the first), and random ones;
/// values are random, those of the diagonal larger.
template <class T>
struct SystemsOfOnePattern {
  Csr<T> pattern;
  std::int64_t count;
  std::int64_t columns;
  std::vector<T> values, b, x;
  std::mt19937_64 random{7};

  SystemsOfOnePattern(std::int64_t n, std::int64_t systems, std::int64_t right_hand_sides = 1)
      : SystemsOfOnePattern(random_pattern(n), systems, right_hand_sides) {}
  SystemsOfOnePattern(Csr<T> of_all, std::int64_t systems, std::int64_t right_hand_sides = 1)
      : pattern(std::move(of_all)), count(systems), columns(right_hand_sides) {
    const std::int64_t n = pattern.rows();
    values.resize(static_cast<std::size_t>(pattern.nonzeros() * count));
    for (std::int64_t s = 0; s < count; ++s) {
      for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t k = pattern.row_offsets()[i]; k < pattern.row_offsets()[i + 1]; ++k) {
          at(s, k) = number() + (pattern.column_indices()[k] == i ? T{5} : T{0});
        }
      }
    }
    x.assign(static_cast<std::size_t>(n * columns * count), T{0});
    b.resize(x.size());
    for (T& element : b) element = number();
  }

  T number() { return static_cast<T>(std::uniform_real_distribution<double>(-1, 1)(random)); }
  T& at(std::int64_t s, std::int64_t k) {
    return values[static_cast<std::size_t>(s * pattern.nonzeros() + k)];
  }
  static Csr<T> random_pattern(std::int64_t n) {
    std::mt19937_64 random{7};
    std::vector<Triplet<T>> entries;
    for (std::int64_t i = 0; i < n; ++i) {
      entries.push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>(i), T{1}});
      entries.push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>((i + 1) % n), T{1}});
      for (int k = 0; k < 2; ++k) {
        entries.push_back({static_cast<std::int32_t>(i),
                           static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(n)), T{1}});
      }
    }
    return Csr<T>::from_triplets(n, n, entries);
  }
  /// The pattern of a band with two diagonals on either side of the main one.
  static Csr<T> narrow_pattern(std::int64_t n) {
    std::vector<Triplet<T>> entries;
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = std::max<std::int64_t>(i - 2, 0); j <= std::min(i + 2, n - 1); ++j) {
        entries.push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>(j), T{1}});
      }
    }
    return Csr<T>::from_triplets(n, n, entries);
  }
  /// Solves in the memory of a device, and brings x home.
  SparseBatchReport solve_on(const Device& device) {
    const std::int64_t n = pattern.rows();
    SparseBatchSolver<T> solver(pattern.to(device));
    const Array<T> own_values(device, std::span<const T>(values));
    const Array<T> own_b(device, std::span<const T>(b));
    Array<T> own_x(device, static_cast<std::int64_t>(x.size()));
    SparseBatchReport report =
        solver.solve({own_values.data(), pattern.nonzeros(), count, pattern.nonzeros(), device},
                     {own_b.data(), n, columns, count, device}, {own_x.data(), n, columns, count, device});
    x = own_x.to_vector();
    return report;
  }
  SparseBatchReport solve(SparseBatchSolver<T>& solver) {
    const std::int64_t n = pattern.rows();
    return solver.solve(DenseView<const T>(values.data(), pattern.nonzeros(), count,
                                           std::max<std::int64_t>(pattern.nonzeros(), 1)),
                        DenseBatch<const T>(b.data(), n, columns, count, Device()),
                        DenseBatch<T>(x.data(), n, columns, count, Device()));
  }
  SparseBatchReport solve() {
    SparseBatchSolver<T> solver(pattern);
    return solve(solver);
  }
  /// The largest |b - A x| / (|A| |x| + |b|) of a system, with sums in long double.
  double backward_error(std::int64_t s) {
    const std::int64_t n = pattern.rows();
    long double largest = 0;
    for (std::int64_t j = 0; j < columns; ++j) {
      const std::size_t first = static_cast<std::size_t>((s * columns + j) * n);
      for (std::int64_t i = 0; i < n; ++i) {
        long double sum = b[first + static_cast<std::size_t>(i)];
        long double scale = std::abs(sum);
        for (std::int64_t k = pattern.row_offsets()[i]; k < pattern.row_offsets()[i + 1]; ++k) {
          const long double product = static_cast<long double>(at(s, k)) *
                                      x[first + static_cast<std::size_t>(pattern.column_indices()[k])];
          sum -= product;
          scale += std::abs(product);
        }
        if (!(sum == 0)) largest = std::abs(sum) / scale > largest ? std::abs(sum) / scale : largest;
        if (std::isnan(static_cast<double>(sum))) return std::numeric_limits<double>::infinity();
      }
    }
    return static_cast<double>(largest);
  }
};

}  // namespace echelon::test
