// SPDX-License-Identifier: BSD-3-Clause
/// Rows of extended interpolation on a GPU, one per warp: a row of a coarse level has some hundred terms,
/// which a single thread adds in half a millisecond. Candidates are in a hash table in shared memory. The
/// warp adds the terms of one strong fine neighbour at a time, whose columns differ, so that every sum has
/// the order, and the bits, of a single thread's.
#pragma once

#include "backend/cuda/cuda.cuh"
#include "multigrid/coarsening/classical/candidates.hpp"
#include "multigrid/coarsening/classical/interpolate_point.hpp"
#include "multigrid/coarsening/classical/row_map.hpp"
#include "multigrid/coarsening/classical/weights.hpp"

#include <algorithm>
#include <cstdint>

namespace echelon::multigrid::classical {

namespace warp_rows {

using cuda_kernels::block_size;

inline constexpr int slots = 256;
/// Candidates of a row at most; the slots that remain keep searches short, and have room for those that a
/// warp adds at once.
inline constexpr int most_candidates = 192;

struct Table {
  std::int32_t columns[slots];
  double sums[slots];

  __device__ void clear() {
    for (int slot = lane_id(); slot < slots; slot += warp_size) columns[slot] = TableCandidates::no_column;
  }
  /// Adds a term to the sum of a column; true if the column is new. Lanes add to different columns.
  __device__ bool add(std::int32_t column, double term) {
    unsigned slot = (static_cast<unsigned>(column) * 2654435769U) >> 24U;
    for (;; slot = (slot + 1) % slots) {
      std::int32_t held = columns[slot];
      if (held == TableCandidates::no_column) held = atomicCAS(columns + slot, held, column);
      if (held == TableCandidates::no_column) {
        sums[slot] = term;
        return true;
      }
      if (held == column) {
        sums[slot] += term;
        return false;
      }
    }
  }
};
static_assert(slots == 256, "the hash has eight bits");

/// An element of a row, by what it contributes.
enum class ElementKind : int { nothing, denominator, candidate, distribution };

/// An element of a row that one lane has loaded, for all lanes: from shared memory they read it in fewer
/// steps than by shuffles, of which a double takes two.
struct Element {
  ElementKind kind;
  std::int32_t column;
  double value;
  double own;  ///< members of the FinePointDistribution
  double factor;
  double sum;
  std::int64_t begin;
  std::int64_t end;
};

/// Writes the members of an element that its kind has.
template <class T>
__device__ void load_element(const ExtendedRow<T>& row, std::int64_t i, std::int64_t k, Element& element) {
  const SplitMatrix<T>& matrix = row.matrix;
  const std::int64_t j = matrix.a.column(k);
  const std::int32_t coarse = matrix.coarse_index[j];
  const auto value = static_cast<double>(matrix.a.values[k]);
  element.value = value;
  element.column = coarse;
  if (j != i && coarse == isolated_index) {
    element.kind = ElementKind::nothing;
  } else if (matrix.strong[k] == 0) {
    element.kind = ElementKind::denominator;
  } else if (coarse >= 0) {
    element.kind = ElementKind::candidate;
  } else {
    element.kind = ElementKind::distribution;
    const FinePointDistribution<T> part = row.distribution(i, j, value);
    element.own = part.own;
    element.factor = part.factor;
    element.sum = part.sum();
    element.begin = part.begin;
    element.end = part.end;
  }
}

/// Adds the terms of row i to the table. False if there are too many candidates. `elements` has room for one
/// element of each lane.
template <class T>
__device__ bool accumulate(const ExtendedRow<T>& row, std::int64_t i, Element* elements, Table& table,
                           RowFactors& factors) {
  const int lane = lane_id();
  double denominator = 0;
  int found = 0;
  const std::int64_t end = row.matrix.a.end(i);
  for (std::int64_t first = row.matrix.a.begin(i); first < end; first += warp_size) {
    elements[lane].kind = ElementKind::nothing;
    if (first + lane < end) load_element(row, i, first + lane, elements[lane]);
    unsigned left = __ballot_sync(full_warp, elements[lane].kind != ElementKind::nothing);
    __syncwarp();
    for (; left != 0; left &= left - 1) {
      const Element& element = elements[__ffs(static_cast<int>(left)) - 1];
      if (element.kind == ElementKind::denominator) {
        denominator += element.value;
        continue;
      }
      bool is_new = false;
      if (element.kind == ElementKind::candidate) {
        factors.sum += element.value;
        if (lane == 0) is_new = table.add(element.column, element.value);
        found += __popc(__ballot_sync(full_warp, is_new));
      } else {
        denominator += element.own;
        factors.sum += element.sum;
        const double factor = element.factor;
        const std::int64_t part_end = element.end;
        for (std::int64_t e = element.begin; e < part_end; e += warp_size) {
          is_new = false;
          if (e + lane < part_end) {
            const auto weight = static_cast<double>(row.strong_coarse.values[e + lane]);
            is_new = table.add(row.strong_coarse.columns[e + lane], rounded_product(factor, weight));
          }
          found += __popc(__ballot_sync(full_warp, is_new));
          if (found > most_candidates) return false;
        }
      }
      __syncwarp();
      if (found > most_candidates) return false;
    }
    __syncwarp();
  }
  factors.scale = -1 / denominator;
  factors.is_sum_known = true;
  return true;
}

/// Preferred one of two candidates.
struct Choice {
  Preference preference;
  double value;
};
/// The most preferred of the lanes' candidates, no two of which are equal. Magnitudes are not negative, and
/// so ordered like their bits: a reduction of integers takes one instruction, a tree of shuffles 25.
__device__ inline Choice preferred_in_warp(const Choice& own) {
  const auto bits = static_cast<unsigned long long>(__double_as_longlong(own.preference.magnitude));
  const auto high = static_cast<unsigned>(bits >> 32U);
  const auto low = static_cast<unsigned>(bits);
  const bool is_high = high == __reduce_max_sync(full_warp, high);
  const bool is_largest = low == __reduce_max_sync(full_warp, is_high ? low : 0U) && is_high;
  const std::int32_t column = __reduce_min_sync(full_warp, is_largest ? own.preference.column : INT32_MAX);
  const unsigned owners = __ballot_sync(full_warp, is_largest && own.preference.column == column);
  const int owner = __ffs(static_cast<int>(owners)) - 1;
  return {{__shfl_sync(full_warp, own.preference.magnitude, owner), column},
          __shfl_sync(full_warp, own.value, owner)};
}

/// Writes the preferred candidates as write_row() does.
template <class T>
__device__ bool write_candidates(const Table& table, const RowFactors& factors, const PaddedView<T>& rows,
                                 std::int64_t r) {
  const int lane = lane_id();
  int nonzero = 0;
  bool are_finite = true;
  for (int slot = lane; slot < slots; slot += warp_size) {
    if (table.columns[slot] == TableCandidates::no_column || table.sums[slot] == 0) continue;
    ++nonzero;
    are_finite = are_finite && isfinite(table.sums[slot]);
  }
  nonzero = __reduce_add_sync(full_warp, nonzero);
  if (nonzero == 0 || !__all_sync(full_warp, are_finite) || !isfinite(factors.scale)) return false;
  const int count = static_cast<int>(min(static_cast<std::int64_t>(nonzero), rows.width));
  std::int32_t* columns = rows.columns + r * rows.width;
  T* values = rows.values + r * rows.width;
  Preference last{HUGE_VAL, -1};
  double kept = 0;
  double norm = 0;
  for (int chosen = 0; chosen < count; ++chosen) {
    FindNext next{last};
    for (int slot = lane; slot < slots; slot += warp_size) {
      if (table.columns[slot] != TableCandidates::no_column) next(table.columns[slot], table.sums[slot]);
    }
    const Choice choice = preferred_in_warp({next.best, next.value});
    last = choice.preference;
    kept += choice.value;
    norm += last.magnitude;
    if (lane != 0) continue;
    int place = chosen;
    for (; place > 0 && columns[place - 1] > last.column; --place) {
      columns[place] = columns[place - 1];
      values[place] = values[place - 1];
    }
    columns[place] = last.column;
    values[place] = static_cast<T>(rounded_product(factors.scale, choice.value));
  }
  const double restore = restoring_factor(factors.sum, kept, nonzero > count);
  if (!(fabs(factors.scale * restore) * norm <= max_row_norm)) return false;
  if (lane != 0) return true;
  for (int e = 0; e < count && restore != 1; ++e) {
    values[e] = static_cast<T>(rounded_product(static_cast<double>(values[e]), restore));
  }
  rows.counts[r] = count;
  return true;
}

/// See InterpolatePoint. Rows with many candidates, and those that are not to be trusted, are marked.
/// Memory movement: a row of A, and for each strong fine neighbour its row of A^s_FC, mostly from the L2
/// cache.
template <class T>
__global__ void __launch_bounds__(block_size)
    interpolate_rows_by_warps(std::int64_t count, ExtendedRow<T> row, RowMap map, PaddedView<T> rows,
                              std::uint8_t* is_long) {
  __shared__ Table tables[block_size / warp_size];
  __shared__ Element elements[block_size];
  const int warp = static_cast<int>(threadIdx.x) / warp_size;
  Table& table = tables[warp];
  const bool is_first = lane_id() == 0;
  const std::int64_t warps = std::int64_t{gridDim.x} * block_size / warp_size;
  for (std::int64_t r = (std::int64_t{blockIdx.x} * block_size + threadIdx.x) / warp_size; r < count;
       r += warps) {
    const std::int64_t i = map[r];
    const std::int32_t coarse = row.matrix.coarse_index[i];
    if (is_first) {
      is_long[r] = 0;
      rows.counts[r] = coarse >= 0 ? 1 : 0;
      if (coarse >= 0) {
        rows.columns[r * rows.width] = coarse;
        rows.values[r * rows.width] = 1;
      }
    }
    if (coarse != fine_index) continue;
    __syncwarp();
    table.clear();
    __syncwarp();
    RowFactors factors;
    bool is_done = accumulate(row, i, elements + warp * warp_size, table, factors);
    __syncwarp();
    is_done = is_done && (factors.scale == 0 || write_candidates(table, factors, rows, r));
    if (is_first && !is_done) is_long[r] = 1;
  }
}

}  // namespace warp_rows

/// Computes the rows of `count` points by a warp each.
template <class T>
void interpolate_points(Cuda& backend, std::int64_t count,
                        const InterpolatePoint<T, ExtendedRow<T>, LocalCandidates>& points) {
  if (count == 0) return;
  const CurrentDevice current(backend.device().id());
  constexpr std::int64_t most_blocks = 1 << 12;
  constexpr std::int64_t rows_per_block = warp_rows::block_size / warp_size;
  const auto blocks =
      static_cast<unsigned>(std::min((count + rows_per_block - 1) / rows_per_block, most_blocks));
  warp_rows::interpolate_rows_by_warps<<<blocks, warp_rows::block_size, 0, stream()>>>(
      count, points.row, points.map, points.rows, points.is_long);
  check(cudaGetLastError());
}

}  // namespace echelon::multigrid::classical
