// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

namespace echelon::sparse_direct {

/// Priority queue of candidates by gain, in constant time per operation: gains are rounded to buckets, and
/// the candidate that entered the best bucket last comes out first. A candidate whose gain has changed may be
/// in several buckets; the user recognises outdated entries.
class GainQueue {
 public:
  /// Empties the queue. Gains are rounded to steps of an eighth of a typical weight.
  void reset(std::int64_t typical_weight) {
    entries_.clear();
    is_used_.fill(0);
    shift_ = std::max(0, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(typical_weight))) - 4);
  }

  [[nodiscard]] int bucket_of(std::int64_t gain) const {
    return static_cast<int>(std::clamp<std::int64_t>((gain >> shift_) + zero, 0, buckets - 1));
  }

  void push(std::int64_t gain, std::int32_t candidate) {
    const int bucket = bucket_of(gain);
    std::uint64_t& word = is_used_[bucket / 64];
    const std::uint64_t bit = std::uint64_t{1} << (bucket % 64);
    const std::int32_t next = (word & bit) != 0 ? head_[bucket] : -1;
    word |= bit;
    head_[bucket] = static_cast<std::int32_t>(entries_.size());
    entries_.push_back({candidate, next});
  }

  /// The best bucket with entries, or -1.
  [[nodiscard]] int best_bucket() const {
    for (int w = words - 1; w >= 0; --w) {
      if (is_used_[w] != 0) return 64 * w + std::bit_width(is_used_[w]) - 1;
    }
    return -1;
  }
  /// Candidate that leaves a bucket with entries next.
  [[nodiscard]] std::int32_t top(int bucket) const { return entries_[head_[bucket]].candidate; }
  void pop(int bucket) {
    head_[bucket] = entries_[head_[bucket]].next;
    if (head_[bucket] < 0) is_used_[bucket / 64] &= ~(std::uint64_t{1} << (bucket % 64));
  }

 private:
  static constexpr int buckets = 256;
  static constexpr int words = buckets / 64;
  static constexpr std::int64_t zero = 192;  // bucket of gain 0: gains are rarely positive

  struct Entry {
    std::int32_t candidate;
    std::int32_t next;
  };
  int shift_ = 0;
  std::array<std::uint64_t, words> is_used_{};
  std::array<std::int32_t, buckets> head_;  // valid for buckets in use
  std::vector<Entry> entries_;
};

}  // namespace echelon::sparse_direct
