// SPDX-License-Identifier: BSD-3-Clause
/// Whether a matrix is symmetric and diagonally dominant, and the refusal of one that is not.
#pragma once

#include "linalg/dominance.hpp"
#include "multigrid/estimates/symmetry.hpp"
#include "solver/implementation.hpp"
#include "support/text.hpp"

#include <echelon/matrix/csr.hpp>

#include <cstdint>
#include <string>

namespace echelon::graph_laplacian {

/// Classifies the rows of an A that need not be symmetric. Symmetry is tested by products with two random
/// vectors; elements are compared only if the test fails.
template <class B, class T>
DominanceFacts classify(B& backend, const Csr<T>& A, const RowExcess<T>& excess) {
  DominanceFacts facts = classify_rows(backend, A, excess);
  if (!multigrid::is_symmetric(backend, A)) facts.asymmetric = find_asymmetry(backend, A);
  return facts;
}

/// Outcome, which names the row, for a matrix that is not symmetric or not diagonally dominant.
template <class B, class T>
Outcome refusal(B& backend, const DominanceFacts& facts, const Array<T>& excess) {
  const std::string needs = "; the methods for graph Laplacians need a symmetric, diagonally dominant matrix";
  if (facts.asymmetric.value != FirstIndex::none) {
    return {Status::breakdown,
            "A is not symmetric: an element of row " + std::to_string(facts.asymmetric.value) +
                " (from 0) differs from the one across the diagonal" + needs,
            facts.asymmetric.value};
  }
  const std::int64_t row = facts.deficient.value;
  const double deficit = -static_cast<double>(backend.read(excess.data() + row));
  return {Status::breakdown,
          "A is not diagonally dominant: in row " + std::to_string(row) +
              " (from 0) the other magnitudes exceed the diagonal element by " + short_number(deficit) +
              needs,
          row};
}

}  // namespace echelon::graph_laplacian
