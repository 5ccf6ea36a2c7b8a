// SPDX-License-Identifier: BSD-3-Clause
/// The methods sparse-cholesky, sparse-ldlt and sparse-lu on a GPU: analysis on the host, factorisation and
/// solves on the device.
#include "backend/cuda/cuda.cuh"
#include "linalg/condition.hpp"
#include "linalg/refinement.hpp"
#include "linalg/residual_check.hpp"
#include "linalg/spmv/multiply.hpp"
#include "solver/factor_status.hpp"
#include "solver/host_fallback.hpp"
#include "solver/instantiate.hpp"
#include "solver/transposed.hpp"
#include "sparse_direct/left_looking/prediction.hpp"
#include "sparse_direct/matching/large_diagonal.hpp"
#include "sparse_direct/matching/powers_of_two.hpp"
#include "sparse_direct/multifrontal/analysis.hpp"
#include "sparse_direct/multifrontal/cuda/factorization.hpp"
#include "sparse_direct/multifrontal/cuda/spare_pivots.hpp"
#include "sparse_direct/multifrontal/outcomes.hpp"
#include "support/text.hpp"

#include <echelon/methods/sparse_cholesky.hpp>
#include <echelon/methods/sparse_ldlt.hpp>
#include <echelon/methods/sparse_lu.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace echelon {

