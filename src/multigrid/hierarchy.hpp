// SPDX-License-Identifier: BSD-3-Clause
/// The matrices of a multigrid method: a level for each grid, made by any coarsening.
#pragma once

#include "linalg/spgemm/product.hpp"
#include "multigrid/coarsening/coarsening.hpp"
#include "support/setup_control.hpp"

#include <echelon/matrix/csr.hpp>
#include <echelon/matrix/scalar.hpp>
#include <echelon/options.hpp>

#include <support/scalar_list.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace echelon::multigrid {

/// Targets of hierarchies of matrices of T.
template <class T>
inline constexpr Targets targets_of_multigrid = is_complex<T> ? Targets::host : Targets::all;

/// Limits at which coarsening ends.
struct HierarchyLimits {
  std::int64_t max_levels = 25;
  /// Number of rows up to which a level is the coarsest one.
  std::int64_t coarse_size = 500;
  /// Largest ratio of the rows of a level to those of the next finer level.
  double rows_ratio = 0.9;
  /// Largest ratio of the nonzeros of a level to those of the next finer level.
  double nonzeros_ratio = 2;
  /// Largest ratio of the nonzeros of all levels together to those of the finest level.
  double operator_complexity = 10;
};

/// Bytes of the arrays of A that it does not borrow.
template <class T>
[[nodiscard]] std::size_t owned_bytes(const Csr<T>& A) {
  const auto owned = [](const auto& array) { return array.owns() ? array.bytes() : 0; };
  return owned(A.row_offsets()) + owned(A.column_indices()) + owned(A.values());
}

/// Nonzeros of A, also where its values were freed.
template <class T>
[[nodiscard]] std::int64_t pattern_size(const Csr<T>& A) {
  return A.column_indices().size();
}

/// One level: its matrix and the transfer operators between it and the next coarser level.
template <class T>
struct HierarchyLevel {
  const Csr<T>* A = nullptr;  ///< `own`, or the caller's on the finest level
  Csr<T> own;
  Csr<T> P;  ///< prolongation from the next coarser level; 0 by 0 on the coarsest
  Csr<T> R;  ///< restriction, the transpose of P
  /// On a level from which P eliminates unknowns exactly, the inverse of their diagonal elements, and 0 for
  /// all other unknowns: x = P x_coarse + eliminated * b. Such a level needs no A. Otherwise empty.
  Array<T> eliminated;
  bool is_aggregation = false;  ///< each row of P has one element, 1
  double seconds = 0;           ///< time for coarsening: P, R and the next level's A

  [[nodiscard]] bool is_elimination() const { return eliminated.size() > 0; }
  [[nodiscard]] std::int64_t rows() const { return is_elimination() ? eliminated.size() : A->rows(); }
  /// Bytes, borrowed patterns not counted.
  [[nodiscard]] std::size_t bytes() const {
    return owned_bytes(own) + owned_bytes(P) + owned_bytes(R) + eliminated.bytes();
  }
};

/// Recomputes R = P^T and R (A P) for known patterns. A P is formed first because its rows are short; the
/// rows of R A would be long. Keeps the pattern of A P, not its values.
template <class T>
class LevelUpdate {
 public:
  explicit LevelUpdate(const HierarchyLevel<T>& level);
  /// Overwrites the values of R and of the coarse matrix.
  void run(HierarchyLevel<T>& level, Csr<T>& coarse);
  [[nodiscard]] std::size_t bytes() const;

 private:
  /// A P with these values, and the pattern of its plan.
  [[nodiscard]] Csr<T> right_product(Array<T> values) const;

  Array<std::uint32_t> places_;  // index among the values of P, for each value of R
  std::unique_ptr<ProductPlan<T>> right_;
  Csr<T> right_pattern_;  // without values
  std::unique_ptr<ProductPlan<T>> whole_;
};

/// Levels A_0 = A, A_{l+1} = R_l A_l P_l with R_l = P_l^T (Galerkin's coarse operators).
template <class T>
class Hierarchy {
 public:
  /// Coarsens A, n by n, which must outlive the hierarchy. Ends early once `control` asks for it. `largest`
  /// is the largest magnitude in A, if it is known.
  Hierarchy(const Csr<T>& A, Coarsening<T>& coarsening, const HierarchyLimits& limits,
            const SetupControl& control, std::optional<double> largest = {});

  /// Recomputes the values of all levels for an A with new values in the same pattern. The first call makes
  /// and keeps plans of the products; later calls are faster.
  void update_values(const Csr<T>& A, Coarsening<T>& coarsening, std::optional<double> largest = {});

  /// Frees the values of a level's matrices that update_values() computes again, once a cycle has copies of
  /// its own. The patterns stay.
  void release_values(std::size_t level, const Coarsening<T>& coarsening);

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
  /// Allocates the values that release_values() freed.
  void restore_values();
  /// The largest magnitude in the matrix of a level, if it is known.
  [[nodiscard]] std::optional<double> largest_of(std::size_t level) const {
    return level == 0 ? largest_ : std::nullopt;
  }

  std::optional<double> largest_;  // magnitude in A
  std::vector<HierarchyLevel<T>> levels_;
  std::vector<std::unique_ptr<LevelUpdate<T>>> updates_;  // one per level, made by the first update
  std::string end_;
  bool ended_early_ = false;
};

#define ECHELON_DECLARE(T) extern template class Hierarchy<T>;
ECHELON_FOR_EACH_SCALAR_OF_HOST(ECHELON_DECLARE)
#undef ECHELON_DECLARE

}  // namespace echelon::multigrid
