// SPDX-License-Identifier: BSD-3-Clause
#include "domain_decomposition/bddc/local/factor.hpp"

#include "backend/host/host.hpp"
#include "linalg/blas/blas.hpp"
#include "linalg/blas/lapack.hpp"
#include "solver/factor_status.hpp"
#include "studies/crout/iteration.hpp"
#include "studies/crout/iteration_outcome.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace echelon::bddc {

void LocalFactor::solve_columns(Workspace* workspace, DenseView<const double> R, DenseView<double> X) const {
  for (std::int64_t j = 0; j < R.columns(); ++j) solve(workspace, R.column(j), X.column(j));
}

namespace {

/// Sparse Cholesky by the library's method, which keeps the analysis of a pattern.
class SparseFactor final : public LocalFactor {
 public:
  [[nodiscard]] std::optional<Outcome> refactor(const Csr<double>& G,
                                                const CancellationToken& cancel) override {
    rows_ = G.rows();
    SolverImplementation<double>& method = SolverAccess<double>::implementation(solver_);
    method.set_control(cancel);
    return method.setup(G);
  }

  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const override {
    return implementation().make_workspace();
  }
  void solve(Workspace* workspace, const double* r, double* x) const override {
    implementation().apply(*workspace, {r, rows_}, {x, rows_});
  }
  void solve_columns(Workspace* workspace, DenseView<const double> R, DenseView<double> X) const override {
    apply_to_matrix(implementation(), *workspace, R, X);
  }
  [[nodiscard]] std::size_t bytes() const override { return implementation().bytes(); }

 private:
  [[nodiscard]] const SolverImplementation<double>& implementation() const {
    return SolverAccess<double>::implementation(solver_);
  }
  Solver<double> solver_ = make_solver<double>(
      "sparse-cholesky", Device::serial(), {{"ordering", "dissection"}, {"refine", 0}, {"condition", false}});
  std::int64_t rows_ = 0;
};

/// G = L L^T by LAPACK.
class CholeskyFactor final : public LocalFactor {
 public:
  explicit CholeskyFactor(Dense<double> L) : L_(std::move(L)) {}

  void solve(Workspace* /*workspace*/, const double* r, double* x) const override {
    std::copy_n(r, L_.rows(), x);
    substitute({x, L_.rows(), 1, L_.rows()});
  }
  void solve_columns(Workspace* /*workspace*/, DenseView<const double> R,
                     DenseView<double> X) const override {
    for (std::int64_t j = 0; j < R.columns(); ++j) std::copy_n(R.column(j), R.rows(), X.column(j));
    substitute(X);
  }
  [[nodiscard]] std::size_t bytes() const override { return L_.bytes(); }

 private:
  void substitute(DenseView<double> X) const {
    const int n = static_cast<int>(L_.rows());
    const int columns = static_cast<int>(X.columns());
    if (n == 0 || columns == 0) return;
    const int leading = static_cast<int>(X.leading());
    blas::trsm(CblasLower, CblasNoTrans, CblasNonUnit, n, columns, L_.data(), n, X.data(), leading);
    blas::trsm(CblasLower, CblasTrans, CblasNonUnit, n, columns, L_.data(), n, X.data(), leading);
  }
  Dense<double> L_;
};

/// P G = L U by LAPACK. The operator is symmetric up to rounding.
class LuFactor final : public LocalFactor {
 public:
  LuFactor(Dense<double> lu, std::vector<int> pivots) : lu_(std::move(lu)), pivots_(std::move(pivots)) {}

  void solve(Workspace* /*workspace*/, const double* r, double* x) const override {
    const int n = static_cast<int>(lu_.rows());
    std::copy_n(r, n, x);
    if (n > 0) lapack::getrs(false, n, 1, lu_.data(), pivots_.data(), x, n);
  }
  [[nodiscard]] std::size_t bytes() const override { return lu_.bytes() + pivots_.capacity() * sizeof(int); }

 private:
  Dense<double> lu_;
  std::vector<int> pivots_;
};

/// S G S = L D^-1 L^T with the lower triangle L of Crout's iteration, its diagonal D, and a diagonal S.
class CroutFactor final : public LocalFactor {
 public:
  CroutFactor(Dense<double> factors, std::vector<double> scale)
      : factors_(std::move(factors)), scale_(std::move(scale)) {}

  void solve(Workspace* /*workspace*/, const double* r, double* x) const override {
    const int n = static_cast<int>(factors_.rows());
    for (int i = 0; i < n; ++i) x[i] = scale_[i] * r[i];
    if (n == 0) return;
    blas::trsm(CblasLower, CblasNoTrans, CblasNonUnit, n, 1, factors_.data(), n, x, n);
    for (int i = 0; i < n; ++i) x[i] *= factors_(i, i);
    blas::trsm(CblasLower, CblasTrans, CblasNonUnit, n, 1, factors_.data(), n, x, n);
    for (int i = 0; i < n; ++i) x[i] *= scale_[i];
  }
  [[nodiscard]] std::size_t bytes() const override {
    return factors_.bytes() + scale_.capacity() * sizeof(double);
  }

