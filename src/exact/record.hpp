// SPDX-License-Identifier: BSD-3-Clause
/// Record of an elimination: the reductions of rows, to apply them to right-hand sides and to name
/// dependencies.
#pragma once

#include "backend/lower_bound.hpp"
#include "backend/steps.hpp"
#include "exact/reduction.hpp"

#include <echelon/array.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace echelon::mapped {

namespace record_detail {

/// Sort keys of reductions: the round first, then the group of the row. `ends`: ends of rounds, those from
/// `middle` on being counted from 0 again.
struct RoundKey {
  const std::int64_t* ends;
  std::int64_t rounds;
  std::int64_t middle;
  const std::int32_t* row;
  const std::int32_t* group;  ///< by row
  std::uint64_t* keys;
  std::int32_t* places;
  ECHELON_ANYWHERE void operator()(std::int64_t k) const {
    const std::int64_t round = lower_bound(ends, 0, rounds, k + 1);
    keys[k] = (static_cast<std::uint64_t>(round < middle ? round : round - middle) << 32U) +
              static_cast<std::uint64_t>(group[row[k]]);
    places[k] = static_cast<std::int32_t>(k);
  }
};

template <class Value>
struct GatherRecord {
  RecordView<std::int32_t, Value> from;
  const std::int32_t* places;
  RecordView<std::int32_t, Value> to;
  ECHELON_ANYWHERE void operator()(std::int64_t k) const {
    to.row[k] = from.row[places[k]];
    to.pivot[k] = from.pivot[places[k]];
    to.multiplier[k] = from.multiplier[places[k]];
  }
};

}  // namespace record_detail

/// A record in host memory.
template <class Value>
struct HostRecord {
  std::vector<std::int32_t> row, pivot;
  std::vector<Value> multiplier;
};

/// Reductions in the order of the rounds. Those of one round are independent of each other.
template <class B, class Value>
class Record {
 public:
  explicit Record(B& backend) : backend_(&backend) {}

  /// Appends memory for the reductions of another round.
  RecordView<std::int32_t, Value> append(std::int64_t reductions) {
    if (reductions == 0) return {};
    const std::int64_t begin = size();
    ends_.push_back(begin + reductions);
    if (ends_.back() > row_.size()) grow(2 * ends_.back());
    return {row_.data() + begin, pivot_.data() + begin, multiplier_.data() + begin};
  }

  /// Appends memory for the reductions of several rounds. `ends`: the end of each one, from 0.
  RecordView<std::int32_t, Value> append_rounds(const std::vector<std::int64_t>& ends) {
    const std::int64_t begin = size();
    for (const std::int64_t end : ends) {
      if (begin + end > size()) ends_.push_back(begin + end);
    }
    if (size() > row_.size()) grow(2 * size());
    return {row_.data() + begin, pivot_.data() + begin, multiplier_.data() + begin};
  }

  /// Merges the rounds from `middle` on with those from `first` to `middle`, as if rows of all groups had
  /// been reduced in the same rounds, group after group. `group`: by row.
  void merge_rounds(std::int64_t first, std::int64_t middle, const std::int32_t* group) {
    const std::int64_t begin = first == 0 ? 0 : ends_[static_cast<std::size_t>(first - 1)];
    const std::int64_t count = size() - begin;
    std::vector<std::int64_t> ends(ends_.begin() + first, ends_.end());
    for (std::int64_t& end : ends) end -= begin;
    const Device& device = backend_->device();
    const Array<std::int64_t> ends_there(device, std::span<const std::int64_t>(ends));
    Array<std::uint64_t> keys(device, count);
    Array<std::uint64_t> sorted_keys(device, count);
    Array<std::int32_t> places(device, count);
    Array<std::int32_t> sorted(device, count);
    const std::int64_t in_first = middle - first;
    backend_->for_each(
        count, record_detail::RoundKey{ends_there.data(), ends_there.size(), in_first, row_.data() + begin,
                                       group, keys.data(), places.data()});
    backend_->sort_by_key(count, 0, 32 + std::bit_width(ends.size()), keys.data(), sorted_keys.data(),
                          static_cast<const std::int32_t*>(places.data()), sorted.data());
    gather(begin, count, sorted.data());
    ends_.resize(static_cast<std::size_t>(first));
    merge_ends(begin, ends, static_cast<std::size_t>(in_first));
  }

  /// Releases memory that is not in use.
  void shrink() {
    row_.shrink(size());
    pivot_.shrink(size());
    multiplier_.shrink(size());
  }
  [[nodiscard]] HostRecord<Value> to_host() const {
    return {row_.to_vector(), pivot_.to_vector(), multiplier_.to_vector()};
  }

  /// Number of rounds that have a reduction.
  [[nodiscard]] std::int64_t rounds() const { return static_cast<std::int64_t>(ends_.size()); }
  [[nodiscard]] std::int64_t size() const { return ends_.empty() ? 0 : ends_.back(); }
  [[nodiscard]] RecordView<const std::int32_t, const Value> view() const {
    return {row_.data(), pivot_.data(), multiplier_.data()};
  }
  /// The end of each round that has a reduction.
  [[nodiscard]] const std::vector<std::int64_t>& ends() const { return ends_; }
  [[nodiscard]] std::size_t bytes() const { return row_.bytes() + pivot_.bytes() + multiplier_.bytes(); }

 private:
  /// Puts the reductions from `begin` on into the order of `places`.
  void gather(std::int64_t begin, std::int64_t count, const std::int32_t* places) {
    const Device& device = backend_->device();
    Array<std::int32_t> row(device, count);
    Array<std::int32_t> pivot(device, count);
    Array<Value> multiplier(device, count);
    const RecordView<std::int32_t, Value> own{row_.data() + begin, pivot_.data() + begin,
                                              multiplier_.data() + begin};
    backend_->for_each(count, record_detail::GatherRecord<Value>{
                                  own, places, {row.data(), pivot.data(), multiplier.data()}});
    backend_->copy(count, row.data(), own.row);
    backend_->copy(count, pivot.data(), own.pivot);
    backend_->copy(count, multiplier.data(), own.multiplier);
    backend_->synchronize();
  }

  /// Appends the ends of rounds that consist of the r-th one of `ends` before `middle`, and of that after
  /// it.
  void merge_ends(std::int64_t begin, const std::vector<std::int64_t>& ends, std::size_t middle) {
    const auto end_of = [&](std::size_t from, std::size_t to, std::size_t round) {
      return ends[std::min(from + round, to - 1)];
    };
    for (std::size_t round = 0; round < std::max(middle, ends.size() - middle); ++round) {
      ends_.push_back(begin + end_of(0, middle, round) + end_of(middle, ends.size(), round) -
                      ends[middle - 1]);
    }
  }

  void grow(std::int64_t capacity) {
    grow(row_, capacity);
    grow(pivot_, capacity);
    grow(multiplier_, capacity);
  }
  template <class V>
  void grow(Array<V>& array, std::int64_t capacity) {
    Array<V> larger(backend_->device(), capacity);
    backend_->copy(array.size(), array.data(), larger.data());
    array = std::move(larger);
  }

  B* backend_;
  Array<std::int32_t> row_, pivot_;
  Array<Value> multiplier_;
  std::vector<std::int64_t> ends_;
};

}  // namespace echelon::mapped