namespace {

using sparse_direct::analyze_symmetric;
using sparse_direct::inverse_permutation;
using sparse_direct::PatternStorage;
using sparse_direct::SymbolicFactor;
using sparse_direct::gpu::DeviceFactorFacts;
using sparse_direct::gpu::DeviceFactorization;
using sparse_direct::gpu::DeviceFactorMemory;
using sparse_direct::gpu::Equilibrated;
using sparse_direct::gpu::Factors;
using sparse_direct::gpu::FrontPlan;

/// Largest |element| of L up to which LU or L D L^T without tests of whole columns counts as accurate as
/// partial pivoting, so that no refinement is needed.
constexpr double harmless_multiplier = 16;

/// Largest backward error of a test solution for which the factors are used.
template <class T>
constexpr double acceptable_test_error = 100 * static_cast<double>(std::numeric_limits<T>::epsilon());

/// Most steps of refinement; few, since steps are queued before it is known whether they are needed.
constexpr std::int64_t most_steps = 5;

/// Right-hand sides that are solved together.
constexpr std::int64_t columns_together = 8;

/// ||R A C||_1 for a matrix on the host and diagonal R and C.
template <class T>
double scaled_norm_one(const Csr<T>& host, const std::vector<T>& rows, const std::vector<T>& columns) {
  std::vector<double> sums(columns.size(), 0);
  for (std::int64_t i = 0; i < host.rows(); ++i) {
    const double scale = static_cast<double>(rows[static_cast<std::size_t>(i)]);
    for (std::int64_t e = host.row_offsets()[i]; e < host.row_offsets()[i + 1]; ++e) {
      const auto j = static_cast<std::size_t>(host.column_indices()[e]);
      sums[j] += scale * std::abs(static_cast<double>(host.values()[e])) * static_cast<double>(columns[j]);
    }
  }
  return sums.empty() ? 0 : *std::max_element(sums.begin(), sums.end());
}

/// Order of elimination, and places and scales of the elements. They depend on the pattern, and for LU and L
/// D L^T also on the values of the matrix that was analysed.
template <class T>
struct Analysis {
  SymbolicFactor symbolic;
  std::vector<std::int32_t> spare;  ///< of each supernode: spare pivots; empty: none
  std::string scaling;
  std::vector<std::int32_t> row_position, column_position;
  std::vector<T> row_scale, column_scale;
  Outcome outcome;
  bool is_asymmetric = false;  ///< A is not symmetric; the method on the host reports the same
};

template <class T>
Outcome structurally_singular(const sparse_direct::LargeDiagonal& diagonal) {
  Outcome outcome;
  outcome.status = Status::singular;
  outcome.rank = diagonal.structural_rank;
  outcome.row = diagonal.unmatched_rows.front();
  outcome.message = "A is structurally singular: its structural rank is " +
                    std::to_string(diagonal.structural_rank) + "; row " +
                    std::to_string(diagonal.unmatched_rows.front()) + " and column " +
                    std::to_string(diagonal.unmatched_columns.front()) + " (from 0) are the first unmatched";
  return outcome;
}

/// First row whose diagonal element is not positive, if any; sets scale[i] = 1 / sqrt(a_ii) otherwise.
template <class T>
std::optional<std::int64_t> scale_by_diagonal(const Csr<T>& host, std::vector<double>& scale) {
  for (std::int64_t i = 0; i < host.rows(); ++i) {
    double diagonal = 0;
    for (std::int64_t e = host.row_offsets()[i]; e < host.row_offsets()[i + 1]; ++e) {
      if (host.column_indices()[e] == i) diagonal = static_cast<double>(host.values()[e]);
    }
    if (!(diagonal > 0)) return i;
    scale.push_back(1 / std::sqrt(diagonal));
  }
  return std::nullopt;
}

template <class T>
Analysis<T> analyze_cholesky(const Csr<T>& host, Ordering ordering) {
  Analysis<T> result;
  if (const auto place = sparse_direct::find_asymmetry(host, Device())) {
    result.outcome = sparse_direct::not_symmetric(*place);
    return result;
  }
  std::vector<double> scale;
  if (const auto row = scale_by_diagonal(host, scale)) {
    result.outcome = not_positive(*row, "at most its diagonal element, which is not positive");
    return result;
  }
  result.symbolic = analyze_symmetric(
      host, {.ordering = {.ordering = ordering, .threads = Device().threads(), .for_gpu = true}});
  result.row_position = result.column_position = inverse_permutation(result.symbolic.permutation);
  result.row_scale = result.column_scale = sparse_direct::powers_of_two<T>(scale);
  return result;
}

template <class T>
Analysis<T> analyze_lu(const Csr<T>& host, Ordering ordering) {
  Analysis<T> result;
  const sparse_direct::LargeDiagonal diagonal = sparse_direct::large_diagonal(host);
  if (diagonal.structural_rank < host.rows()) {
    result.outcome = structurally_singular<T>(diagonal);
    return result;
  }
  const PatternStorage pattern = sparse_direct::symmetrized_pattern(host, diagonal.row_permutation);
  result.symbolic = analyze_symmetric(
      pattern.view(), {.ordering = {.ordering = ordering, .threads = Device().threads(), .for_gpu = true}});
  result.column_position = inverse_permutation(result.symbolic.permutation);
  result.row_position.resize(static_cast<std::size_t>(host.rows()));
  for (std::size_t k = 0; k < result.row_position.size(); ++k) {
    result.row_position[static_cast<std::size_t>(diagonal.row_permutation[k])] = result.column_position[k];
  }
  result.row_scale = sparse_direct::powers_of_two<T>(diagonal.scaling.rows);
  result.column_scale = sparse_direct::powers_of_two<T>(diagonal.scaling.columns);
  return result;
}

/// True if the host should factor A left-looking, which takes less time than a GPU needs for the levels of a
/// tree of tiny fronts.
template <class T, class MethodOptions>
bool is_quicker_left_looking(const Csr<T>&, const MethodOptions&) {
  return false;
}
template <class T>
bool is_quicker_left_looking(const Csr<T>& host, const SparseLuOptions& options) {
  if (options.factorization != LuFactorization::automatic)
    return options.factorization == LuFactorization::left_looking;
  const bool by_degree = options.ordering == Ordering::automatic || options.ordering == Ordering::amd;
  return by_degree && sparse_direct::predict_left_looking(host).has_value();
}

/// Place of each column of the analysed matrix in a permutation that has -1 for spare columns.
std::vector<std::int32_t> places_without_spare(const std::vector<std::int32_t>& permutation, std::int64_t n) {
  std::vector<std::int32_t> places(static_cast<std::size_t>(n));
  for (std::size_t k = 0; k < permutation.size(); ++k) {
    if (permutation[k] >= 0) places[static_cast<std::size_t>(permutation[k])] = static_cast<std::int32_t>(k);
  }
  return places;
}

template <class T>
Analysis<T> analyze_ldlt(const Csr<T>& host, Ordering ordering) {
  Analysis<T> result;
  if (const auto place = sparse_direct::find_asymmetry(host, Device())) {
    result.outcome = sparse_direct::not_symmetric(*place, Status::breakdown);
    result.is_asymmetric = true;
    return result;
  }
  const sparse_direct::SymmetricMatching matching = sparse_direct::symmetric_matching(host);
  if (matching.structural_rank < host.rows()) {
    result.outcome = {Status::singular, "A is structurally singular: its structural rank is " +
                                            std::to_string(matching.structural_rank)};
    return result;
  }
  sparse_direct::gpu::SpareSymbolic spare = sparse_direct::gpu::add_spare_pivots(analyze_symmetric(
      host, {.ordering = {.ordering = ordering, .threads = Device().threads(), .for_gpu = true},
             .partner = matching.partner}));
  result.symbolic = std::move(spare.symbolic);
  result.spare = std::move(spare.spare);
  result.row_position = result.column_position =
      places_without_spare(result.symbolic.permutation, host.rows());
  result.row_scale = result.column_scale = sparse_direct::powers_of_two<T>(matching.scale);
  result.scaling = to_string(matching.kind);
  return result;
}

template <class T, Factors factors>
Analysis<T> analyze(const Csr<T>& host, Ordering ordering) {
  if constexpr (factors == Factors::cholesky) {
    return analyze_cholesky(host, ordering);
  } else if constexpr (factors == Factors::ldlt) {
    return analyze_ldlt(host, ordering);
  } else {
    return analyze_lu(host, ordering);
  }
}

template <class T, Factors factors>
class DeviceSolver final : public SolverImplementation<T> {
  using HostMethod =
      std::conditional_t<factors == Factors::cholesky, SparseCholesky<T>,
                         std::conditional_t<factors == Factors::ldlt, SparseLdlt<T>, SparseLu<T>>>;
  /// True for LU and L D L^T. For these the host has more candidates for pivots, and finds the rank of a
  /// singular matrix.
  static constexpr bool has_pivoting = factors != Factors::cholesky;
  using MethodOptions =
      std::conditional_t<factors == Factors::cholesky, SparseCholeskyOptions,
                         std::conditional_t<factors == Factors::ldlt, SparseLdltOptions, SparseLuOptions>>;

