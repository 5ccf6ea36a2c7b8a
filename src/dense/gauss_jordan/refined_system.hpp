// SPDX-License-Identifier: BSD-3-Clause
/// Systems in T, factored in a lower precision: solutions are refined in T until they are as accurate as
/// requested. N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., chapter 12.
#pragma once

#include "dense/gauss_jordan/factor_precision.hpp"
#include "dense/gauss_jordan/system.hpp"
#include "dense/mixed_precision/refine_from_zero.hpp"
#include "dense/mixed_precision/rounding.hpp"
#include "linalg/contraction.hpp"

#include <echelon/matrix/scalar.hpp>

#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace echelon {

namespace refined_detail {

/// Infinity norms of a residual, of the residual of the equilibrated equations, by which steps are compared,
/// and of the solution.
struct EquilibratedNorms {
  Largest residual, scaled_residual, solution;
  friend ECHELON_ANYWHERE EquilibratedNorms combine(EquilibratedNorms a, EquilibratedNorms b) {
    return {combine(a.residual, b.residual), combine(a.scaled_residual, b.scaled_residual),
            combine(a.solution, b.solution)};
  }
};

template <class T>
struct EquilibratedNormsAt {
  const float* row_scale;  // null: 1
  const T* r;
  const T* x;
  ECHELON_ANYWHERE EquilibratedNorms operator()(std::int64_t i) const {
    const double residual = std::fabs(static_cast<double>(r[i]));
    const double scale = row_scale == nullptr ? 1 : static_cast<double>(row_scale[i]);
    return {{residual}, {scale * residual}, {std::fabs(static_cast<double>(x[i]))}};
  }
};

}  // namespace refined_detail

/// Outcome of the refinement for a right-hand side.
struct RefinementOutcome {
  std::int64_t steps = 0;  ///< after the first solution
  double backward_error = 0;
  bool accurate = false;  ///< as accurate as requested
};

/// Reason why some of the solutions are not accurate, or an empty string.
inline std::string describe_inaccuracy(const std::vector<RefinementOutcome>& columns) {
  double worst = -1;
  for (const RefinementOutcome& column : columns) {
    if (!column.accurate) worst = std::max(worst, column.backward_error);
  }
  if (worst < 0) return {};
  return "refinement ended with a backward error of " + short_number(worst);
}

/// System with a factorisation of A in float, n^2 elements; A itself is only referred to, for residuals.
template <class B, class T>
class RefinedSystem {
  using Low = EliminatedSystem<B, float>;

 public:
  struct SolveWorkspace : Workspace {
    SolveWorkspace(std::unique_ptr<typename Low::SolveWorkspace> low_workspace, const Device& device)
        : low(std::move(low_workspace)),
          residual(device, rows(), columns()),
          next(device, rows(), columns()),
          candidate(device, rows(), columns()),
          rounded(device, rows(), columns()),
          correction(device, rows(), columns()),
          largest(device, columns()),
          norms(device, 1) {}
    [[nodiscard]] std::int64_t rows() const { return low->transformed.rows(); }
    [[nodiscard]] std::int64_t columns() const { return low->transformed.columns(); }
    [[nodiscard]] std::size_t bytes() const override {
      return low->bytes() + residual.bytes() + next.bytes() + candidate.bytes() + rounded.bytes() +
             correction.bytes();
    }
    std::unique_ptr<typename Low::SolveWorkspace> low;
    Dense<T> residual, next, candidate;
    Dense<float> rounded, correction;
    Array<Largest> largest;
    Array<refined_detail::EquilibratedNorms> norms;
  };

  /// Constructor; `workspace` must outlive the system, and must not serve other eliminations in float
  /// meanwhile.
  RefinedSystem(EliminationWorkspace<B>& workspace, FloatProducts products, const GaussJordanOptions& options)
      : workspace_(workspace), options_(options) {
    workspace_.products = products;
  }
  RefinedSystem(const RefinedSystem&) = delete;
  RefinedSystem& operator=(const RefinedSystem&) = delete;

  /// Factors a square A. Returns the reason why solutions cannot be refined with the factors, or an empty
  /// string.
  std::string factor(const MatrixRef<T>& A) {
    GaussJordanOptions options = options_;
    if (!options.tolerance) options.tolerance = default_tolerance<T>(A.rows(), A.columns());
    low_ = std::make_unique<Low>(workspace_, options);
    const Outcome outcome =
        low_->factor_in_place(round_to_float<B, T>(backend(), A).matrix, options.equilibrate);
    if (!outcome.ok()) return "rounded to float, " + outcome.message;
    if (low_->rank() < A.columns() || low_->facts().doubtful)
      return "in this precision, " + low_->rank_description();
    return why_no_contraction(A);
  }

