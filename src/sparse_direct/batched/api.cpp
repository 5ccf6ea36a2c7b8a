// SPDX-License-Identifier: BSD-3-Clause
// <echelon/methods/sparse_batch.hpp>: the order of pivots, the parts of a batch, and the systems that the
// common order does not serve.
#include "backend/api_boundary.hpp"
#include "backend/check_same_memory.hpp"
#include "backend/dispatch.hpp"
#include "solver/implementation.hpp"
#include "sparse_direct/batched/operations.hpp"
#include "support/machine_epsilon.hpp"

#include <echelon/error.hpp>
#include <echelon/methods/sparse_batch.hpp>
#include <echelon/methods/sparse_lu.hpp>
#include <echelon/solver.hpp>
#include <echelon/solver/factors.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

namespace echelon {

bool SparseBatchReport::solved() const {
  return std::all_of(outcomes.begin(), outcomes.end(),
                     [](const BatchOutcome& outcome) { return echelon::solved(outcome.status); });
}

namespace batch_detail {

using namespace sparse_direct;

namespace {

std::vector<std::int32_t> narrowed(const std::vector<std::int64_t>& numbers) {
  std::vector<std::int32_t> result(numbers.size());
  std::transform(numbers.begin(), numbers.end(), result.begin(),
                 [](std::int64_t number) { return static_cast<std::int32_t>(number); });
  return result;
}

template <class T>
DenseView<T> matrix_of(const DenseBatch<T>& batch, std::int64_t s) {
  return {batch.data() + s * batch.stride(), batch.rows(), batch.columns(),
          std::max<std::int64_t>(batch.leading(), 1), batch.device()};
}

}  // namespace

/// The systems of one pattern on one device.
template <class T>
class PatternSystems {
 public:
  explicit PatternSystems(const Csr<T>& pattern) : A_(pattern) {
    if (pattern.rows() == pattern.columns()) return;
    throw DimensionMismatch(fmt::format("the matrices of a batch are {} by {}: they have to be square",
                                        pattern.rows(), pattern.columns()));
  }

  SparseBatchReport solve(DenseView<const T> values, const DenseBatch<const T>& B, const DenseBatch<T>& X) {
    check(values, B, X);
    const std::int64_t count = values.columns();
    SparseBatchReport report;
    if (count == 0) return report;
    report.outcomes.resize(static_cast<std::size_t>(count));
    report.backward_errors.resize(static_cast<std::size_t>(count));
    if (A_.rows() == 0) return report;
    Array<T> kept_rhs;
    const BatchOfSystems<T> systems{values, apart(B, X, kept_rhs), X};
    if (!planned_) plan(values);
    std::vector<SystemResidual> residuals(static_cast<std::size_t>(count),
                                          {std::numeric_limits<double>::quiet_NaN(), 0});
    if (elimination_ != nullptr) report.parts = eliminate(systems, residuals);
    for (std::int64_t s = 0; s < count; ++s) {
      const SystemResidual& residual = residuals[static_cast<std::size_t>(s)];
      report.backward_errors[static_cast<std::size_t>(s)] = residual.backward_error;
      if (!is_verified(residual)) solve_singly(systems, s, report);
    }
    return report;
  }
  [[nodiscard]] std::size_t bytes_per_system() const {
    return elimination_ == nullptr ? 0 : elimination_->bytes_per_system();
  }

