// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "studies/crout/crout_factorization.hpp"
#include "studies/crout/iteration.hpp"
#include "studies/crout/iteration_outcome.hpp"

#include <echelon/methods/dense/crout_iterative.hpp>

#include <cstdint>

namespace echelon::crout {

/// `crout-iterative`.
template <class B, class T>
class IterativeFactorization final : public CroutFactorization<B, T> {
 public:
  IterativeFactorization(const Device&, const CroutIterativeOptions& options)
      : CroutFactorization<B, T>(options.equilibrate), options_(options) {}

  Outcome factor(const direct::FactorContext<B, T>& context) {
    return this->factor_scaled(context, [&] { return factor_in_place(context); });
  }

 private:
  Outcome factor_in_place(const direct::FactorContext<B, T>& context) {
    B& backend = context.backend;
    const std::int64_t n = this->packed().rows();
    Dense<T> matrix = this->packed();
    Dense<T> next(backend.device(), n, n);
    const IterationSettings settings{
        .section_size = options_.section_size > 0 ? options_.section_size : default_section_size(n),
        .tolerance = options_.tolerance,
        .pivoting = options_.pivoting,
        .pivot_threshold = options_.pivot_threshold,
        .zero_pivot = static_cast<double>(this->zero_pivot())};
    Iteration<B, T> iteration(backend, matrix.view(), this->packed().view(), next.view(), this->pivots(),
                              settings, context.control);
    const auto result = iteration.factor();
    this->add_replaced(result, 0);
    Outcome outcome = outcome_of(result, 0, options_.pivoting);
    outcome.statistics = statistics_of(iteration.counts());
    return outcome;
  }

  CroutIterativeOptions options_;
};

}  // namespace echelon::crout
