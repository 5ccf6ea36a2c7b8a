// SPDX-License-Identifier: BSD-3-Clause
/// A square dense matrix factored by LU, or, where that fails, between butterflies or by QR; kept for
/// solving.
#pragma once

#include "backend/store.hpp"
#include "dense/factorization/scaling.hpp"
#include "dense/gauss_jordan/rank.hpp"
#include "dense/lu/butterfly.hpp"
#include "dense/lu/factorization.hpp"
#include "dense/lu/qr.hpp"
#include "dense/mixed_precision/products.hpp"
#include "linalg/condition.hpp"
#include "linalg/residual_check.hpp"
#include "linalg/spmv/form_residual.hpp"
#include "solver/direct/refinement.hpp"
#include "solver/factor_status.hpp"
#include "support/text.hpp"
#ifdef __CUDACC__
#include "dense/lu/workspace.cuh"
#endif

#include <echelon/methods/dense/lu.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace echelon::lu {

/// Factorisation of the scaled matrix S.
enum class Kind {
  plain,        ///< P S = L U
  butterflies,  ///< P U^T S V = L U for butterflies U and V
  qr,           ///< S = Q R
};

/// Growth max |u_ij| / max |a_ij| below which refinement is known to suffice: 100 times that of random
/// matrices.
inline double harmless_growth(std::int64_t n) {
  return 100 * std::cbrt(static_cast<double>(n) * static_cast<double>(n));
}

/// Growth up to which this many steps of refinement may reach the level of rounding errors: the factors are
/// those of a matrix that differs from A by growth times eps, and each step multiplies the error by about
/// that.
template <class T>
double repairable_growth(std::int64_t n, std::int64_t steps) {
  const auto eps = static_cast<double>(machine_epsilon<T>);
  return std::max(harmless_growth(n), 4 * std::pow(eps, 1 / static_cast<double>(steps + 1)) / eps);
}

namespace system_detail {

/// The first zero on the diagonal of contiguous columns.
template <class T>
struct ZeroDiagonal {
  const T* factors;
  std::int64_t n;
  ECHELON_ANYWHERE FirstIndex operator()(std::int64_t i) const {
    return {factors[i * (n + 1)] == T{0} ? i : FirstIndex::none};
  }
};

template <class T>
struct RandomVector {
  T* v;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    const std::uint64_t bits = hash_bits(static_cast<std::uint64_t>(i) + golden_ratio_64);
    v[i] = static_cast<T>(symmetric_number(bits));
  }
};

/// Copies to[i] = from[i step].
template <class T>
struct CopyElements {
  const T* from;
  std::int64_t step;
  double* to;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { to[i] = static_cast<double>(from[i * step]); }
};

}  // namespace system_detail

/// Factors of A = R^-1 S C^-1 for diagonal scales R and C, n^2 elements; A itself is only referred to, for
/// residuals.
template <class B, class T>
class System {
 public:
  /// Vectors of solves of up to `columns` right-hand sides at a time.
  struct SolveWorkspace : Workspace {
    SolveWorkspace(const Device& device, std::int64_t n, std::int64_t columns)
        : backend(device), refinement(device, n, columns) {}
    [[nodiscard]] std::size_t bytes() const override { return refinement.bytes(); }
    B backend;
    RefinementArrays<T> refinement;
  };

  System(const Device& device, const LuOptions& options)
      : backend_(device), workspace_(device), options_(options) {
    workspace_.products = float_products(options.factor_precision);
  }

