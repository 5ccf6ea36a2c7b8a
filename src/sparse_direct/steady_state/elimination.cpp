// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/steady_state/elimination.hpp"

#include "sparse_direct/ordering/ordering.hpp"
#include "sparse_direct/pattern/pattern.hpp"
#include "sparse_direct/symbolic/elimination_tree.hpp"

#include <echelon/matrix/csr.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace echelon::markov {

namespace {

/// GTH elimination. Step k takes a state out of the chain: those before it go on to those after it directly.
class GthElimination {
 public:
  explicit GthElimination(RateRows steps)
      : steps_(std::move(steps)),
        sources_(steps_.size()),
        inflows_(steps_.size()),
        places_(steps_.size(), -1),
        eliminated_(steps_.size()) {
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      for (const Rate& step : steps_[i])
        sources_[static_cast<std::size_t>(step.state)].push_back(static_cast<std::int32_t>(i));
    }
  }

  /// Numbers of visits of the states, up to a factor.
  std::vector<double> visits(const std::vector<std::int32_t>& order) {
    const std::size_t n = order.size();
    for (std::size_t k = 0; k + 1 < n; ++k) eliminate(order[k]);
    std::vector<double> visits(n, 0);
    visits[static_cast<std::size_t>(order[n - 1])] = 1;
    for (std::size_t k = n - 1; k-- > 0;) {
      double sum = 0;
      for (const Rate& inflow : inflows_[static_cast<std::size_t>(order[k])])
        sum += visits[static_cast<std::size_t>(inflow.state)] * inflow.value;
      visits[static_cast<std::size_t>(order[k])] = sum;
      if (sum > 1e250) {
        for (double& visit : visits) visit *= 1e-250;
      }
    }
    return visits;
  }

 private:
  void eliminate(std::int32_t state) {
    const std::vector<Rate>& out = steps_[static_cast<std::size_t>(state)];
    double sum = 0;
    for (const Rate& step : out) sum += step.value;
    for (const std::int32_t source : sources_[static_cast<std::size_t>(state)]) {
      if (source == state || is_eliminated(source)) continue;
      std::vector<Rate>& row = steps_[static_cast<std::size_t>(source)];
      const auto found =
          std::find_if(row.begin(), row.end(), [state](const Rate& step) { return step.state == state; });
      const double share = found->value / sum;
      *found = row.back();
      row.pop_back();
      inflows_[static_cast<std::size_t>(state)].push_back({source, share});
      add(source, share, out);
    }
    eliminated_[static_cast<std::size_t>(state)] = true;
  }

  /// Adds share times the steps `out` to those of the source, without steps to itself.
  void add(std::int32_t source, double share, const std::vector<Rate>& out) {
    std::vector<Rate>& row = steps_[static_cast<std::size_t>(source)];
    for (std::size_t p = 0; p < row.size(); ++p)
      places_[static_cast<std::size_t>(row[p].state)] = static_cast<std::int32_t>(p);
    for (const Rate& step : out) {
      if (step.state == source) continue;
      const std::int32_t place = places_[static_cast<std::size_t>(step.state)];
      if (place >= 0) {
        row[static_cast<std::size_t>(place)].value += share * step.value;
      } else {
        row.push_back({step.state, share * step.value});
        sources_[static_cast<std::size_t>(step.state)].push_back(source);
      }
    }
    for (const Rate& step : row) places_[static_cast<std::size_t>(step.state)] = -1;
  }
  [[nodiscard]] bool is_eliminated(std::int32_t state) const {
    return eliminated_[static_cast<std::size_t>(state)];
  }

  RateRows steps_;                                  // to states that are not eliminated
  std::vector<std::vector<std::int32_t>> sources_;  // states with a step to each
  RateRows inflows_;                                // of eliminated states, relative to the flow out
  std::vector<std::int32_t> places_;                // in the row that is added to, or -1
  std::vector<bool> eliminated_;
};

}  // namespace

EliminationOrder elimination_order(const RateRows& steps) {
  std::vector<Triplet<double>> elements;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    for (const Rate& step : steps[i]) elements.push_back({static_cast<std::int32_t>(i), step.state, 1});
  }
  const auto n = static_cast<std::int64_t>(steps.size());
  const Csr<double> pattern = Csr<double>::from_triplets(n, n, elements);
  const sparse_direct::PatternStorage storage = sparse_direct::symmetrized_pattern(pattern);
  const sparse_direct::EliminationForest forest = sparse_direct::elimination_forest(
      storage.view(), sparse_direct::order(storage.view(), {.ordering = Ordering::amd}));
  return {forest.permutation, forest.flops};
}

std::vector<double> visits_by_elimination(RateRows steps, const std::vector<std::int32_t>& order) {
  return GthElimination(std::move(steps)).visits(order);
}

}  // namespace echelon::markov
