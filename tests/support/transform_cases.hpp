// SPDX-License-Identifier: BSD-3-Clause
/// Reference results of the functions of <echelon/matrix/transform.hpp>, computed element by element on an
/// ordered map. The checks run on every device.
#pragma once

#include "support/entries.hpp"

#include <echelon/error.hpp>
#include <echelon/matrix/transform.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

namespace echelon::test {

/// The elements for which `keep` is true, shifted up and left.
template <class T, class Keep>
Elements<T> kept(const Elements<T>& elements, Keep keep, std::int32_t up = 0, std::int32_t left = 0) {
  Elements<T> result;
  for (const auto& [place, value] : elements) {
    if (!keep(place.first, place.second)) continue;
    result.emplace_hint(result.end(), std::pair{place.first - up, place.second - left}, value);  // in order
  }
  return result;
}

/// B(i, j) = A(rows[i], columns[j]).
template <class T>
Elements<T> selected(const Elements<T>& elements, const std::vector<std::int32_t>& rows,
                     const std::vector<std::int32_t>& columns) {
  std::multimap<std::int32_t, std::int32_t> row_places;
  std::multimap<std::int32_t, std::int32_t> column_places;
  for (std::size_t i = 0; i < rows.size(); ++i) row_places.emplace(rows[i], static_cast<std::int32_t>(i));
  for (std::size_t j = 0; j < columns.size(); ++j) {
    column_places.emplace(columns[j], static_cast<std::int32_t>(j));
  }
  Elements<T> result;
  for (const auto& [place, value] : elements) {
    const auto [rows_begin, rows_end] = row_places.equal_range(place.first);
    const auto [columns_begin, columns_end] = column_places.equal_range(place.second);
    for (auto i = rows_begin; i != rows_end; ++i) {
      for (auto j = columns_begin; j != columns_end; ++j) result[{i->second, j->second}] = value;
    }
  }
  return result;
}

inline std::vector<std::int32_t> random_permutation(std::int64_t n, std::mt19937& random) {
  std::vector<std::int32_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random);
  return order;
}

template <class T>
void check_windows(const Csr<T>& a, const Elements<T>& elements) {
  const std::int64_t m = a.rows();
  const std::int64_t n = a.columns();
  for (const std::int64_t k : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1}, std::int64_t{-7}, n - 1,
                               -m, n + 5, INT64_MIN, INT64_MAX}) {
    EXPECT_TRUE(equal_bits(lower_triangle(a, k),
                           csr_of(m, n, kept(elements, [&](auto i, auto j) { return j - i <= k; }))))
        << k;
    EXPECT_TRUE(equal_bits(upper_triangle(a, k),
                           csr_of(m, n, kept(elements, [&](auto i, auto j) { return j - i >= k; }))))
        << k;
  }
  const auto check_range = [&](std::int64_t r0, std::int64_t r1, std::int64_t c0, std::int64_t c1) {
    const auto inside = [&](std::int64_t i, std::int64_t j) {
      return r0 <= i && i < r1 && c0 <= j && j < c1;
    };
    const auto expected =
        kept(elements, inside, static_cast<std::int32_t>(r0), static_cast<std::int32_t>(c0));
    EXPECT_TRUE(equal_bits(submatrix(a, r0, r1, c0, c1), csr_of(r1 - r0, c1 - c0, expected)));
  };
  check_range(0, m, 0, n);
  check_range(m / 3, m - m / 4, n / 5, n - n / 3);
  check_range(m / 2, m / 2, 0, n);
  check_range(0, m, n, n);
}

