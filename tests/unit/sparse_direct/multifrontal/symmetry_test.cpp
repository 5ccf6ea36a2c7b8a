// SPDX-License-Identifier: BSD-3-Clause
/// The search for the first place that makes a matrix unsymmetric, against all pairs of a dense matrix.
#include "sparse_direct/multifrontal/symmetry.hpp"

#include "support/sparse_systems.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

namespace echelon::sparse_direct {
namespace {

using test::csr_of;
using test::Elements;

constexpr std::int32_t many_rows = 40'000;  // more than are taken by one thread

/// Tridiagonal matrix with elements far from the diagonal.
Elements symmetric_elements(std::int32_t n) {
  Elements elements;
  for (std::int32_t i = 0; i < n; ++i) {
    elements.push_back({i, i, 4});
    for (const std::int32_t j : {i - 1, i / 2, i / 3 - 5}) {
      if (j < 0 || j == i || (j == i / 2 && j == i - 1)) continue;
      const double value = 1 + std::sin(i + 3.0 * j);
      elements.push_back({i, j, value});
      elements.push_back({j, i, value});
    }
  }
  return elements;
}

void expect_on_all_threads(const Csr<double>& A, const std::optional<Place>& expected) {
  for (const int threads : {1, 2, 3, 16}) {
    EXPECT_EQ(find_asymmetry(A, Device::openmp(threads)), expected) << threads;
  }
  EXPECT_EQ(find_asymmetry(A, Device::serial()), expected);
}

TEST(SparseAsymmetry, SymmetricMatrices_NonePlaced) {
  for (const std::int32_t n : {0, 1, 2, 31, 33, 1025, many_rows}) {
    const Csr<double> A = csr_of<double>(n, symmetric_elements(n));
    expect_on_all_threads(A, {});
    EXPECT_TRUE(has_symmetric_pattern(A));
  }
}

TEST(SparseAsymmetry, SeveralPlaces_FirstOnAnyThreads) {
  Elements elements = symmetric_elements(many_rows);
  for (auto& e : elements) {
    if (e.row == 30'000 && e.column == 29'999) e.value += 1;
    if (e.row == 12'000 && e.column == 12'001) e.value += 1;
    if (e.row == 12'001 && e.column == 6000) e.value += 1;
  }
  const Csr<double> A = csr_of<double>(many_rows, elements);
  expect_on_all_threads(A, Place{12'001, 6000});
  EXPECT_TRUE(has_symmetric_pattern(A));
}

TEST(SparseAsymmetry, ElementsWithoutMirrorImage_Found) {
  for (const bool above : {false, true}) {
    for (const double value : {2.0, 1e-15, 0.0}) {
      Elements elements = symmetric_elements(many_rows);
      elements.push_back(above ? Elements::value_type{17, 35'000, value}
                               : Elements::value_type{35'000, 17, value});
      const Csr<double> A = csr_of<double>(many_rows, elements);
      // 1e-15 is a rounding error compared with diagonal elements of 4.
      expect_on_all_threads(A, value > 1 ? std::optional<Place>({35'000, 17}) : std::nullopt);
      EXPECT_FALSE(has_symmetric_pattern(A));
    }
  }
}

TEST(SparseAsymmetry, RandomMatrices_AsAllPairs) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    const auto n = static_cast<std::int32_t>(2 + random() % 12);
    std::vector<std::vector<double>> dense(static_cast<std::size_t>(n),
                                           std::vector<double>(static_cast<std::size_t>(n)));
    Elements elements;
    for (std::int32_t i = 0; i < n; ++i) {
      for (std::int32_t j = 0; j < n; ++j) {
        if (random() % 12 != 0) continue;
        const auto value = static_cast<double>(1 + random() % 2);
        dense[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)] = value;
        elements.push_back({i, j, value});
      }
    }
    std::optional<Place> expected;
    for (std::int64_t i = 0; i < n && !expected; ++i) {
      for (std::int64_t j = 0; j < i && !expected; ++j) {
        const auto row = static_cast<std::size_t>(i);
        const auto column = static_cast<std::size_t>(j);
        if (dense[row][column] != dense[column][row]) expected = Place{i, j};
      }
    }
    expect_on_all_threads(csr_of<double>(n, elements), expected);
  }
}

}  // namespace
}  // namespace echelon::sparse_direct
