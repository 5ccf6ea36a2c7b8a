// SPDX-License-Identifier: BSD-3-Clause
/// Common part of Crout's methods on a GPU: scaling, the assessment of the factors, and solves with them.
#pragma once

#include "backend/store.hpp"
#include "dense/crout/cuda/trsm.cuh"
#include "linalg/condition.hpp"
#include "linalg/refinement.hpp"
#include "linalg/spmv/multiply.hpp"
#include "linalg/vector/functors.hpp"
#include "solver/factor_status.hpp"
#include "solver/implementation.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

namespace echelon::crout {

namespace cuda_detail {

/// Largest magnitude of a line of A, and the sum of its magnitudes.
struct LineMagnitudes {
  double largest = 0;
  double sum = 0;
  friend ECHELON_ANYWHERE LineMagnitudes combine(LineMagnitudes a, LineMagnitudes b) {
    return {a.largest > b.largest ? a.largest : b.largest, a.sum + b.sum};
  }
};

/// Row i, by one thread: neighbours read neighbouring elements.
template <class T>
struct InspectRow {
  DenseView<const T> A;
  double* largest;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    double result = 0;
    for (std::int64_t j = 0; j < A.columns(); ++j) {
      const double magnitude = std::fabs(static_cast<double>(A.data()[j * A.leading() + i]));
      result = result > magnitude ? result : magnitude;
    }
    largest[i] = result;
  }
};

/// Element e in the order of the columns of a contiguous matrix, of the factors with L and U as one where
/// `eliminated`: l_ii u_ij.
template <class T>
struct InspectElement {
  DenseView<const T> A;
  bool eliminated;
  ECHELON_ANYWHERE LineMagnitudes operator()(std::int64_t e) const {
    double value = static_cast<double>(A.data()[e]);
    if (eliminated) {
      const std::int64_t i = e % A.rows();
      const std::int64_t j = e / A.rows();
      if (i > j) return {};
      if (i < j) value *= static_cast<double>(A.data()[i * (A.rows() + 1)]);
    }
    const double magnitude = std::fabs(value);
    return {magnitude, magnitude};
  }
};

/// offsets[j] = j n.
struct ColumnOffsets {
  std::int64_t n;
  std::int64_t* offsets;
  ECHELON_ANYWHERE void operator()(std::int64_t j) const { offsets[j] = j * n; }
};

/// a_ij *= rows[i] columns[j]; null: 1.
template <class T>
struct ScaleElement {
  DenseView<T> A;
  const T* rows;
  const T* columns;
  ECHELON_ANYWHERE void operator()(std::int64_t e) const {
    const std::int64_t i = e % A.rows();
    const std::int64_t j = e / A.rows();
    T& element = A.data()[j * A.leading() + i];
    if (rows != nullptr) element *= rows[i];
    if (columns != nullptr) element *= columns[j];
  }
};

/// to(i, j) = scale[p] from(p, j) for p = permutation[i]; a null scale: 1.
template <class T>
struct GatherRows {
  DenseView<const T> from;
  const std::int64_t* permutation;
  const T* scale;
  DenseView<T> to;
  ECHELON_ANYWHERE void operator()(std::int64_t e) const {
    const std::int64_t i = e % from.rows();
    const std::int64_t j = e / from.rows();
    const std::int64_t p = permutation[i];
    const T value = from.data()[j * from.leading() + p];
    to.data()[j * to.leading() + i] = scale == nullptr ? value : scale[p] * value;
  }
};

/// to[permutation[i]] = from[i].
template <class T>
struct ScatterRows {
  const std::int64_t* permutation;
  const T* from;
  T* to;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { to[permutation[i]] = from[i]; }
};

}  // namespace cuda_detail

/// A method derives from it and factors in place: P A = L U, where U has a unit diagonal. Memory: n^2
/// elements and 2 n for scaling; 2 n elements for each solve in progress.
template <class T>
class CudaFactorization : public SolverImplementation<T> {
  struct Space : Workspace {
    Space(const Device& device, std::int64_t n) : backend(device), refinement(device, n) {
      backend.blas();  // created here, so that no solve creates it
    }
    [[nodiscard]] std::size_t bytes() const override { return refinement.bytes(); }
    Cuda backend;
    RefinementArrays<T> refinement;
  };

