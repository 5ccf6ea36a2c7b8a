// SPDX-License-Identifier: BSD-3-Clause
#include "graph_laplacian/components.hpp"

#include "backend/openmp/openmp.hpp"
#include "graph_laplacian/analysis/connected_components.hpp"
#include "linalg/dominance.hpp"

#include <echelon/error.hpp>

#include <fmt/format.h>

namespace echelon::graph {

Components connected_components(const Csr<double>& A) {
  OpenMp backend{Device()};
  const graph_laplacian::Components found = graph_laplacian::find_components(backend, A);
  Components result{found.count, found.of_vertex.to_vector(), {}};
  for (std::int64_t c = 0; c < found.count; ++c) {
    result.sizes.push_back(found.offsets[c + 1] - found.offsets[c]);
  }
  return result;
}

Components components(const Csr<double>& A) {
  if (A.rows() != A.columns()) {
    throw InvalidMatrix(fmt::format("the matrix of a graph is square, not {} by {}", A.rows(), A.columns()));
  }
  OpenMp backend{Device()};
  if (const FirstIndex row = find_asymmetry(backend, A); row.value != FirstIndex::none) {
    throw InvalidMatrix(fmt::format(
        "an element of row {} (from 0) differs from the one across the diagonal: the matrix of an "
        "undirected graph is symmetric",
        row.value));
  }
  return connected_components(A);
}

}  // namespace echelon::graph
