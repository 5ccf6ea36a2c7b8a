// SPDX-License-Identifier: BSD-3-Clause
// Crout's methods on a GPU as solvers.
#include "solver/direct/direct_method.hpp"
#include "solver/instantiate.hpp"
#include "studies/crout/cuda/blocked.cuh"
#include "studies/crout/cuda/columns.cuh"
#include "studies/crout/cuda/factorization.cuh"
#include "studies/crout/cuda/iteration.cuh"
#include "studies/crout/iteration_outcome.hpp"

#include <echelon/methods/dense/crout_blocked.hpp>
#include <echelon/methods/dense/crout_iterative.hpp>
#include <echelon/methods/dense/crout_parallel.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace echelon {

namespace {

using crout::CudaFactorization;

template <class B, class T>
class ParallelFactorization final : public CudaFactorization<B, T> {
 public:
  ParallelFactorization(const Device&, const CroutParallelOptions& options)
      : CudaFactorization<B, T>(options.equilibrate), threads_per_block_(options.threads_per_block) {}

  Outcome factor(const direct::FactorContext<B, T>& context) {
    return this->factor_scaled(
        context, [&](std::int64_t* pivots) { return factor_in_place(context, pivots); },
        [&](std::int64_t columns) { return this->largest_eliminated(context.backend, columns); });
  }

 private:
  Outcome factor_in_place(const direct::FactorContext<B, T>& context, std::int64_t* pivots) {
    B& backend = context.backend;
    const std::int64_t n = this->factors().rows();
    crout::ColumnWorkspace<T> workspace(backend.device(), n, threads_per_block_);
    constexpr std::int64_t columns_of_launch = 256;  // between requests to stop
    for (std::int64_t begin = 0; begin < n; begin += columns_of_launch) {
      const std::int64_t end = std::min(begin + columns_of_launch, n);
      crout::eliminate_columns<T>(backend, this->factors().view(), begin, end, pivots, workspace);
      const std::int64_t zero = backend.read(workspace.zero_pivot.data()).value;
      if (zero != FirstIndex::none) return zero_pivot(zero);
      if (context.control.stop_requested()) return cancelled_factorization();
    }
    return {};
  }

  std::int64_t threads_per_block_;
};

template <class B, class T>
class CudaIterativeFactorization final : public CudaFactorization<B, T> {
 public:
  CudaIterativeFactorization(const Device&, const CroutIterativeOptions& options)
      : CudaFactorization<B, T>(options.equilibrate), options_(options) {}

  Outcome factor(const direct::FactorContext<B, T>& context) {
    return this->factor_scaled(
        context, [&](std::int64_t* pivots) { return factor_in_place(context, pivots); },
        [&](std::int64_t columns) { return this->largest_eliminated(context.backend, columns); });
  }

 private:
  Outcome factor_in_place(const direct::FactorContext<B, T>& context, std::int64_t* pivots) {
    B& backend = context.backend;
    const std::int64_t n = this->factors().rows();
    crout::CudaIteration<T> iteration(
        backend, this->factors().view(), pivots,
        {.section_size = options_.section_size > 0 ? options_.section_size : crout::default_section_size(n),
         .tolerance = options_.tolerance,
         .pivoting = options_.pivoting,
         .pivot_threshold = options_.pivot_threshold,
         .block_size = options_.block_size});
    const auto result = iteration.factor(context.control);
    Outcome outcome = crout::outcome_of(result, 0, options_.pivoting);
    outcome.statistics = crout::statistics_of(iteration.counts());
    return outcome;
  }

  CroutIterativeOptions options_;
};

template <class B, class T>
class CudaBlockedFactorization final : public CudaFactorization<B, T> {
 public:
  CudaBlockedFactorization(const Device& device, const CroutBlockedOptions& options)
      : CudaFactorization<B, T>(options.equilibrate), options_(options), workspace_(device) {}

  Outcome factor(const direct::FactorContext<B, T>& context) {
    // Measured while U was written; if a pivot is zero, the factors are still those of `lu`, with a unit
    // diagonal of L.
    return this->factor_scaled(
        context, [&](std::int64_t* pivots) { return factor_in_place(context, pivots); },
        [&](std::int64_t) { return largest_; });
  }

  void substitute(direct::Operation operation, B& backend, direct::NoSpace& /*space*/, DenseView<T> X) const {
    lu::substitute<T>(backend, workspace_.lu, operation == direct::Operation::transpose,
                      this->factors().view(), nullptr, X);
  }

  [[nodiscard]] std::size_t bytes() const { return CudaFactorization<B, T>::bytes() + workspace_.bytes(); }

 private:
  Outcome factor_in_place(const direct::FactorContext<B, T>& context, std::int64_t* pivots) {
    B& backend = context.backend;
    const bool iterated = options_.section == CroutSection::iterated;
    const lu::LuResult result = crout::factor_blocked<T>(
        backend, this->factors().view(), {.iterated = iterated, .tolerance = options_.tolerance}, pivots,
        workspace_, context.control);
    if (result.cancelled) return cancelled_factorization();
    largest_ = result.largest;
    if (result.zero_pivot >= 0) return zero_pivot(result.zero_pivot);
    Outcome outcome;
    if (iterated) outcome.statistics = statistics_of(backend.read(workspace_.counts.data()));
    return outcome;
  }

  static std::vector<Statistic> statistics_of(const SectionCounts& counts) {
    const std::int64_t together = counts.sections - counts.direct_sections;
    std::vector<Statistic> statistics = crout::statistics_of({.sections = counts.sections,
                                                              .diagonal_sweeps = counts.sweeps,
                                                              .most_diagonal_sweeps = counts.most_sweeps,
                                                              .lower_sweeps = together,
                                                              .exchanges = counts.exchanges,
                                                              .elements = counts.elements});
    statistics.push_back({"direct_sections", counts.direct_sections});
    return statistics;
  }

  CroutBlockedOptions options_;
  crout::BlockedWorkspace<T> workspace_;
  double largest_ = 0;  // max |u_ij| for L with a unit diagonal
};

}  // namespace

template <>
struct MethodWith<CroutParallelOptions> {
  template <class B, class T>
  using Type = DirectMethod<B, T, ParallelFactorization<B, T>>;
};
template <>
struct MethodWith<CroutIterativeOptions> {
  template <class B, class T>
  using Type = DirectMethod<B, T, CudaIterativeFactorization<B, T>>;
};
template <>
struct MethodWith<CroutBlockedOptions> {
  template <class B, class T>
  using Type = DirectMethod<B, T, CudaBlockedFactorization<B, T>>;
};

template std::unique_ptr<SolverImplementation<float>> make_implementation<CudaTarget>(
    const Device&, const CroutParallelOptions&);
template std::unique_ptr<SolverImplementation<double>> make_implementation<CudaTarget>(
    const Device&, const CroutParallelOptions&);
template std::unique_ptr<SolverImplementation<float>> make_implementation<CudaTarget>(
    const Device&, const CroutIterativeOptions&);
template std::unique_ptr<SolverImplementation<double>> make_implementation<CudaTarget>(
    const Device&, const CroutIterativeOptions&);
template std::unique_ptr<SolverImplementation<float>> make_implementation<CudaTarget>(
    const Device&, const CroutBlockedOptions&);
template std::unique_ptr<SolverImplementation<double>> make_implementation<CudaTarget>(
    const Device&, const CroutBlockedOptions&);

}  // namespace echelon