 private:
  Dense<double> factors_;
  std::vector<double> scale_;
};

/// P S G S = L U of Crout's iteration, U with a unit diagonal, and a diagonal S.
class PivotedCroutFactor final : public LocalFactor {
 public:
  PivotedCroutFactor(Dense<double> factors, std::vector<double> scale, std::vector<std::int64_t> pivots)
      : factors_(std::move(factors)), scale_(std::move(scale)), pivots_(std::move(pivots)) {}

  void solve(Workspace* /*workspace*/, const double* r, double* x) const override {
    const int n = static_cast<int>(factors_.rows());
    for (int i = 0; i < n; ++i) x[i] = scale_[i] * r[i];
    if (n == 0) return;
    for (int i = 0; i < n; ++i) std::swap(x[i], x[pivots_[i]]);
    blas::trsm(CblasLower, CblasNoTrans, CblasNonUnit, n, 1, factors_.data(), n, x, n);
    blas::trsm(CblasUpper, CblasNoTrans, CblasUnit, n, 1, factors_.data(), n, x, n);
    for (int i = 0; i < n; ++i) x[i] *= scale_[i];
  }
  [[nodiscard]] std::size_t bytes() const override {
    return factors_.bytes() + scale_.capacity() * sizeof(double) + pivots_.capacity() * sizeof(std::int64_t);
  }

 private:
  Dense<double> factors_;
  std::vector<double> scale_;
  std::vector<std::int64_t> pivots_;
};

FactorAttempt factor_cholesky(Dense<double> G) {
  const int n = blas::dimension(G.rows());
  const int info = n > 0 ? lapack::potrf(n, G.data(), n) : 0;
  if (info > 0) return {nullptr, not_definite(info - 1)};
  return {std::make_unique<CholeskyFactor>(std::move(G)), {}};
}

FactorAttempt factor_lu(Dense<double> G) {
  const int n = blas::dimension(G.rows());
  std::vector<int> pivots(static_cast<std::size_t>(n));
  const int info = n > 0 ? lapack::getrf(n, n, G.data(), n, pivots.data()) : 0;
  if (info > 0) return {nullptr, zero_pivot(info - 1)};
  return {std::make_unique<LuFactor>(std::move(G), std::move(pivots)), {}};
}

FactorAttempt factor_crout(Dense<double> G, const CroutSettings& chosen, const CancellationToken& cancel) {
  const std::int64_t n = G.rows();
  std::vector<double> scale(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) {
    if (!(G(i, i) > 0)) return {nullptr, not_definite(i)};
    scale[i] = 1 / std::sqrt(G(i, i));
  }
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < n; ++i) G(i, j) *= scale[i] * scale[j];
  }
  Host backend(Device::serial());
  Dense<double> factors = G;
  Dense<double> next(Device::serial(), n, n);
  std::vector<std::int64_t> pivots(static_cast<std::size_t>(n));
  const crout::IterationSettings settings{.section_size = crout::default_section_size(n),
                                          .tolerance = chosen.tolerance,
                                          .pivoting = chosen.pivoting};
  crout::Iteration<Host, double> iteration(backend, G.view(), factors.view(), next.view(), pivots, settings,
                                           cancel);
  if (Outcome outcome = crout::outcome_of(iteration.factor(), 0, chosen.pivoting); !outcome.ok()) {
    return {nullptr, std::move(outcome)};
  }
  if (chosen.pivoting) {
    return {std::make_unique<PivotedCroutFactor>(std::move(factors), std::move(scale), std::move(pivots)),
            {}};
  }
  for (std::int64_t i = 0; i < n; ++i) {
    if (!(factors(i, i) > 0)) return {nullptr, not_definite(i)};
  }
  return {std::make_unique<CroutFactor>(std::move(factors), std::move(scale)), {}};
}

}  // namespace

Outcome not_definite(std::int64_t column) {
  return {Status::not_spd, "pivot " + std::to_string(column) + " (from 0) is not positive", column};
}

FactorAttempt factor_sparse(const Csr<double>& G, const CancellationToken& cancel,
                            std::unique_ptr<LocalFactor> last) {
  std::optional<Outcome> outcome = last ? last->refactor(G, cancel) : std::nullopt;
  if (!outcome) {
    last = std::make_unique<SparseFactor>();
    outcome = last->refactor(G, cancel);
  }
  if (!outcome->ok()) return {nullptr, *std::move(outcome)};
  return {std::move(last), {}};
}

FactorAttempt factor_dense(Dense<double> G, BddcSchur kind, const CroutSettings& crout,
                           const CancellationToken& cancel) {
  switch (kind) {
    case BddcSchur::lu:
      return factor_lu(std::move(G));
    case BddcSchur::crout_iterative:
      return factor_crout(std::move(G), crout, cancel);
    default:
      return factor_cholesky(std::move(G));
  }
}

}  // namespace echelon::bddc
