// SPDX-License-Identifier: BSD-3-Clause
/// Elimination of the slices of a level, each by a team in its own memory.
#pragma once

#include "backend/store.hpp"
#include "exact/local_slice.hpp"
#include "exact/record.hpp"
#include "exact/slices.hpp"

#include <echelon/array.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

namespace echelon::mapped {

namespace local_slices_detail {

/// Lengths of rows: the largest one and the sum.
struct Lengths {
  std::int64_t longest = 0;
  std::int64_t total = 0;
  friend ECHELON_ANYWHERE Lengths combine(Lengths a, Lengths b) {
    return {a.longest > b.longest ? a.longest : b.longest, a.total + b.total};
  }
};

template <class Element>
struct MeasurePendingRow {
  RowsView<Element> rows;
  const std::int32_t* pending;
  ECHELON_ANYWHERE Lengths operator()(std::int64_t i) const {
    const std::int64_t length = rows.length[pending[i]];
    return {length, length};
  }
};

struct SliceRounds {
  const std::int64_t* rounds;
  ECHELON_ANYWHERE Largest operator()(std::int64_t slice) const {
    return {static_cast<double>(rounds[slice])};
  }
};

struct CountFinished {
  const std::uint8_t* finished;
  ECHELON_ANYWHERE Sum operator()(std::int64_t slice) const { return {static_cast<double>(finished[slice])}; }
};

/// Clears the flags of rows whose slices are finished.
struct ClearFinished {
  const std::uint8_t* finished;
  std::int64_t slice_rows;
  std::uint8_t* flags;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    if (finished[i / slice_rows] != 0) flags[i] = 0;
  }
};

/// Lists the places of a slice's reductions, with their rounds as keys.
struct ListStaged {
  const std::uint32_t* round;
  std::int64_t capacity;
  const std::int64_t* count;
  const std::int64_t* offsets;
  std::uint32_t* keys;
  std::int32_t* places;
  template <class Lanes>
  ECHELON_ANYWHERE void operator()(std::int64_t slice, Lanes lanes) const {
    for (std::int64_t k = lanes.lane(); k < count[slice]; k += Lanes::lanes) {
      keys[offsets[slice] + k] = round[slice * capacity + k];
      places[offsets[slice] + k] = static_cast<std::int32_t>(slice * capacity + k);
    }
  }
};

struct FindRoundEnd {
  const std::uint32_t* sorted_keys;
  std::int64_t count;
  std::int64_t* ends;
  ECHELON_ANYWHERE void operator()(std::int64_t round) const {
    ends[round] = lower_bound(sorted_keys, 0, count, static_cast<std::uint32_t>(round + 1));
  }
};

struct NumberOfSlice {
  const std::int32_t* pending;
  std::int64_t slice_rows;
  std::int32_t* slice;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    slice[pending[i]] = static_cast<std::int32_t>(i / slice_rows);
  }
};

}  // namespace local_slices_detail

/// Elimination of a level's slices in the memory of teams. Slices that do not fit there are left as they are.
template <class B, class Field>
class LocalSlices {
  using Element = typename Field::Element;
  using Value = typename Field::Value;

 public:
  LocalSlices(B& backend, RowPool<B, Element>& rows, const SliceLevel& level, std::int64_t count)
      : backend_(backend),
        rows_(rows),
        level_(level),
        count_(count),
        slices_((count + level.slice_rows - 1) / level.slice_rows) {}

  /// Eliminates slices of the pending rows, and records the reductions by rounds. map() returns a view of the
  /// elimination.
  template <class Map>
  void run(const Map& map, const std::int32_t* pending, bool replaces, Record<B, Value>& record) {
    lengths_ = measure(pending);
    capacity_ = level_.slice_rows * (lengths_.longest + least_capacity);
    const std::vector<TeamSize> sizes = team_sizes(backend_);
    if (!fits(lengths_.longest, sizes.back()) || !is_worth_memory()) return;
    allocate();
    for (const TeamSize& size : sizes) {
      const bool is_last = &size == &sizes.back();
      if (!is_last && !fits(row_growth * lengths_.longest, size)) continue;
      run_teams(size, map, pending, replaces);
      if (finished_slices_ == slices_) break;
    }
    if (finished_slices_ > 0) collect(record);
  }

  [[nodiscard]] std::int64_t slices() const { return slices_; }
  [[nodiscard]] std::int64_t finished_slices() const { return finished_slices_; }
  /// Rounds of the slices that were eliminated: the largest number of one.
  [[nodiscard]] std::int64_t rounds() const { return rounds_; }
  /// Clears the flags of the pending rows in slices that were eliminated.
  void clear_finished(std::uint8_t* flags) {
    backend_.for_each(count_, local_slices_detail::ClearFinished{finished_.data(), level_.slice_rows, flags});
  }

 private:
  /// Reductions of a row beyond one for each of its elements.
  static constexpr std::int64_t least_capacity = 8;

  /// Growth of a band's rows that are exchanged: of the longest one, and of all together.
  static constexpr std::int64_t row_growth = 2;
  static constexpr std::int64_t total_growth = 3;

  local_slices_detail::Lengths measure(const std::int32_t* pending) {
    using local_slices_detail::Lengths;
    Array<Lengths> lengths(backend_.device(), 1);
    backend_.reduce(count_, local_slices_detail::MeasurePendingRow<Element>{rows_.view(), pending},
                    Store<Lengths>{lengths.data()});
    return backend_.read(lengths.data());
  }

