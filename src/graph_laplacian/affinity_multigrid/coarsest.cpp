// SPDX-License-Identifier: BSD-3-Clause
#include "graph_laplacian/affinity_multigrid/coarsest.hpp"

#include <span>
#include <vector>

namespace echelon::affinity_multigrid {

namespace {

template <class T>
bool is_edge(const Csr<T>& L, std::int64_t i, std::int64_t k) {
  return L.column_indices()[k] != i && L.values()[k] < 0;
}

/// Sum of the diagonal of L, computed from the weights, over the component of vertex i, whose vertices get
/// this number.
template <class T>
double visit_component(const Csr<T>& L, std::int64_t i, std::int32_t number, ComponentShifts& shifts,
                       std::vector<std::int32_t>& members) {
  double trace = 0;
  members = {static_cast<std::int32_t>(i)};
  shifts.component[static_cast<std::size_t>(i)] = number;
  for (std::size_t next = 0; next < members.size(); ++next) {
    const std::int32_t row = members[next];
    for (std::int64_t k = L.row_offsets()[row]; k < L.row_offsets()[row + 1]; ++k) {
      if (!is_edge(L, row, k)) continue;
      trace -= static_cast<double>(L.values()[k]);
      std::int32_t& other = shifts.component[static_cast<std::size_t>(L.column_indices()[k])];
      if (other >= 0) continue;
      other = number;
      members.push_back(L.column_indices()[k]);
    }
  }
  return trace;
}

}  // namespace

template <class T>
ComponentShifts component_shifts(const Csr<T>& L) {
  ComponentShifts shifts;
  shifts.component.assign(static_cast<std::size_t>(L.rows()), -1);
  std::vector<std::int32_t> members;
  for (std::int64_t i = 0; i < L.rows(); ++i) {
    if (shifts.component[static_cast<std::size_t>(i)] >= 0) continue;
    const auto number = static_cast<std::int32_t>(shifts.shift.size());
    const double trace = visit_component(L, i, number, shifts, members);
    const auto count = static_cast<double>(members.size());
    shifts.shift.push_back(trace > 0 ? trace / count / count : 1);
  }
  return shifts;
}

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
      if (!is_edge(host, i, k)) continue;
      at(i, j) += static_cast<double>(host.values()[k]);
      at(i, i) -= static_cast<double>(host.values()[k]);
    }
  }
  const ComponentShifts shifts = component_shifts(host);
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = 0; j < size; ++j) {
      if (shifts.component[i] != shifts.component[j]) continue;
      dense[i * size + j] += shifts.shift[static_cast<std::size_t>(shifts.component[i])];
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

template ComponentShifts component_shifts(const Csr<float>&);
template ComponentShifts component_shifts(const Csr<double>&);

template multigrid::DenseInverse<float> regularised_inverse(const Csr<float>&);
template multigrid::DenseInverse<double> regularised_inverse(const Csr<double>&);

}  // namespace echelon::affinity_multigrid
