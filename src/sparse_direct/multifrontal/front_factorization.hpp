// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "sparse_direct/multifrontal/sparse_factorization.hpp"

#include <cstdint>
#include <vector>

namespace echelon::sparse_direct {

/// Base of the factorisations whose factors are the fronts of one assembly tree, which it holds: `Base` is
/// SparseFactorization or RankDecidingFactorization, and `Fronts` are made from a device and options.
template <class Base, class Fronts>
class FrontFactorization : public Base {
  using T = typename Base::Element;

 protected:
  template <class... FrontOptions>
  FrontFactorization(const Device& device, const SparseOptions& options, FrontOptions... of_fronts)
      : Base(device, options), fronts_(device, of_fronts...) {}
  ~FrontFactorization() = default;

  [[nodiscard]] Fronts& fronts() { return fronts_; }
  [[nodiscard]] const Fronts& fronts() const { return fronts_; }

 private:
  [[nodiscard]] CostPrediction analyzed_cost() const final { return fronts_.predicted_cost(); }
  [[nodiscard]] const SymbolicFactor* analyzed_tree() const final { return &fronts_.layout().tree; }
  void release_factors() final { fronts_.release_factors(); }

  [[nodiscard]] const std::vector<std::int32_t>& row_order() const final { return fronts_.row_order(); }
  [[nodiscard]] const std::vector<std::int32_t>& column_order() const final { return fronts_.column_order(); }
  [[nodiscard]] std::int64_t scratch_size(int columns) const final { return fronts_.scratch_size(columns); }
  void apply_inverse(bool transposed, int columns, T* x, T* scratch) const final {
    fronts_.substitute(transposed, columns, x, scratch);
  }

  Fronts fronts_;
};

}  // namespace echelon::sparse_direct
