// SPDX-License-Identifier: BSD-3-Clause
/// Record of an elimination: the reductions of rows, to apply them to right-hand sides and to name
/// dependencies.
#pragma once

#include "sparse_direct/mapped_echelon/reduction.hpp"
#include "sparse_direct/mapped_echelon/steps.hpp"

#include <echelon/array.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace echelon::mapped {

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

  /// Releases memory that is not in use.
  void shrink() {
    row_.shrink(size());
    pivot_.shrink(size());
    multiplier_.shrink(size());
  }
  [[nodiscard]] HostRecord<Value> to_host() const {
    return {row_.to_vector(), pivot_.to_vector(), multiplier_.to_vector()};
  }

  [[nodiscard]] std::int64_t size() const { return ends_.empty() ? 0 : ends_.back(); }
  [[nodiscard]] RecordView<const std::int32_t, const Value> view() const {
    return {row_.data(), pivot_.data(), multiplier_.data()};
  }
  /// The end of each round that has a reduction.
  [[nodiscard]] const std::vector<std::int64_t>& ends() const { return ends_; }
  [[nodiscard]] std::size_t bytes() const { return row_.bytes() + pivot_.bytes() + multiplier_.bytes(); }

 private:
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
