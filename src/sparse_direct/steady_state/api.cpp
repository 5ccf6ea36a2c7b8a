// SPDX-License-Identifier: BSD-3-Clause
#include "backend/api_boundary.hpp"
#include "matrix/shape.hpp"
#include "sparse_direct/matching/diagonal_blocks.hpp"
#include "sparse_direct/ordering/ordering.hpp"
#include "sparse_direct/pattern/pattern.hpp"

#include <echelon/error.hpp>
#include <echelon/problems/steady_state.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>

namespace echelon {

namespace {

struct Rate {
  std::int32_t state;
  double value;
};
using RateRows = std::vector<std::vector<Rate>>;

/// The rates from state i to others. Throws InvalidMatrix if row i is not one of a chain.
std::vector<Rate> rates_of_row(const Csr<double>& A, std::int64_t i) {
  std::vector<Rate> rates;
  double diagonal = 0;
  double least = 0;
  double largest = 0;
  double sum = 0;
  for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
    const double value = A.values()[k];
    if (!std::isfinite(value))
      throw InvalidMatrix(fmt::format("row {} (from 0) has an element that is not finite", i));
    if (A.column_indices()[k] == i) {
      diagonal += value;
    } else if (value != 0) {
      rates.push_back({A.column_indices()[k], std::fabs(value)});
      least = std::min(least, value);
      largest = std::max(largest, value);
      sum += value;
    }
  }
  if (least < 0 && largest > 0)
    throw InvalidMatrix(fmt::format("row {} (from 0) has elements of both signs off the diagonal", i));
  const double limit = 1e-8 * std::max(std::fabs(sum), std::fabs(diagonal));
  const bool is_stochastic = least == 0 && diagonal >= 0 && std::fabs(sum + diagonal - 1) <= 1e-8;
  if (!(std::fabs(sum + diagonal) <= limit) && !is_stochastic)
    throw InvalidMatrix(
        fmt::format("row {} (from 0) has the sum {:.6g}: those of rates have the sum 0, those of "
                    "probabilities 1",
                    i, sum + diagonal));
  return rates;
}

/// A closed class of states, numbered from 0, by the probabilities of their next steps to others.
struct ClosedClass {
  std::vector<std::int32_t> states;  ///< ascending
  std::vector<double> rates;         ///< out of each
  RateRows steps;
};

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

/// Order of elimination of the states.
std::vector<std::int32_t> minimum_degree(const RateRows& steps) {
  std::vector<Triplet<double>> elements;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    for (const Rate& step : steps[i]) elements.push_back({static_cast<std::int32_t>(i), step.state, 1});
  }
  const auto n = static_cast<std::int64_t>(steps.size());
  const Csr<double> pattern = Csr<double>::from_triplets(n, n, elements);
  return sparse_direct::order(sparse_direct::symmetrized_pattern(pattern).view(),
                              {.ordering = Ordering::amd});
}

/// The closed classes, and the number of the states in them.
std::vector<ClosedClass> closed_classes(const Csr<double>& A, const RateRows& rates) {
  std::vector<std::int32_t> identity(rates.size());
  std::iota(identity.begin(), identity.end(), 0);
  std::vector<std::int64_t> begin = {0};
  std::vector<std::int32_t> columns;
  for (const std::vector<Rate>& row : rates) {
    for (const Rate& rate : row) columns.push_back(rate.state);
    begin.push_back(std::ssize(columns));
  }
  const sparse_direct::DiagonalBlocks blocks = sparse_direct::diagonal_blocks(begin, columns, identity);
  std::vector<std::int32_t> number(static_cast<std::size_t>(A.rows()), -1);  // in the class
  std::vector<ClosedClass> classes;
  for (std::size_t b = 0; b + 1 < blocks.block_begin.size(); ++b) {
    ClosedClass found;
    found.states.assign(blocks.columns.begin() + blocks.block_begin[b],
                        blocks.columns.begin() + blocks.block_begin[b + 1]);
    for (std::size_t s = 0; s < found.states.size(); ++s)
      number[static_cast<std::size_t>(found.states[s])] = static_cast<std::int32_t>(s);
    bool closed = true;
    for (const std::int32_t state : found.states) {
      std::vector<Rate> steps = rates[static_cast<std::size_t>(state)];
      double sum = 0;
      for (const Rate& step : steps) sum += step.value;
      for (Rate& step : steps) {
        const std::int32_t target = number[static_cast<std::size_t>(step.state)];
        closed = closed && target >= 0;
        step = {target, step.value / sum};
      }
      found.rates.push_back(sum);
      found.steps.push_back(std::move(steps));
    }
    for (const std::int32_t state : found.states) number[static_cast<std::size_t>(state)] = -1;
    if (closed) classes.push_back(std::move(found));
  }
  return classes;
}

/// Sets the probabilities of the states of a class.
void set_probabilities(ClosedClass chain, std::vector<double>& x) {
  const std::size_t n = chain.states.size();
  if (n == 1) {
    x[static_cast<std::size_t>(chain.states[0])] = 1;
    return;
  }
  const std::vector<std::int32_t> order = minimum_degree(chain.steps);
  std::vector<double> times = GthElimination(std::move(chain.steps)).visits(order);
  const double slowest = *std::min_element(chain.rates.begin(), chain.rates.end());
  for (std::size_t s = 0; s < n; ++s) times[s] *= slowest / chain.rates[s];
  const double largest = *std::max_element(times.begin(), times.end());
  double sum = 0;
  for (double& time : times) sum += time /= largest;
  for (std::size_t s = 0; s < n; ++s) x[static_cast<std::size_t>(chain.states[s])] = times[s] / sum;
}

/// Largest difference of the flows into and out of a state, relative to the largest flow.
double residual_of(const RateRows& rates, const std::vector<double>& x) {
  std::vector<long double> balance(x.size(), 0);
  long double largest_flow = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    long double out = 0;
    for (const Rate& rate : rates[i]) {
      const long double flow = static_cast<long double>(x[i]) * rate.value;
      balance[static_cast<std::size_t>(rate.state)] += flow;
      out += flow;
    }
    balance[i] -= out;
    largest_flow = std::max(largest_flow, out);
  }
  long double largest = 0;
  for (const long double difference : balance) largest = std::max(largest, std::fabs(difference));
  return largest_flow > 0 ? static_cast<double>(largest / largest_flow) : 0;
}

}  // namespace

SteadyState steady_state(const Csr<double>& A) {
  return at_api_boundary([&] {
    require_square(A.rows(), A.columns(), "a Markov chain needs");
    const Csr<double> host = A.to(Device());
    RateRows rates;
    for (std::int64_t i = 0; i < host.rows(); ++i) rates.push_back(rates_of_row(host, i));
    SteadyState result;
    result.x.assign(rates.size(), 0);
    std::vector<ClosedClass> classes = closed_classes(host, rates);
    result.closed_classes = std::ssize(classes);
    result.transient_states = host.rows();
    for (const ClosedClass& chain : classes) result.transient_states -= std::ssize(chain.states);
    if (classes.empty()) return result;
    set_probabilities(std::move(classes.front()), result.x);
    result.residual = residual_of(rates, result.x);
    return result;
  });
}

}  // namespace echelon
