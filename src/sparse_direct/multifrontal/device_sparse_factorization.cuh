// SPDX-License-Identifier: BSD-3-Clause
/// Sparse factorisations for DirectMethod on a GPU: analysis on the host, factorisation and solves on the
/// device.
#pragma once

#include "backend/cuda/cuda.cuh"
#include "backend/device/memory.hpp"
#include "solver/direct/factorization.hpp"
#include "solver/direct/updated_condition.hpp"
#include "solver/factor_status.hpp"
#include "sparse_direct/multifrontal/device_analysis.hpp"
#include "sparse_direct/multifrontal/device_factorization.hpp"
#include "sparse_direct/multifrontal/outcomes.hpp"
#include "sparse_direct/multifrontal/scaled_norm.hpp"
#include "support/text.hpp"

#include <echelon/array.hpp>
#include <echelon/cancellation.hpp>
#include <echelon/linalg/determinant.hpp>
#include <echelon/matrix/csr.hpp>
#include <echelon/matrix/scalar.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace echelon::sparse_direct {

/// Factors sparse matrices on a GPU. `Method` has the kind of the factors, the method on the host that takes
/// over where the GPU cannot factor, its options, and
///   is_quicker_on_host(A, options)  whether a core should factor A, which is on the host.
template <class B, class T, class Method>
class DeviceSparseFactorization {
  using Context = direct::FactorContext<B, T>;
  using MethodOptions = typename Method::Options;
  static constexpr FactorKind kind = Method::kind;
  /// Largest |element| of L up to which LU or L D L^T without tests of whole columns counts as accurate as
  /// partial pivoting, so that no refinement is needed.
  static constexpr double harmless_multiplier = 16;
  /// Largest backward error of a test solution for which the factors are used.
  static constexpr double acceptable_test_error =
      100 * static_cast<double>(std::numeric_limits<Real<T>>::epsilon());
  /// Most steps of refinement.
  static constexpr std::int64_t most_steps = 5;
  /// Factorisations on the host in place of the device that take as long as an analysis for the device.
  static constexpr std::int64_t updates_on_host = 10;
  /// Right-hand sides that are solved together.
  static constexpr std::int64_t columns_together = 8;
  /// True for LU and L D L^T. For these the host has more candidates for pivots, and finds the rank of a
  /// singular matrix.
  static constexpr bool has_pivoting = kind != FactorKind::cholesky;

 public:
  using HostMethod = typename Method::template Host<T>;
  static constexpr bool keeps_analysis = true;
  static constexpr bool takes_csr = true;
  static constexpr bool applies_columns = true;
  static constexpr bool assesses_condition = true;
  /// A wait takes less time than a substitution that turns out not to be needed.
  static constexpr Decision decision = Decision::on_host;
  static constexpr double negligible_error = rounding_backward_error<T>;

  struct Space {
    [[nodiscard]] std::size_t bytes() const { return vectors.bytes(); }
    Array<T> vectors;  ///< for the largest number of right-hand sides of a substitution so far
  };

  DeviceSparseFactorization(const Device& device, const MethodOptions& options)
      : device_(device), options_(options), refine_(std::min(options.refine, most_steps)) {}

  [[nodiscard]] static Csr<T> host_copy(const MatrixRef<T>& A) { return A.csr()->to(Device()); }
  void clear() { factorization_.reset(); }

  /// Analyses and factors A, or factors new values with the order, matching and scales of the last set-up.
  direct::Factored factor(const Context& context) {
    std::optional<Csr<T>> host;
    if (is_complex<T> && kind == FactorKind::ldlt) {
      host = context.A.csr()->to(Device::serial());
      if (factorization_ && has_other_symmetry(*host)) factorization_.reset();
    }
    try {
      if (!factorization_) {
        if (!host) host = context.A.csr()->to(Device::serial());
        if (std::optional<direct::Factored> end = prepare(context, *host)) return *std::move(end);
      } else {
        reorder_if_it_pays(context);
      }
    } catch (const AnalysisCancelled&) {
      return cancelled_factorization();
    }
    conditioned_ = host ? &*host : context.A.csr();
    direct::Factored factored = factor_values(context);
    conditioned_ = nullptr;
    return factored;
  }

  /// Counts new values of a matrix that the host factors because that is quicker the first time. True once
  /// that many have been factored there that an analysis for the device pays.
  [[nodiscard]] bool returns_to_device() {
    if (!is_left_to_host_) return false;
    prefers_device_ = ++updates_ >= updates_on_host;
    return prefers_device_;
  }

