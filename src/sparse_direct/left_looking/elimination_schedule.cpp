// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/left_looking/elimination_schedule.hpp"

#include "backend/host/host.hpp"
#include "sparse_direct/left_looking/factors.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

namespace echelon::sparse_direct {

namespace {

/// Targets for each entry of the factors, of 4 bytes beside the 12 of an entry: twice as many as where
/// left-looking factorisation is chosen automatically.
constexpr std::int64_t most_targets_per_entry = 20;

/// Lengths of loops from which on they count as equal.
constexpr std::int32_t longest = 255;

std::uint64_t loop_length(std::int32_t length) {
  return static_cast<std::uint64_t>(std::min(length, longest));
}

/// 0, ..., n - 1 sorted by keys, in ascending order where these are equal.
std::vector<std::int32_t> sorted_by(const std::vector<std::uint64_t>& keys) {
  const auto n = static_cast<std::int64_t>(keys.size());
  std::vector<std::int32_t> numbers(keys.size());
  std::iota(numbers.begin(), numbers.end(), 0);
  std::vector<std::int32_t> result(keys.size());
  std::vector<std::uint64_t> sorted(keys.size());
  const std::uint64_t largest = keys.empty() ? 0 : *std::max_element(keys.begin(), keys.end());
  Host(Device::serial())
      .sort_by_key(n, 0, static_cast<int>(std::bit_width(largest)), keys.data(), sorted.data(),
                   numbers.data(), result.data());
  return result;
}

template <class T>
class Scheduling {
 public:
  Scheduling(const Csr<T>& a, const Scaling& scaling, const LeftLookingFactors<T>& factors)
      : a_(a),
        scaling_(scaling),
        f_(factors),
        n_(static_cast<std::int32_t>(factors.size())),
        columns_(static_cast<std::size_t>(n_), 0),
        place_(static_cast<std::size_t>(n_)),
        number_(static_cast<std::size_t>(n_)),
        next_multiplier_(static_cast<std::size_t>(n_)),
        next_target_(static_cast<std::size_t>(n_)) {}

  EliminationSchedule run() {
    for (const std::int32_t step : f_.upper.index.span()) ++columns_[step];
    order_substitutions();
    const bool fits = f_.entries() <= std::numeric_limits<std::int32_t>::max();
    if (!fits || count_targets() > most_targets_per_entry * f_.entries()) return std::move(plan_);
    order_steps();
    reserve_lists();
    for (std::size_t b = 0; b + 1 < f_.block_begin.size(); ++b) {
      const std::int32_t end = f_.block_begin[b + 1];
      for (std::int32_t k = f_.block_begin[b]; k < end; ++k) {
        place_[k] = k;
        set_places(f_.lower, k, first_lower());
        set_places(f_.upper, k, first_upper());
        place_elements(k, end);
        place_targets(k);
      }
    }
    if (!has_normal_scales_) plan_.steps.clear();
    return std::move(plan_);
  }

 private:
  static std::int32_t length(const SparseVectors<T>& vectors, std::int32_t k) {
    return static_cast<std::int32_t>(vectors.begin[k + 1] - vectors.begin[k]);
  }
  [[nodiscard]] std::int32_t first_lower() const { return n_; }
  [[nodiscard]] std::int32_t first_upper() const {
    return first_lower() + static_cast<std::int32_t>(f_.lower.size());
  }
  [[nodiscard]] std::int32_t first_coupling() const {
    return first_upper() + static_cast<std::int32_t>(f_.upper.size());
  }

  /// Raises the level of `of` above that of `other`.
  static void raise(std::vector<std::int32_t>& level, std::int32_t of, std::int32_t other) {
    level[of] = std::max(level[of], level[other] + 1);
  }

  void order_substitutions() {
    std::vector<std::int32_t> level(static_cast<std::size_t>(n_), 0);
    for (std::int32_t k = 0; k < n_; ++k) {
      for (std::int64_t p = f_.upper.begin[k]; p < f_.upper.begin[k + 1]; ++p)
        raise(level, k, f_.upper.index[p]);
    }
    plan_.forward = order_in_blocks(level, f_.upper);
    std::fill(level.begin(), level.end(), 0);
    for (std::int32_t k = n_; k-- > 0;) {
      for (std::int64_t p = f_.lower.begin[k]; p < f_.lower.begin[k + 1]; ++p)
        raise(level, k, f_.lower.index[p]);
    }
    plan_.backward = order_in_blocks(level, f_.lower);
  }

  /// Sums of each block by levels and lengths.
  std::vector<EliminationSchedule::Sum> order_in_blocks(const std::vector<std::int32_t>& level,
                                                        const SparseVectors<T>& vectors) const {
    const std::int32_t highest = level.empty() ? 0 : *std::max_element(level.begin(), level.end());
    std::vector<std::uint64_t> keys(level.size());
    for (std::size_t b = 0; b + 1 < f_.block_begin.size(); ++b) {
      for (std::int32_t k = f_.block_begin[b]; k < f_.block_begin[b + 1]; ++k) {
        const std::uint64_t group =
            b * (static_cast<std::uint64_t>(highest) + 1) + static_cast<std::uint64_t>(level[k]);
        keys[k] = group * (longest + 1) + loop_length(length(vectors, k));
      }
    }
    std::vector<EliminationSchedule::Sum> sums;
    sums.reserve(keys.size());
    for (const std::int32_t k : sorted_by(keys)) sums.push_back({k, length(vectors, k), vectors.begin[k]});
    return sums;
  }