  [[nodiscard]] const RankFacts& facts() const { return low_->facts(); }
  [[nodiscard]] const std::vector<std::int64_t>& pivot_columns() const {
    return low_->factorization().pivot_columns();
  }
  [[nodiscard]] double norm_inf() const { return low_->factorization().norm_inf(); }
  [[nodiscard]] double reciprocal_condition() const { return low_->reciprocal_condition(); }
  [[nodiscard]] B& backend() const { return workspace_.backend; }
  [[nodiscard]] std::size_t bytes() const { return low_->bytes(); }

  [[nodiscard]] std::unique_ptr<SolveWorkspace> make_workspace(std::int64_t columns,
                                                               B* shared = nullptr) const {
    return std::make_unique<SolveWorkspace>(low_->make_workspace(columns, shared), backend().device());
  }

  /// Solves A X = B for column-major views.
  [[nodiscard]] std::vector<RefinementOutcome> solve(SolveWorkspace& workspace, const MatrixRef<T>& A,
                                                     DenseView<const T> rhs, DenseView<T> X) const {
    std::vector<RefinementOutcome> all;
    for (std::int64_t begin = 0; begin < rhs.columns(); begin += workspace.columns()) {
      const std::int64_t end = std::min(begin + workspace.columns(), rhs.columns());
      const std::vector<RefinementOutcome> some =
          solve_columns(workspace, A, column_range(rhs, begin, end), column_range(X, begin, end));
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  }

  /// Computes z = C r with the approximate inverse C of the lower precision; queued.
  void apply(SolveWorkspace& workspace, const T* r, T* z) const {
    const std::int64_t n = workspace.rows();
    const Device& device = backend().device();
    workspace.low->backend.fill(n, T{0}, z);
    add_correction(workspace, T{1}, {r, n, 1, n, device}, {z, n, 1, n, device});
  }

 private:
  struct Column {
    RefinementOutcome result;
    double rhs_norm = 0;
    double scaled_residual = std::numeric_limits<double>::infinity();
    std::int64_t accepted = 0;  // candidates, the first solution included
    bool finished = false;
  };

  /// Computes X = X + factor C R.
  void add_correction(SolveWorkspace& workspace, T factor, DenseView<const T> R, DenseView<T> X) const {
    using namespace refined_detail;
    B& backend = workspace.low->backend;
    for (std::int64_t j = 0; j < R.columns(); ++j) {
      backend.reduce(R.rows(), LargestMagnitude<const T*>{R.column(j)},
                     Store<Largest>{workspace.largest.data() + j});
    }
    const DenseView<float> rounded = column_range(workspace.rounded.view(), 0, R.columns());
    const DenseView<float> correction = column_range(workspace.correction.view(), 0, R.columns());
    const std::int64_t elements = R.rows() * R.columns();
    backend.for_each(elements, RoundScaled<T>{R, workspace.largest.data(), rounded});
    backend.fill(elements, 0.0F, correction.data());
    low_->add_solution(*workspace.low, rounded, correction);
    backend.for_each(elements, AddUnscaled<T>{correction, workspace.largest.data(), factor, X});
  }

  std::string why_no_contraction(const MatrixRef<T>& A) const {
    const std::unique_ptr<SolveWorkspace> workspace = make_workspace(1, &backend());
    const auto subtract = [&](const T*, T*) {
      add_correction(*workspace, T{-1}, workspace->next.view(), workspace->candidate.view());
    };
    const auto apply = [&](const T* v, T* product) { multiply<T>(backend(), T{1}, A, v, T{0}, product); };
    const Contraction found = measure_contraction(backend(), A.rows(), low_->factorization().column_scale(),
                                                  workspace->candidate.data(), workspace->next.data(),
                                                  workspace->largest.data(), apply, subtract);
    if (!found.failed) return {};
    return "an error of size 1 is left with size " + short_number(*found.failed) + " by a step of refinement";
  }

  refined_detail::EquilibratedNorms norms(SolveWorkspace& workspace, const T* r, const T* x) const {
    B& backend = workspace.low->backend;
    backend.reduce(workspace.rows(),
                   refined_detail::EquilibratedNormsAt<T>{low_->factorization().row_scale(), r, x},
                   Store<refined_detail::EquilibratedNorms>{workspace.norms.data()});
    return backend.read(workspace.norms.data());
  }

  /// Rule of mixed_precision::StepsFromZero. Without a requested accuracy, refinement continues while each
  /// step halves the residual, until rounding in the working precision limits it.
  struct Rule {
    using Column = RefinedSystem::Column;
    const RefinedSystem& system;
    SolveWorkspace& workspace;

    /// Needs no work if b = 0, whose solution is 0, or has a NaN, which is reported elsewhere.
    [[nodiscard]] Column initial(double b_norm) const {
      const bool trivial = b_norm == 0 || !std::isfinite(b_norm);
      Column column;
      column.result = {0, trivial ? 0.0 : 1.0, trivial};
      column.rhs_norm = b_norm;
      column.finished = trivial;
      return column;
    }
    refined_detail::EquilibratedNorms norms(const T* r, const T* x) const {
      return system.norms(workspace, r, x);
    }
    [[nodiscard]] static bool stops() { return false; }

    /// Whether the candidate is better than the solution.
    bool take_step(Column& column, const refined_detail::EquilibratedNorms& found) const {
      const double scaled = found.scaled_residual.value;
      const bool better = scaled < column.scaled_residual;
      const bool halved = scaled <= column.scaled_residual / 2;
      if (better) {
        const double size = system.norm_inf() * found.solution.value + column.rhs_norm;
        column.result.steps = column.accepted++;
        column.result.backward_error = found.residual.value / size;
        column.scaled_residual = scaled;
      }
      const std::optional<double>& accuracy = system.options_.accuracy;
      const double default_accuracy =
          std::sqrt(static_cast<double>(system.low_->rows())) * machine_epsilon<T>;
      const double needed = std::min(accuracy.value_or(default_accuracy), acceptable_backward_error<T>);
      column.result.accurate = column.result.backward_error <= needed;
      column.finished = !halved || (accuracy && column.result.accurate);
      return better;
    }
  };

  [[nodiscard]] std::vector<RefinementOutcome> solve_columns(SolveWorkspace& workspace, const MatrixRef<T>& A,
                                                             DenseView<const T> rhs, DenseView<T> X) const {
    constexpr std::int64_t max_steps = 50;  // after the first solution
    const std::int64_t k = rhs.columns();
    const RefinementViews<T> views{X, column_range(workspace.residual.view(), 0, k),
                                   column_range(workspace.candidate.view(), 0, k)};
    const std::vector<Column> columns = mixed_precision::refine_from_zero<B, T>(
        workspace.low->backend, A, rhs, views, column_range(workspace.next.view(), 0, k), max_steps + 1,
        Rule{*this, workspace},
        [&](DenseView<const T> R, DenseView<T> Y) { add_correction(workspace, T{1}, R, Y); });
    std::vector<RefinementOutcome> results;
    results.reserve(columns.size());
    for (const Column& column : columns) results.push_back(column.result);
    return results;
  }

  EliminationWorkspace<B>& workspace_;
  GaussJordanOptions options_;
  std::unique_ptr<Low> low_;
};

/// Complex matrices are eliminated in the working precision: there is no such system.
template <class B, class T>
requires is_complex<T>
class RefinedSystem<B, T> {
 public:
  RefinedSystem() = delete;
  struct SolveWorkspace : Workspace {};

  [[nodiscard]] const RankFacts& facts() const { return facts_; }
  [[nodiscard]] const std::vector<std::int64_t>& pivot_columns() const { return pivot_columns_; }
  [[nodiscard]] double reciprocal_condition() const { return 0; }
  [[nodiscard]] B& backend() const { return *backend_; }
  [[nodiscard]] std::size_t bytes() const { return 0; }
  [[nodiscard]] std::unique_ptr<SolveWorkspace> make_workspace(std::int64_t, B*) const { return nullptr; }
  [[nodiscard]] std::vector<RefinementOutcome> solve(SolveWorkspace&, const MatrixRef<T>&, DenseView<const T>,
                                                     DenseView<T>) const {
    return {};
  }
  void apply(SolveWorkspace&, const T*, T*) const {}

 private:
  RankFacts facts_;
  std::vector<std::int64_t> pivot_columns_;
  B* backend_ = nullptr;
};

}  // namespace echelon