  struct SolveWorkspace : Workspace {
    SolveWorkspace(const Device& device, std::int64_t n, std::int64_t vectors_size)
        : backend(device), refinement(device, n), vectors(device, vectors_size) {}
    [[nodiscard]] std::size_t bytes() const override { return refinement.bytes() + vectors.bytes(); }
    Cuda backend;
    RefinementArrays<T> refinement;
    Array<T> vectors;  ///< for the largest number of right-hand sides of a solve so far
  };

 public:
  DeviceSolver(const Device& device, const MethodOptions& options)
      : SolverImplementation<T>(device),
        host_(HostMethod(Device(), options)),
        options_(options),
        refine_(std::min(options.refine, most_steps)) {}

  Outcome setup(const MatrixRef<T>& A) override {
    set_matrix(A);
    factorization_.reset();
    host_.deactivate();
    const Csr<T> host = A_.csr()->to(Device::serial());
    if (is_quicker_left_looking(host, options_))
      return factor_on_host_because(
          "few flops per entry are predicted, which a core computes column by column");
    Analysis<T> analysis = analyze<T, factors>(host, options_.ordering);
    if (analysis.is_asymmetric) return std::move(analysis.outcome);
    if (!analysis.outcome.ok()) return factor_on_host_after(std::move(analysis.outcome));
    if (this->cancel().stop_requested()) return cancelled_factorization();
    FrontPlan plan = sparse_direct::gpu::plan_fronts(analysis.symbolic, factors, sizeof(T), analysis.spare);
    const DeviceFactorMemory needed = DeviceFactorization<T>::predict(plan, host.nonzeros());
    const std::size_t available = memory(this->device()).available;
    if (needed.factor + needed.stack + needed.maps > available)
      return factor_on_host_after(too_large(needed, available));
    levels_ = static_cast<std::int64_t>(plan.levels.size());
    factorization_.emplace(this->device(), analysis.symbolic, std::move(plan), host.row_offsets().span(),
                           host.column_indices().span(),
                           sparse_direct::gpu::Placement<T>{analysis.row_position, analysis.column_position,
                                                            analysis.row_scale, analysis.column_scale});
    describe(analysis.symbolic, needed);
    column_of_ = analysis.symbolic.permutation;
    scaling_ = std::move(analysis.scaling);
    row_scale_ = std::move(analysis.row_scale);
    column_scale_ = std::move(analysis.column_scale);
    norm_ = scaled_norm_one(host, row_scale_, column_scale_);
    return factor();
  }

