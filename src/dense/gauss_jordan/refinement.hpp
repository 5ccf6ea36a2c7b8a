// SPDX-License-Identifier: BSD-3-Clause
/// Iterative refinement in the working precision.
#pragma once

#include "dense/gauss_jordan/residual.hpp"
#include "dense/panels/apply_panel.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace echelon {

/// Views for the refinement of X (n by k) for B (m by k): R and the next R of m by k, a candidate of n by k
/// elements.
template <class T>
struct RefinementViews {
  DenseView<T> residual, next, candidate;
};

/// Refines X: adds the solutions for the residuals, to each column as long as its residual becomes smaller,
/// in at most `max_steps` steps. `add_solution(R, X)` queues X = X + the solutions for R, and may overwrite
/// views.next. `largest_magnitude(n, x)` waits. Returns the number of steps that each column took.
template <class B, class T, class AddSolution, class LargestMagnitude>
std::vector<std::int64_t> refine(B& backend, const MatrixRef<T>& A, DenseView<const T> rhs, DenseView<T> X,
                                 std::int64_t max_steps, const RefinementViews<T>& views,
                                 const AddSolution& add_solution, const LargestMagnitude& largest_magnitude) {
  std::vector<std::int64_t> steps(static_cast<std::size_t>(X.columns()));
  if (max_steps == 0) return steps;
  const auto& [residual, next, candidate] = views;
  const auto norms_of_residual = [&](DenseView<const T> solution, DenseView<T> R) {
    form_residual<B, T>(backend, A, rhs, solution, R);
    std::vector<double> norms;
    for (std::int64_t j = 0; j < R.columns(); ++j) norms.push_back(largest_magnitude(R.rows(), R.column(j)));
    return norms;
  };
  std::vector<double> norms = norms_of_residual(X, residual);
  bool improved = std::any_of(norms.begin(), norms.end(), [](double norm) { return norm > 0; });
  for (std::int64_t step = 0; step < max_steps && improved; ++step) {
    for (std::int64_t j = 0; j < X.columns(); ++j) backend.copy(X.rows(), X.column(j), candidate.column(j));
    add_solution(residual, candidate);
    const std::vector<double> next_norms = norms_of_residual(candidate, next);
    improved = false;
    for (std::int64_t j = 0; j < X.columns(); ++j) {
      const auto number = static_cast<std::size_t>(j);
      if (!(next_norms[number] < norms[number])) continue;
      backend.copy(X.rows(), candidate.column(j), X.column(j));
      backend.copy(residual.rows(), next.column(j), residual.column(j));
      norms[number] = next_norms[number];
      ++steps[number];
      improved = improved || norms[number] > 0;
    }
  }
  return steps;
}

}  // namespace echelon
