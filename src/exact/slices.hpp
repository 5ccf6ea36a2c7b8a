// SPDX-License-Identifier: BSD-3-Clause
/// Slices: an order of the unknowns in which groups of rows are independent of each other.
///
/// Rows are sorted by their leading unknowns and cut into slices of consecutive rows. Unknowns that occur in
/// a single slice are its interior; the others separate the slices. With the interior unknowns first, the
/// rows of a slice are independent of those of other slices until they lead separators. The remaining rows
/// then form a smaller matrix in the separators, which is sliced again. A band of width w leaves about w rows
/// of a slice.
#pragma once

#include "backend/atomic.hpp"
#include "backend/lower_bound.hpp"
#include "backend/store.hpp"
#include "exact/reduction.hpp"
#include "exact/rows.hpp"

#include <echelon/array.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace echelon::mapped {

/// A numbering of unknowns. Those before `first` are eliminated, those before `limit` are next.
struct SliceLevel {
  std::int64_t unknowns = 0;
  std::int64_t limit = 0;
  std::int64_t slice_rows = 0;  ///< 0: natural order
  Array<std::int32_t> name;     ///< by number, the number in A
  std::int64_t first = 0;
  Array<std::int64_t> interior = {};  ///< by slice, its first unknown, and the limit
};

namespace slices_detail {

template <class Element>
struct LeadKey {
  RowsView<Element> rows;
  const std::int32_t* pending;
  std::uint32_t* keys;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    keys[i] = static_cast<std::uint32_t>(rows.lead(pending[i]));
  }
};

/// Unknowns from the first to the last of a row.
template <class Element>
struct RowExtent {
  RowsView<Element> rows;
  const std::int32_t* pending;
  ECHELON_ANYWHERE Largest operator()(std::int64_t i) const {
    const std::int64_t start = rows.start[pending[i]];
    const std::int64_t last = start + rows.length[pending[i]] - 1;
    return {static_cast<double>(rows.columns[last] - rows.columns[start] + 1)};
  }
};

/// Records for each unknown of a row that it occurs in the row's slice.
template <class Element>
struct MarkSlice {
  RowsView<Element> rows;
  const std::int32_t* pending;
  std::int64_t slice_rows;
  std::int32_t* first;
  std::int32_t* last;
  template <class Lanes>
  ECHELON_ANYWHERE void operator()(std::int64_t i, Lanes lanes) const {
    const auto slice = static_cast<std::int32_t>(i / slice_rows);
    const std::int64_t start = rows.start[pending[i]];
    for (std::int32_t k = lanes.lane(); k < rows.length[pending[i]]; k += Lanes::lanes) {
      atomic_min(first + rows.columns[start + k], slice);
      atomic_max(last + rows.columns[start + k], slice);
    }
  }
};

/// Sort keys of the unknowns: the slice for interior ones, then the separators, then those that no row has.
struct UnknownKey {
  const std::int32_t* first;
  const std::int32_t* last;
  std::uint32_t slices;
  std::uint32_t* keys;
  std::int32_t* unknowns;
  ECHELON_ANYWHERE void operator()(std::int64_t j) const {
    unknowns[j] = static_cast<std::int32_t>(j);
    keys[j] = last[j] < 0 ? slices + 1 : first[j] == last[j] ? static_cast<std::uint32_t>(first[j]) : slices;
  }
};

struct TwoCounts {
  std::int64_t interior = 0;
  std::int64_t occurring = 0;
  friend ECHELON_ANYWHERE TwoCounts combine(TwoCounts a, TwoCounts b) {
    return {a.interior + b.interior, a.occurring + b.occurring};
  }
};

struct CountUnknowns {
  const std::uint32_t* keys;
  std::uint32_t slices;
  ECHELON_ANYWHERE TwoCounts operator()(std::int64_t j) const {
    return {keys[j] < slices ? 1 : 0, keys[j] <= slices ? 1 : 0};
  }
};

