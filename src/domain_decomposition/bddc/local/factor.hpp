// SPDX-License-Identifier: BSD-3-Clause
/// Factorisations of the symmetric positive definite matrices of one subdomain, on one thread.
#pragma once

#include "solver/implementation.hpp"

#include <echelon/cancellation.hpp>
#include <echelon/matrix/csr.hpp>
#include <echelon/matrix/dense.hpp>
#include <echelon/methods/bddc.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace echelon::bddc {

/// A factored matrix G. Solves without refinement; the operator is symmetric.
class LocalFactor {
 public:
  LocalFactor() = default;
  LocalFactor(const LocalFactor&) = delete;
  LocalFactor& operator=(const LocalFactor&) = delete;
  virtual ~LocalFactor() = default;
  /// Scratch memory of one solve at a time; may be null.
  [[nodiscard]] virtual std::unique_ptr<Workspace> make_workspace() const { return nullptr; }
  /// x = G^-1 r for one vector. r and x do not overlap.
  virtual void solve(Workspace* workspace, const double* r, double* x) const = 0;
  /// X = G^-1 R, column-major.
  virtual void solve_columns(Workspace* workspace, DenseView<const double> R, DenseView<double> X) const;
  /// Factors another G, which must stay in place, with the analysis of the last one if the patterns are
  /// equal; empty if this kind of factor keeps no analysis.
  [[nodiscard]] virtual std::optional<Outcome> refactor(const Csr<double>& /*G*/,
                                                        const CancellationToken& /*cancel*/) {
    return std::nullopt;
  }
  [[nodiscard]] virtual std::size_t bytes() const = 0;
};

/// A factor, or the outcome that says why there is none.
struct FactorAttempt {
  std::unique_ptr<LocalFactor> factor;
  Outcome outcome;
};

/// The outcome that names a pivot that is not positive.
[[nodiscard]] Outcome not_definite(std::int64_t column);

/// Sparse Cholesky factor; keeps a reference to G, which must stay in place. The analysis of `last`, if that
/// is such a factor of a matrix with the pattern of G, is used again.
[[nodiscard]] FactorAttempt factor_sparse(const Csr<double>& G, const CancellationToken& cancel,
                                          std::unique_ptr<LocalFactor> last = nullptr);

/// Settings of crout-iterative.
struct CroutSettings {
  double tolerance = 0;
  bool pivoting = false;
};

/// Factor of a dense G by one of the dense factorisations. Crout's iteration factors G scaled to a unit
/// diagonal. Without pivoting, L D^-1 L^T is taken of its L and U, D being the diagonal of L, since L U is
/// not symmetric before the iteration has converged; with pivoting L U itself.
[[nodiscard]] FactorAttempt factor_dense(Dense<double> G, BddcSchur kind, const CroutSettings& crout,
                                         const CancellationToken& cancel);

}  // namespace echelon::bddc
