// SPDX-License-Identifier: BSD-3-Clause
/// Orthogonal decomposition of a sparse matrix of any shape and rank.
#pragma once

#include "solver/direct/decomposed_rank.hpp"
#include "solver/implementation.hpp"
#include "sparse_direct/qr/factors.hpp"
#include "sparse_direct/symbolic/pattern_key.hpp"

#include <echelon/linalg/determinant.hpp>
#include <echelon/matrix/csr.hpp>
#include <echelon/matrix/dense.hpp>
#include <echelon/matrix/matrix.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace echelon::sparse_direct {

/// With S = A E for a tall A, or S = A^H E for a wide one, where E scales columns of S by powers of two if
/// their sizes differ much, and S = D A E for a nonsingular A, where D scales the rows
/// first:
/// S P = Q [R11 R12], where R12 are the dependent columns. The columns of N = [-R11^-1 R12; I] span the null
/// space of S; x is projected on its complement, or b for a wide A, where x is to have the least norm. For a
/// basic x, S = A E for a wide A as well.
///
/// Columns whose rest vanishes are dependent. Where the others are nearly dependent nevertheless, by the
/// smallest singular values of R11, columns with large elements in their combination are ordered last and the
/// factorisation is repeated (L. Foster, T. Davis, Algorithm 933, ACM Trans. Math. Softw. 40, 2013, for what
/// singular values tell of the rank).
template <class T>
class SparseDecomposition {
 public:
  using Space = QrSpace<T>;
  [[nodiscard]] static Space make_space(const Device& /*device*/) { return {}; }
  /// Decomposes A, with a tolerance of max(m, n) epsilon by default, relative to the largest norm of a column
  /// of S. The analysis of an equal pattern is used again. False if a stop was requested.
  [[nodiscard]] bool factor(const DecompositionTask<T>& task);
  /// Cost of factor() for an A of full rank, by its analysis, which is kept.
  [[nodiscard]] std::optional<CostPrediction> predict_cost(const MatrixRef<T>& A);

  /// X = A^+ B for column-major views: the columns have the least ||b - A x||, and of these the least norm,
  /// or are basic.
  void solve(Space& space, DenseView<const T> B, DenseView<T> X) const;
  /// D = (A^H A)^+ G, where S = A E.
  void solve_normal(Space& space, DenseView<const T> G, DenseView<T> D) const;

  /// Determinant of a square A; 0 if its rank is not full.
  [[nodiscard]] Determinant determinant() const;

  [[nodiscard]] const DecomposedRank& rank() const { return rank_; }
  [[nodiscard]] bool wide() const { return wide_; }
  [[nodiscard]] bool scaled() const { return uneven_; }
  /// Ratio of the largest to the smallest scale of a column of S.
  [[nodiscard]] double column_spread() const;
  /// Largest norm of a column of S, between ||S||_2 / sqrt(n) and ||S||_2.
  [[nodiscard]] double largest_pivot() const { return largest_norm_; }
  /// Smallest singular value of R11, by inverse iteration, over a bound of ||S||_2; 1 for a rank of zero.
  [[nodiscard]] double reciprocal_condition() const { return reciprocal_condition_; }
  [[nodiscard]] std::size_t bytes() const;
  [[nodiscard]] std::vector<Statistic> statistics() const;

 private:
  struct System;
  void scale(const System& system, bool equilibrates);
  void scale_columns(const System& system, int widest_spread);
  void require_memory() const;
  void analyze(const System& system, const SetupControl& control);
  bool factor_columns(const System& system, double tolerance, const SetupControl& control);
  bool find_rank(const System& system, std::optional<double> tolerance, const SetupControl& control);
  double near_null_vector(const std::vector<std::vector<T>>& found, std::vector<T>& v) const;
  [[nodiscard]] std::vector<std::int32_t> nearly_dependent(double tolerance, double& smallest) const;
  bool factor_null_space(const SetupControl& control);
  void project(T* x, Space& space) const;
  void gather(const T* of_columns, std::vector<T>& x) const;
  void scatter(const std::vector<T>& x, T* of_columns) const;

  Device device_ = Device::serial();
  bool wide_ = false;                    // S = A^H E
  bool basic_ = false;                   // no projection
  std::int64_t rows_ = 0, columns_ = 0;  // of S
  std::vector<int> exponents_;           // of the columns of S; empty: E = I
  std::vector<int> row_exponents_;       // empty: D = I
  bool uneven_ = false;                  // exponents differ
  std::vector<T> values_;                // of S by rows
  double largest_norm_ = 0;              // of a column of S
  double bound_ = 0;                     // of ||S||_2
  PatternKey key_;                       // of the analysis
  std::vector<std::int32_t> last_;       // columns that are ordered last
  std::size_t analyzed_last_ = 0;        // number of them in the analysis
  QrAnalysis analysis_;
  QrFactors<T> factors_;
  /// Factors of N, in which the rows have the order of the columns of R.
  struct NullSpace {
    QrAnalysis analysis;
    QrFactors<T> factors;
  };
  std::unique_ptr<NullSpace> null_space_;  // null: it is empty, or not needed
  DecomposedRank rank_;
  double reciprocal_condition_ = 1;
};

}  // namespace echelon::sparse_direct
