// SPDX-License-Identifier: BSD-3-Clause
/// LOBPCG in the complement of the components' constant vectors. An orthonormal basis of [X R P] is formed in
/// every iteration, which stays stable where the classical form with Gram matrices breaks down.
#include "backend/api_boundary.hpp"
#include "graph_laplacian/analysis/connected_components.hpp"
#include "graph_laplacian/analysis/require_laplacian.hpp"
#include "linalg/blas/decompositions.hpp"
#include "solver/implementation.hpp"
#include "support/hash.hpp"

#include <echelon/error.hpp>
#include <echelon/graph/analysis.hpp>
#include <echelon/solver.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

namespace echelon::graph {

namespace {

using Vector = std::vector<double>;
using Vectors = std::vector<Vector>;

double dot(const Vector& x, const Vector& y) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
  return sum;
}
void add(double factor, const Vector& x, Vector& y) {
  for (std::size_t i = 0; i < x.size(); ++i) y[i] += factor * x[i];
}
void scale(double factor, Vector& x) {
  for (double& value : x) value *= factor;
}

Vector multiply(const Csr<double>& A, const Vector& x) {
  Vector y(x.size());
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    double sum = 0;
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
      sum += A.values()[k] * x[static_cast<std::size_t>(A.column_indices()[k])];
    }
    y[static_cast<std::size_t>(i)] = sum;
  }
  return y;
}

double norm_inf(const Csr<double>& A) {
  double largest = 0;
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    double sum = 0;
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) sum += std::abs(A.values()[k]);
    largest = std::max(largest, sum);
  }
  return largest;
}

/// x^T L x as the sum of w (x_i - x_j)^2 over the edges: not negative, and without the cancellation that a
/// product with L has for large weights.
double quadratic_form(const Csr<double>& L, const Vector& x) {
  double sum = 0;
  for (std::int64_t i = 0; i < L.rows(); ++i) {
    for (std::int64_t k = L.row_offsets()[i]; k < L.row_offsets()[i + 1]; ++k) {
      const std::int64_t j = L.column_indices()[k];
      const double difference = x[static_cast<std::size_t>(i)] - x[static_cast<std::size_t>(j)];
      if (j > i) sum -= L.values()[k] * difference * difference;
    }
  }
  return sum;
}

class Lobpcg {
 public:
  Lobpcg(const Csr<double>& L, const Components& parts, const FiedlerOptions& options, std::int64_t block)
      : L_(&L),
        parts_(&parts),
        options_(&options),
        block_(static_cast<std::size_t>(block)),
        norm_(norm_inf(L)) {}

  Eigenpairs run() {
    Eigenpairs result;
    const std::string& method = options_->solve.method;
    Solver<double> solver =
        make_solver<double>(method.empty() ? "approximate-cholesky" : method, Device::serial(), {});
    const Report setup = solver.setup(*L_, {.cancel = options_->solve.cancel});
    if (!setup.ready()) {
      result.status = setup.status;
      result.message = setup.message;
      return result;
    }
    preconditioner_ = &SolverAccess<double>::implementation(solver);
    workspace_ = preconditioner_->make_workspace();
    make_first_block();
    for (;; ++result.iterations) {
      const bool converged = form_residuals();
      if (converged || result.iterations >= options_->max_iterations ||
          options_->solve.cancel.stop_requested()) {
        result.status = converged                                 ? Status::converged
                        : options_->solve.cancel.stop_requested() ? Status::cancelled
                                                                  : Status::max_iterations;
        break;
      }
      if (!improve()) {
        result.status = Status::breakdown;
        result.message = "the eigenvalues of a small projected matrix were not found";
        break;
      }
    }
    take(result);
    if (result.status == Status::converged) result.message = doubt(result);
    return result;
  }