  /// Finds the places and scales of A's elements in a column of the transpose, whose places are in place_.
  void place_elements(std::int32_t k, std::int32_t block_end) {
    const std::int32_t row = f_.row_order[k];
    std::int32_t coupling = first_coupling() + static_cast<std::int32_t>(f_.coupling.begin[k]);
    for (std::int64_t p = a_.row_offsets()[row]; p < a_.row_offsets()[row + 1]; ++p) {
      const std::int32_t column = a_.column_indices()[p];
      plan_.places[p] = number_[column] >= block_end ? coupling++ : place_[number_[column]];
      plan_.scales[p] = scaling_.rows[row] * scaling_.columns[column];
      has_normal_scales_ = has_normal_scales_ && std::isnormal(plan_.scales[p]);
    }
  }

  void set_places(const SparseVectors<T>& vectors, std::int32_t k, std::int32_t first) {
    for (std::int64_t p = vectors.begin[k]; p < vectors.begin[k + 1]; ++p)
      place_[vectors.index[p]] = first + static_cast<std::int32_t>(p);
  }

  [[nodiscard]] std::int64_t count_targets() const {
    std::int64_t count = 0;
    for (std::int32_t k = 0; k < n_; ++k) count += std::int64_t{columns_[k]} * length(f_.lower, k);
    return count;
  }

  void order_steps() {
    std::vector<std::int32_t> level(static_cast<std::size_t>(n_), 0);
    for (std::int32_t k = 0; k < n_; ++k) {
      for (std::int64_t p = f_.upper.begin[k]; p < f_.upper.begin[k + 1]; ++p)
        raise(level, k, f_.upper.index[p]);
      for (std::int64_t p = f_.lower.begin[k]; p < f_.lower.begin[k + 1]; ++p)
        raise(level, f_.lower.index[p], k);
    }
    std::vector<std::uint64_t> keys(level.size());
    for (std::int32_t k = 0; k < n_; ++k) {
      const std::uint64_t lengths =
          loop_length(length(f_.lower, k)) * (longest + 1) + loop_length(columns_[k]);
      keys[k] = static_cast<std::uint64_t>(level[k]) * (longest + 1) * (longest + 1) + lengths;
    }
    plan_.steps.reserve(keys.size());
    for (const std::int32_t k : sorted_by(keys)) {
      plan_.steps.push_back({k, first_lower() + static_cast<std::int32_t>(f_.lower.begin[k]),
                             length(f_.lower, k), columns_[k]});
    }
  }

  void reserve_lists() {
    for (std::int32_t k = 0; k < n_; ++k) number_[f_.column_order[k]] = k;
    std::int64_t multipliers = 0;
    std::int64_t targets = 0;
    for (const EliminationSchedule::Step& step : plan_.steps) {
      next_multiplier_[step.pivot] = std::exchange(multipliers, multipliers + step.columns);
      next_target_[step.pivot] = std::exchange(targets, targets + std::int64_t{step.columns} * step.rows);
    }
    const Device host = Device::serial();
    plan_.places = Array<std::int32_t>(host, a_.nonzeros());
    plan_.scales = Array<double>(host, a_.nonzeros());
    plan_.multipliers = Array<std::int32_t>(host, multipliers);
    plan_.targets = Array<std::int32_t>(host, targets);
  }

  /// Finds the places of the products that are subtracted from column k.
  void place_targets(std::int32_t k) {
    const std::int32_t* const rows = f_.lower.index.data();
    for (std::int64_t u = f_.upper.begin[k]; u < f_.upper.begin[k + 1]; ++u) {
      const std::int32_t step = f_.upper.index[u];
      plan_.multipliers[next_multiplier_[step]++] = first_upper() + static_cast<std::int32_t>(u);
      std::int32_t* target = plan_.targets.data() + next_target_[step];
      const std::int64_t end = f_.lower.begin[step + 1];
      for (std::int64_t p = f_.lower.begin[step]; p < end; ++p) *target++ = place_[rows[p]];
      next_target_[step] = target - plan_.targets.data();
    }
  }

  const Csr<T>& a_;
  const Scaling& scaling_;
  const LeftLookingFactors<T>& f_;
  std::int32_t n_;
  std::vector<std::int32_t> columns_;                        // entries of each row of U
  std::vector<std::int32_t> place_;                          // of the entries of one column, by their numbers
  std::vector<std::int32_t> number_;                         // of the pivot in each column of A
  std::vector<std::int64_t> next_multiplier_, next_target_;  // of each step
  bool has_normal_scales_ = true;
  EliminationSchedule plan_;
};

}  // namespace

template <class T>
EliminationSchedule schedule_elimination(const Csr<T>& a, const Scaling& scaling,
                                         const LeftLookingFactors<T>& factors) {
  return Scheduling<T>(a, scaling, factors).run();
}

template EliminationSchedule schedule_elimination(const Csr<float>&, const Scaling&,
                                                  const LeftLookingFactors<float>&);
template EliminationSchedule schedule_elimination(const Csr<double>&, const Scaling&,
                                                  const LeftLookingFactors<double>&);

}  // namespace echelon::sparse_direct