 private:
  void check(DenseView<const T> values, const DenseBatch<const T>& B, const DenseBatch<T>& X) const {
    if (values.rows() != A_.nonzeros() || values.layout() != Layout::column_major) {
      throw DimensionMismatch(fmt::format(
          "the values of a batch are a column-major matrix of {} rows, a column "
          "for each system, not of {} rows{}",
          A_.nonzeros(), values.rows(), values.layout() == Layout::column_major ? "" : ", row-major"));
    }
    check_vectors(B, "B", values.columns());
    check_vectors(X, "X", values.columns());
    if (B.columns() != X.columns()) {
      throw DimensionMismatch(
          fmt::format("B has {} columns for each system and X {}", B.columns(), X.columns()));
    }
    check_same_memory(A_.device(), "the pattern", values.device(), "the values");
    check_same_memory(A_.device(), "the pattern", B.device(), "B");
    check_same_memory(A_.device(), "the pattern", X.device(), "X");
  }
  template <class U>
  void check_vectors(const DenseBatch<U>& batch, const char* name, std::int64_t count) const {
    const std::int64_t columns = batch.columns();
    if (batch.rows() == A_.rows() && batch.count() == count && columns >= 0 &&
        batch.leading() >= batch.rows() &&
        (count < 2 || columns == 0 || batch.stride() >= batch.leading() * (columns - 1) + batch.rows())) {
      return;
    }
    throw DimensionMismatch(fmt::format(
        "{} has {} matrices of {} by {} with leading dimension {} and stride {}; there are {} systems "
        "of {} rows",
        name, batch.count(), batch.rows(), columns, batch.leading(), batch.stride(), count, A_.rows()));
  }

  /// B, or a copy of it where X is in the same memory: systems may be solved twice.
  DenseBatch<const T> apart(const DenseBatch<const T>& B, const DenseBatch<T>& X, Array<T>& copy) const {
    const std::int64_t size = B.stride() * (B.count() - 1) + B.leading() * (B.columns() - 1) + B.rows();
    if (B.columns() == 0 || B.data() + size <= X.data() || X.data() + X.stride() * X.count() <= B.data()) {
      return B;
    }
    copy = Array<T>(B.device(), size);
    memory_detail::copy(B.device(), copy.data(), B.device(), B.data(), copy.bytes());
    return {copy.data(), B.rows(), B.columns(), B.count(), B.leading(), B.stride(), B.device()};
  }

  /// A_s on `device`.
  [[nodiscard]] Csr<T> matrix(DenseView<const T> values, std::int64_t s, const Device& device) const {
    Csr<T> A = A_.device() == device ? A_ : A_.to(device);
    memory_detail::copy(device, A.values().data(), values.device(), values.column(s), A.values().bytes());
    return A;
  }

  /// Finds the order of pivots with the first systems.
  void plan(DenseView<const T> values) {
    constexpr std::int64_t most_tried = 4;
    planned_ = true;
    for (std::int64_t s = 0; s < std::min(most_tried, values.columns()); ++s) {
      const Csr<T> A = matrix(values, s, Device());
      const std::optional<PivotOrder> pivots = pivots_of(A, {});
      if (!pivots) continue;
      std::optional<EliminationProgram> program = program_of(A, *pivots);
      if (!program) return;
      if (!A_.device().on_host() && program->forward.levels() > many_levels) take_lower(A, *program);
      elimination_ = on_target<Targets::both>(A_.device(), [&]<class Target>() {
        return make_batch_elimination<Target, T>(A_.device(), pattern_of(A), *program);
      });
      return;
    }
    planned_ = false;  // perhaps with the systems of the next call
  }

  /// Levels of rows that take longer on a GPU, with a launch for each, than another ordering.
  static constexpr std::int64_t many_levels = 500;

  struct PivotOrder {
    std::vector<std::int32_t> rows, columns;
  };
  /// The pivots of sparse-lu; none where it does not factor A.
  static std::optional<PivotOrder> pivots_of(const Csr<T>& A, const SparseLuOptions& options) {
    Solver<T> solver = make_solver<T>(Device(), options);
    if (!solver.setup(A).ready()) return std::nullopt;
    const MatrixFactors<T> factors = solver.factors();
    return PivotOrder{narrowed(factors.row_permutation), narrowed(factors.column_permutation)};
  }

