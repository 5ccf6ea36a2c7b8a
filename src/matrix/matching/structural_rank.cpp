// SPDX-License-Identifier: BSD-3-Clause
#include "backend/api_boundary.hpp"
#include "backend/backend.hpp"
#include "backend/host/host.hpp"
#include "matrix/host_copy.hpp"
#include "matrix/matching/maximum_matching.hpp"
#include "matrix/rows.hpp"
#include "matrix/structure/magnitudes.hpp"

#include <echelon/matrix/structure.hpp>

#include <support/scalar_list.hpp>

#include <algorithm>
#include <cstdint>

namespace echelon {

namespace {

/// Finds the first zero on the diagonal.
template <class Rows>
struct FindZeroDiagonal {
  Rows rows;
  FirstIndex operator()(std::int64_t i) const { return rows.at(i, i) == 0 ? FirstIndex{i} : FirstIndex{}; }
};

/// Whether the first n diagonal elements differ from zero: they are a matching of n rows then.
template <class Rows>
bool has_full_diagonal(const Rows& rows, std::int64_t n) {
  FirstIndex zero;
  Host(Device()).reduce(n, FindZeroDiagonal<Rows>{rows}, [&](FirstIndex first) { zero = first; });
  return zero.value == FirstIndex::none;
}

template <class T>
std::int64_t rank_of_magnitudes(const MatrixRef<T>& A) {
  const HostCopy<T> host(A);
  if (host.matrix().is_sparse())
    return structural_rank<double>(MatrixRef<double>(magnitudes_of(*host.matrix().csr())));
  return structural_rank<double>(MatrixRef<double>(magnitudes_of(host.matrix().dense())));
}

}  // namespace

template <class T>
std::int64_t structural_rank(MatrixRef<T> A) {
  return at_api_boundary([&] {
    const HostCopy<T> host(A);
    const std::int64_t full = std::min(A.rows(), A.columns());
    return with_rows(host.matrix(), [&](const auto& rows) {
      return has_full_diagonal(rows, full) ? full : MaximumMatching(rows, A.rows(), A.columns()).size();
    });
  });
}

template std::int64_t structural_rank(MatrixRef<float>);
template std::int64_t structural_rank(MatrixRef<double>);

#define ECHELON_SPECIALIZE(T)                    \
  template <>                                    \
  std::int64_t structural_rank(MatrixRef<T> A) { \
    return rank_of_magnitudes(A);                \
  }
ECHELON_FOR_EACH_COMPLEX(ECHELON_SPECIALIZE)
#undef ECHELON_SPECIALIZE

}  // namespace echelon