/// First interior unknown of each slice.
struct FindInterior {
  const std::uint32_t* sorted_keys;
  std::int64_t unknowns;
  std::int64_t* interior;
  ECHELON_ANYWHERE void operator()(std::int64_t slice) const {
    interior[slice] = lower_bound(sorted_keys, 0, unknowns, static_cast<std::uint32_t>(slice));
  }
};

/// The new numbers of the unknowns, and their names.
struct Renumber {
  const std::int32_t* sorted;
  const std::int32_t* old_name;
  std::int32_t* number;
  std::int32_t* name;
  ECHELON_ANYWHERE void operator()(std::int64_t k) const {
    number[sorted[k]] = static_cast<std::int32_t>(k);
    name[k] = old_name[sorted[k]];
  }
};

template <class Element>
struct PendingLength {
  RowsView<Element> rows;
  const std::int32_t* pending;
  std::int64_t* lengths;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { lengths[i] = rows.length[pending[i]]; }
};

/// Copies a row with its new numbers: first the interior unknowns, then the separators. Both keep their
/// order.
template <class Element>
struct CopyRenumbered {
  RowsView<Element> rows;
  const std::int32_t* pending;
  const std::int64_t* offsets;
  std::int64_t first;
  const std::int32_t* number;
  std::int64_t limit;
  template <class Lanes>
  ECHELON_ANYWHERE void operator()(std::int64_t i, Lanes lanes) const {
    const std::int32_t row = pending[i];
    const std::int64_t from = rows.start[row];
    const std::int32_t length = rows.length[row];
    std::int64_t target = first + offsets[i];
    for (const bool interior : {true, false}) {
      for (std::int32_t begin = 0; begin < length; begin += Lanes::lanes) {
        const std::int32_t k = begin + lanes.lane();
        const std::int32_t column = k < length ? number[rows.columns[from + k]] : 0;
        const bool mine = k < length && (column < limit) == interior;
        const LaneCount count = lanes.count(mine);
        if (mine) {
          rows.columns[target + count.before] = column;
          rows.elements[target + count.before] = rows.elements[from + k];
        }
        target += count.all;
      }
    }
    lanes.sync();  // all lanes have read the row's place
    if (lanes.lane() == 0) rows.start[row] = first + offsets[i];
  }
};

}  // namespace slices_detail

/// Levels of slices for the rows of an elimination.
template <class B, class Element>
class Slices {
 public:
  Slices(B& backend, RowPool<B, Element>& rows, std::int64_t columns)
      : backend_(backend),
        rows_(rows),
        keys_(backend.device(), std::max(rows.count(), columns)),
        sorted_keys_(backend.device(), keys_.size()),
        unknowns_(backend.device(), columns),
        sorted_(backend.device(), std::max(rows.count(), columns)),
        first_(backend.device(), columns),
        last_(backend.device(), columns),
        sizes_(backend.device(), rows.count() + 1) {}

  /// Sorts the pending rows, none of which is empty, by their leading unknowns, and numbers the unknowns so
  /// that the interior ones come first. If too few are interior, all rows are one slice, with the unknowns
  /// in their present order.
  SliceLevel next(SliceLevel level, std::int64_t count, std::int32_t* pending) {
    using namespace slices_detail;
    level.limit = level.unknowns;
    level.slice_rows = count;
    const std::vector<std::int64_t> all = {level.first, level.limit};
    level.interior = Array<std::int64_t>(backend_.device(), std::span<const std::int64_t>(all));
    sort_by_lead(count, pending, bits(level.unknowns));
    const std::int64_t slice_rows = rows_per_slice(longest_extent(count, pending));
    if (count <= 2 * slice_rows) return level;
    const auto slices = static_cast<std::uint32_t>((count + slice_rows - 1) / slice_rows);
    const TwoCounts found = sort_unknowns(level.unknowns, count, pending, slice_rows, slices);
    if (2 * found.interior < found.occurring) return level;
    SliceLevel result{found.occurring, found.interior, slice_rows,
                      Array<std::int32_t>(backend_.device(), level.unknowns)};
    result.interior = Array<std::int64_t>(backend_.device(), slices + 1);
    backend_.for_each(slices + 1, FindInterior{sorted_keys_.data(), level.unknowns, result.interior.data()});
    backend_.for_each(level.unknowns,
                      Renumber{sorted_.data(), level.name.data(), first_.data(), result.name.data()});
    renumber_rows(count, pending, result.limit);
    return result;
  }