  /// Factors new values with the order, matching and scales of the last setup.
  Outcome update_values(const MatrixRef<T>& A) override {
    if (!factorization_ && !host_.active()) return setup(A);
    set_matrix(A);
    if (host_.active()) return host_.update_values(A_.csr()->to(Device()), this->cancel());
    norm_ = scaled_norm_one(A_.csr()->to(Device::serial()), row_scale_, column_scale_);
    return factor();
  }

  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const override {
    if (host_.active()) return host_.make_workspace();
    return std::make_unique<SolveWorkspace>(this->device(), A_.rows(),
                                            factorization_ ? factorization_->workspace_size(1) : 0);
  }

  [[nodiscard]] std::size_t bytes() const override {
    return (factorization_ ? factorization_->bytes() : 0) + host_.bytes();
  }

  void solve(Workspace& workspace, DenseView<const T> B, DenseView<T> X,
             std::vector<Job>& jobs) const override {
    solve(nullptr, workspace, B, X, jobs);
  }

  [[nodiscard]] MatrixRef<T> factored_matrix() const override { return A_; }
  void solve_transposed(const Csr<T>& transpose, Workspace& workspace, DenseView<const T> B, DenseView<T> X,
                        std::vector<Job>& jobs) const override {
    solve(&transpose, workspace, B, X, jobs);
  }

  void apply(Workspace& workspace, const MultiVector<const T>& r, const MultiVector<T>& z,
             Operation operation) const override {
    if (A_.rows() == 0) return;
    if (host_.active()) return host_.apply(this->device(), workspace, r, z, operation);
    for_matrices(
        r, z, static_cast<int>(columns_together), this->device(), [&](DenseView<const T> R, DenseView<T> Z) {
          substitute(operation == Operation::transpose, static_cast<SolveWorkspace&>(workspace), R, Z);
        });
  }
  [[nodiscard]] OperatorTraits traits() const override {
    return {.columns_as_alone = false, .is_transposable = true};
  }

 private:
  /// Solves A X = B, or A^T X = B if `transpose` is not null.
  void solve(const Csr<T>* transpose, Workspace& workspace, DenseView<const T> B, DenseView<T> X,
             std::vector<Job>& jobs) const {
    if (B.rows() == 0) return;
    if (host_.active()) return host_.solve(this->device(), workspace, B, X, jobs, transpose);
    auto& own = static_cast<SolveWorkspace&>(workspace);
    substitute(transpose != nullptr, own, B, X);
    for (std::int64_t j = 0; j < B.columns(); ++j) refine_column(transpose, own, B.column(j), X.column(j));
  }

  /// Solves without refinement.
  void substitute(bool transposed, SolveWorkspace& own, DenseView<const T> B, DenseView<T> X) const {
    for (std::int64_t first = 0; first < B.columns(); first += columns_together) {
      const std::int64_t count = std::min(columns_together, B.columns() - first);
      const std::int64_t size = factorization_->workspace_size(count);
      if (own.vectors.size() < size) own.vectors = Array<T>(this->device(), size);
      factorization_->solve(transposed, count, B.column(first), B.leading(), X.column(first), X.leading(),
                            own.vectors.data());
    }
  }

  /// Sets A; a dense matrix is converted.
  void set_matrix(const MatrixRef<T>& A) {
    A_ = A;
    if (A.is_sparse()) return;
    converted_ = to_csr(A);
    A_ = MatrixRef<T>(converted_);
  }

  Outcome factor() {
    const Csr<T>& A = *A_.csr();
    const DeviceFactorFacts facts = factorization_->factor(A.row_offsets().data(), A.column_indices().data(),
                                                           A.values().data(), this->cancel());
    if (facts.cancelled) return cancelled_factorization();
    if (facts.failed_column) {
      factorization_.reset();
      return factor_on_host_after(failed(column_of_[static_cast<std::size_t>(*facts.failed_column)]));
    }
    steps_ = facts.largest_multiplier <= harmless_multiplier ? 0 : refine_;
    const bool has_inertia = factors == Factors::ldlt && is_accurate_without_refinement();
    if (has_pivoting && !has_inertia && !is_accurate()) {
      factorization_.reset();
      return factor_on_host_after(inaccurate(facts));
    }
    Outcome outcome = options_.condition ? assess_condition<T>(reciprocal_condition()) : Outcome();
    if (has_pivoting && outcome.status == Status::singular) {
      factorization_.reset();
      return factor_on_host_after(std::move(outcome));
    }
    outcome.statistics = statistics_;
    if (has_pivoting) outcome.statistics.push_back({"largest_multiplier", facts.largest_multiplier});
    if (factors == Factors::ldlt) add_pivots(facts, has_inertia, outcome);
    return outcome;
  }

