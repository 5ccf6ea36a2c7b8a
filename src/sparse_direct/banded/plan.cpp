// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/banded/plan.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace echelon::banded {

namespace {

/// First rows of the partitions, and n.
std::vector<std::int64_t> partition_bounds(std::int64_t n, std::int64_t interface,
                                           const PartitionRule& rule) {
  const std::int64_t least_rows = 2 * interface + 1;
  const std::int64_t partitions =
      std::clamp<std::int64_t>(rule.partitions, 1, std::max<std::int64_t>(1, n / least_rows));
  const double end = partitions > 2 ? rule.end_weight : 1;
  const double total = 2 * end + static_cast<double>(partitions - 2);
  const double spare = static_cast<double>(n - partitions * least_rows);
  std::vector<std::int64_t> bounds = {0};
  for (std::int64_t p = 1; p < partitions; ++p) {
    const double share = (end + static_cast<double>(p - 1)) / total;
    bounds.push_back(p * least_rows + static_cast<std::int64_t>(std::floor(share * spare)));
  }
  bounds.push_back(n);
  return bounds;
}

/// Adds nodes to a plan and assigns their places in the arrays.
class PlanBuilder {
 public:
  PlanBuilder(BandPlan& plan, const PartitionRule& rule) : plan_(plan), rule_(rule), k_(plan.interface()) {}

  void add_partitions(const std::vector<std::int64_t>& bounds) {
    for (std::size_t p = 0; p + 1 < bounds.size(); ++p) {
      const bool first = p == 0;
      const bool last = p + 2 == bounds.size();
      add(partition(bounds[p], bounds[p + 1], first, last));
    }
    close_level();
  }

  /// Adds interfaces between neighbours until one node remains. An odd node at the end goes to the next
  /// level.
  void add_interfaces() {
    std::vector<std::int64_t> current(plan_.nodes.size());
    for (std::size_t i = 0; i < current.size(); ++i) current[i] = static_cast<std::int64_t>(i);
    while (current.size() > 1) {
      std::vector<std::int64_t> next;
      for (std::size_t i = 0; i + 1 < current.size(); i += 2) {
        next.push_back(static_cast<std::int64_t>(plan_.nodes.size()));
        const bool first = i == 0;
        const bool last = i + 2 == current.size();
        add(interface(current[i], current[i + 1], first, last));
      }
      if (current.size() % 2 == 1) next.push_back(current.back());
      current = std::move(next);
      close_level();
    }
  }

 private:
  [[nodiscard]] BandNode partition(std::int64_t begin, std::int64_t end, bool first, bool last) const {
    const bool reversed = last && !first;
    BandNode node;
    node.rows = end - begin;
    node.direction = reversed ? -1 : 1;
    node.first_row = reversed ? end - 1 : begin;
    const bool has_left = !first && !reversed;
    const bool has_right = !first || !last;
    const std::int64_t above = reversed ? plan_.lower : plan_.upper;  // diagonals in the node's own order
    const std::int64_t below = k_ - above;
    node.column = reversed ? end - 1 : (first ? 0 : begin + above);
    node.steps = node.rows - (has_left ? above : 0) - (has_right ? below : 0);
    node.columns = node.steps + (has_right ? k_ : 0);
    node.right = node.column + node.direction * node.steps;
    node.left_column = begin - plan_.lower;
    node.left = has_left ? static_cast<std::int32_t>(k_) : 0;
    node.extra_slots = rule_.extra_slots;
    node.slots = static_cast<std::int32_t>(
                     std::min((has_left ? k_ : below) + 1, std::max<std::int64_t>(node.rows, 1))) +
                 node.extra_slots;
    node.ahead = static_cast<std::int32_t>(std::min(k_ + 1, node.columns));
    node.block_rows = static_cast<std::int32_t>(node.rows - node.steps);
    return node;
  }

  [[nodiscard]] BandNode interface(std::int64_t first_child, std::int64_t second_child, bool first,
                                   bool last) const {
    const BandNode& a = plan_.nodes[static_cast<std::size_t>(first_child)];
    const BandNode& b = plan_.nodes[static_cast<std::size_t>(second_child)];
    BandNode node;
    node.first_child = first_child;
    node.second_child = second_child;
    node.rows = a.block_rows + b.block_rows;
    node.steps = k_;
    node.columns = last ? k_ : 2 * k_;
    node.first_row = a.block_row;
    node.second_row = b.block_row;
    node.first_rows = a.block_rows;
    node.column = a.right;
    node.right = last ? 0 : b.right;
    node.left_column = first ? 0 : a.left_column;
    node.left = first ? 0 : static_cast<std::int32_t>(k_);
    node.slots = static_cast<std::int32_t>(node.rows);
    node.ahead = static_cast<std::int32_t>(node.columns);
    node.block_rows = static_cast<std::int32_t>(node.rows - node.steps);
    return node;
  }

  void add(BandNode node) {
    node.first_step = steps_;
    node.lower_offset = plan_.lower_size;
    node.upper_offset = plan_.upper_size;
    node.block_row = plan_.block_rows;
    steps_ += node.steps;
    plan_.lower_size += node.steps * node.slots;
    plan_.upper_size += node.steps * node.width();
    plan_.block_rows += node.block_rows;
    plan_.most_slots = std::max<std::int64_t>(plan_.most_slots, node.slots);
    plan_.nodes.push_back(node);
  }

  void close_level() { plan_.level_begin.push_back(static_cast<std::int64_t>(plan_.nodes.size())); }

  BandPlan& plan_;
  const PartitionRule& rule_;
  std::int64_t k_;
  std::int64_t steps_ = 0;
};

}  // namespace

BandPlan make_band_plan(std::int64_t n, std::int64_t lower, std::int64_t upper, const PartitionRule& rule) {
  BandPlan plan;
  plan.n = n;
  plan.lower = lower;
  plan.upper = upper;
  plan.level_begin.push_back(0);
  const std::vector<std::int64_t> bounds = partition_bounds(n, plan.interface(), rule);
  plan.partitions = static_cast<std::int64_t>(bounds.size()) - 1;
  PlanBuilder builder(plan, rule);
  builder.add_partitions(bounds);
  if (plan.interface() > 0) builder.add_interfaces();
  return plan;
}

std::size_t factor_bytes(const BandPlan& plan, std::size_t element_size) {
  const auto elements =
      static_cast<std::size_t>(plan.lower_size + plan.upper_size + plan.block_rows * 2 * plan.interface());
  return elements * element_size + static_cast<std::size_t>(plan.n + plan.block_rows) * sizeof(std::int32_t);
}

}  // namespace echelon::banded