 private:
  /// Subtracts from x its mean on each component.
  void project(Vector& x) const {
    Vector sums(static_cast<std::size_t>(parts_->count), 0);
    for (std::size_t i = 0; i < x.size(); ++i) sums[static_cast<std::size_t>(parts_->of_vertex[i])] += x[i];
    for (std::size_t c = 0; c < sums.size(); ++c) sums[c] /= static_cast<double>(parts_->sizes[c]);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] -= sums[static_cast<std::size_t>(parts_->of_vertex[i])];
  }

  /// Orthonormalises x against an orthonormal basis and appends it, unless it is linearly dependent.
  void append(Vector x, Vectors& basis) const {
    constexpr double dependent = 1e-10;
    for (int pass = 0; pass < 2; ++pass) {
      project(x);
      const double before = std::sqrt(dot(x, x));
      if (!(before > 0) || !std::isfinite(before)) return;
      scale(1 / before, x);
      for (const Vector& q : basis) add(-dot(q, x), q, x);
      const double left = std::sqrt(dot(x, x));
      if (!(left > dependent)) return;
      scale(1 / left, x);
    }
    basis.push_back(std::move(x));
  }

  void make_first_block() {
    const auto n = static_cast<std::size_t>(L_->rows());
    for (std::uint64_t k = 0; X_.size() < block_ && k < 2 * block_; ++k) {
      Vector x(n);
      const std::uint64_t stream = hash_bits(options_->seed + (k + 1) * golden_ratio_64);
      for (std::size_t i = 0; i < n; ++i) {
        x[i] = uniform_number(hash_bits(stream + (i + 1) * golden_ratio_64)) - 0.5;
      }
      append(std::move(x), X_);
    }
    Vectors basis = std::exchange(X_, {});
    rotate(basis);
  }

  /// True for a residual within the tolerance that is small compared with the eigenvalue, too, or at the
  /// level of rounding.
  [[nodiscard]] bool is_small(double residual, double eigenvalue) const {
    constexpr double beside_eigenvalue = 1e-3;
    constexpr double rounding = 1e-14;
    return residual <= options_->tolerance * norm_ &&
           residual <= std::max(beside_eigenvalue * eigenvalue, rounding * norm_);
  }

  /// Computes R = L X - X Lambda. True if the wanted columns have converged.
  bool form_residuals() {
    R_.clear();
    norms_.clear();
    bool converged = true;
    for (std::size_t j = 0; j < X_.size(); ++j) {
      R_.push_back(LX_[j]);
      add(-values_[j], X_[j], R_[j]);
      norms_.push_back(std::sqrt(dot(R_[j], R_[j])));
      if (j < static_cast<std::size_t>(options_->count) && !is_small(norms_[j], values_[j]))
        converged = false;
    }
    return converged;
  }

  /// Computes the best approximations in the span of X, the preconditioned residuals and the last directions.
  bool improve() {
    Vectors basis = X_;
    for (std::size_t j = 0; j < R_.size(); ++j) {
      if (norms_[j] <= 0.1 * options_->tolerance * norm_ && is_small(norms_[j], values_[j])) continue;
      Vector z(R_[j].size());
      project(R_[j]);
      preconditioner_->apply(*workspace_, {R_[j].data(), L_->rows()}, {z.data(), L_->rows()});
      append(std::move(z), basis);
    }
    for (Vector& p : P_) append(std::move(p), basis);
    return rotate(basis);
  }

  /// Rayleigh-Ritz step: X = the Ritz vectors with the smallest Ritz values; P = their parts outside the
  /// first vectors of the basis, which are the former X.
  bool rotate(const Vectors& basis) {
    const std::size_t m = basis.size();
    Vectors products;
    for (const Vector& q : basis) products.push_back(multiply(*L_, q));
    Vector gram(m * m);
    for (std::size_t j = 0; j < m; ++j) {
      for (std::size_t i = j; i < m; ++i) gram[j * m + i] = dot(basis[i], products[j]);
    }
    Vector eigenvalues(m);
    if (!lapack::symmetric_eigenvectors(static_cast<int>(m), gram.data(), eigenvalues.data())) return false;
    const std::size_t former = X_.size();
    const std::size_t kept = std::min(block_, m);
    Vectors X(kept, Vector(basis.empty() ? 0 : basis[0].size(), 0));
    Vectors LX = X;
    Vectors P(former == 0 ? 0 : kept, X.empty() ? Vector() : X[0]);
    for (std::size_t j = 0; j < kept; ++j) {
      for (std::size_t i = 0; i < m; ++i) {
        const double coefficient = gram[j * m + i];
        add(coefficient, basis[i], X[j]);
        add(coefficient, products[i], LX[j]);
        if (former != 0 && i >= former) add(coefficient, basis[i], P[j]);
      }
    }
    X_ = std::move(X);
    LX_ = std::move(LX);
    P_ = std::move(P);
    values_.assign(eigenvalues.begin(), eigenvalues.begin() + static_cast<std::ptrdiff_t>(kept));
    return true;
  }

  void take(Eigenpairs& result) const {
    const std::size_t wanted = std::min(X_.size(), static_cast<std::size_t>(options_->count));
    result.null_vectors = parts_->count;
    result.vectors = Dense<double>(Device(), L_->rows(), static_cast<std::int64_t>(wanted));
    for (std::size_t j = 0; j < wanted; ++j) {
      result.values.push_back(quadratic_form(*L_, X_[j]));
      result.residuals.push_back(norms_[j]);
      std::copy(X_[j].begin(), X_[j].end(),
                result.vectors.data() + static_cast<std::int64_t>(j) * L_->rows());
    }
  }

  /// Warning if rounding leaves eigenvalues without a correct digit.
  static std::string doubt(const Eigenpairs& result) {
    std::size_t doubtful = 0;
    for (std::size_t j = 0; j < result.values.size(); ++j) {
      if (!(result.residuals[j] < 0.1 * result.values[j])) ++doubtful;
    }
    if (doubtful == 0) return {};
    return fmt::format(
        "rounding errors of the largest weights leave no digit of {} of the eigenvalues certain", doubtful);
  }

  const Csr<double>* L_;
  const Components* parts_;
  const FiedlerOptions* options_;
  std::size_t block_;
  double norm_;
  const SolverImplementation<double>* preconditioner_ = nullptr;
  std::unique_ptr<Workspace> workspace_;
  Vectors X_, LX_, R_, P_;
  Vector values_, norms_;
};

}  // namespace

Eigenpairs fiedler(const Csr<double>& laplacian, const FiedlerOptions& options) {
  return at_api_boundary([&] {
    require_laplacian(laplacian);
    const Components parts = connected_components(laplacian);
    const std::int64_t most = laplacian.rows() - parts.count;
    if (options.count < 1 || options.count > most) {
      throw BadOption(
          "count",
          fmt::format("{} eigenvectors are wanted, but the graph has {} other than the constants of its "
                      "components",
                      options.count, most));
    }
    if (!(options.tolerance >= 0)) {
      throw BadOption("tolerance", fmt::format("the tolerance {} is not a number from 0", options.tolerance));
    }
    constexpr std::int64_t guard =
        3;  // additional eigenvectors, which speed up convergence of the wanted ones
    return Lobpcg(laplacian, parts, options, std::min(most, options.count + guard)).run();
  });
}

}  // namespace echelon::graph