  [[nodiscard]] Space make_workspace(B& /*backend*/) const {
    return {Array<T>(device_, factorization_ ? factorization_->workspace_size(1) : 0)};
  }

  void substitute(direct::Operation operation, direct::SystemForm form, B& /*backend*/, Space& space,
                  DenseView<const T> V, DenseView<T> X) const {
    for (std::int64_t first = 0; first < V.columns(); first += columns_together) {
      const std::int64_t count = std::min(columns_together, V.columns() - first);
      const std::int64_t size = factorization_->workspace_size(count);
      if (space.vectors.size() < size) space.vectors = Array<T>(device_, size);
      factorization_->solve(operation == direct::Operation::transpose, count, V.column(first), V.leading(),
                            X.column(first), X.leading(), space.vectors.data(),
                            form == direct::SystemForm::scaled ? Equilibrated::yes : Equilibrated::no);
    }
  }

  /// Norm of the matrix whose condition is being estimated, which is copied to the host unless it is there.
  [[nodiscard]] double norm() const {
    const auto norm_of = [&](const Csr<T>& A) { return scaled_norm_one(A, row_scale_, column_scale_); };
    const Csr<T>& A = *conditioned_;
    return A.device().on_host() ? norm_of(A) : norm_of(A.to(Device::serial()));
  }
  /// Nothing for factors whose pivots do not give the signs of eigenvalues.
  [[nodiscard]] std::optional<Inertia> known_inertia() const { return inertia_; }
  [[nodiscard]] std::int64_t refinement_steps() const { return steps_; }
  [[nodiscard]] std::size_t bytes() const { return factorization_ ? factorization_->bytes() : 0; }

 private:
  /// Analyses A and allocates the memory of the factors; a result if A cannot be factored here.
  std::optional<direct::Factored> prepare(const Context& context, const Csr<T>& host) {
    if (!context.same_pattern) prefers_device_ = false;
    is_left_to_host_ = !prefers_device_ && Method::is_quicker_on_host(host, options_);
    updates_ = 0;
    is_reordered_ = false;
    prefers_diagonal_ = false;
    if (is_left_to_host_)
      return direct::Factored::on_host(
          "few flops per entry are predicted, which a core computes column by column");
    DeviceAnalysis<T> analysis = analyze(context, host, 1);
    if (analysis.is_final) return std::move(analysis.outcome);
    if (!analysis.outcome.ok()) return on_host_after(std::move(analysis.outcome), context.control);
    context.control.report(SolverPhase::analysis, 1);
    if (context.control.stop_requested()) return cancelled_factorization();
    DeviceFactorization<T> planned(device_, analysis.kind, std::move(analysis.tree),
                                   analysis.row_permutation);
    const DeviceFactorMemory needed = planned.memory(host.nonzeros());
    const std::size_t available = memory(device_).available;
    if (needed.total() > available) return on_host_after(too_large(needed, available), context.control);
    take(std::move(planned), std::move(analysis), host);
    return std::nullopt;
  }

  /// Whether factors of another kind than the last ones are those of A, or none.
  [[nodiscard]] bool has_other_symmetry(const Csr<T>& A) const {
    const SymmetricKind found = kind_of_ldlt(A, Device());
    return found.refusal || found.kind != kind_;
  }

  [[nodiscard]] DeviceAnalysis<T> analyze(const Context& context, const Csr<T>& host,
                                          std::int64_t factorizations) const {
    return analyze_for_device(
        host, kind,
        {.ordering = options_.ordering, .factorizations = factorizations, .cancel = context.control});
  }

  /// Takes over a plan with its analysis, and allocates its memory.
  void take(DeviceFactorization<T> planned, DeviceAnalysis<T> analysis, const Csr<T>& host) {
    statistics_ = planned.statistics(host.nonzeros());
    planned.allocate(host.row_offsets().span(), host.column_indices().span(), analysis.row_scale,
                     analysis.column_scale);
    factorization_.emplace(std::move(planned));
    kind_ = analysis.kind;
    scaling_ = std::move(analysis.scaling);
    row_scale_ = std::move(analysis.row_scale);
    column_scale_ = std::move(analysis.column_scale);
    condition_.forget();
    tested_multiplier_.reset();
    if (prefers_diagonal_) prefer_diagonal();
  }