  /// Adds facts about the pivots. Factors that are accurate only after refinement do not give the signs of
  /// eigenvalues.
  void add_pivots(const DeviceFactorFacts& facts, bool has_inertia, Outcome& outcome) const {
    if (has_inertia) {
      outcome.statistics.insert(outcome.statistics.end(),
                                {{"positive_eigenvalues", A_.rows() - facts.negative},
                                 {"negative_eigenvalues", facts.negative},
                                 {"zero_eigenvalues", std::int64_t{0}}});
    }
    outcome.statistics.push_back({"scaling", scaling_});
    outcome.statistics.push_back({"two_by_two_pivots", facts.two_by_two_pivots});
  }

  /// Reciprocal condition number of the scaled matrix, estimated by at most 12 solves.
  [[nodiscard]] double reciprocal_condition() const {
    Cuda backend(this->device());
    const std::int64_t n = A_.rows();
    Array<T> workspace(this->device(), factorization_->workspace_size(1));
    return estimate_reciprocal_condition<T>(backend, n, norm_, [&](bool transposed, T* v) {
      factorization_->solve(transposed, 1, v, n, v, n, workspace.data(), Equilibrated::yes);
    });
  }

  [[nodiscard]] Outcome failed(std::int32_t column) const {
    if (factors == Factors::cholesky) return not_positive(column, "not positive");
    return {Status::breakdown,
            "no row of the front that eliminates column " + std::to_string(column) +
                " (from 0) has a pivot: A is singular, or needs pivoting across fronts, which " +
                (factors == Factors::ldlt ? "sparse-ldlt" : "sparse-lu") + " has on the host only",
            column};
  }

  /// True if a test solution is accurate, if necessary with refinement, which later solves then use, too. It
  /// may be inaccurate because of large multipliers, or of scaling factors of very different sizes.
  [[nodiscard]] bool is_accurate() {
    if (A_.rows() == 0 || test_error() <= acceptable_test_error<T>) return true;
    if (steps_ == refine_) return false;
    steps_ = refine_;
    return test_error() <= acceptable_test_error<T>;
  }

  /// True if a test solution is accurate without refinement; later solves then take at most one step.
  [[nodiscard]] bool is_accurate_without_refinement() {
    if (A_.rows() == 0) return true;
    const std::int64_t steps = std::exchange(steps_, 0);
    const bool accurate = test_error() <= acceptable_test_error<T>;
    steps_ = accurate ? std::min<std::int64_t>(steps, 1) : steps;
    return accurate;
  }

  /// Normwise backward error of the refined solution of a system whose right-hand side is 1 everywhere.
  [[nodiscard]] double test_error() const {
    const Device& device = this->device();
    const std::int64_t n = A_.rows();
    SolveWorkspace own(device, n, factorization_->workspace_size(1));
    Array<T> b(device, n);
    Array<T> x(device, n);
    own.backend.fill(n, T{1}, b.data());
    factorization_->solve(false, 1, b.data(), n, x.data(), n, own.vectors.data());
    refine_column(nullptr, own, b.data(), x.data());
    const auto check = make_residual_check<CudaTarget, T>(device);
    const SolutionFacts facts = check->solution(A_, b.data(), x.data(), own.refinement.residual.data());
    const double scale = check->matrix(A_).norm_inf * facts.answer.norm_inf + facts.right.norm_inf;
    return facts.residual.norm_inf / scale;
  }

  [[nodiscard]] static Outcome inaccurate(const DeviceFactorFacts& facts) {
    return {Status::breakdown,
            "the factors are not accurate enough for refinement; multipliers of L are as large as " +
                short_number(facts.largest_multiplier) + ", since rows are exchanged within fronts"};
  }