  [[nodiscard]] std::int64_t order() const { return factors_.rows(); }
  [[nodiscard]] std::size_t bytes() const {
    std::size_t butterflies = 0;
    if (left_) butterflies = left_->bytes() + right_->bytes();
    return factors_.bytes() + pivots_.bytes() + scales_.bytes() + tau_.bytes() + butterflies +
           workspace_.bytes();
  }
  /// The matrix that was factored last.
  [[nodiscard]] const MatrixRef<T>& matrix() const { return A_; }
  /// Determinant of A from complete factors. Waits.
  [[nodiscard]] Determinant determinant() const {
    std::vector<double> factors = on_host(order(), factors_.data(), order() + 1);
    std::int64_t exchanges = 0;
    if (kind_ == Kind::qr) {
      // Each reflection has determinant -1.
      for (const double tau : on_host(order(), tau_.data(), 1)) exchanges += tau != 0 ? 1 : 0;
    } else {
      const Array<std::int64_t> pivots = pivots_.to(Device());
      for (std::int64_t k = 0; k < pivots.size(); ++k) exchanges += pivots.data()[k] != k ? 1 : 0;
    }
    for (const auto* butterfly : {&left_, &right_}) {
      if (!*butterfly) continue;
      for (const double block : (*butterfly)->block_determinants()) factors.push_back(1 / block);
    }
    for (const Array<T>* scale : {&scales_.rows, &scales_.columns}) {
      for (const double factor : on_host(scale->size(), scale->data(), 1)) factors.push_back(1 / factor);
    }
    return determinant_of(factors, exchanges, order(), 0);
  }

  [[nodiscard]] std::unique_ptr<SolveWorkspace> make_workspace(std::int64_t columns) const {
    return std::make_unique<SolveWorkspace>(backend_.device(), order(), columns);
  }

  /// Factors a square, finite A, which must outlive the solves.
  Outcome factor(const MatrixRef<T>& A, const std::stop_token& cancel) {
    A_ = A;
    clear();
    factors_ = to_dense(A);
    if (order() == 0) return {};
    norms_ = scale<T>(backend_, factors_.view(), options_.equilibrate, scales_);
    if (norms_.zero_row >= 0) return zero_line("row", norms_.zero_row);
    if (norms_.zero_column >= 0) return zero_line("column", norms_.zero_column);
    pivots_ = Array<std::int64_t>(backend_.device(), order());
    const FactorResult lu = eliminate(cancel);
    if (lu.cancelled) return cancelled_factorization();
    const double growth = lu.largest / norms_.largest;
    std::string why;
    if (!(growth <= harmless_growth(order()))) {
      if (lu.zero_pivot >= 0) {
        why = "the pivot of column " + std::to_string(lu.zero_pivot) + " is 0";
      } else {
        why = growth <= repairable_growth<T>(order(), options_.refine) ? inaccuracy()
                                                                       : "refinement does not repair that";
      }
    } else if (lu.zero_pivot >= 0) {
      return zero_pivot(lu.zero_pivot);
    }
    Outcome outcome = why.empty() ? assess() : factor_otherwise(growth, why, cancel);
    outcome.statistics = {{"factorization", name_of(kind_)}, {"pivot_growth", growth}};
    return outcome;
  }

  /// Computes X = A^-1 X, or A^-T X, without refinement, for a column-major X. Queued.
  void substitute(B& backend, bool transposed, DenseView<T> X) const {
    scale_rows(backend, transposed ? scales_.columns : scales_.rows, X);
    substitute_factors(backend, transposed, X);
    scale_rows(backend, transposed ? scales_.rows : scales_.columns, X);
  }

  /// Refines the solutions X for the right-hand sides `rhs` of A, where A is the factored matrix or its
  /// transpose. Returns the number of corrections for each column.
  std::vector<std::int64_t> refine(SolveWorkspace& workspace, const MatrixRef<T>& A, bool transposed,
                                   DenseView<const T> rhs, DenseView<T> X) const {
    std::vector<std::int64_t> steps;
    const std::int64_t at_once = workspace.refinement.residual.columns();
    for (std::int64_t begin = 0; begin < X.columns(); begin += at_once) {
      const std::int64_t end = std::min(begin + at_once, X.columns());
      const std::vector<std::int64_t> some = refine_columns(
          workspace, A, transposed, column_range(rhs, begin, end), column_range(X, begin, end));
      steps.insert(steps.end(), some.begin(), some.end());
    }
    return steps;
  }

