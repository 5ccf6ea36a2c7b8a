// SPDX-License-Identifier: BSD-3-Clause
#include "backend/backend.hpp"
#include "backend/cuda/cuda.cuh"
#include "backend/store.hpp"
#include "matrix/row_blocks.hpp"
#include "matrix/row_stencils.hpp"
#include "support/hash.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <vector>

namespace echelon {

namespace {

/// Pattern of a matrix.
struct RowPatterns {
  std::int64_t rows;
  const std::int64_t* offsets;
  const std::int32_t* columns;
  [[nodiscard]] ECHELON_ANYWHERE std::int64_t length(std::int64_t i) const {
    return offsets[i + 1] - offsets[i];
  }
  /// Column less row of the row's element e.
  [[nodiscard]] ECHELON_ANYWHERE std::int32_t difference(std::int64_t i, std::int64_t e) const {
    return columns[offsets[i] + e] - static_cast<std::int32_t>(i);
  }
};

/// A row of the sample: equal hashes are taken for equal stencils, of which rows follow one or not.
struct SampledRow {
  std::uint64_t hash = 0;
  std::int64_t row = 0;
  std::int64_t length = 0;
};
/// Samples rows at random places: at equal distances all could be on one face of a mesh.
struct SampleRow {
  RowPatterns pattern;
  SampledRow* sample;
  ECHELON_ANYWHERE void operator()(std::int64_t s) const {
    const std::uint64_t place = hash_bits((static_cast<std::uint64_t>(s) + 1) * golden_ratio_64);
    const auto i = static_cast<std::int64_t>(place % static_cast<std::uint64_t>(pattern.rows));
    const std::int64_t length = pattern.length(i);
    auto hash = static_cast<std::uint64_t>(length);
    for (std::int64_t e = 0; e < length && length <= StencilRow::longest; ++e) {
      hash = hash_bits(hash * golden_ratio_64 + static_cast<std::uint32_t>(pattern.difference(i, e)));
    }
    sample[s] = {hash, i, length};
  }
};

/// Range of the differences, and a row that follows the stencil.
struct RowStencil {
  std::int64_t first = 0;
  std::int64_t length = 0;
  std::int64_t row = 0;
};

/// Stencils of a sample, the most frequent first, and the number of its rows that follow them; none if they
/// are many.
struct SampledStencils {
  std::vector<RowStencil> stencils;
  std::int64_t differences = 0;
  std::int64_t rows = 0;
};
SampledStencils count_stencils(std::vector<SampledRow> sample) {
  constexpr std::size_t most_stencils = 128;
  constexpr std::size_t most_groups = 2 * most_stencils;  // the stencils of a mesh, and some other rows
  struct Group {
    std::int64_t rows;
    SampledRow first;
  };
  std::sort(sample.begin(), sample.end(), [](const SampledRow& a, const SampledRow& b) {
    return a.hash != b.hash ? a.hash < b.hash : a.row < b.row;
  });
  std::vector<Group> groups;
  for (const SampledRow& row : sample) {
    if (groups.empty() || groups.back().first.hash != row.hash) groups.push_back({0, row});
    ++groups.back().rows;
  }
  if (groups.size() > most_groups) return {};
  std::sort(groups.begin(), groups.end(), [](const Group& a, const Group& b) {
    return a.rows != b.rows ? a.rows > b.rows : a.first.row < b.first.row;
  });
  SampledStencils result;
  for (const auto& [rows, first] : groups) {
    if (first.length > StencilRow::longest || result.stencils.size() == most_stencils) continue;
    if (result.differences + first.length > StencilRow::most_differences) continue;
    result.stencils.push_back({result.differences, first.length, first.row});
    result.differences += first.length;
    result.rows += rows;
  }
  return result;
}

struct WriteDifferences {
  RowPatterns pattern;
  const RowStencil* stencils;
  std::int32_t* differences;
  ECHELON_ANYWHERE void operator()(std::int64_t s) const {
    const RowStencil stencil = stencils[s];
    for (std::int64_t e = 0; e < stencil.length; ++e) {
      differences[stencil.first + e] = pattern.difference(stencil.row, e);
    }
  }
};

struct RowsWithoutStencil {
  std::int64_t count = 0;
  friend ECHELON_ANYWHERE RowsWithoutStencil combine(RowsWithoutStencil a, RowsWithoutStencil b) {
    return {a.count + b.count};
  }
};
/// Writes the row's stencil, the first one that it follows; counts the rows that follow none.
struct FindStencil {
  RowPatterns pattern;
  const std::int64_t* starts;
  const RowStencil* stencils;
  std::int64_t count;
  const std::int32_t* differences;
  StencilRow* rows;

  ECHELON_ANYWHERE RowsWithoutStencil operator()(std::int64_t i) const {
    const std::int64_t begin = pattern.offsets[i];
    const std::int64_t length = pattern.length(i);
    const std::int64_t block_begin = starts[2 * row_block_of(i, begin) + 1];
    const std::int64_t own = begin - block_begin / row_block_alignment * row_block_alignment;
    for (std::int64_t s = 0; s < count; ++s) {
      if (stencils[s].length != length || !follows(i, stencils[s])) continue;
      rows[i] = StencilRow(own, length, stencils[s].first);
      return {0};
    }
    rows[i] = StencilRow(own);
    return {1};
  }

 private:
  /// Compares all differences, in any case: loads then overlap.
  [[nodiscard]] ECHELON_ANYWHERE bool follows(std::int64_t i, const RowStencil& stencil) const {
    bool equal = true;
    for (std::int64_t e = 0; e < stencil.length; ++e) {
      const bool same = pattern.difference(i, e) == differences[stencil.first + e];
      equal = equal && same;
    }
    return equal;
  }
};

}  // namespace

RowStencils find_row_stencils(std::int64_t rows, const Array<std::int64_t>& row_offsets,
                              const Array<std::int32_t>& column_indices, const Array<std::int64_t>& starts) {
  constexpr std::int64_t least_nonzeros = 1 << 20;
  constexpr std::int64_t sampled = 1024;
  constexpr std::int64_t rare = 32;  // at most one row in this many may have no stencil
  if (column_indices.size() < least_nonzeros || rows > std::numeric_limits<std::int32_t>::max()) return {};
  const Device& device = row_offsets.device();
  Cuda backend(device);
  const RowPatterns pattern{rows, row_offsets.data(), column_indices.data()};
  Array<SampledRow> sample(device, sampled);
  backend.for_each(sampled, SampleRow{pattern, sample.data()});
  const SampledStencils found = count_stencils(sample.to_vector());
  if (rare * (sampled - found.rows) > sampled) return {};
  const Array<RowStencil> stencils(device, std::span<const RowStencil>(found.stencils));
  RowStencils result{Array<StencilRow>(device, rows), Array<std::int32_t>(device, found.differences)};
  backend.for_each(stencils.size(), WriteDifferences{pattern, stencils.data(), result.differences.data()});
  Array<RowsWithoutStencil> without(device, 1);
  backend.reduce(rows,
                 FindStencil{pattern, starts.data(), stencils.data(), stencils.size(),
                             result.differences.data(), result.rows.data()},
                 Store<RowsWithoutStencil>{without.data()});
  if (rare * backend.read(without.data()).count > rows) return {};
  return result;
}

}  // namespace echelon
