// SPDX-License-Identifier: BSD-3-Clause
#include "backend/host/host.hpp"
#include "dense/factorization/recursive_lu.hpp"
#include "solver/direct/direct_method.hpp"
#include "solver/instantiate.hpp"
#include "studies/crout/crout_factorization.hpp"
#include "studies/crout/elimination.hpp"
#include "studies/crout/iteration.hpp"
#include "studies/crout/iteration_outcome.hpp"

#include <echelon/methods/dense/crout_blocked.hpp>

#include <span>
#include <vector>

namespace echelon {

namespace {

template <class B, class T>
class BlockedFactorization final : public crout::CroutFactorization<B, T> {
 public:
  static constexpr bool calls_blas = true;
  BlockedFactorization(const Device&, const CroutBlockedOptions& options)
      : crout::CroutFactorization<B, T>(options.equilibrate), options_(options) {}

  Outcome factor(const direct::FactorContext<B, T>& context) {
    return this->factor_scaled(context, [&] { return factor_in_place(context); });
  }

 private:
  Outcome factor_in_place(const direct::FactorContext<B, T>& context) {
    const int n = static_cast<int>(this->packed().rows());
    const int section_size = static_cast<int>(options_.section_size);
    std::vector<int> lapack_pivots(static_cast<std::size_t>(n));  // from 1
    counts_ = {};
    Outcome outcome;
    const auto factor_section = [&](int first, int last) {
      outcome = options_.section == CroutSection::direct ? eliminate(context, first, last)
                                                         : iterate(context, first, last);
      for (int j = first; j < last; ++j) {
        std::int64_t& pivot = this->pivots()[static_cast<std::size_t>(j)];
        pivot += first;
        lapack_pivots[static_cast<std::size_t>(j)] = static_cast<int>(pivot) + 1;
      }
      return outcome.ok();
    };
    const bool complete = RecursiveLu(n, this->packed().data(), n, lapack_pivots.data(), CblasUpper,
                                      section_size, context.control, factor_section)
                              .factor(0, n);
    if (!complete && outcome.ok()) outcome = cancelled_factorization();
    if (options_.section == CroutSection::iterated) outcome.statistics = crout::statistics_of(counts_);
    return outcome;
  }

  /// Columns [first, last) of rows [first, n).
  [[nodiscard]] DenseView<T> section(int first, int last) {
    Dense<T>& lu = this->packed();
    return {lu.data() + first * (lu.rows() + 1), lu.rows() - first, last - first, lu.rows()};
  }

  [[nodiscard]] std::span<std::int64_t> section_pivots(int first, int last) {
    return std::span(this->pivots())
        .subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first));
  }

  Outcome eliminate(const direct::FactorContext<B, T>& context, int first, int last) {
    const crout::EliminationResult end =
        crout::eliminate<B, T>(context.backend, section(first, last), section_pivots(first, last),
                               this->zero_pivot(), context.control.without_progress());
    this->add_replaced(end, first);
    return end.cancelled ? cancelled_factorization() : Outcome{};
  }

  Outcome iterate(const direct::FactorContext<B, T>& context, int first, int last) {
    B& backend = context.backend;
    const DenseView<T> factors = section(first, last);
    Dense<T> matrix(backend.device(), factors.rows(), factors.columns());
    for (std::int64_t j = 0; j < factors.columns(); ++j) {
      backend.copy(factors.rows(), factors.column(j), matrix.view().column(j));
    }
    Dense<T> next(backend.device(), factors.rows(), factors.columns());
    crout::Iteration<B, T> iteration(backend, matrix.view(), factors, next.view(),
                                     section_pivots(first, last),
                                     {.section_size = last - first,
                                      .tolerance = options_.tolerance,
                                      .zero_pivot = static_cast<double>(this->zero_pivot())},
                                     context.control);
    const auto result = iteration.factor();
    this->add_replaced(result, first);
    counts_ += iteration.counts();
    return crout::outcome_of(result, first, true);
  }

  CroutBlockedOptions options_;
  crout::IterationCounts counts_;  // of the last factorisation
};

}  // namespace

template <>
struct MethodWith<CroutBlockedOptions> {
  template <class B, class T>
  using Type = DirectMethod<B, T, BlockedFactorization<B, T>>;
};

template std::unique_ptr<SolverImplementation<float>> make_implementation<HostTarget>(
    const Device&, const CroutBlockedOptions&);
template std::unique_ptr<SolverImplementation<double>> make_implementation<HostTarget>(
    const Device&, const CroutBlockedOptions&);

}  // namespace echelon