 private:
  /// Copy on the host of n elements that are `step` apart in the backend's memory.
  std::vector<double> on_host(std::int64_t n, const T* elements, std::int64_t step) const {
    Array<double> copies(backend_.device(), n);
    backend_.for_each(n, system_detail::CopyElements<T>{elements, step, copies.data()});
    const Array<double> here = copies.to(Device());
    return {here.data(), here.data() + n};
  }

  static std::string name_of(Kind kind) {
    switch (kind) {
      case Kind::plain:
        return "lu";
      case Kind::butterflies:
        return "butterfly-lu";
      case Kind::qr:
        return "qr";
    }
    return {};
  }

  /// Releases the last factors before new ones are allocated.
  void clear() {
    factors_ = Dense<T>();
    pivots_ = {};
    tau_ = {};
    scales_ = {};
    left_.reset();
    right_.reset();
    kind_ = Kind::plain;
  }

  FactorResult eliminate(const std::stop_token& cancel) {
    return lu::factor<T>(backend_, workspace_, factors_.view(), pivots_.data(), cancel);
  }

  void restore_matrix() {
    factors_ = Dense<T>();
    factors_ = to_dense(A_);
    scale_by<B, T>(backend_, scales_, factors_.view());
  }

  /// Factors again after LU has failed, for the reason `why`: LU between butterflies, and if that is not
  /// accurate either, QR.
  Outcome factor_otherwise(double growth, const std::string& why, const std::stop_token& cancel) {
    const std::string failure =
        "elements grew " + short_number(growth) + " times in LU with partial pivoting, and " + why;
    constexpr std::uint64_t seed = 1;
    restore_matrix();
    left_.emplace(backend_, order(), seed);
    right_.emplace(backend_, order(), seed + 1);
    left_->apply_to_columns(backend_, true, factors_.view());
    right_->apply_to_rows(backend_, factors_.view());
    kind_ = Kind::butterflies;
    const FactorResult lu = eliminate(cancel);
    if (lu.cancelled) return cancelled_factorization();
    const bool repairable = lu.largest / norms_.largest <= repairable_growth<T>(order(), options_.refine);
    if (lu.zero_pivot < 0 && repairable && inaccuracy().empty()) {
      Outcome outcome = assess();
      outcome.warnings.push_back(failure + ": factored after random butterfly transformations instead");
      return outcome;
    }
    if (cancel.stop_requested()) return cancelled_factorization();
    return factor_by_qr(failure);
  }

  Outcome factor_by_qr(const std::string& failure) {
    left_.reset();
    right_.reset();
    restore_matrix();
    kind_ = Kind::qr;
    tau_ = Array<T>(backend_.device(), order());
    factor_qr<T>(backend_, factors_.view(), tau_.data());
    if (const std::int64_t zero = first_zero_on_diagonal(); zero >= 0) return zero_pivot(zero);
    Outcome outcome = assess();
    outcome.warnings.push_back(failure +
                               ", nor did random butterfly transformations help: factored by QR instead");
    return outcome;
  }

  std::int64_t first_zero_on_diagonal() {
    Array<FirstIndex> zero(backend_.device(), 1);
    backend_.reduce(order(), system_detail::ZeroDiagonal<T>{factors_.data(), order()},
                    Store<FirstIndex>{zero.data()});
    const std::int64_t index = backend_.read(zero.data()).value;
    return index == FirstIndex::none ? -1 : index;
  }

  Outcome assess() {
    return assess_condition<T>(
        estimate_reciprocal_condition<T>(backend_, order(), norms_.one, [this](bool transposed, T* v) {
          substitute_factors(backend_, transposed, {v, order(), 1, order(), backend_.device()});
        }));
  }

