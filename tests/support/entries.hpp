// SPDX-License-Identifier: BSD-3-Clause
/// Random sparse matrices of awkward shapes as lists of entries, and a reference that sorts them with
/// std::map.
#pragma once

#include <echelon/matrix/coo.hpp>
#include <echelon/matrix/csr.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace echelon::test {

/// Entries in any order; entries may be repeated.
struct EntryList {
  std::string name;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::vector<Triplet<double>> entries;

  void add(std::int64_t row, std::int64_t column, double value) {
    entries.push_back({static_cast<std::int32_t>(row), static_cast<std::int32_t>(column), value});
  }

  template <class T>
  [[nodiscard]] Coo<T> coo(const Device& device = {}) const {
    std::vector<std::int32_t> row_indices;
    std::vector<std::int32_t> column_indices;
    std::vector<T> values;
    for (const auto& entry : entries) {
      row_indices.push_back(entry.row);
      column_indices.push_back(entry.column);
      values.push_back(static_cast<T>(entry.value));
    }
    return Coo<T>(rows, columns, Array<std::int32_t>(device, row_indices),
                  Array<std::int32_t>(device, column_indices), Array<T>(device, values));
  }
};

/// Elements in order of row and column.
template <class T>
using Elements = std::map<std::pair<std::int32_t, std::int32_t>, T>;

/// Sums repeated entries in the order given.
template <class T>
Elements<T> elements_of(const EntryList& list) {
  Elements<T> result;
  for (const auto& entry : list.entries) {
    const auto [place, is_new] = result.try_emplace({entry.row, entry.column}, static_cast<T>(entry.value));
    if (!is_new) place->second += static_cast<T>(entry.value);
  }
  return result;
}

template <class T>
Elements<T> elements_of(const Csr<T>& matrix) {
  const Csr<T> a = matrix.to(Device());
  Elements<T> result;
  for (std::int64_t i = 0; i < a.rows(); ++i) {
    for (std::int64_t k = a.row_offsets()[i]; k < a.row_offsets()[i + 1]; ++k) {
      result.emplace_hint(result.end(), std::pair{static_cast<std::int32_t>(i), a.column_indices()[k]},
                          a.values()[k]);
    }
  }
  return result;
}

template <class T>
Elements<T> transposed(const Elements<T>& elements) {
  Elements<T> result;
  for (const auto& [place, value] : elements) result[{place.second, place.first}] = value;
  return result;
}

/// The Csr with these elements, built without the code under test.
template <class T>
Csr<T> csr_of(std::int64_t rows, std::int64_t columns, const Elements<T>& elements) {
  std::vector<std::int64_t> offsets(static_cast<std::size_t>(rows) + 1, 0);
  std::vector<std::int32_t> column_indices;
  std::vector<T> values;
  for (const auto& [place, value] : elements) {
    ++offsets[static_cast<std::size_t>(place.first) + 1];
    column_indices.push_back(place.second);
    values.push_back(value);
  }
  for (std::size_t i = 1; i < offsets.size(); ++i) offsets[i] += offsets[i - 1];
  return Csr<T>(rows, columns, Array<std::int64_t>(Device(), offsets),
                Array<std::int32_t>(Device(), column_indices), Array<T>(Device(), values));
}

/// Compares bits, so that NaN equals itself and 0 differs from -0.
template <class V>
bool equal_bits(const Array<V>& a, const Array<V>& b) {
  const std::vector<V> x = a.to_vector();
  const std::vector<V> y = b.to_vector();
  return x.size() == y.size() && (x.empty() || std::memcmp(x.data(), y.data(), x.size() * sizeof(V)) == 0);
}

template <class T>
bool equal_bits(const Csr<T>& a, const Csr<T>& b) {
  return a.rows() == b.rows() && a.columns() == b.columns() && equal_bits(a.row_offsets(), b.row_offsets()) &&
         equal_bits(a.column_indices(), b.column_indices()) && equal_bits(a.values(), b.values());
}