 public:
  Outcome setup(const MatrixRef<T>& A) final {
    A_ = A;
    factors_ = Dense<T>();  // releases the old factors before the new ones are allocated
    factors_ = to_dense(A);
    const std::int64_t n = factors_.rows();
    row_scale_ = column_scale_ = Array<T>();
    if (n == 0) return {};
    Cuda backend(this->device());
    if (equilibrate_) {
      if (Outcome scaled = equilibrate(backend); !scaled.ok()) return scaled;
    }
    const auto [largest, norm] = largest_line(inspect_columns(backend, false));
    Array<std::int64_t> pivots(this->device(), n);
    Outcome factored = factor_in_place(backend, pivots.data());
    if (!factored.ok()) return factored;
    keep_permutation(pivots);
    Outcome outcome = assess_condition<T>(reciprocal_condition(backend, norm));
    outcome.statistics = factored.statistics;
    const double eliminated = largest_line(inspect_columns(backend, true)).largest;
    outcome.statistics.push_back({"pivot_growth", eliminated / largest});
    return outcome;
  }

  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const final {
    return std::make_unique<Space>(this->device(), factors_.rows());
  }

  [[nodiscard]] std::size_t bytes() const final {
    return factors_.bytes() + permutation_.bytes() + row_scale_.bytes() + column_scale_.bytes();
  }

  /// Queues everything, whether refinement's steps are accepted included. Allocates nothing.
  void solve(Workspace& workspace, DenseView<const T> right, DenseView<T> left,
             std::vector<Job>&) const final {
    if (right.rows() == 0 || right.columns() == 0) return;
    auto& space = static_cast<Space&>(workspace);
    substitute(space.backend, right, left);
    for (std::int64_t j = 0; j < right.columns(); ++j) {
      refine(
          space.backend, right.rows(), refinement_steps_, left.column(j), space.refinement,
          [&](const T* x, T* r) {
            space.backend.copy(right.rows(), right.column(j), r);
            multiply(space.backend, T{-1}, A_, x, T{1}, r);
          },
          [&](const T* r, T* z) { substitute(space.backend, vector(r), vector(z)); });
    }
  }

  /// Substitution without refinement. Does not wait.
  void apply(Workspace& workspace, const T* r, T* z) const final {
    if (factors_.rows() > 0) substitute(static_cast<Space&>(workspace).backend, vector(r), vector(z));
  }

 protected:
  CudaFactorization(const Device& device, bool equilibrate, std::int64_t refinement_steps)
      : SolverImplementation<T>(device), equilibrate_(equilibrate), refinement_steps_(refinement_steps) {}

  /// Replaces `factors()` by factors. `pivots[j]` is the row that was exchanged with row j.
  virtual Outcome factor_in_place(Cuda& backend, std::int64_t* pivots) = 0;

  [[nodiscard]] Dense<T>& factors() { return factors_; }

 private:
  using LineMagnitudes = cuda_detail::LineMagnitudes;

  template <class U>
  [[nodiscard]] DenseView<U> vector(U* elements) const {
    const std::int64_t n = factors_.rows();
    return {elements, n, 1, n, this->device()};
  }

  [[nodiscard]] std::vector<LineMagnitudes> inspect_columns(Cuda& backend, bool eliminated) const {
    const std::int64_t n = factors_.rows();
    Array<std::int64_t> offsets(this->device(), n + 1);
    backend.for_each(n + 1, cuda_detail::ColumnOffsets{n, offsets.data()});
    Array<LineMagnitudes> columns(this->device(), n);
    backend.segmented_reduce(n, offsets.data(), cuda_detail::InspectElement<T>{factors_.view(), eliminated},
                             columns.data());
    const Array<LineMagnitudes> here = columns.to(Device());
    return {here.data(), here.data() + n};
  }

  /// The largest magnitude and the largest sum.
  [[nodiscard]] static LineMagnitudes largest_line(const std::vector<LineMagnitudes>& lines) {
    LineMagnitudes largest;
    for (const LineMagnitudes& line : lines) {
      largest = {std::max(largest.largest, line.largest), std::max(largest.sum, line.sum)};
    }
    return largest;
  }

  [[nodiscard]] std::vector<double> inspect_rows(Cuda& backend) const {
    const std::int64_t n = factors_.rows();
    Array<double> rows(this->device(), n);
    backend.for_each(n, cuda_detail::InspectRow<T>{factors_.view(), rows.data()});
    const Array<double> here = rows.to(Device());
    return {here.data(), here.data() + n};
  }

  /// Scales rows, then columns, to magnitude 1 by powers of two, where LAPACK's geequ and laqge would. A row
  /// or column of zeros is a singular matrix.
  Outcome equilibrate(Cuda& backend) {
    constexpr double small = std::numeric_limits<T>::min() / std::numeric_limits<T>::epsilon();
    const std::vector<double> rows = inspect_rows(backend);
    if (const std::int64_t zero = index_of_zero(rows); zero >= 0) return zero_line("row", zero);
    const double largest = *std::max_element(rows.begin(), rows.end());
    if (uneven(rows) || largest < small || largest > 1 / small) {
      row_scale_ = scales(rows);
      scale(backend, row_scale_.data(), nullptr);
    }
    std::vector<double> columns;
    for (const LineMagnitudes& line : inspect_columns(backend, false)) columns.push_back(line.largest);
    if (const std::int64_t zero = index_of_zero(columns); zero >= 0) return zero_line("column", zero);
    if (uneven(columns)) {
      column_scale_ = scales(columns);
      scale(backend, nullptr, column_scale_.data());
    }
    return {};
  }

