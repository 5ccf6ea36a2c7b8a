// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/left_looking/prediction.hpp"

#include "matrix/host_copy.hpp"
#include "sparse_direct/left_looking/block_order.hpp"
#include "sparse_direct/left_looking/stored_zeros.hpp"
#include "sparse_direct/matching/large_diagonal.hpp"

#include <echelon/matrix/structure.hpp>

#include <cstddef>
#include <cstdint>

namespace echelon::sparse_direct {

template <class T>
std::optional<CostPrediction> predict_left_looking(const Csr<T>& a) {
  const HostCopy<T> host{MatrixRef<T>(a)};
  const Csr<T>& A = *host.matrix().csr();
  if (!may_have_few_flops(A) || analyze_structure(host.matrix()).symmetric_values) return std::nullopt;
  const LargeDiagonal diagonal = large_diagonal_of_rows(A);
  if (!diagonal.unmatched_columns.empty()) return std::nullopt;
  const Csr<T> nonzeros = has_many_zeros(A) ? without_zeros(A) : Csr<T>();
  const BlockOrder order = block_order(nonzeros.nonzeros() > 0 ? nonzeros : A, diagonal.row_permutation, {});
  if (!has_few_flops(order)) return std::nullopt;
  return CostPrediction{order.flops,
                        static_cast<std::size_t>(order.entries) * (sizeof(T) + sizeof(std::int32_t))};
}

template std::optional<CostPrediction> predict_left_looking(const Csr<float>&);
template std::optional<CostPrediction> predict_left_looking(const Csr<double>&);

}  // namespace echelon::sparse_direct