  /// Looks for a lower tree once new values have been factored so often that another ordering would have
  /// paid. If there is one, the memory of the present factors is released first.
  void reorder_if_it_pays(const Context& context) {
    const std::int64_t n = context.A.rows();
    ++updates_;
    if (is_reordered_ || options_.ordering != Ordering::automatic ||
        !is_too_high_for_gpu(factorization_->levels(), n, updates_))
      return;
    is_reordered_ = true;
    const Csr<T> host = context.A.csr()->to(Device::serial());
    DeviceAnalysis<T> analysis = analyze(context, host, updates_);
    if (!analysis.outcome.ok()) return;
    DeviceFactorization<T> planned(device_, analysis.kind, std::move(analysis.tree),
                                   analysis.row_permutation);
    if (planned.levels() >= factorization_->levels() ||
        planned.memory(host.nonzeros()).total() > memory(device_).available + factorization_->bytes())
      return;
    factorization_.reset();
    take(std::move(planned), std::move(analysis), host);
  }

  direct::Factored factor_values(const Context& context) {
    const Csr<T>& A = *context.A.csr();
    const FactorResult result = factorization_->factor(
        {A.row_offsets().data(), A.column_indices().data(), A.values().data()}, context.control);
    if (result.end == FactorEnd::cancelled) return cancelled_factorization();
    if (result.end == FactorEnd::no_pivot) {
      factorization_.reset();
      return on_host_after(failed(result.failed->column), context.control);
    }
    const FactorFacts& facts = factorization_->facts();
    if (!is_as_accurate_as_tested(facts) && !pass_tests(context, facts)) {
      if (kind == FactorKind::lu && !prefers_diagonal_) {
        prefer_diagonal();
        return factor_values(context);
      }
      Outcome outcome = inaccurate(facts);
      factorization_.reset();
      return on_host_after(std::move(outcome), context.control);
    }
    inertia_.reset();
    if (has_inertia_) inertia_ = Inertia{facts.positive, facts.negative, 0};
    Outcome outcome;
    if (options_.condition) outcome = assess_condition<T>(reciprocal_condition(context, facts));
    if (has_pivoting && outcome.status == Status::singular)
      return on_host_after(std::move(outcome), context.control);
    outcome.statistics = statistics_;
    if (condition_.is_predicted()) outcome.statistics.push_back({"condition_by_pivots", std::int64_t{1}});
    if (facts.kept_pivots) outcome.statistics.push_back({"kept_pivots", std::int64_t{1}});
    if (prefers_diagonal_) outcome.statistics.push_back({"diagonal_preferred", std::int64_t{1}});
    if (has_pivoting) outcome.statistics.push_back({"largest_multiplier", facts.largest_multiplier});
    if (kind == FactorKind::ldlt) add_pivots(facts, outcome);
    return outcome;
  }

  /// Makes the next factorisation exchange fewer rows. Where scales of rows or columns differ by many orders
  /// of magnitude, the largest of the scaled elements may be a bad pivot.
  void prefer_diagonal() {
    constexpr double threshold = 0.01;
    prefers_diagonal_ = true;
    factorization_->prefer_diagonal(threshold);
  }

  /// Whether factors of this pattern have passed the tests, and the present ones do not have much larger
  /// multipliers. The residual of every solution is measured all the same.
  [[nodiscard]] bool is_as_accurate_as_tested(const FactorFacts& facts) const {
    return tested_multiplier_ &&
           facts.largest_multiplier <= std::max(harmless_multiplier, 2 * *tested_multiplier_);
  }

  /// Determines the steps of refinement that solves need, and whether the pivots have the signs of
  /// eigenvalues; false for factors that are inaccurate even with refinement.
  [[nodiscard]] bool pass_tests(const Context& context, const FactorFacts& facts) {
    steps_ = facts.largest_multiplier <= harmless_multiplier ? 0 : refine_;
    has_inertia_ = kind == FactorKind::cholesky;
    if (kind == FactorKind::ldlt) has_inertia_ = is_accurate_without_refinement(context);
    if (!has_inertia_ && !is_accurate(context)) return false;
    has_inertia_ = has_inertia_ && has_inertia_of<T>(kind_);
    tested_multiplier_ = facts.largest_multiplier;
    return true;
  }

  /// 1 / condition number of the scaled matrix. By the ratio of the pivots alone after a change of values,
  /// see UpdatedCondition, unless an option asks for an estimate.
  [[nodiscard]] double reciprocal_condition(const Context& context, const FactorFacts& facts) {
    if (options_.condition_of_updates) condition_.forget();
    return condition_.value(facts.pivot_ratio, static_cast<double>(std::numeric_limits<Real<T>>::epsilon()),
                            context.reciprocal_condition);
  }

