// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/multifrontal/factorization.hpp"

#include "backend/device/memory.hpp"
#include "backend/host/host.hpp"
#include "support/text.hpp"

#include <support/scalar_list.hpp>

#include <algorithm>
#include <functional>
#include <utility>

namespace echelon::sparse_direct {

template <class T>
void MultifrontalFactorization<T>::analyze(SymbolicFactor tree, FactorKind kind, const Csr<T>& A,
                                           std::span<const std::int32_t> row_permutation) {
  const int threads = device_.threads();
  layout_ = lay_out_panels(std::move(tree), kind, A, row_permutation, threads);
  schedule_ = schedule_tree(layout_, threads);
  substitution_ = schedule_substitution(layout_);
  predicted_ = predict_memory<T>(layout_, schedule_, threads);
}

template <class T>
void MultifrontalFactorization<T>::expect_delays(std::span<const std::int32_t> columns) {
  const SymbolicFactor& tree = layout_.tree;
  std::vector<bool> is_delayed(static_cast<std::size_t>(tree.n), false);
  for (const std::int32_t column : columns) is_delayed[column] = true;
  std::vector<std::int64_t> delayed(tree.parent.size(), 0);  // by the children of a front
  std::int64_t entries = 0;
  for (std::int64_t s = 0; s < tree.supernodes(); ++s) {
    const std::int64_t pivots = tree.pivots(s);
    std::int64_t passed = delayed[s];
    for (std::int32_t k = tree.supernode_begin[s]; k < tree.supernode_begin[s + 1]; ++k)
      passed += is_delayed[tree.permutation[k]] ? 1 : 0;
    if (delayed[s] > 0) entries += layout_.panel_entries(pivots + delayed[s], layout_.below(s));
    if (tree.parent[s] >= 0) delayed[tree.parent[s]] += passed;
  }
  predicted_.factor_bytes += static_cast<std::size_t>(entries) * sizeof(T);
}

template <class T>
void MultifrontalFactorization<T>::release() {
  layout_ = {};
  factors_ = {};
}

template <class T>
std::optional<Outcome> MultifrontalFactorization<T>::lack_of_memory(const std::string& what) const {
  const std::size_t bytes = predicted_.factor_bytes + predicted_.work_bytes;
  constexpr std::size_t always_available = std::size_t{64} << 20;
  if (bytes <= always_available) return std::nullopt;
  const std::size_t available = memory(Device::serial()).available + factors_.bytes();
  if (bytes <= available) return std::nullopt;
  return Outcome{Status::out_of_memory, what + " needs about " + byte_count(bytes) + " (" +
                                            byte_count(predicted_.factor_bytes) + " for the factor), and " +
                                            byte_count(available) + " are available"};
}

template <class T>
FactorResult MultifrontalFactorization<T>::factor(const ScaledValues<T>& values,
                                                  const PivotThresholds<T>& thresholds,
                                                  const SetupControl& control) {
  return sparse_direct::factor(layout_, schedule_, values, {device_.threads(), control, thresholds},
                               factors_);
}

template <class T>
FactorResult MultifrontalFactorization<T>::partial(const ScaledValues<T>& values,
                                                   const PivotThresholds<T>& thresholds,
                                                   const SetupControl& control, Array<T>& complement) {
  FactorResult result = factor(values, thresholds, control);
  complement = std::move(factors_.border);
  factors_.border = Array<T>();
  return result;
}

template <class T>
std::int64_t MultifrontalFactorization<T>::scratch_size(int columns) const {
  return substitution_scratch(factors_, substitution_, columns, device_.threads());
}

template <class T>
void MultifrontalFactorization<T>::substitute(bool transposed, int columns, T* x, T* scratch,
                                              SubstitutionHalves halves) const {
  const RunTeam run = [&](const std::function<void(int, int)>& part) {
    if (device_.threads() == 1) return part(0, 1);
    Host(device_).parallel(true, part);
  };
  sparse_direct::substitute(factors_, substitution_, run, transposed, columns, x, scratch, halves);
}

template <class T>
std::vector<Statistic> MultifrontalFactorization<T>::statistics() const {
  return {{"ordering", layout_.tree.ordering},
          {"supernodes", layout_.supernodes()},
          {"largest_front", static_cast<std::int64_t>(layout_.largest_front)},
          {"factor_entries", layout_.factor_entries()},
          {"factor_flops", layout_.factor_flops()},
          {"predicted_bytes", static_cast<std::int64_t>(predicted_.factor_bytes + predicted_.work_bytes)},
          {"factor_bytes", static_cast<std::int64_t>(factors_.bytes())}};
}

#define ECHELON_INSTANTIATE(T) template class MultifrontalFactorization<T>;
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon::sparse_direct
