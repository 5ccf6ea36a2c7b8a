// SPDX-License-Identifier: BSD-3-Clause
#include "backend/api_boundary.hpp"
#include "matrix/shape.hpp"
#include "sparse_direct/matching/diagonal_blocks.hpp"
#include "sparse_direct/steady_state/elimination.hpp"
#include "sparse_direct/steady_state/iteration.hpp"
#include "sparse_direct/steady_state/rates.hpp"

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

using markov::Rate;
using markov::RateRows;

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

/// Flops of an elimination above which an iteration comes first: some five seconds.
constexpr double most_flops = 2e9;
/// Residual with which an iteration has found the steady state.
constexpr double iterated_residual = 1e-12;

/// Flows into and out of the states, compared.
struct Balance {
  double residual = 0;       ///< the largest difference relative to the largest flow
  double componentwise = 0;  ///< the largest difference relative to the flow out of that state
};

/// Sets the probabilities of the states of a class from the numbers of their visits.
void set_probabilities(const ClosedClass& chain, std::vector<double> times, std::vector<double>& x) {
  const double slowest = *std::min_element(chain.rates.begin(), chain.rates.end());
  for (std::size_t s = 0; s < times.size(); ++s) times[s] *= slowest / chain.rates[s];
  const double largest = *std::max_element(times.begin(), times.end());
  double sum = 0;
  for (double& time : times) sum += time /= largest;
  for (std::size_t s = 0; s < times.size(); ++s)
    x[static_cast<std::size_t>(chain.states[s])] = times[s] / sum;
}

Balance balance_of(const RateRows& rates, const std::vector<double>& x) {
  std::vector<long double> difference(x.size(), 0);
  std::vector<long double> outflow(x.size(), 0);
  for (std::size_t i = 0; i < x.size(); ++i) {
    for (const Rate& rate : rates[i]) {
      const long double flow = static_cast<long double>(x[i]) * rate.value;
      difference[static_cast<std::size_t>(rate.state)] += flow;
      outflow[i] += flow;
    }
    difference[i] -= outflow[i];
  }
  long double largest = 0;
  Balance balance;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const long double size = std::fabs(difference[i]);
    largest = std::max(largest, size);
    if (outflow[i] > 0)
      balance.componentwise = std::max(balance.componentwise, static_cast<double>(size / outflow[i]));
  }
  const long double largest_flow = outflow.empty() ? 0 : *std::max_element(outflow.begin(), outflow.end());
  if (largest_flow > 0) balance.residual = static_cast<double>(largest / largest_flow);
  return balance;
}

/// Finds the steady state of a class, with the method and its figures.
void solve_class(ClosedClass chain, const RateRows& rates, SteadyStateMethod method, SteadyState& result) {
  const auto measure = [&] {
    const Balance balance = balance_of(rates, result.x);
    result.residual = balance.residual;
    result.componentwise_residual = balance.componentwise;
  };
  if (chain.states.size() == 1) {
    result.x[static_cast<std::size_t>(chain.states[0])] = 1;
    return measure();
  }
  markov::EliminationOrder order;
  if (method != SteadyStateMethod::iteration) order = markov::elimination_order(chain.steps);
  const bool iterates = method == SteadyStateMethod::iteration ||
                        (method == SteadyStateMethod::automatic && order.flops > most_flops);
  if (iterates) {
    markov::IteratedVisits found = markov::visits_by_iteration(chain.steps);
    result.method = SteadyStateMethod::iteration;
    result.iterations = found.iterations;
    set_probabilities(chain, std::move(found.visits), result.x);
    measure();
    result.converged = result.residual <= iterated_residual;
    if (result.converged || method == SteadyStateMethod::iteration) return;
  }
  RateRows steps = std::move(chain.steps);
  set_probabilities(chain, markov::visits_by_elimination(std::move(steps), order.states), result.x);
  result.method = SteadyStateMethod::elimination;
  result.converged = true;
  measure();
}

}  // namespace

SteadyState steady_state(const Csr<double>& A, const SteadyStateOptions& options) {
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
    solve_class(std::move(classes.front()), rates, options.method, result);
    return result;
  });
}

}  // namespace echelon