/// `count` entries anywhere in [0, rows) x [0, columns).
inline void scatter(EntryList& list, std::int64_t count, std::mt19937& random) {
  if (list.rows == 0 || list.columns == 0) return;
  std::uniform_int_distribution<std::int64_t> row(0, list.rows - 1);
  std::uniform_int_distribution<std::int64_t> column(0, list.columns - 1);
  std::uniform_real_distribution<double> value(-1, 1);
  for (std::int64_t k = 0; k < count; ++k) list.add(row(random), column(random), value(random));
}

/// A symmetric pattern with unsymmetric values, and a full row and column.
inline EntryList mirrored(std::int64_t n, std::int64_t pairs, std::mt19937& random) {
  EntryList half{"mirrored", n, n, {}};
  scatter(half, pairs, random);
  for (std::int64_t i = 0; i < n; ++i) half.add(n / 3, i, 1.0);
  EntryList list{"mirrored", n, n, {}};
  for (const auto& [place, value] : elements_of<double>(half)) {
    list.add(place.first, place.second, value);
    list.add(place.second, place.first, 2 * value);
  }
  return list;
}

/// Removes one off-diagonal entry of a list from `mirrored`.
inline void break_mirror(EntryList& list) {
  list.name += ", without one";
  std::erase_if(list.entries, [&](const auto& entry) {
    return entry.row == list.rows / 3 && entry.column == list.columns - 1;
  });
}

/// Lists for square and rectangular matrices, with few and many entries, empty rows, a dense row, a dense
/// column, a band, and one entry repeated many times. `large` scales the largest.
inline std::vector<EntryList> awkward_lists(std::int64_t large, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<EntryList> lists;
  const auto start = [&](std::string name, std::int64_t rows, std::int64_t columns) -> EntryList& {
    return lists.emplace_back(EntryList{std::move(name), rows, columns, {}});
  };
  for (const std::int64_t rows : {0, 1, 31, 33, 1025}) {
    for (const std::int64_t columns : {0, 1, 33, 1025}) {
      for (const std::int64_t per_row : {0, 1, 9}) {
        scatter(start(std::to_string(rows) + "x" + std::to_string(columns) + " with " +
                          std::to_string(per_row) + " a row",
                      rows, columns),
                rows * per_row, random);
      }
    }
  }
  scatter(start("scattered", large, large), 10 * large, random);
  scatter(start("wide", 33, large), 3 * large, random);
  scatter(start("tall", large, 33), 3 * large, random);
  scatter(start("mostly empty rows", 100 * large, 100 * large), large, random);
  scatter(start("one place in two, twice", large / 10, 5), large, random);
  EntryList& arrow = start("arrow", large, large);
  for (std::int64_t i = 0; i < large; ++i) {
    arrow.add(i, i, 2);
    arrow.add(large / 2, i, 1 / static_cast<double>(1 + i));
    arrow.add(i, large / 3, -1 / static_cast<double>(3 + i));
  }
  std::shuffle(arrow.entries.begin(), arrow.entries.end(), random);
  EntryList& band = start("band", large, large);
  for (std::int64_t i = 0; i < large; ++i) {
    for (const std::int64_t j : {i - 300, i - 1, i, i + 1, i + 300}) {
      if (j >= 0 && j < large) band.add(i, j, static_cast<double>(i % 17) - static_cast<double>(j % 5));
    }
  }
  EntryList& elements = start("elements", large, large);
  for (std::int64_t e = 0; e + 1 < large; ++e) {
    for (const std::int64_t i : {e + 1, e}) {
      for (const std::int64_t j : {e, e + 1})
        elements.add(i, j, 1 / static_cast<double>(3 + e % 7 + 2 * j - i));
    }
  }
  EntryList& repeated = start("one place many times", 3, 3);
  std::uniform_real_distribution<double> value(-1, 1);
  for (std::int64_t k = 0; k < large; ++k) repeated.add(1, 2, value(random));
  const std::int64_t rows = std::min<std::int64_t>(large / 3, 1025);
  scatter(start("rows of two hundred", rows, 4000), 200 * rows, random);
  return lists;
}

}  // namespace echelon::test
