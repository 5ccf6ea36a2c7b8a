// SPDX-License-Identifier: BSD-3-Clause
#include "linalg/components.hpp"

#include "backend/openmp/openmp.hpp"
#include "graph_laplacian/analysis/connected_components.hpp"
#include "linalg/constant_modes.hpp"
#include "linalg/dominance.hpp"

#include <echelon/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace echelon::graph {

Components connected_components(const Csr<double>& A) {
  OpenMp backend{Device()};
  const echelon::Components found = find_components(backend, A);
  Components result{found.count, found.of_vertex.to_vector(), {}};
  for (std::int64_t c = 0; c < found.count; ++c) {
    result.sizes.push_back(found.offsets[c + 1] - found.offsets[c]);
  }
  return result;
}

namespace {

template <class T>
void require_symmetric(OpenMp& backend, const Csr<T>& A) {
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
  OpenMp backend{Device()};
  require_symmetric(backend, A);
  return connected_components(A);
}

template <class T>
std::vector<std::vector<std::int32_t>> ungrounded_components(const Csr<T>& A) {
  OpenMp backend{Device()};
  require_symmetric(backend, A);
  const echelon::Components parts = find_components(backend, A);
  const std::vector<RowSum> sums = sum_rows_exactly(backend, A);
  const auto is_zero = [&](std::int32_t row) {
    const RowSum& sum = sums[static_cast<std::size_t>(row)];
    return std::abs(sum.sum) <= sum.rounding;
  };
  std::vector<std::vector<std::int32_t>> found;
  for (std::int64_t c = 0; c < parts.count; ++c) {
    const std::int32_t* const begin = parts.members.data() + parts.offsets[c];
    const std::int32_t* const end = parts.members.data() + parts.offsets[c + 1];
    if (std::all_of(begin, end, is_zero)) found.emplace_back(begin, end);
  }
  return found;
}

template std::vector<std::vector<std::int32_t>> ungrounded_components(const Csr<float>&);
template std::vector<std::vector<std::int32_t>> ungrounded_components(const Csr<double>&);

}  // namespace echelon::graph