  [[nodiscard]] static std::int64_t index_of_zero(const std::vector<double>& magnitudes) {
    const auto zero = std::find(magnitudes.begin(), magnitudes.end(), 0.0);
    return zero == magnitudes.end() ? -1 : zero - magnitudes.begin();
  }

  /// Whether magnitudes differ by more than ten times.
  [[nodiscard]] static bool uneven(const std::vector<double>& magnitudes) {
    const auto [smallest, largest] = std::minmax_element(magnitudes.begin(), magnitudes.end());
    return *smallest < 0.1 * *largest;
  }

  [[nodiscard]] Array<T> scales(const std::vector<double>& magnitudes) const {
    Array<T> result(Device(), static_cast<std::int64_t>(magnitudes.size()));
    for (std::size_t i = 0; i < magnitudes.size(); ++i) {
      const int exponent = std::clamp(-std::ilogb(magnitudes[i]), std::numeric_limits<T>::min_exponent,
                                      std::numeric_limits<T>::max_exponent - 1);
      result[static_cast<std::int64_t>(i)] = static_cast<T>(std::ldexp(1.0, exponent));
    }
    return result.to(this->device());
  }

  void scale(Cuda& backend, const T* rows, const T* columns) {
    backend.for_each(factors_.rows() * factors_.columns(),
                     cuda_detail::ScaleElement<T>{factors_.view(), rows, columns});
  }

  void keep_permutation(const Array<std::int64_t>& pivots) {
    const Array<std::int64_t> exchanges = pivots.to(Device());
    Array<std::int64_t> order(Device(), pivots.size());
    for (std::int64_t i = 0; i < order.size(); ++i) order[i] = i;
    for (std::int64_t j = 0; j < order.size(); ++j) std::swap(order[j], order[exchanges[j]]);
    permutation_ = order.to(this->device());
  }

  [[nodiscard]] double reciprocal_condition(Cuda& backend, double norm) const {
    const std::int64_t n = factors_.rows();
    Array<T> permuted(this->device(), n);
    return estimate_reciprocal_condition<T>(backend, n, norm, [&](bool transposed, T* v) {
      if (!transposed) {
        gather(backend, vector<const T>(v), nullptr, vector(permuted.data()));
        solve_triangle(backend, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, vector(permuted.data()));
        solve_triangle(backend, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N, vector(permuted.data()));
        backend.copy(n, permuted.data(), v);
      } else {
        solve_triangle(backend, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_T, vector(v));
        solve_triangle(backend, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_T, vector(v));
        backend.copy(n, v, permuted.data());
        backend.for_each(n, cuda_detail::ScatterRows<T>{permutation_.data(), permuted.data(), v});
      }
    });
  }

  /// X = A^-1 B by the factors. B and X do not overlap.
  void substitute(Cuda& backend, DenseView<const T> B, DenseView<T> X) const {
    gather(backend, B, row_scale_.size() > 0 ? row_scale_.data() : nullptr, X);
    solve_triangle(backend, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, X);
    solve_triangle(backend, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N, X);
    if (column_scale_.size() == 0) return;
    backend.for_each(X.rows() * X.columns(), cuda_detail::ScaleElement<T>{X, column_scale_.data(), nullptr});
  }

  void gather(Cuda& backend, DenseView<const T> from, const T* scale, DenseView<T> to) const {
    backend.for_each(from.rows() * from.columns(),
                     cuda_detail::GatherRows<T>{from, permutation_.data(), scale, to});
  }

  void solve_triangle(Cuda& backend, cublasFillMode_t part, cublasOperation_t form, DenseView<T> X) const {
    const CurrentDevice current(this->device().id());
    const cublasDiagType_t diagonal =
        part == CUBLAS_FILL_MODE_LOWER ? CUBLAS_DIAG_NON_UNIT : CUBLAS_DIAG_UNIT;
    check(trsm(backend.blas(), part, form, diagonal, X.rows(), X.columns(), factors_.data(),
               factors_.leading(), X.data(), X.leading()));
  }

  bool equilibrate_;
  std::int64_t refinement_steps_;
  MatrixRef<T> A_;
  Dense<T> factors_;
  Array<std::int64_t> permutation_;    // row i of P A is row permutation[i] of A
  Array<T> row_scale_, column_scale_;  // empty: not scaled
};

}  // namespace echelon::crout
