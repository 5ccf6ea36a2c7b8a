// SPDX-License-Identifier: BSD-3-Clause
/// Sparse factorisations for DirectMethod on a GPU: analysis on the host, factorisation and solves on the
/// device.
#pragma once

#include "backend/cuda/cuda.cuh"
#include "backend/device/memory.hpp"
#include "solver/direct/factorization.hpp"
#include "solver/factor_status.hpp"
#include "sparse_direct/multifrontal/device_analysis.hpp"
#include "sparse_direct/multifrontal/device_factorization.hpp"
#include "sparse_direct/multifrontal/scaled_norm.hpp"
#include "support/text.hpp"

#include <echelon/array.hpp>
#include <echelon/cancellation.hpp>
#include <echelon/linalg/determinant.hpp>
#include <echelon/matrix/csr.hpp>

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
      100 * static_cast<double>(std::numeric_limits<T>::epsilon());
  /// Most steps of refinement; few, since steps are queued before it is known whether they are needed.
  static constexpr std::int64_t most_steps = 5;
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
    const Csr<T> host = context.A.csr()->to(Device::serial());
    if (!factorization_) {
      try {
        if (std::optional<direct::Factored> end = prepare(context, host)) return *std::move(end);
      } catch (const AnalysisCancelled&) {
        return cancelled_factorization();
      }
    }
    norm_ = scaled_norm_one(host, row_scale_, column_scale_);
    return factor_values(context);
  }

  /// Factors a matrix that is singular to working precision on the host, which finds its rank.
  direct::Factored conclude(const Context& context, Outcome outcome) const {
    if (has_pivoting && outcome.status == Status::singular)
      return on_host_after(std::move(outcome), context.control);
    return outcome;
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

  [[nodiscard]] double norm() const { return norm_; }
  /// Nothing for factors whose pivots do not give the signs of eigenvalues.
  [[nodiscard]] std::optional<Inertia> known_inertia() const { return inertia_; }
  [[nodiscard]] std::int64_t refinement_steps() const { return steps_; }
  [[nodiscard]] std::size_t bytes() const { return factorization_ ? factorization_->bytes() : 0; }

 private:
  /// Analyses A and allocates the memory of the factors; a result if A cannot be factored here.
  std::optional<direct::Factored> prepare(const Context& context, const Csr<T>& host) {
    if (Method::is_quicker_on_host(host, options_))
      return direct::Factored::on_host(
          "few flops per entry are predicted, which a core computes column by column");
    DeviceAnalysis<T> analysis = analyze_for_device(host, kind, options_.ordering, context.control);
    if (analysis.is_final) return std::move(analysis.outcome);
    if (!analysis.outcome.ok()) return on_host_after(std::move(analysis.outcome), context.control);
    context.control.report(SolverPhase::analysis, 1);
    if (context.control.stop_requested()) return cancelled_factorization();
    DeviceFactorization<T> planned(device_, kind, std::move(analysis.tree), analysis.row_permutation);
    const DeviceFactorMemory needed = planned.memory(host.nonzeros());
    const std::size_t available = memory(device_).available;
    if (needed.total() > available) return on_host_after(too_large(needed, available), context.control);
    statistics_ = planned.statistics(host.nonzeros());
    planned.allocate(host.row_offsets().span(), host.column_indices().span(), analysis.row_scale,
                     analysis.column_scale);
    factorization_.emplace(std::move(planned));
    scaling_ = std::move(analysis.scaling);
    row_scale_ = std::move(analysis.row_scale);
    column_scale_ = std::move(analysis.column_scale);
    return std::nullopt;
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
    steps_ = facts.largest_multiplier <= harmless_multiplier ? 0 : refine_;
    const bool has_inertia = kind == FactorKind::ldlt && is_accurate_without_refinement(context);
    if (has_pivoting && !has_inertia && !is_accurate(context)) {
      Outcome outcome = inaccurate(facts);
      factorization_.reset();
      return on_host_after(std::move(outcome), context.control);
    }
    inertia_.reset();
    if (has_inertia) inertia_ = Inertia{facts.positive, facts.negative, 0};
    if (kind == FactorKind::cholesky) inertia_ = Inertia{A.rows(), 0, 0};
    Outcome outcome;
    outcome.statistics = statistics_;
    if (has_pivoting) outcome.statistics.push_back({"largest_multiplier", facts.largest_multiplier});
    if (kind == FactorKind::ldlt) add_pivots(facts, has_inertia, outcome);
    return outcome;
  }

  /// Adds facts about the pivots. Factors that are accurate only after refinement do not give the signs of
  /// eigenvalues.
  void add_pivots(const FactorFacts& facts, bool has_inertia, Outcome& outcome) const {
    if (has_inertia) {
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
  std::string scaling_;
  std::vector<Statistic> statistics_;
  std::int64_t steps_ = 0;  ///< of refinement
  std::optional<Inertia> inertia_;
  std::vector<T> row_scale_, column_scale_;
  double norm_ = 0;  ///< ||A||_1 of the scaled matrix
};

}  // namespace echelon::sparse_direct