  /// Factors on the host after the device has failed: the host has more memory, takes pivots from other
  /// fronts, and finds the rank of a singular matrix. The outcome of the device is final where these do not
  /// help, as for an A that is not positive definite.
  Outcome factor_on_host_after(Outcome device_outcome) {
    const bool host_has_more = has_pivoting || device_outcome.status == Status::out_of_memory;
    if (!host_has_more || this->cancel().stop_requested()) return device_outcome;
    return factor_on_host_because(device_outcome.message);
  }

  Outcome factor_on_host_because(const std::string& reason) {
    return host_.setup(A_.csr()->to(Device()), this->cancel(), reason);
  }

  [[nodiscard]] Outcome too_large(const DeviceFactorMemory& needed, std::size_t available) const {
    return {Status::out_of_memory, "the factors take " + byte_count(needed.factor) +
                                       " and the factorisation another " +
                                       byte_count(needed.stack + needed.maps) + ", but the GPU has " +
                                       byte_count(available) + " left"};
  }

  void describe(const SymbolicFactor& symbolic, const DeviceFactorMemory& memory) {
    const std::int64_t triangles = factors == Factors::lu ? 2 : 1;
    const std::size_t bytes = memory.factor + memory.stack + memory.maps;
    statistics_ = {{"ordering", symbolic.ordering},
                   {"supernodes", symbolic.supernodes()},
                   {"levels", levels_},
                   {"factor_entries", triangles * symbolic.factor_entries - (triangles - 1) * symbolic.n},
                   {"factor_flops", static_cast<double>(triangles) * symbolic.flops},
                   {"predicted_bytes", static_cast<std::int64_t>(bytes)},
                   {"factor_bytes", static_cast<std::int64_t>(memory.factor)}};
  }

  void refine_column(const Csr<T>* transpose, SolveWorkspace& own, const T* b, T* x) const {
    const std::int64_t n = A_.rows();
    const MatrixRef<T> A = transpose == nullptr ? A_ : MatrixRef<T>(*transpose);
    refine(
        own.backend, n, steps_, x, own.refinement,
        [&](const T* iterate, T* r) {
          own.backend.copy(n, b, r);
          multiply(own.backend, T{-1}, A, iterate, T{1}, r);
        },
        [&](const T* r, T* z) {
          factorization_->solve(transpose != nullptr, 1, r, n, z, n, own.vectors.data());
        });
  }

  HostFallback<T> host_;
  MethodOptions options_;
  std::int64_t refine_;
  MatrixRef<T> A_;
  Csr<T> converted_;  ///< a dense A
  std::optional<DeviceFactorization<T>> factorization_;
  std::vector<std::int32_t> column_of_;  ///< the user's column of each column of the permuted matrix, or -1
  std::string scaling_;
  std::vector<Statistic> statistics_;
  std::int64_t levels_ = 0;
  std::int64_t steps_ = 0;  ///< of refinement
  std::vector<T> row_scale_, column_scale_;
  double norm_ = 0;  ///< ||A||_1 of the scaled matrix
};

}  // namespace

template <>
struct MethodWith<SparseCholeskyOptions> {
  template <class B, class T>
  using Type = DeviceSolver<T, Factors::cholesky>;
};
template <>
struct MethodWith<SparseLdltOptions> {
  template <class B, class T>
  using Type = DeviceSolver<T, Factors::ldlt>;
};
template <>
struct MethodWith<SparseLuOptions> {
  template <class B, class T>
  using Type = DeviceSolver<T, Factors::lu>;
};

template std::unique_ptr<SolverImplementation<float>> make_implementation<CudaTarget>(
    const Device&, const SparseCholeskyOptions&);
template std::unique_ptr<SolverImplementation<double>> make_implementation<CudaTarget>(
    const Device&, const SparseCholeskyOptions&);
template std::unique_ptr<SolverImplementation<float>> make_implementation<CudaTarget>(
    const Device&, const SparseLdltOptions&);
template std::unique_ptr<SolverImplementation<double>> make_implementation<CudaTarget>(
    const Device&, const SparseLdltOptions&);
template std::unique_ptr<SolverImplementation<float>> make_implementation<CudaTarget>(const Device&,
                                                                                      const SparseLuOptions&);
template std::unique_ptr<SolverImplementation<double>> make_implementation<CudaTarget>(
    const Device&, const SparseLuOptions&);

}  // namespace echelon
