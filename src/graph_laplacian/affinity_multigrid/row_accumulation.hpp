// SPDX-License-Identifier: BSD-3-Clause
/// Laplacians row by row on the host: the weights of parallel edges are added up in place, where a GPU sorts.
#pragma once

#include "graph_laplacian/affinity_multigrid/for_each_costly.hpp"
#include "graph_laplacian/affinity_multigrid/packed_edges.hpp"
#include "support/first_exception.hpp"
#include "support/hash.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

namespace echelon::affinity_multigrid {

/// Edges of one vertex after another, those with the same other end added up: found in a hash table of a size
/// that the row needs, which stays in the first cache.
class RowAccumulator {
 public:
  /// Begins a row of at most `most` edges, whose elements are written from `columns` and `sums` on.
  void begin(std::int64_t most, std::int32_t* columns, double* sums) {
    const std::size_t size = std::bit_ceil(static_cast<std::size_t>(2 * most + 2));
    if (slots_.size() < size) slots_.resize(size);
    shift_ = 64 - std::countr_zero(size);
    mask_ = size - 1;
    ++row_;
    columns_ = columns;
    sums_ = sums;
    count_ = 0;
  }
  void add(std::int32_t column, double weight) {
    std::size_t slot = static_cast<std::uint64_t>(column) * golden_ratio_64 >> shift_;
    for (; slots_[slot].row == row_; slot = (slot + 1) & mask_) {
      if (columns_[slots_[slot].place] != column) continue;
      sums_[slots_[slot].place] += weight;
      return;
    }
    slots_[slot] = {row_, count_};
    columns_[count_] = column;
    sums_[count_++] = weight;
  }
  /// Sorts the row by columns, and returns its length.
  std::int64_t finish() {
    constexpr std::int32_t few = 32;
    if (count_ > few) {
      sort_many();
    } else {
      sort_few();
    }
    return count_;
  }

 private:
  void sort_few() {
    for (std::int32_t k = 1; k < count_; ++k) {
      const std::int32_t column = columns_[k];
      const double sum = sums_[k];
      std::int32_t place = k;
      for (; place > 0 && columns_[place - 1] > column; --place) {
        columns_[place] = columns_[place - 1];
        sums_[place] = sums_[place - 1];
      }
      columns_[place] = column;
      sums_[place] = sum;
    }
  }
  void sort_many() {
    pairs_.resize(static_cast<std::size_t>(count_));
    for (std::int32_t k = 0; k < count_; ++k) pairs_[static_cast<std::size_t>(k)] = {columns_[k], sums_[k]};
    std::sort(pairs_.begin(), pairs_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (std::int32_t k = 0; k < count_; ++k) {
      std::tie(columns_[k], sums_[k]) = pairs_[static_cast<std::size_t>(k)];
    }
  }

  /// Place of a column in the row; free unless the row is the current one.
  struct Slot {
    std::int32_t row = 0;
    std::int32_t place = 0;
  };

  std::vector<Slot> slots_;
  int shift_ = 0;
  std::size_t mask_ = 0;
  std::int32_t row_ = 0;  ///< number of the current row, from 1 on
  std::vector<std::pair<std::int32_t, double>> pairs_;
  std::int32_t* columns_ = nullptr;
  double* sums_ = nullptr;
  std::int32_t count_ = 0;
};

/// First row of a part, by equal numbers of edges.
inline std::int64_t first_row_of(std::int64_t n, const std::int64_t* begins, int part, int parts) {
  if (part == parts) return n;
  return lower_bound(begins, 0, n, begins[n] * part / parts);
}

/// Writes row `row`, of `count` sums of weights, with the diagonal, their total.
template <class T>
void write_laplacian_row(std::int64_t row, const std::int32_t* from, const double* sums, std::int64_t count,
                         std::int32_t* columns, T* values) {
  std::int64_t place = 0;
  std::int64_t diagonal = -1;
  double total = 0;
  for (std::int64_t k = 0; k < count; ++k) {
    if (diagonal < 0 && from[k] > row) diagonal = place++;
    columns[place] = from[k];
    values[place] = static_cast<T>(-sums[k]);
    total -= static_cast<double>(values[place++]);
  }
  if (diagonal < 0) diagonal = place;
  columns[diagonal] = static_cast<std::int32_t>(row);
  values[diagonal] = static_cast<T>(total);
}

/// Makes the Laplacian with the edges that visit(row, add) passes to add(column, weight), in the order of
/// their addition. `begins` has the offsets of rows that are long enough for all edges. Has the bits of
/// laplacian_of for a list of edges in this order.
template <class T, class B, class Visit>
Csr<T> accumulate_rows(B& backend, std::int64_t n, const std::int64_t* begins, const Visit& visit) {
  constexpr std::int64_t worth_threads = 10000;
  const Device& device = backend.device();
  Array<std::int32_t> found(device, begins[n]);
  Array<double> sums(device, begins[n]);
  Array<std::int64_t> offsets(device, n + 1);
  const bool in_parallel = begins[n] > worth_threads;
  FirstException exception;
  backend.parallel(in_parallel, [&](int part, int parts) {
    exception.catch_from([&] {
      RowAccumulator row_of_sums;
      const std::int64_t end = first_row_of(n, begins, part + 1, parts);
      for (std::int64_t row = first_row_of(n, begins, part, parts); row < end; ++row) {
        const std::int64_t begin = begins[row];
        row_of_sums.begin(begins[row + 1] - begin, found.data() + begin, sums.data() + begin);
        visit(row, [&](std::int32_t column, double weight) { row_of_sums.add(column, weight); });
        offsets[row] = row_of_sums.finish() + 1;
      }
    });
  });
  exception.rethrow();
  const std::int64_t nonzeros = backend.exclusive_scan(n, offsets.data(), offsets.data());
  Array<std::int32_t> columns(device, nonzeros);
  Array<T> values(device, nonzeros);
  backend.parallel(in_parallel, [&](int part, int parts) {
    const std::int64_t end = first_row_of(n, begins, part + 1, parts);
    for (std::int64_t row = first_row_of(n, begins, part, parts); row < end; ++row) {
      write_laplacian_row(row, found.data() + begins[row], sums.data() + begins[row],
                          offsets[row + 1] - offsets[row] - 1, columns.data() + offsets[row],
                          values.data() + offsets[row]);
    }
  });
  return Csr<T>::unchecked(n, n, std::move(offsets), std::move(columns), std::move(values));
}

}  // namespace echelon::affinity_multigrid