template <class T>
void check_selections(const Csr<T>& a, const Elements<T>& elements, std::mt19937& random) {
  const Device& device = a.device();
  const auto there = [&](const std::vector<std::int32_t>& list) { return Array<std::int32_t>(device, list); };
  const auto check = [&](const Csr<T>& got, const std::vector<std::int32_t>& rows,
                         const std::vector<std::int32_t>& columns) {
    const auto row_count = static_cast<std::int64_t>(rows.size());
    const auto column_count = static_cast<std::int64_t>(columns.size());
    EXPECT_TRUE(equal_bits(got, csr_of(row_count, column_count, selected(elements, rows, columns))));
  };
  const std::vector<std::int32_t> p = random_permutation(a.rows(), random);
  const std::vector<std::int32_t> q = random_permutation(a.columns(), random);
  std::vector<std::int32_t> same_rows = p;
  std::sort(same_rows.begin(), same_rows.end());
  std::vector<std::int32_t> same_columns = q;
  std::sort(same_columns.begin(), same_columns.end());
  check(permute(a, there(p), there(q)), p, q);
  check(permute_rows(a, there(p)), p, same_columns);
  check(permute_columns(a, there(q)), same_rows, q);
  check(permute_columns(a, there(same_columns)), same_rows, same_columns);
  if (a.rows() == a.columns()) check(permute_symmetric(a, there(p)), p, p);
  std::vector<std::int32_t> rows(p.begin(), p.begin() + static_cast<std::ptrdiff_t>(p.size() / 2));
  std::vector<std::int32_t> columns(q.begin(), q.begin() + static_cast<std::ptrdiff_t>(q.size() / 2));
  rows.insert(rows.end(), p.begin(), p.begin() + static_cast<std::ptrdiff_t>(p.size() / 3));  // twice
  columns.insert(columns.end(), q.begin(), q.begin() + static_cast<std::ptrdiff_t>(q.size() / 3));
  check(submatrix(a, there(rows), there(columns)), rows, columns);
  std::sort(columns.begin(), columns.end());
  columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
  check(submatrix(a, there(rows), there(columns)), rows, columns);
}

template <class T>
void check_symmetrization(const Csr<T>& a, const Elements<T>& elements) {
  if (a.rows() != a.columns()) {
    EXPECT_THROW(static_cast<void>(symmetrize(a)), DimensionMismatch);
    return;
  }
  Elements<T> mean;
  Elements<T> pattern;
  const auto at = [&](std::int32_t i, std::int32_t j) {
    const auto found = elements.find({i, j});
    return found == elements.end() ? T{0} : found->second;
  };
  for (const auto& [place, value] : elements) {
    const auto [i, j] = place;
    mean[{i, j}] = (at(i, j) + at(j, i)) / 2;
    mean[{j, i}] = (at(i, j) + at(j, i)) / 2;
    pattern[{i, j}] = at(i, j);
    pattern[{j, i}] = at(j, i);
  }
  EXPECT_TRUE(equal_bits(symmetrize(a), csr_of(a.rows(), a.rows(), mean)));
  EXPECT_TRUE(equal_bits(symmetrize_pattern(a), csr_of(a.rows(), a.rows(), pattern)));
}

template <class T>
void check_diagonals(const Csr<T>& a, const Elements<T>& elements) {
  const std::int64_t n = std::min(a.rows(), a.columns());
  std::vector<T> expected(static_cast<std::size_t>(n), T{0});
  for (const auto& [place, value] : elements) {
    if (place.first == place.second) expected[static_cast<std::size_t>(place.first)] = value;
  }
  EXPECT_EQ(diagonal(a).to_vector(), expected);
  for (const std::int64_t block : {1, 3, 32}) {
    const std::int64_t blocks = (n + block - 1) / block;
    std::vector<T> elements_of_blocks(static_cast<std::size_t>(blocks * block * block), T{0});
    for (const auto& [place, value] : elements) {
      const auto [i, j] = place;
      if (i >= n || j >= n || i / block != j / block) continue;
      const std::int64_t b = i / block;
      elements_of_blocks[static_cast<std::size_t>(b * block * block + j % block * block + i % block)] = value;
    }
    const Dense<T> got = block_diagonal(a, block);
    EXPECT_EQ(got.rows(), block);
    EXPECT_EQ(got.columns(), blocks * block);
    EXPECT_EQ(got.to_vector(), elements_of_blocks) << block;
  }
}

/// All checks, for the matrix of a list of entries.
template <class T>
void check_transforms(const EntryList& list, const Device& device) {
  SCOPED_TRACE(list.name + " on " + device.name());
  std::mt19937 random(static_cast<unsigned>(list.rows + 3 * list.columns));
  const Elements<T> elements = elements_of<T>(list);
  const Csr<T> a = csr_of(list.rows, list.columns, elements).to(device);
  check_windows(a, elements);
  check_selections(a, elements, random);
  check_symmetrization(a, elements);
  check_diagonals(a, elements);
}

}  // namespace echelon::test