 private:
  /// Number of rows of a slice, large enough for most unknowns of a band to be interior.
  static std::int64_t rows_per_slice(std::int64_t extent) {
    constexpr std::int64_t least = 64;
    return std::max(least, 3 * extent);
  }
  static int bits(std::int64_t count) { return std::bit_width(static_cast<std::uint64_t>(count)); }

  void sort_by_lead(std::int64_t count, std::int32_t* pending, int key_bits) {
    backend_.for_each(count, slices_detail::LeadKey<Element>{rows_.view(), pending, keys_.data()});
    backend_.sort_by_key(count, 0, key_bits, keys_.data(), sorted_keys_.data(),
                         static_cast<const std::int32_t*>(pending), sorted_.data());
    backend_.copy(count, sorted_.data(), pending);
  }

  std::int64_t longest_extent(std::int64_t count, const std::int32_t* pending) {
    Array<Largest> extent(backend_.device(), 1);
    backend_.reduce(count, slices_detail::RowExtent<Element>{rows_.view(), pending},
                    Store<Largest>{extent.data()});
    return static_cast<std::int64_t>(backend_.read(extent.data()).value);
  }

  /// Sorts the unknowns into sorted_: the interior ones by slice, then the separators, then those in no row.
  slices_detail::TwoCounts sort_unknowns(std::int64_t unknowns, std::int64_t count,
                                         const std::int32_t* pending, std::int64_t slice_rows,
                                         std::uint32_t slices) {
    using namespace slices_detail;
    backend_.fill(unknowns, std::numeric_limits<std::int32_t>::max(), first_.data());
    backend_.fill(unknowns, std::int32_t{-1}, last_.data());
    for_each_row(backend_, count, count,
                 MarkSlice<Element>{rows_.view(), pending, slice_rows, first_.data(), last_.data()});
    backend_.for_each(unknowns,
                      UnknownKey{first_.data(), last_.data(), slices, keys_.data(), unknowns_.data()});
    backend_.sort_by_key(unknowns, 0, bits(slices + 1), keys_.data(), sorted_keys_.data(),
                         static_cast<const std::int32_t*>(unknowns_.data()), sorted_.data());
    Array<TwoCounts> counts(backend_.device(), 1);
    backend_.reduce(unknowns, CountUnknowns{keys_.data(), slices}, Store<TwoCounts>{counts.data()});
    return backend_.read(counts.data());
  }

  /// Renumbers the unknowns of the rows; the new numbers are in first_.
  void renumber_rows(std::int64_t count, const std::int32_t* pending, std::int64_t limit) {
    using namespace slices_detail;
    backend_.for_each(count, PendingLength<Element>{rows_.view(), pending, sizes_.data()});
    const std::int64_t total = backend_.exclusive_scan(count, sizes_.data(), sizes_.data());
    rows_.reserve(total);
    const std::int64_t begin = rows_.append(total);
    for_each_row(backend_, count, total,
                 CopyRenumbered<Element>{rows_.view(), pending, sizes_.data(), begin, first_.data(), limit});
  }

  B& backend_;
  RowPool<B, Element>& rows_;
  Array<std::uint32_t> keys_, sorted_keys_;
  Array<std::int32_t> unknowns_, sorted_;
  Array<std::int32_t> first_, last_;  // slices of an unknown; first_ is also its new number
  Array<std::int64_t> sizes_;
};

}  // namespace echelon::mapped
