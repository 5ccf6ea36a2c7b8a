// SPDX-License-Identifier: BSD-3-Clause
/// State of a solver after a set-up, and the memory of a solve in progress.
#pragma once

#include "backend/dispatch.hpp"
#include "exact/exact_rank.hpp"
#include "linalg/contraction.hpp"
#include "linalg/residual_check.hpp"
#include "matrix/assign.hpp"
#include "matrix/views/transposed_matrix.hpp"
#include "solver/answer/error_measurement.hpp"
#include "solver/answer/null_space_projection.hpp"
#include "solver/has_factor.hpp"
#include "solver/implementation.hpp"
#include "solver/nested_solver.hpp"
#include "support/workspace_pool.hpp"

#include <echelon/matrix/dense.hpp>
#include <echelon/preconditioner.hpp>
#include <echelon/solver.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

namespace echelon {

/// Null without finds_null_spaces<T>.
template <class T>
[[nodiscard]] std::unique_ptr<NullSpaceProjection<T>> make_projection(const Device& device) {
  if constexpr (finds_null_spaces<T>) {
    return on_target<targets_of<T>>(
        device, [&]<class Target>() { return make_null_space_projection<Target, T>(device); });
  } else {
    return nullptr;
  }
}

/// Memory of one solve in progress: the workspace of the method, and that of the residual check.
template <class T>
struct SolveWorkspace {
  std::unique_ptr<Workspace> method;
  std::unique_ptr<ResidualCheck<T>> residual_check;
  MeasurementWorkspace<T> measurement;
  std::optional<Contraction> contraction;              // of the factors, once it is known
  std::unique_ptr<NullSpaceProjection<T>> projection;  // where A has a null space
  Dense<T> residuals;                                  // of the columns that are checked together
  Dense<T> b, x;        // column-major copies of row-major operands, or of a B that X overwrites
  Dense<T> consistent;  // B without its part along null vectors

  /// Allocates if the shapes differ from those of the previous call.
  static void fit(std::int64_t rows, std::int64_t columns, const Device& device, Dense<T>& copy) {
    if (copy.rows() == rows && copy.columns() == columns) return;
    copy = Dense<T>();
    copy = Dense<T>(device, rows, columns);
  }
  [[nodiscard]] DenseView<const T> copy_of_rhs(DenseView<const T> B) {
    fit(B.rows(), B.columns(), B.device(), b);
    assign<T>(B, b);
    return b;
  }

  /// Memory for the residuals of as many of the columns as are checked together.
  void fit_residuals(DenseView<const T> B) {
    const auto together = B.device().on_host() ? std::int64_t{1} : static_cast<std::int64_t>(usual_columns);
    fit(B.rows(), std::min(B.columns(), together), B.device(), residuals);
  }

  explicit SolveWorkspace(const SolverImplementation<T>& implementation)
      : method(implementation.make_workspace()),
        residual_check(on_target<targets_of<T>>(implementation.device(), [&]<class Target>() {
          return make_residual_check<Target, T>(implementation.device());
        })) {}
  [[nodiscard]] std::size_t bytes() const {
    return method->bytes() + measurement.bytes() + residuals.bytes() + b.bytes() + x.bytes() +
           consistent.bytes();
  }
};

/// The transpose of the matrix of a set-up, and a solver for it.
template <class T>
struct TransposedSystem {
  TransposedMatrix<T> transpose;
  std::optional<Solver<T>> solver;
};

/// State after a set-up. `matrix` is A or, if its norm is far from 1, a copy of 2^exponent A, so that no
/// square or product of elements leaves the range of T; right-hand sides are scaled likewise.
template <class T>
struct SolverState {
  const Solver<T>* owner = nullptr;  ///< where the solver is now
  MatrixRef<T> given;                ///< A
  MatrixRef<T> matrix;
  Matrix<T> scaled_copy;
  std::optional<Stencil<T>> scaled_stencil;
  std::unique_ptr<Csr<T>> revalued;  ///< the pattern of A with the values of update_values(values)
  int exponent = 0;
  std::optional<int> given_exponent;  ///< in place of one by the norm of A
  std::mutex transposing;
  std::unique_ptr<TransposedSystem<T>> transposed;  ///< null until a solve needs it
  NullSpaceBasis<T> null_space;  ///< that solves project out of b and x; that of a regular A has no columns
  /// Lower bound of ||A^-1||_2 that the product with the vector of ones gives; 0 for a direct method.
  double inverse_norm = 0;
  std::unique_ptr<ExactRank<T>> exact = std::make_unique<ExactRank<T>>();
  bool ready = false;
  Outcome setup;
  std::optional<std::int64_t> nonfinite_column;
  double norm_inf = 0;
  double smallest_row = 0;   ///< sum of magnitudes other than zero; 0: unknown
  double column_spread = 1;  ///< of the method's scales
  double analysis_seconds = 0;
  double setup_seconds = 0;
  std::unique_ptr<ResidualCheck<T>> residual_check;  // for setup
  WorkspacePool<SolveWorkspace<T>> workspaces;
  std::optional<Preconditioner<T>> preconditioner;  ///< that set_preconditioner was given
};

}  // namespace echelon
