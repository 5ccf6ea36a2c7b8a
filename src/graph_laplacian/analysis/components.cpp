// SPDX-License-Identifier: BSD-3-Clause
#include "linalg/components.hpp"

#include "backend/api_boundary.hpp"
#include "backend/host/host.hpp"
#include "graph_laplacian/analysis/connected_components.hpp"
#include "linalg/constant_modes.hpp"
#include "linalg/dominance.hpp"

#include <echelon/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace echelon::graph {

Components connected_components(const Csr<double>& A) {
  Host backend{Device()};
  const echelon::ConnectedComponents found = find_components(backend, A);
  Components result{found.count, found.of_vertex.to_vector(), {}};
  for (std::int64_t c = 0; c < found.count; ++c) {
    result.sizes.push_back(found.offsets[c + 1] - found.offsets[c]);
  }
  return result;
}

namespace {

template <class T>
void require_symmetric(Host& backend, const Csr<T>& A) {
  if (A.rows() != A.columns()) {
    throw InvalidMatrix(fmt::format("the matrix of a graph is square, not {} by {}", A.rows(), A.columns()));
  }
  if (const FirstIndex row = find_asymmetry(backend, A); row.value != FirstIndex::none) {
    throw InvalidMatrix(fmt::format(
        "an element of row {} (from 0) differs from the one across the diagonal: the matrix of an "
        "undirected graph is symmetric",
        row.value));
  }
}

}  // namespace

Components components(const Csr<double>& A) {
  return at_api_boundary([&] {
    Host backend{Device()};
    require_symmetric(backend, A);
    return connected_components(A);
  });
}

template <class T>
std::vector<std::vector<std::int32_t>> ungrounded_components(const Csr<T>& A) {
  return at_api_boundary([&] {
    Host backend{Device()};
    require_symmetric(backend, A);
    const echelon::ConnectedComponents parts = find_components(backend, A);
    Array<std::uint8_t> is_zero(Device(), A.rows());
    backend.for_each(A.rows(), FindZeroRowSum<T>{sum_rows_of(A), is_zero.data()});
    std::vector<std::vector<std::int32_t>> found;
    for (std::int64_t c = 0; c < parts.count; ++c) {
      const std::int32_t* const begin = parts.members.data() + parts.offsets[c];
      const std::int32_t* const end = parts.members.data() + parts.offsets[c + 1];
      if (std::all_of(begin, end, [&](std::int32_t row) { return is_zero[row] != 0; }))
        found.emplace_back(begin, end);
    }
    return found;
  });
}

template std::vector<std::vector<std::int32_t>> ungrounded_components(const Csr<float>&);
template std::vector<std::vector<std::int32_t>> ungrounded_components(const Csr<double>&);

}  // namespace echelon::graph
