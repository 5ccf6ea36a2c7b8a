// SPDX-License-Identifier: BSD-3-Clause
#include "graph_laplacian/analysis/require_laplacian.hpp"

#include "backend/host/host.hpp"
#include "linalg/dominance.hpp"

#include <echelon/error.hpp>

#include <fmt/format.h>

namespace echelon::graph {

void require_laplacian(const Csr<double>& A) {
  if (A.rows() != A.columns()) {
    throw InvalidMatrix(fmt::format("a graph's Laplacian is square, not {} by {}", A.rows(), A.columns()));
  }
  Host backend{Device()};
  Array<double> excess(Device(), A.rows());
  const DominanceFacts facts = classify_rows(backend, A, excess.data());
  if (facts.kind() == DominanceKind::laplacian) {
    const FirstIndex asymmetric = find_asymmetry(backend, A);
    if (asymmetric.value == FirstIndex::none) return;
    throw InvalidMatrix(
        fmt::format("row {} (from 0) is not symmetric: a graph's Laplacian is", asymmetric.value));
  }
  if (facts.has_positive) {
    throw InvalidMatrix(
        "the matrix has a positive element off the diagonal and is not the Laplacian of a graph: an "
        "adjacency "
        "matrix becomes one by laplacian(), or in the tool by --as laplacian");
  }
  std::int64_t row = 0;
  while (excess[row] == 0) ++row;
  throw InvalidMatrix(
      fmt::format("row {} (from 0) sums to {:.3g}, those of a graph's Laplacian to zero: adjacency(), or in "
                  "the tool --as adjacency, takes the edges alone",
                  row, excess[row]));
}

}  // namespace echelon::graph
