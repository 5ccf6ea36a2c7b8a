// SPDX-License-Identifier: BSD-3-Clause
#include "matrix/host_copy.hpp"
#include "matrix/matching/maximum_matching.hpp"
#include "matrix/rows.hpp"

#include <echelon/matrix/structure.hpp>

#include <cstdint>

namespace echelon {

template <class T>
std::int64_t structural_rank(MatrixRef<T> A) {
  const HostCopy<T> host(A);
  return with_rows(host.matrix(),
                   [&](const auto& rows) { return MaximumMatching(rows, A.rows(), A.columns()).size(); });
}

template std::int64_t structural_rank(MatrixRef<float>);
template std::int64_t structural_rank(MatrixRef<double>);

}  // namespace echelon
