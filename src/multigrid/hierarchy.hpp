// SPDX-License-Identifier: BSD-3-Clause
/// The matrices of a multigrid method: a level for each grid, made by any coarsening.
#pragma once

#include "multigrid/coarsening/coarsening.hpp"

#include <echelon/linalg/sparse_product.hpp>
#include <echelon/matrix/csr.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

namespace echelon::multigrid {

/// Where a hierarchy ends.
struct HierarchyLimits {
  std::int64_t max_levels = 25;
  /// A level of at most so many rows is the coarsest.
  std::int64_t coarse_size = 500;
  /// Rows of a coarse level at most, as a part of the finer one's.
  double rows_ratio = 0.9;
  /// Nonzeros of a coarse level at most, as a multiple of the finer one's.
  double nonzeros_ratio = 2;
  /// Nonzeros of all levels at most, as a multiple of the finest one's.
  double operator_complexity = 10;
};

/// One level and the way to the next coarser one.
template <class T>
struct HierarchyLevel {
  const Csr<T>* A = nullptr;  ///< `own`, or the caller's on the finest level
  Csr<T> own;
  Csr<T> P;            ///< prolongation from the next coarser level; 0 by 0 on the coarsest
  Csr<T> R;            ///< restriction, the transpose of P
  double seconds = 0;  ///< that coarsening took: P, R and the next level's A

  [[nodiscard]] std::size_t bytes() const { return own.bytes() + P.bytes() + R.bytes(); }
};

/// Recomputes R = P^T and R (A P) for known patterns. A P first: its rows are short, and all rows of R A
/// would be long.
template <class T>
class LevelUpdate {
 public:
  explicit LevelUpdate(const HierarchyLevel<T>& level);
  /// Overwrites the values of R and of the coarse matrix.
  void run(HierarchyLevel<T>& level, Csr<T>& coarse);
  [[nodiscard]] std::size_t bytes() const {
    return places_.bytes() + right_.bytes() + right_product_.bytes() + whole_.bytes();
  }

 private:
  Array<std::uint32_t> places_;  // of the values of R among those of P
  SparseProduct<T> right_;
  Csr<T> right_product_;
  SparseProduct<T> whole_;
};

/// Levels A_0 = A, A_{l+1} = R_l A_l P_l with R_l = P_l^T (Galerkin's coarse operators).
template <class T>
class Hierarchy {
 public:
  /// Coarsens A, n by n, which must outlive the hierarchy. Ends early once `cancel` asks for it.
  Hierarchy(const Csr<T>& A, Coarsening<T>& coarsening, const HierarchyLimits& limits,
            const std::stop_token& cancel);

  /// Recomputes the values of all levels for an A with new values in the same pattern. The first call finds
  /// how the products are computed and keeps it; later calls are quicker.
  void update_values(const Csr<T>& A, Coarsening<T>& coarsening);

  [[nodiscard]] const std::vector<HierarchyLevel<T>>& levels() const { return levels_; }
  [[nodiscard]] std::vector<HierarchyLevel<T>>& levels() { return levels_; }
  /// Why the coarsest level was not coarsened further.
  [[nodiscard]] const std::string& end() const { return end_; }
  /// Whether coarsening ended before the coarsest level was small.
  [[nodiscard]] bool ended_early() const { return ended_early_; }
  [[nodiscard]] double operator_complexity() const;
  [[nodiscard]] double grid_complexity() const;
  /// Bytes of the matrices, that of the finest level not counted, and of what updates keep.
  [[nodiscard]] std::size_t bytes() const;

 private:
  /// Adds a level; false, with `end_`, if it cannot or should not be added.
  bool coarsen(Coarsening<T>& coarsening, const HierarchyLimits& limits);
  bool end(std::string why, bool early);

  std::vector<HierarchyLevel<T>> levels_;
  std::vector<std::unique_ptr<LevelUpdate<T>>> updates_;  // of updates
  std::string end_;
  bool ended_early_ = false;
};

extern template class Hierarchy<float>;
extern template class Hierarchy<double>;

}  // namespace echelon::multigrid
