// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/multifrontal/host/factorization.hpp"

#include <support/scalar_list.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

namespace echelon::sparse_direct {

namespace {

/// Simulation of a factorisation in which every flop takes equally long, to find which update matrices exist
/// at once.
class SimulatedSchedule {
 public:
  SimulatedSchedule(const PanelLayout& layout, const TreeSchedule& schedule, int threads)
      : layout_(layout), tree_(layout.tree), schedule_(schedule), threads_(threads) {
    missing_.assign(tree_.parent.size(), 0);
    for (const std::int32_t s : schedule_.top)
      missing_[s] = static_cast<std::int32_t>(layout_.children_of(s).size());
    stacks_.assign(static_cast<std::size_t>(threads_), 0);
  }

  /// Most elements that stacks and separate update matrices have at the same time.
  [[nodiscard]] std::int64_t peak_entries() {
    for (int worker = 0; worker < threads_; ++worker) take_range(worker, 0);
    while (!running_.empty()) {
      const Task task = running_.top();
      running_.pop();
      finish(task);
    }
    return peak_;
  }

 private:
  /// The end of the range of supernodes [begin, end), or of one front above the ranges.
  struct Task {
    double end_time;
    int worker;
    std::int32_t begin, end;
    bool operator>(const Task& other) const {
      return std::pair(end_time, worker) > std::pair(other.end_time, other.worker);
    }
  };

  [[nodiscard]] std::int64_t update_entries(std::int32_t s) const {
    return layout_.below(s) * layout_.below(s);
  }

  void allocate(std::int64_t entries) {
    entries_ += entries;
    peak_ = std::max(peak_, entries_);
  }

  void take_range(int worker, double time) {
    if (next_range_ == schedule_.ranges.size()) return;
    const SupernodeRange range = schedule_.ranges[next_range_];
    const std::int64_t stack = schedule_.stack_entries[next_range_];
    ++next_range_;
    std::int64_t& own_stack = stacks_[static_cast<std::size_t>(worker)];
    allocate(std::max<std::int64_t>(0, stack - own_stack));
    own_stack = std::max(own_stack, stack);
    double flops = 0;
    const std::int32_t parent = tree_.parent[range.end - 1];
    for (std::int32_t s = range.begin; s < range.end; ++s) {
      if (schedule_.update_begin[s] < 0) allocate(update_entries(s));
      if (tree_.parent[s] == parent) flops += schedule_.subtree_flops[s];
    }
    running_.push({time + flops, worker, range.begin, range.end});
  }

  void start_front(std::int32_t s, int worker, double time) {
    allocate(update_entries(s));
    double flops = schedule_.subtree_flops[s];
    for (const std::int32_t child : layout_.children_of(s)) flops -= schedule_.subtree_flops[child];
    const bool divided = tree_.front_size(s) >= TreeSchedule::divided_front;
    running_.push({time + (divided ? flops / threads_ : flops), worker, s, s + 1});
  }

  void finish(const Task& task) {
    const std::int32_t parent = tree_.parent[task.end - 1];
    const bool was_front = std::binary_search(schedule_.top.begin(), schedule_.top.end(), task.begin);
    if (was_front) {
      for (const std::int32_t child : layout_.children_of(task.begin)) entries_ -= update_entries(child);
    }
    if (parent >= 0) {
      for (std::int32_t s = task.begin; s < task.end; ++s) missing_[parent] -= tree_.parent[s] == parent;
      if (missing_[parent] == 0) return start_front(parent, task.worker, task.end_time);
    }
    take_range(task.worker, task.end_time);
  }

  const PanelLayout& layout_;
  const SymbolicFactor& tree_;
  const TreeSchedule& schedule_;
  int threads_;
  std::vector<std::int32_t> missing_;  // children of a front that are not factored yet
  std::vector<std::int64_t> stacks_;
  std::size_t next_range_ = 0;
  std::priority_queue<Task, std::vector<Task>, std::greater<>> running_;
  std::int64_t entries_ = 0;
  std::int64_t peak_ = 0;
};

}  // namespace

template <class T>
FactorMemory predict_memory(const PanelLayout& layout, const TreeSchedule& schedule, int threads) {
  const std::int64_t work =
      SimulatedSchedule(layout, schedule, schedule.parallel ? threads : 1).peak_entries();
  const std::size_t numbers = layout.tree.rows.size() * sizeof(std::int32_t) * (layout.symmetric() ? 1 : 2);
  return {static_cast<std::size_t>(layout.panel_begin.back()) * sizeof(T) + layout.bytes() + numbers,
          static_cast<std::size_t>(work) * sizeof(T)};
}

#define ECHELON_INSTANTIATE(T) \
  template FactorMemory predict_memory<T>(const PanelLayout&, const TreeSchedule&, int);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon::sparse_direct
