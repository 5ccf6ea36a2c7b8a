// SPDX-License-Identifier: BSD-3-Clause
#include "multigrid/hierarchy.hpp"

#include "backend/dispatch.hpp"
#include "matrix/row_blocks.hpp"
#include "multigrid/galerkin.hpp"
#include "support/stopwatch.hpp"

#include <echelon/error.hpp>
#include <echelon/linalg/sparse_product.hpp>
#include <echelon/matrix/transform.hpp>

#include <fmt/format.h>
#include <support/scalar_list.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

namespace echelon::multigrid {

namespace {

/// Fraction of the available memory that the bound of a coarse matrix's size may reach. The bound counts
/// products, 20 to 40 per element of the result on a mesh, so that only graphs reach it in practice.
constexpr double memory_part = 0.5;

template <class T>
bool fits(const Csr<T>& A, const Csr<T>& P, double& bytes) {
  const double bound = on_target<targets_of_multigrid<T>>(
      A.device(), [&]<class Target>() { return galerkin_bound<Target, T>(A, P); });
  bytes = bound * static_cast<double>(sizeof(T) + sizeof(std::int32_t));
  const MemoryInfo info = memory(A.device());
  return info.available == 0 || bytes <= memory_part * static_cast<double>(info.available);
}

template <class T>
void clear_rounding_in(const Csr<T>& R, const Csr<T>& A, Csr<T>& C, const std::optional<double>& largest) {
  on_target<targets_of_multigrid<T>>(A.device(),
                                     [&]<class Target>() { clear_rounding<Target, T>(R, A, C, largest); });
}

template <class T>
std::unique_ptr<ProductPlan<T>> plan(Factors<T> factors) {
  return on_target<targets_of_multigrid<T>>(factors[0]->device(), [&]<class Target>() {
    return plan_product_on<Target, T>(factors, ProductOptions());
  });
}

/// Overwrites the values of C.
template <class T>
void update(ProductPlan<T>& plan, Factors<T> factors, Csr<T>& C) {
  if (plan.factors() != shapes_of(factors) || !plan.update(factors, C.values().data())) {
    throw InvalidMatrix("the matrix has another pattern than at the set-up of the hierarchy");
  }
}

/// Frees the values of A. Its pattern stays, and nonzeros() is 0 until restore().
template <class T>
void release(Csr<T>& A) {
  A.values() = Array<T>(A.device(), 0);
}
/// Allocates values that release() freed, uninitialised.
template <class T>
void restore(Csr<T>& A) {
  if (A.nonzeros() < pattern_size(A)) A.values() = Array<T>(A.device(), pattern_size(A));
}

template <class T>
Array<std::uint32_t> find_transposition(const Csr<T>& P) {
  if (P.nonzeros() > std::numeric_limits<std::uint32_t>::max()) return {};
  return on_target<targets_of_multigrid<T>>(P.device(),
                                            [&]<class Target>() { return transposition<Target, T>(P); });
}

}  // namespace

template <class T>
LevelUpdate<T>::LevelUpdate(const HierarchyLevel<T>& level)
    : places_(find_transposition(level.P)), right_(plan<T>(std::array{level.A, &level.P})) {
  const Device& device = level.P.device();
  const auto& pattern = right_->pattern();
  right_pattern_ =
      CsrAccess::with_pattern<T>(pattern.rows, pattern.columns, pattern.row_offsets, pattern.column_indices);
  const Csr<T> product = right_product(Array<T>(device, pattern.column_indices.size()));
  whole_ = plan<T>(std::array{&level.R, &product});
}

template <class T>
Csr<T> LevelUpdate<T>::right_product(Array<T> values) const {
  return CsrAccess::with_pattern_of(right_pattern_, std::move(values));
}

template <class T>
void LevelUpdate<T>::run(HierarchyLevel<T>& level, Csr<T>& coarse) {
  const Device& device = level.P.device();
  if (places_.size() == level.P.nonzeros()) {
    on_target<targets_of_multigrid<T>>(
        device, [&]<class Target>() { transpose_values<Target, T>(level.P, places_, level.R); });
  } else {
    level.R = transpose(level.P);
  }
  Csr<T> product = right_product(Array<T>(device, right_->pattern().column_indices.size()));
  update<T>(*right_, std::array{level.A, &static_cast<const Csr<T>&>(level.P)}, product);
  update<T>(*whole_, std::array{&static_cast<const Csr<T>&>(level.R), &static_cast<const Csr<T>&>(product)},
            coarse);
}

template <class T>
std::size_t LevelUpdate<T>::bytes() const {
  std::size_t bytes = places_.bytes();
  for (const auto* product : {right_.get(), whole_.get()}) {
    bytes += product->pattern().row_offsets.bytes() + product->pattern().column_indices.bytes() +
             product->extra_bytes();
  }
  return bytes;
}

template <class T>
Hierarchy<T>::Hierarchy(const Csr<T>& A, Coarsening<T>& coarsening, const HierarchyLimits& limits,
                        const SetupControl& control, std::optional<double> largest)
    : largest_(largest) {
  levels_.emplace_back();
  levels_.back().A = &A;
  const auto total = static_cast<double>(std::max<std::int64_t>(A.nonzeros(), 1));
  const auto left = [&] {
    return levels_.size() == 1 ? total : static_cast<double>(levels_.back().own.nonzeros());
  };
  while (!control.stops_at(1 - left() / total) && coarsen(coarsening, limits)) {
  }
  for (std::size_t l = 1; l < levels_.size(); ++l) levels_[l].A = &levels_[l].own;
}

template <class T>
bool Hierarchy<T>::end(std::string why, bool early) {
  end_ = std::move(why);
  ended_early_ = early;
  return false;
}

template <class T>
bool Hierarchy<T>::coarsen(Coarsening<T>& coarsening, const HierarchyLimits& limits) {
  const Stopwatch stopwatch;
  const auto level = static_cast<int>(levels_.size()) - 1;
  const Csr<T>& A = level == 0 ? *levels_.back().A : levels_.back().own;
  if (A.rows() <= limits.coarse_size) return end("the level is small", false);
  if (level + 1 >= limits.max_levels) return end("the number of levels is limited", true);
  std::string reason;
  Csr<T> P = coarsening.prolongation(A, level, reason);
  if (P.columns() == 0 || P.columns() >= A.rows()) {
    return end(reason.empty() ? "coarsening found no coarse unknowns" : reason, true);
  }
  const double ratio = static_cast<double>(P.columns()) / static_cast<double>(A.rows());
  if (ratio > limits.rows_ratio) {
    return end(fmt::format("coarsening stalls: it would leave {} of {} rows", P.columns(), A.rows()), true);
  }
  double bytes = 0;
  if (!fits(A, P, bytes)) {
    return end(fmt::format("the next level might take {:.1f} GB", bytes / 1e9), true);
  }
  Csr<T> R = transpose(P);
  Csr<T> coarse = on_target<targets_of_multigrid<T>>(
      A.device(), [&]<class Target>() { return right_product_on<Target, T>(R, A, P); });
  clear_rounding_in(R, A, coarse, largest_of(static_cast<std::size_t>(level)));
  const auto nonzeros = static_cast<double>(A.nonzeros());
  const auto coarse_nonzeros = static_cast<double>(coarse.nonzeros());
  if (coarse.rows() > limits.coarse_size && coarse_nonzeros > limits.nonzeros_ratio * nonzeros) {
    return end(
        fmt::format("the next level would be denser: {} nonzeros after {}", coarse.nonzeros(), A.nonzeros()),
        true);
  }
  if (operator_complexity() + coarse_nonzeros / static_cast<double>(levels_.front().A->nonzeros()) >
      limits.operator_complexity) {
    return end("the operator complexity is limited", true);
  }
  levels_.back().P = std::move(P);
  levels_.back().R = std::move(R);
  levels_.back().seconds = stopwatch.seconds();
  levels_.emplace_back();
  levels_.back().own = std::move(coarse);
  return true;
}

template <class T>
void Hierarchy<T>::update_values(const Csr<T>& A, Coarsening<T>& coarsening, std::optional<double> largest) {
  levels_.front().A = &A;
  largest_ = largest;
  restore_values();
  updates_.resize(levels_.size());
  for (std::size_t l = 0; l + 1 < levels_.size(); ++l) {
    HierarchyLevel<T>& level = levels_[l];
    const Stopwatch stopwatch;
    coarsening.update_values(*level.A, static_cast<int>(l), level.P);
    if (!updates_[l]) updates_[l] = std::make_unique<LevelUpdate<T>>(level);
    updates_[l]->run(level, levels_[l + 1].own);
    clear_rounding_in(level.R, *level.A, levels_[l + 1].own, largest_of(l));
    level.seconds = stopwatch.seconds();
  }
}

template <class T>
void Hierarchy<T>::release_values(std::size_t level, const Coarsening<T>& coarsening) {
  release(levels_[level].own);
  release(levels_[level].R);
  if (coarsening.updates_prolongations()) release(levels_[level].P);
}

template <class T>
void Hierarchy<T>::restore_values() {
  for (HierarchyLevel<T>& level : levels_) {
    restore(level.own);
    restore(level.P);
    restore(level.R);
  }
}

template <class T>
double Hierarchy<T>::operator_complexity() const {
  double nonzeros = 0;
  for (const HierarchyLevel<T>& level : levels_) {
    nonzeros += static_cast<double>(pattern_size(&level == &levels_.front() ? *level.A : level.own));
  }
  const auto finest = static_cast<double>(levels_.front().A->nonzeros());
  return finest > 0 ? nonzeros / finest : 1;
}

template <class T>
double Hierarchy<T>::grid_complexity() const {
  double rows = 0;
  for (const HierarchyLevel<T>& level : levels_) rows += static_cast<double>(level.A->rows());
  const auto finest = static_cast<double>(levels_.front().A->rows());
  return finest > 0 ? rows / finest : 1;
}

template <class T>
std::size_t Hierarchy<T>::bytes() const {
  std::size_t bytes = 0;
  for (const HierarchyLevel<T>& level : levels_) bytes += level.bytes();
  for (const auto& update : updates_) bytes += update ? update->bytes() : 0;
  return bytes;
}

#define ECHELON_INSTANTIATE(T)   \
  template class LevelUpdate<T>; \
  template class Hierarchy<T>;
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon::multigrid