  /// Adds facts about the pivots. Factors that are accurate only after refinement do not give the signs of
  /// eigenvalues.
  void add_pivots(const FactorFacts& facts, Outcome& outcome) const {
    if (has_inertia_) {
      outcome.statistics.insert(outcome.statistics.end(), {{"positive_eigenvalues", facts.positive},
                                                           {"negative_eigenvalues", facts.negative},
                                                           {"zero_eigenvalues", std::int64_t{0}}});
    }
    outcome.statistics.push_back({"scaling", scaling_});
    outcome.statistics.push_back({"two_by_two_pivots", facts.two_by_two_pivots});
  }

  /// True if a test solution is accurate, if necessary with refinement, which later solves then use, too. It
  /// may be inaccurate because of large multipliers, or of scaling factors of very different sizes.
  [[nodiscard]] bool is_accurate(const Context& context) {
    if (test_error(context) <= acceptable_test_error) return true;
    if (steps_ == refine_) return false;
    steps_ = refine_;
    return test_error(context) <= acceptable_test_error;
  }

  /// True if a test solution is accurate without refinement; later solves then take at most one step.
  [[nodiscard]] bool is_accurate_without_refinement(const Context& context) {
    const std::int64_t steps = std::exchange(steps_, 0);
    const bool accurate = test_error(context) <= acceptable_test_error;
    steps_ = accurate ? std::min<std::int64_t>(steps, 1) : steps;
    return accurate;
  }

  /// Normwise backward error of the refined solution of a system whose right-hand side is 1 everywhere.
  [[nodiscard]] double test_error(const Context& context) const {
    const std::int64_t n = context.A.rows();
    Array<T> b(device_, n);
    Array<T> x(device_, n);
    context.backend.fill(n, T{1}, b.data());
    context.solve(b.data(), x.data());
    return context.backward_error(b.data(), x.data());
  }

  [[nodiscard]] static Outcome failed(std::int64_t column) {
    if (kind == FactorKind::cholesky) return not_positive(column, "not positive");
    return {Status::breakdown,
            "no row of the front that eliminates column " + std::to_string(column) +
                " (from 0) has a pivot: A is singular, or needs pivoting across fronts, which " +
                (kind == FactorKind::ldlt ? "sparse-ldlt" : "sparse-lu") + " has on the host only",
            column};
  }
  [[nodiscard]] static Outcome inaccurate(const FactorFacts& facts) {
    return {Status::breakdown,
            "the factors are not accurate enough for refinement; multipliers of L are as large as " +
                short_number(facts.largest_multiplier) + ", since rows are exchanged within fronts"};
  }
  [[nodiscard]] static Outcome too_large(const DeviceFactorMemory& needed, std::size_t available) {
    return {Status::out_of_memory, "the factors take " + byte_count(needed.factor) +
                                       " and the factorisation another " +
                                       byte_count(needed.stack + needed.maps) + ", but the GPU has " +
                                       byte_count(available) + " left"};
  }

  /// Factors on the host after the device has failed: the host has more memory, takes pivots from other
  /// fronts, and finds the rank of a singular matrix. The outcome of the device is final where these do not
  /// help, as for an A that is not positive definite.
  [[nodiscard]] static direct::Factored on_host_after(Outcome device_outcome,
                                                      const CancellationToken& cancel) {
    const bool host_has_more = has_pivoting || device_outcome.status == Status::out_of_memory;
    if (!host_has_more || cancel.stop_requested()) return device_outcome;
    return direct::Factored::on_host(device_outcome.message);
  }

  Device device_;
  MethodOptions options_;
  std::int64_t refine_;
  std::optional<DeviceFactorization<T>> factorization_;
  FactorKind kind_ = kind;  ///< of the factors: hermitian_ldlt for ldlt of a Hermitian matrix
  std::string scaling_;
  std::vector<Statistic> statistics_;
  std::int64_t steps_ = 0;  ///< of refinement
  std::optional<Inertia> inertia_;
  std::vector<Real<T>> row_scale_, column_scale_;
  std::optional<double> tested_multiplier_;  ///< the largest of the factors that passed the tests last
  bool has_inertia_ = false;                 ///< the pivots have the signs of A's eigenvalues
  direct::UpdatedCondition condition_;
  std::int64_t updates_ = 0;             ///< of values since the last analysis
  bool is_reordered_ = false;            ///< a lower tree has been looked for
  bool prefers_diagonal_ = false;        ///< since factors with the largest pivots were inaccurate
  bool is_left_to_host_ = false;         ///< since that is quicker the first time
  bool prefers_device_ = false;          ///< new values have been factored on the host often enough
  const Csr<T>* conditioned_ = nullptr;  ///< the matrix whose condition is being estimated
};

}  // namespace echelon::sparse_direct
