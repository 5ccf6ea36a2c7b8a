// SPDX-License-Identifier: BSD-3-Clause
#include "graph_laplacian/lamg/parallel/coarsest.hpp"

#include <span>
#include <vector>

namespace echelon::lamg::parallel {

namespace {

/// Components of a symmetric matrix on the host, in an order in which each is contiguous.
template <class T>
std::vector<std::vector<std::int32_t>> components_of(const Csr<T>& L) {
  std::vector<std::vector<std::int32_t>> components;
  std::vector<bool> seen(static_cast<std::size_t>(L.rows()));
  for (std::int64_t i = 0; i < L.rows(); ++i) {
    if (seen[static_cast<std::size_t>(i)]) continue;
    seen[static_cast<std::size_t>(i)] = true;
    std::vector<std::int32_t> members = {static_cast<std::int32_t>(i)};
    for (std::size_t next = 0; next < members.size(); ++next) {
      const std::int32_t row = members[next];
      for (std::int64_t k = L.row_offsets()[row]; k < L.row_offsets()[row + 1]; ++k) {
        const std::int32_t column = L.column_indices()[k];
        if (seen[static_cast<std::size_t>(column)] || !(L.values()[k] < 0)) continue;
        seen[static_cast<std::size_t>(column)] = true;
        members.push_back(column);
      }
    }
    components.push_back(std::move(members));
  }
  return components;
}

}  // namespace

template <class T>
multigrid::DenseInverse<T> regularised_inverse(const Csr<T>& L) {
  const Csr<T> host = L.to(Device());
  const std::int64_t n = host.rows();
  if (n == 0) return {Dense<T>(L.device(), 0, 0)};
  const auto size = static_cast<std::size_t>(n);
  std::vector<double> dense(size * size);
  const auto at = [&](std::int64_t i, std::int64_t j) -> double& {
    return dense[static_cast<std::size_t>(i) * size + static_cast<std::size_t>(j)];
  };
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t k = host.row_offsets()[i]; k < host.row_offsets()[i + 1]; ++k) {
      const std::int32_t j = host.column_indices()[k];
      if (j == i || !(host.values()[k] < 0)) continue;
      at(i, j) += static_cast<double>(host.values()[k]);
      at(i, i) -= static_cast<double>(host.values()[k]);
    }
  }
  for (const std::vector<std::int32_t>& members : components_of(host)) {
    const auto count = static_cast<double>(members.size());
    double trace = 0;
    for (const std::int32_t i : members) trace += at(i, i);
    const double shift = trace > 0 ? trace / count / count : 1;
    for (const std::int32_t i : members) {
      for (const std::int32_t j : members) at(i, j) += shift;
    }
  }
  Array<std::int64_t> offsets(Device(), n + 1);
  Array<std::int32_t> columns(Device(), n * n);
  for (std::int64_t i = 0; i <= n; ++i) offsets[i] = i * n;
  for (std::int64_t k = 0; k < n * n; ++k) columns[k] = static_cast<std::int32_t>(k % n);
  const auto matrix = Csr<double>::unchecked(n, n, std::move(offsets), std::move(columns),
                                             Array<double>(Device(), std::span<const double>(dense)));
  multigrid::DenseInverse<T> inverse = multigrid::dense_inverse<T>(matrix, 1, true);
  inverse.transpose = inverse.transpose.to(L.device());
  return inverse;
}

template multigrid::DenseInverse<float> regularised_inverse(const Csr<float>&);
template multigrid::DenseInverse<double> regularised_inverse(const Csr<double>&);

}  // namespace echelon::lamg::parallel