  [[nodiscard]] static BatchPattern pattern_of(const Csr<T>& A) {
    return {A.row_offsets().span(), A.column_indices().span()};
  }
  [[nodiscard]] static std::optional<EliminationProgram> program_of(const Csr<T>& A,
                                                                    const PivotOrder& pivots) {
    constexpr std::int64_t most_targets = 100'000'000;
    return plan_elimination(pattern_of(A), pivots.rows, pivots.columns, most_targets);
  }
  /// Replaces a program by one of nested dissection if that has fewer levels. METIS divides small parts, too,
  /// which minimum degree would number from their ends. Left-looking, since that keeps more pivots on the
  /// diagonal than fronts do, and these serve more systems.
  static void take_lower(const Csr<T>& A, EliminationProgram& program) {
    const std::optional<PivotOrder> pivots =
        pivots_of(A, {.ordering = Ordering::metis, .factorization = LuFactorization::left_looking});
    if (!pivots) return;
    std::optional<EliminationProgram> lower = program_of(A, *pivots);
    if (lower && lower->forward.levels() < program.forward.levels()) program = std::move(*lower);
  }

  std::int64_t eliminate(const BatchOfSystems<T>& systems, std::vector<SystemResidual>& residuals) {
    const std::int64_t count = systems.values.columns();
    std::int64_t parts = 0;
    for (std::int64_t first = 0; first < count; ++parts) {
      const std::int64_t size = std::min(elimination_->most_systems(), count - first);
      elimination_->solve(systems, first, size, residuals.data());
      first += size;
    }
    return parts;
  }

  [[nodiscard]] bool is_verified(const SystemResidual& residual) const {
    const double root = std::sqrt(static_cast<double>(A_.rows()));
    return residual.backward_error <= 10 * root * machine_epsilon<T> &&
           residual.relative_residual <= satisfying_residual<T>;
  }

  void solve_singly(const BatchOfSystems<T>& systems, std::int64_t s, SparseBatchReport& report) {
    const auto place = static_cast<std::size_t>(s);
    ++report.solved_singly;
    const bool first = !single_;
    if (first) single_ = make_solver<T>("sparse-lu", A_.device());
    A_ = matrix(systems.values, s, A_.device());
    if (first) {
      single_->setup(A_);
    } else {
      single_->update_values(A_);
    }
    const Report found = single_->solve(matrix_of(systems.B, s), matrix_of(systems.X, s));
    if (found.columns.empty()) fill_with_nan(matrix_of(systems.X, s));
    const std::optional<std::int64_t> column = found.column ? found.column : found.row;
    report.outcomes[place] = {found.status, column ? static_cast<std::int32_t>(*column) : -1};
    report.backward_errors[place] = found.backward_error;
  }
  static void fill_with_nan(const DenseView<T>& X) {
    const std::vector<T> nan(static_cast<std::size_t>(X.rows()), std::numeric_limits<T>::quiet_NaN());
    for (std::int64_t j = 0; j < X.columns(); ++j) {
      memory_detail::copy(X.device(), X.column(j), Device(), nan.data(), nan.size() * sizeof(T));
    }
  }

  Csr<T> A_;  // its values are those of the system that was last solved singly
  bool planned_ = false;
  std::unique_ptr<BatchElimination<T>> elimination_;
  std::optional<Solver<T>> single_;
};

}  // namespace batch_detail

template <class T>
SparseBatchSolver<T>::SparseBatchSolver(const Csr<T>& pattern) {
  at_api_boundary([&] { systems_ = std::make_unique<batch_detail::PatternSystems<T>>(pattern); });
}
template <class T>
SparseBatchSolver<T>::SparseBatchSolver(SparseBatchSolver&&) noexcept = default;
template <class T>
SparseBatchSolver<T>& SparseBatchSolver<T>::operator=(SparseBatchSolver&&) noexcept = default;
template <class T>
SparseBatchSolver<T>::~SparseBatchSolver() = default;

template <class T>
SparseBatchReport SparseBatchSolver<T>::solve(DenseView<const T> values, const DenseBatch<const T>& B,
                                              const DenseBatch<T>& X) {
  return at_api_boundary([&] { return systems_->solve(values, B, X); });
}

template <class T>
std::size_t SparseBatchSolver<T>::bytes_per_system() const {
  return systems_->bytes_per_system();
}

template class SparseBatchSolver<float>;
template class SparseBatchSolver<double>;

}  // namespace echelon