  /// Whether a slice with rows of a length, and as many interior unknowns as rows, fits into a team's memory.
  [[nodiscard]] bool fits(std::int64_t length, const TeamSize& size) const {
    return SliceLayout<Element>{level_.slice_rows, level_.slice_rows, size.warps}.bytes(length) <= size.bytes;
  }

  /// Whether the memory of the results is a small part of what is available, and places are 32-bit numbers.
  [[nodiscard]] bool is_worth_memory() const {
    constexpr std::size_t bytes_of_reduction = 6 * sizeof(std::int32_t) + sizeof(Value);
    const std::int64_t places = slices_ * capacity_;
    if (places > std::numeric_limits<std::int32_t>::max()) return false;
    const std::size_t bytes =
        static_cast<std::size_t>(places) * bytes_of_reduction +
        static_cast<std::size_t>(total_growth * lengths_.total) * RowPool<B, Element>::bytes_per_element;
    return bytes <= memory(backend_.device()).available / 4;
  }

  void allocate() {
    const Device& device = backend_.device();
    const std::int64_t places = slices_ * capacity_;
    row_ = Array<std::int32_t>(device, places);
    pivot_ = Array<std::int32_t>(device, places);
    multiplier_ = Array<Value>(device, places);
    round_ = Array<std::uint32_t>(device, places);
    finished_ = Array<std::uint8_t>(device, slices_);
    reductions_ = Array<std::int64_t>(device, slices_);
    slice_rounds_ = Array<std::int64_t>(device, slices_);
    used_ = Array<std::int64_t>(device, 1);
    backend_.fill(slices_, std::uint8_t{0}, finished_.data());
    backend_.fill(slices_, std::int64_t{0}, reductions_.data());
    backend_.fill(slices_, std::int64_t{0}, slice_rounds_.data());
  }

  /// Eliminates the slices that fit into memory of a size, and that are not finished.
  template <class Map>
  void run_teams(const TeamSize& size, const Map& map, const std::int32_t* pending, bool replaces) {
    const std::int64_t elements = total_growth * lengths_.total;
    rows_.reserve(elements);
    const std::int64_t first = rows_.append(0);
    backend_.fill(1, std::int64_t{0}, used_.data());
    for_each_team(backend_, slices_, size,
                  EliminateSlice<Field>{{map(),
                                         pending,
                                         count_,
                                         level_.slice_rows,
                                         level_.interior.data(),
                                         replaces,
                                         {first, elements, used_.data()},
                                         {staged(), round_.data(), capacity_},
                                         finished_.data(),
                                         reductions_.data(),
                                         slice_rounds_.data()}});
    rows_.append(std::min(backend_.read(used_.data()), elements));
    Array<Sum> finished(backend_.device(), 1);
    backend_.reduce(slices_, local_slices_detail::CountFinished{finished_.data()},
                    Store<Sum>{finished.data()});
    finished_slices_ = static_cast<std::int64_t>(backend_.read(finished.data()).value);
  }

  [[nodiscard]] RecordView<std::int32_t, Value> staged() {
    return {row_.data(), pivot_.data(), multiplier_.data()};
  }

  /// Appends the reductions to the record: by rounds, those of a round by slices, as Elimination records
  /// them.
  void collect(Record<B, Value>& record) {
    using namespace local_slices_detail;
    const Device& device = backend_.device();
    Array<Largest> most_rounds(device, 1);
    backend_.reduce(slices_, SliceRounds{slice_rounds_.data()}, Store<Largest>{most_rounds.data()});
    rounds_ = static_cast<std::int64_t>(backend_.read(most_rounds.data()).value);
    Array<std::int64_t> offsets(device, slices_ + 1);
    const std::int64_t total = backend_.exclusive_scan(slices_, reductions_.data(), offsets.data());
    if (total == 0) return;
    Array<std::uint32_t> keys(device, total);
    Array<std::uint32_t> sorted_keys(device, total);
    Array<std::int32_t> places(device, total);
    Array<std::int32_t> sorted_places(device, total);
    for_each_row(
        backend_, slices_, total,
        ListStaged{round_.data(), capacity_, reductions_.data(), offsets.data(), keys.data(), places.data()});
    backend_.sort_by_key(total, 0, std::bit_width(static_cast<std::uint64_t>(rounds_)), keys.data(),
                         sorted_keys.data(), static_cast<const std::int32_t*>(places.data()),
                         sorted_places.data());
    Array<std::int64_t> ends(device, rounds_);
    backend_.for_each(rounds_, FindRoundEnd{sorted_keys.data(), total, ends.data()});
    backend_.synchronize();
    const RecordView<std::int32_t, Value> target = record.append_rounds(ends.to_vector());
    backend_.for_each(total, record_detail::GatherRecord<Value>{staged(), sorted_places.data(), target});
    backend_.synchronize();
  }

  B& backend_;
  RowPool<B, Element>& rows_;
  const SliceLevel& level_;
  std::int64_t count_, slices_;
  local_slices_detail::Lengths lengths_;  // of the pending rows
  std::int64_t capacity_ = 0;             // reductions of a slice
  std::int64_t finished_slices_ = 0;
  std::int64_t rounds_ = 0;
  Array<std::int32_t> row_, pivot_;
  Array<Value> multiplier_;
  Array<std::uint32_t> round_;
  Array<std::uint8_t> finished_;
  Array<std::int64_t> reductions_, slice_rounds_, used_;
};

}  // namespace echelon::mapped