  /// Solves for b = A v with random v and for random b, refined like any other right-hand side: errors that
  /// grow with the solution show with either. Returns a description of the larger error, or an empty string
  /// if both answers are accurate.
  std::string inaccuracy() {
    const std::int64_t n = order();
    const auto workspace = make_workspace(1);
    Array<T> b(backend_.device(), n);
    Array<T> x(backend_.device(), n);
    const DenseView<T> solution(x.data(), n, 1, n, backend_.device());
    double error = 0;
    for (const bool random_solution : {true, false}) {
      backend_.for_each(n, system_detail::RandomVector<T>{x.data()});
      if (random_solution) {
        multiply(backend_, T{1}, A_, x.data(), T{0}, b.data());
        backend_.copy(n, b.data(), x.data());
      } else {
        backend_.copy(n, x.data(), b.data());
      }
      substitute(backend_, false, solution);
      refine_columns(*workspace, A_, false, {b.data(), n, 1, n, backend_.device()}, solution);
      error = combine(Largest{error},
                      Largest{backward_error(b.data(), x.data(), workspace->refinement.residual.data())})
                  .value;
    }
    const double acceptable = 10 * std::sqrt(static_cast<double>(n)) * machine_epsilon<T>;
    if (error <= acceptable) return {};
    return "refinement left a backward error of " + short_number(error);
  }

  double backward_error(const T* b, const T* x, T* r) {
    const auto check = make_residual_check<ThisTarget, T>(backend_.device());
    const double norm = check->matrix(A_).norm_inf;
    const SolutionFacts facts = check->solution(A_, b, x, r);
    return facts.residual.norm_inf / (norm * facts.answer.norm_inf + facts.right.norm_inf);
  }

  void substitute_factors(B& backend, bool transposed, DenseView<T> X) const {
    const DenseView<const T> factors = factors_.view();
    if (kind_ == Kind::qr) {
      substitute_qr<T>(backend, transposed, factors, tau_.data(), X);
      return;
    }
    const auto& before = transposed ? right_ : left_;
    const auto& after = transposed ? left_ : right_;
    if (before) before->apply_to_columns(backend, true, X);
    lu::substitute<T>(backend, workspace_, transposed, factors, pivots_.data(), X);
    if (after) after->apply_to_columns(backend, false, X);
  }

  static void scale_rows(B& backend, const Array<T>& scale, DenseView<T> X) {
    if (scale.size() == 0) return;
    backend.for_each(X.rows() * X.columns(), CopyScaled<T>{X, scale.data(), nullptr, X});
  }

  std::vector<std::int64_t> refine_columns(SolveWorkspace& workspace, const MatrixRef<T>& A, bool transposed,
                                           DenseView<const T> rhs, DenseView<T> X) const {
    B& backend = workspace.backend;
    const auto form = [&](DenseView<const T> solution, DenseView<T> R) {
      form_residual<B, T>(backend, A, rhs, solution, R);
    };
    SmallerResidual<Decision::on_host, B, T, decltype(form)> policy(
        backend, workspace.refinement.states.data(), rhs.columns(), form);
    echelon::refine(options_.refine, workspace.refinement.views(X), policy,
                    [&](std::span<const std::int64_t>, const RefinementViews<T>& views) {
                      for (std::int64_t j = 0; j < X.columns(); ++j) {
                        backend.copy(order(), views.residual.column(j), views.candidate.column(j));
                      }
                      substitute(backend, transposed, views.candidate);
                      for (std::int64_t j = 0; j < X.columns(); ++j) {
                        const T* const x = X.column(j);
                        T* const y = views.candidate.column(j);
                        backend.for_each(order(), AddElement<T, const T*, const T*, T*>{T{1}, x, T{1}, y, y});
                      }
                    });
    return policy.steps();
  }

  mutable B backend_;
  FactorWorkspace<B, T> workspace_;
  LuOptions options_;
  MatrixRef<T> A_;
  Dense<T> factors_;
  Kind kind_ = Kind::plain;
  Array<std::int64_t> pivots_;  // of LU
  Array<T> tau_;                // of QR's reflections
  std::optional<Butterfly<B, T>> left_, right_;
  Scales<T> scales_;
  ScaledNorms norms_;
};

}  // namespace echelon::lu
