// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/multifrontal/cuda/factor_levels.cuh"
#include "sparse_direct/multifrontal/cuda/factor_solve.cuh"
#include "sparse_direct/multifrontal/cuda/factor_state.cuh"
#include "sparse_direct/multifrontal/device_factorization.hpp"

#include <support/scalar_list.hpp>

#include <utility>

namespace echelon::sparse_direct {

template <class T>
DeviceFactorization<T>::DeviceFactorization(const Device& device, FactorKind kind, SymbolicFactor tree,
                                            std::span<const std::int32_t> row_permutation)
    : state_(std::make_unique<gpu::FactorState<T>>(
          device, gpu::plan_tree<T>(kind, std::move(tree), row_permutation))) {}
template <class T>
DeviceFactorization<T>::DeviceFactorization(const Device& device, FactorKind kind,
                                            std::span<const SymbolicFactor* const> trees) {
  gpu::JoinedSymbolic joined = gpu::join(trees);
  state_ = std::make_unique<gpu::FactorState<T>>(
      device, gpu::plan_tree<T>(kind, std::move(joined.symbolic), {}, std::span(joined.borders)));
}
template <class T>
DeviceFactorization<T>::~DeviceFactorization() = default;
template <class T>
DeviceFactorization<T>::DeviceFactorization(DeviceFactorization&&) noexcept = default;
template <class T>
DeviceFactorization<T>& DeviceFactorization<T>::operator=(DeviceFactorization&&) noexcept = default;

template <class T>
void DeviceFactorization<T>::allocate(std::span<const std::int64_t> row_offsets,
                                      std::span<const std::int32_t> columns,
                                      std::span<const Real<T>> row_scale,
                                      std::span<const Real<T>> column_scale) {
  state_->allocate(row_offsets, columns, row_scale, column_scale);
}

template <class T>
void DeviceFactorization<T>::prefer_diagonal(double threshold) {
  state_->diagonal_threshold = threshold;
  state_->kept.forget();
  state_->has_factors = false;
}

template <class T>
FactorResult DeviceFactorization<T>::factor(const DeviceElements<T>& A, const CancellationToken& cancel) {
  return state_->run(A, nullptr, cancel);
}

template <class T>
FactorResult DeviceFactorization<T>::partial(const DeviceElements<T>& A, T* complements,
                                             const CancellationToken& cancel) {
  return state_->run(A, complements, cancel);
}

template <class T>
const FactorFacts& DeviceFactorization<T>::facts() const {
  return state_->factor_facts;
}

template <class T>
DeviceFactorMemory DeviceFactorization<T>::memory(std::int64_t nonzeros) const {
  return state_->allocated ? *state_->allocated : gpu::memory_of<T>(state_->plan, nonzeros);
}

template <class T>
std::int64_t DeviceFactorization<T>::levels() const {
  return std::ssize(state_->plan.levels);
}

template <class T>
std::vector<Statistic> DeviceFactorization<T>::statistics(std::int64_t nonzeros) const {
  const FrontLayout& layout = state_->plan.layout;
  const DeviceFactorMemory needed = memory(nonzeros);
  return {{"ordering", layout.tree.ordering},
          {"supernodes", layout.supernodes()},
          {"levels", levels()},
          {"factor_entries", layout.factor_entries()},
          {"factor_flops", layout.factor_flops()},
          {"predicted_bytes", static_cast<std::int64_t>(needed.total())},
          {"factor_bytes", static_cast<std::int64_t>(needed.factor)}};
}

template <class T>
std::int64_t DeviceFactorization<T>::workspace_size(std::int64_t columns) const {
  return gpu::SolveSpace<T>::size(state_->plan, columns);
}

template <class T>
void DeviceFactorization<T>::solve(bool transposed, std::int64_t columns, const T* B, std::int64_t leading_b,
                                   T* X, std::int64_t leading_x, T* workspace,
                                   Equilibrated equilibrated) const {
  state_->solve(transposed, columns, B, leading_b, X, leading_x, workspace, equilibrated);
}

template <class T>
std::size_t DeviceFactorization<T>::bytes() const {
  return state_->bytes();
}

#define ECHELON_INSTANTIATE(T) template class DeviceFactorization<T>;
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon::sparse_direct
