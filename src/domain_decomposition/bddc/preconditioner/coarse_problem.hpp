// SPDX-License-Identifier: BSD-3-Clause
/// The coarse problem: the sum of the energies of the coarse basis over all subdomains.
#pragma once

#include "domain_decomposition/bddc/local/factor.hpp"
#include "domain_decomposition/bddc/preconditioner/null_space.hpp"

#include <echelon/cancellation.hpp>
#include <echelon/matrix/csr.hpp>
#include <echelon/matrix/dense.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace echelon::bddc {

class CoarseProblem {
 public:
  /// Factors K, symmetric. Where K maps combinations of the columns of `vectors` (none for a nonsingular A)
  /// to zero, as for a pure Neumann problem, as many unknowns of each connected component of K are pinned to
  /// zero, which leaves a symmetric semidefinite operator that inverts K on its range.
  [[nodiscard]] Outcome setup(Csr<double> K, const Dense<double>& vectors, const CancellationToken& cancel);

  [[nodiscard]] std::int64_t size() const { return size_; }
  /// K without pinned unknowns, and the unknowns that it has.
  [[nodiscard]] const Csr<double>& matrix() const { return K_; }
  [[nodiscard]] const std::vector<std::int32_t>& kept() const { return kept_; }
  [[nodiscard]] std::int64_t nonzeros() const { return K_.nonzeros(); }
  [[nodiscard]] std::int64_t pinned() const { return size_ - static_cast<std::int64_t>(kept_.size()); }
  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const {
    return factor_ ? factor_->make_workspace() : nullptr;
  }
  /// u = K^-1 f; f and u do not overlap.
  void solve(Workspace* workspace, const double* f, double* u) const;
  [[nodiscard]] std::size_t bytes() const;

 private:
  std::int64_t size_ = 0;
  Csr<double> K_;  // without pinned unknowns
  std::vector<std::int32_t> kept_;
  std::unique_ptr<LocalFactor> factor_;
};

/// Unknowns to pin, ascending: see CoarseProblem::setup.
[[nodiscard]] std::vector<std::int32_t> unknowns_to_pin(const Csr<double>& K, const Dense<double>& vectors);

}  // namespace echelon::bddc
