// SPDX-License-Identifier: BSD-3-Clause
#include "backend/check_same_memory.hpp"
#include "backend/dispatch.hpp"
#include "dense/factorization/packed_factors.hpp"
#include "dense/lu/operations.hpp"

#include <echelon/error.hpp>
#include <echelon/matrix/transform.hpp>
#include <echelon/methods/dense/lu.hpp>
#include <echelon/methods/dense/lu_factors.hpp>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace echelon {

namespace {

/// Identity in CSR form, 3 n + 1 numbers, from which a GPU forms the dense matrix in its own memory.
template <class T>
Csr<T> sparse_identity(std::int64_t n) {
  Array<std::int64_t> row_offsets(Device(), n + 1);
  Array<std::int32_t> column_indices(Device(), n);
  Array<T> values(Device(), n);
  std::iota(row_offsets.data(), row_offsets.data() + n + 1, std::int64_t{0});
  std::iota(column_indices.data(), column_indices.data() + n, 0);
  std::fill_n(values.data(), n, T{1});
  return Csr<T>::unchecked(n, n, std::move(row_offsets), std::move(column_indices), std::move(values));
}

}  // namespace

template <class T>
Report Lu<T>::solve_transposed(DenseView<const T> B, DenseView<T> X) const {
  return this->solve(B, X, {.operation = Operation::transpose});
}

template <class T>
Report Lu<T>::inverse(DenseView<T> X) const {
  const Csr<T> identity =
      sparse_identity<T>(SolverAccess<T>::implementation(*this).factored_matrix().rows()).to(this->device());
  return this->solve(to_dense<T>(MatrixRef<T>(identity)), X);
}

template <class T>
Dense<T> LuFactors<T>::lower() const {
  return on_target(factors.device(),
                   [&]<class Target>() { return lu::triangle_on<Target, T>(factors.view(), true); });
}

template <class T>
Dense<T> LuFactors<T>::upper() const {
  return on_target(factors.device(),
                   [&]<class Target>() { return lu::triangle_on<Target, T>(factors.view(), false); });
}

template <class T>
std::vector<std::int64_t> LuFactors<T>::row_permutation() const {
  return permutation_by_exchanges(rows(), row_exchanges);
}

template <class T>
LuFactors<T> lu_factor(Dense<T> A, const std::optional<Device>& device) {
  const Device on = device.value_or(A.device());
  check_same_memory(on, "the factorisation", A.device(), "A");
  return on_target(on, [&]<class Target>() { return lu::factors_on<Target, T>(on, std::move(A)); });
}

template <class T>
LuFactors<T> lu_factor(MatrixRef<T> A, const std::optional<Device>& device) {
  check_same_memory(device.value_or(A.device()), "the factorisation", A.device(), "A");
  return lu_factor(to_dense(A), device);
}

template class Lu<float>;
template class Lu<double>;
template struct LuFactors<float>;
template struct LuFactors<double>;
template LuFactors<float> lu_factor(Dense<float>, const std::optional<Device>&);
template LuFactors<double> lu_factor(Dense<double>, const std::optional<Device>&);
template LuFactors<float> lu_factor(MatrixRef<float>, const std::optional<Device>&);
template LuFactors<double> lu_factor(MatrixRef<double>, const std::optional<Device>&);

}  // namespace echelon
