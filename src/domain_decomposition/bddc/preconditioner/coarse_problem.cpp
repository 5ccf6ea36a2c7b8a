// SPDX-License-Identifier: BSD-3-Clause
#include "domain_decomposition/bddc/preconditioner/coarse_problem.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace echelon::bddc {

namespace {

using Columns = std::vector<std::vector<double>>;

/// Places at which the columns are a nonsingular matrix: pivots of elimination with complete pivoting.
std::vector<std::int32_t> pivots_of(Columns columns) {
  std::vector<std::int32_t> pivots;
  for (std::size_t k = 0; k < columns.size(); ++k) {
    std::size_t best_column = k;
    std::size_t best = 0;
    double magnitude = -1;
    for (std::size_t c = k; c < columns.size(); ++c) {
      for (std::size_t i = 0; i < columns[c].size(); ++i) {
        if (std::abs(columns[c][i]) <= magnitude) continue;
        magnitude = std::abs(columns[c][i]);
        best_column = c;
        best = i;
      }
    }
    if (magnitude <= 0) break;
    std::swap(columns[k], columns[best_column]);
    pivots.push_back(static_cast<std::int32_t>(best));
    for (std::size_t c = k + 1; c < columns.size(); ++c) {
      const double factor = columns[c][best] / columns[k][best];
      for (std::size_t i = 0; i < columns[c].size(); ++i) columns[c][i] -= factor * columns[k][i];
    }
  }
  return pivots;
}

Csr<double> submatrix(const Csr<double>& K, const std::vector<std::int32_t>& kept) {
  std::vector<std::int32_t> place(static_cast<std::size_t>(K.rows()), -1);
  for (std::size_t i = 0; i < kept.size(); ++i) place[kept[i]] = static_cast<std::int32_t>(i);
  std::vector<Triplet<double>> triplets;
  for (const std::int32_t i : kept) {
    for (std::int64_t k = K.row_offsets()[i]; k < K.row_offsets()[i + 1]; ++k) {
      const std::int32_t j = place[K.column_indices()[k]];
      if (j >= 0) triplets.push_back({place[i], j, K.values()[k]});
    }
  }
  return Csr<double>::from_triplets(std::ssize(kept), std::ssize(kept), triplets);
}

}  // namespace

std::vector<std::int32_t> unknowns_to_pin(const Csr<double>& K, const Dense<double>& vectors) {
  std::vector<std::int32_t> pins;
  constexpr double tolerance = 1e-8;  // K has the rounding errors of the local problems
  for (const NullSpacePart& part : null_space(K, vectors, tolerance)) {
    for (const std::int32_t pin : pivots_of(part.columns)) pins.push_back(part.rows[pin]);
  }
  std::sort(pins.begin(), pins.end());
  return pins;
}

Outcome CoarseProblem::setup(Csr<double> K, const Dense<double>& vectors, const CancellationToken& cancel) {
  size_ = K.rows();
  std::unique_ptr<LocalFactor> last = std::move(factor_);
  kept_.clear();
  K_ = std::move(K);
  if (size_ == 0) return {};
  const std::vector<std::int32_t> pins = unknowns_to_pin(K_, vectors);
  for (std::int32_t i = 0; i < size_; ++i) {
    if (!std::binary_search(pins.begin(), pins.end(), i)) kept_.push_back(i);
  }
  if (!pins.empty()) K_ = submatrix(K_, kept_);
  if (kept_.empty()) return {};
  FactorAttempt attempt = factor_sparse(K_, cancel, std::move(last));
  factor_ = std::move(attempt.factor);
  if (!attempt.outcome.ok()) {
    attempt.outcome.message =
        "the coarse problem is not positive definite (" + attempt.outcome.message +
        "): A is indefinite, or singular in other directions than the constant ones of each component of a "
        "node; block_size and near-null-space vectors name these";
    attempt.outcome.row = {};
  }
  return std::move(attempt.outcome);
}

void CoarseProblem::solve(Workspace* workspace, const double* f, double* u) const {
  std::fill_n(u, size_, 0.0);
  if (!factor_) return;
  if (pinned() == 0) return factor_->solve(workspace, f, u);
  std::vector<double> right(kept_.size());
  std::vector<double> solution(kept_.size());
  for (std::size_t i = 0; i < kept_.size(); ++i) right[i] = f[kept_[i]];
  factor_->solve(workspace, right.data(), solution.data());
  for (std::size_t i = 0; i < kept_.size(); ++i) u[kept_[i]] = solution[i];
}

std::size_t CoarseProblem::bytes() const {
  return K_.bytes() + kept_.capacity() * sizeof(std::int32_t) + (factor_ ? factor_->bytes() : 0);
}

}  // namespace echelon::bddc
