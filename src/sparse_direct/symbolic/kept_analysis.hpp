// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "sparse_direct/symbolic/pattern_key.hpp"

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace echelon::sparse_direct {

/// The pattern of an analysis, by which later set-ups find out whether they can use it again.
class KeptAnalysis {
 public:
  /// Whether the analysis is that of the pattern with this key.
  [[nodiscard]] bool is_of(const PatternKey& key) const { return key == key_; }
  /// Whether no set-up has used it.
  [[nodiscard]] bool is_unused() const { return unused_; }
  void use() { unused_ = false; }

  /// Calls analyze(same_pattern). The key is that of no pattern if it throws.
  template <class Analyze>
  void renew(const PatternKey& key, const Analyze& analyze) {
    const bool same_pattern = key == key_;
    if (!(key == ordered_key_)) minimum_degree_ = {};
    key_ = ordered_key_ = {};
    analyze(same_pattern);
    minimum_degree_ = {};
    key_ = key;
    unused_ = true;
  }
  /// Has the pattern analysed again by a set-up, which may use its order of AMD.
  void keep_order_only(std::vector<std::int32_t> minimum_degree) {
    ordered_key_ = std::exchange(key_, {});
    minimum_degree_ = std::move(minimum_degree);
  }
  /// Order of AMD of the pattern in analysis, if a prediction has computed it.
  [[nodiscard]] std::span<const std::int32_t> minimum_degree() const { return minimum_degree_; }

 private:
  PatternKey key_;
  PatternKey ordered_key_;  // of the pattern whose order of AMD is known
  std::vector<std::int32_t> minimum_degree_;
  bool unused_ = false;
};

}  // namespace echelon::sparse_direct
