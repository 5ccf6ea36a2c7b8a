// SPDX-License-Identifier: BSD-3-Clause
/// Scales of the rows and columns of a matrix whose lines differ by many orders of magnitude, so that it
/// matters which are scaled first.
#pragma once

#include "backend/backend.hpp"
#include "backend/store.hpp"
#include "linalg/rows_of_elements.hpp"
#include "linalg/vector/functors.hpp"
#include "support/scalar.hpp"

#include <echelon/array.hpp>
#include <echelon/matrix/csr.hpp>
#include <echelon/matrix/dense.hpp>
#include <echelon/matrix/transform.hpp>

#include <cfloat>
#include <cmath>
#include <cstdint>
#include <limits>

namespace echelon {

/// Ratio of the magnitudes of rows, or of columns, above which scales are found for both together.
inline constexpr double order_matters = 0x1p20;

/// Element of a matrix as scaling sees it; `present`: neither zero nor infinite.
struct MatrixElement {
  std::int64_t row = 0;
  std::int64_t column = 0;
  int exponent = 0;  ///< floor(log2 |a|)
  bool present = false;
};

/// The exponent of a complex number is that of its larger part, which does not overflow.
template <class T>
ECHELON_ANYWHERE MatrixElement matrix_element(std::int64_t row, std::int64_t column, T value) {
  if constexpr (is_complex<T>) {
    const auto size = std::fmax(std::fabs(value.real()), std::fabs(value.imag()));
    const bool present = size > 0 && is_finite(value);
    return {row, column, present ? std::ilogb(size) : 0, present};
  } else {
    const bool present = value != 0 && value - value == 0;
    return {row, column, present ? std::ilogb(value) : 0, present};
  }
}

namespace line_scaling_detail {

/// Binary exponents of the nonzeros of a row or column.
struct Exponents {
  double sum = 0;
  double count = 0;
  double largest = -DBL_MAX;
  friend ECHELON_ANYWHERE Exponents combine(Exponents a, Exponents b) {
    return {a.sum + b.sum, a.count + b.count, a.largest > b.largest ? a.largest : b.largest};
  }
};

/// Exponent of element e of the rows or of the columns, plus the numbers of its row and column.
template <class Elements>
struct ExponentOfElement {
  Elements elements;
  bool by_rows;
  const double* rows;
  const double* columns;
  ECHELON_ANYWHERE Exponents operator()(std::int64_t e) const {
    const MatrixElement element = by_rows ? elements.of_rows(e) : elements.of_columns(e);
    if (!element.present) return {};
    const double sum = element.exponent + rows[element.row] + columns[element.column];
    return {sum, 1, sum};
  }
};

/// The numbers of the row and column of element e of the rows or of the columns, unless it is zero.
template <class Elements>
struct NumbersOfElement {
  Elements elements;
  bool by_rows;
  const double* rows;
  const double* columns;
  ECHELON_ANYWHERE Sum operator()(std::int64_t e) const {
    const MatrixElement element = by_rows ? elements.of_rows(e) : elements.of_columns(e);
    return {element.present ? rows[element.row] + columns[element.column] : 0};
  }
};

struct LineCount {
  const Exponents* lines;
  ECHELON_ANYWHERE Sum operator()(std::int64_t i) const { return {lines[i].count}; }
};
/// Term of the squared norm of the residual -sum in the inverse of the numbers of elements.
struct ResidualTerm {
  const Exponents* lines;
  const double* residual;
  ECHELON_ANYWHERE Sum operator()(std::int64_t i) const {
    return {lines[i].count > 0 ? residual[i] * residual[i] / lines[i].count : 0};
  }
};
struct NegateSum {
  const Exponents* lines;
  double* residual;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { residual[i] = -lines[i].sum; }
};
struct NextDirection {
  const Exponents* lines;
  const double* residual;
  double beta;
  double* direction;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    direction[i] = beta * direction[i] + (lines[i].count > 0 ? residual[i] / lines[i].count : 0);
  }
};
struct CurvatureTerm {
  const Sum* image;
  const double* direction;
  ECHELON_ANYWHERE Sum operator()(std::int64_t i) const { return {direction[i] * image[i].value}; }
};
struct AdvanceExponents {
  const Sum* image;
  const double* direction;
  double alpha;
  double* exponents;
  double* residual;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    exponents[i] += alpha * direction[i];
    residual[i] -= alpha * image[i].value;
  }
};

/// Subtracts a part of the largest exponent of each line, and rounds down where all of it is subtracted.
struct SubtractLargest {
  const Exponents* lines;
  double part;
  double* exponents;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    if (lines[i].count == 0) return;
    exponents[i] -= part * lines[i].largest;
    if (part == 1) exponents[i] = std::floor(exponents[i]);
  }
};

/// Exponents of the largest elements of lines that have any.
struct ExponentRange {
  double smallest = DBL_MAX;
  double largest = -DBL_MAX;
  friend ECHELON_ANYWHERE ExponentRange combine(ExponentRange a, ExponentRange b) {
    return {a.smallest < b.smallest ? a.smallest : b.smallest, a.largest > b.largest ? a.largest : b.largest};
  }
};
struct LargestOfLine {
  const Exponents* lines;
  ECHELON_ANYWHERE ExponentRange operator()(std::int64_t i) const {
    if (lines[i].count == 0) return {};
    return {lines[i].largest, lines[i].largest};
  }
};

/// Sets the scale to 2^exponent, within the range of `balancing_scale`.
template <class T>
struct SetScale {
  const double* exponents;
  T* scale;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    constexpr double most = std::numeric_limits<Real<T>>::max_exponent - 8;
    const double rounded = std::floor(exponents[i] + 0.5);
    const double exponent = rounded < -most ? -most : (rounded > most ? most : rounded);
    scale[i] = T{static_cast<Real<T>>(std::ldexp(1.0, static_cast<int>(exponent)))};
  }
};

}  // namespace line_scaling_detail

/// Elements of a column-major matrix.
template <class T>
struct DenseElements {
  DenseView<const T> A;
  [[nodiscard]] ECHELON_ANYWHERE MatrixElement of_rows(std::int64_t e) const {
    return at(e / A.columns(), e % A.columns());
  }
  [[nodiscard]] ECHELON_ANYWHERE MatrixElement of_columns(std::int64_t e) const {
    return at(e % A.rows(), e / A.rows());
  }

 private:
  [[nodiscard]] ECHELON_ANYWHERE MatrixElement at(std::int64_t i, std::int64_t j) const {
    return matrix_element(i, j, A.data()[j * A.leading() + i]);
  }
};

/// Elements of a sparse matrix and of its transpose, in the order of both.
struct SparseElements {
  static constexpr std::int16_t absent = std::numeric_limits<std::int16_t>::min();
  /// Numbers of the lines of each element, and its exponent or `absent`, of one of the two matrices.
  struct Storage {
    const std::int32_t* line;
    const std::int32_t* position;
    const std::int16_t* exponents;
    [[nodiscard]] ECHELON_ANYWHERE MatrixElement at(std::int64_t row, std::int64_t column,
                                                    std::int64_t e) const {
      return {row, column, exponents[e], exponents[e] != absent};
    }
  };
  Storage matrix, transposed;
  [[nodiscard]] ECHELON_ANYWHERE MatrixElement of_rows(std::int64_t e) const {
    return matrix.at(matrix.line[e], matrix.position[e], e);
  }
  [[nodiscard]] ECHELON_ANYWHERE MatrixElement of_columns(std::int64_t e) const {
    return transposed.at(transposed.position[e], transposed.line[e], e);
  }
};

namespace line_scaling_detail {

/// Finds the exponent of an element once for the many passes over A.
template <class T>
struct StoreExponent {
  const T* values;
  std::int16_t* exponents;
  ECHELON_ANYWHERE void operator()(std::int64_t e) const {
    const MatrixElement element = matrix_element(0, 0, values[e]);
    exponents[e] = element.present ? static_cast<std::int16_t>(element.exponent) : SparseElements::absent;
  }
};

}  // namespace line_scaling_detail

/// Places in memory where the elements of the rows, and of the columns, of an m by n matrix begin: m + 1 and
/// n + 1 offsets in the backend's memory.
struct LineOffsets {
  const std::int64_t* rows;
  const std::int64_t* columns;
};

/// Binary exponents of scales for the rows and columns of an m by n matrix. `Elements` has of_rows(e) and
/// of_columns(e): element e of the matrix stored by rows, and stored by columns. Memory: 10 (m + n) numbers.
template <class B, class Elements>
class LineScaling {
 public:
  LineScaling(B& backend, std::int64_t rows, std::int64_t columns, const LineOffsets& offsets,
              const Elements& elements)
      : backend_(backend),
        rows_(rows),
        columns_(columns),
        offsets_(offsets),
        elements_(elements),
        exponents_(backend.device(), size()),
        lines_(backend.device(), size()) {
    backend_.fill(size(), 0.0, exponents_.data());
  }

  /// Whether the largest elements of the rows, or of the columns, differ by more than `order_matters`. Waits.
  [[nodiscard]] bool is_wide() {
    inspect();
    return differ(rows_, lines_.data()) || differ(columns_, lines_.data() + rows_);
  }

  /// Starts with scales of the rows alone, which bring their largest elements into [1, 2): fit() changes
  /// scales as little as it can, and those of the rows leave the unknowns as they are. Queued.
  void scale_rows() {
    inspect_rows();
    backend_.for_each(rows_, line_scaling_detail::SubtractLargest{lines_.data(), 1, exponents_.data()});
  }

  /// Brings all nonzeros as close to 1 as row and column scales can, by least squares of their logarithms:
  /// (D + B) x = -s, with the numbers of nonzeros of the lines in the diagonal matrix D, the pattern and its
  /// transpose in B, and sums of logarithms in s. So the scaled matrices of A and of S A T are about the
  /// same, for diagonal matrices S and T. Conjugate gradients, preconditioned with D; waits. Two passes over
  /// A in each of at most `most_steps` steps; few are needed where most elements are nonzero.
  ///
  /// A. Curtis, J. Reid, On the automatic scaling of matrices for Gaussian elimination, J. Inst. Math. Appl.
  /// 10 (1972).
  void fit(int most_steps = 50) {
    using namespace line_scaling_detail;
    constexpr double tolerance = 1e-4;  // squared, for the mean of an element: powers of two are wanted
    Array<double> residual(backend_.device(), size());
    Array<double> direction(backend_.device(), size());
    Array<Sum> image(backend_.device(), size());
    backend_.fill(size(), 0.0, direction.data());
    inspect();
    backend_.for_each(size(), NegateSum{lines_.data(), residual.data()});
    const double smallest = tolerance * sum(LineCount{lines_.data()});
    double before = 0;
    for (int step = 0; step < most_steps; ++step) {
      const double now = sum(ResidualTerm{lines_.data(), residual.data()});
      if (!(now > smallest)) break;
      backend_.for_each(size(), NextDirection{lines_.data(), residual.data(), step == 0 ? 0 : now / before,
                                              direction.data()});
      before = now;
      add_up(direction.data(), image.data());
      const double curvature = sum(CurvatureTerm{image.data(), direction.data()});
      if (!(curvature > 0)) break;
      backend_.for_each(size(), AdvanceExponents{image.data(), direction.data(), now / curvature,
                                                 exponents_.data(), residual.data()});
    }
  }

  /// Brings the largest element of each row and column close to 1, alternately for rows and columns together,
  /// and then those of the rows, and of the columns, into [1, 2). Queued. 27 passes over A.
  ///
  /// D. Ruiz, A scaling algorithm to equilibrate both rows and columns norms in matrices, RAL-TR-2001-034.
  void even_out_largest() {
    using namespace line_scaling_detail;
    constexpr int halvings = 12;  // of the logarithms, at most 2^11 for doubles
    for (int k = 0; k < halvings; ++k) {
      inspect();
      backend_.for_each(size(), SubtractLargest{lines_.data(), 0.5, exponents_.data()});
    }
    inspect_rows();
    backend_.for_each(rows_, SubtractLargest{lines_.data(), 1, exponents_.data()});
    inspect_columns();
    backend_.for_each(columns_, SubtractLargest{lines_.data() + rows_, 1, exponents_.data() + rows_});
  }

  /// Sets the scales to the powers of two nearest to 2^exponent, in the backend's memory. Queued.
  template <class T>
  void set(T* row_scale, T* column_scale) {
    using namespace line_scaling_detail;
    backend_.for_each(rows_, SetScale<T>{exponents_.data(), row_scale});
    backend_.for_each(columns_, SetScale<T>{exponents_.data() + rows_, column_scale});
  }

 private:
  using Exponents = line_scaling_detail::Exponents;

  [[nodiscard]] std::int64_t size() const { return rows_ + columns_; }

  template <class F>
  double sum(const F& f) {
    Array<Sum> result(backend_.device(), 1);
    backend_.reduce(size(), f, Store<Sum>{result.data()});
    return backend_.read(result.data()).value;
  }
  bool differ(std::int64_t count, const Exponents* lines) {
    using namespace line_scaling_detail;
    if (count == 0) return false;
    Array<ExponentRange> result(backend_.device(), 1);
    backend_.reduce(count, LargestOfLine{lines}, Store<ExponentRange>{result.data()});
    const ExponentRange range = backend_.read(result.data());
    return range.largest - range.smallest > std::ilogb(order_matters);
  }
  /// Inspects the scaled elements of the rows and then of the columns.
  void inspect() {
    inspect_rows();
    inspect_columns();
  }
  void inspect_rows() {
    reduce_rows<line_scaling_detail::ExponentOfElement<Elements>>(exponents_.data(), lines_.data());
  }
  void inspect_columns() {
    reduce_columns<line_scaling_detail::ExponentOfElement<Elements>>(exponents_.data(), lines_.data());
  }
  /// (D + B) times the numbers of the lines, see fit().
  void add_up(const double* numbers, Sum* sums) {
    reduce_rows<line_scaling_detail::NumbersOfElement<Elements>>(numbers, sums);
    reduce_columns<line_scaling_detail::NumbersOfElement<Elements>>(numbers, sums);
  }
  template <class OfElement, class V>
  void reduce_rows(const double* numbers, V* lines) {
    backend_.segmented_reduce(rows_, offsets_.rows, OfElement{elements_, true, numbers, numbers + rows_},
                              lines);
  }
  template <class OfElement, class V>
  void reduce_columns(const double* numbers, V* lines) {
    backend_.segmented_reduce(columns_, offsets_.columns,
                              OfElement{elements_, false, numbers, numbers + rows_}, lines + rows_);
  }

  B& backend_;
  std::int64_t rows_, columns_;
  LineOffsets offsets_;
  Elements elements_;
  Array<double> exponents_;  // of the rows, then of the columns
  Array<Exponents> lines_;
};

/// The rows and columns of a sparse matrix, which is referred to, for its scaling.
template <class B, class T>
class SparseLines {
 public:
  SparseLines(B& backend, const Csr<T>& A)
      : A_(A),
        transpose_(transpose(A)),
        rows_(rows_of_elements(backend, A)),
        columns_(rows_of_elements(backend, transpose_)),
        exponents_(exponents_of(backend, A)),
        transposed_exponents_(exponents_of(backend, transpose_)) {}

  [[nodiscard]] LineScaling<B, SparseElements> scaling(B& backend) const {
    const SparseElements elements{
        {rows_.data(), A_.column_indices().data(), exponents_.data()},
        {columns_.data(), transpose_.column_indices().data(), transposed_exponents_.data()}};
    return {backend,
            A_.rows(),
            A_.columns(),
            {A_.row_offsets().data(), transpose_.row_offsets().data()},
            elements};
  }
  /// Row of each element.
  [[nodiscard]] const Array<std::int32_t>& rows() const { return rows_; }

 private:
  static Array<std::int16_t> exponents_of(B& backend, const Csr<T>& A) {
    Array<std::int16_t> exponents(A.device(), A.nonzeros());
    backend.for_each(A.nonzeros(),
                     line_scaling_detail::StoreExponent<T>{A.values().data(), exponents.data()});
    return exponents;
  }

  const Csr<T>& A_;
  Csr<T> transpose_;
  Array<std::int32_t> rows_, columns_;  // of the elements of A, and of its transpose
  Array<std::int16_t> exponents_, transposed_exponents_;
};

/// Scales for the rows and columns of a column-major matrix, powers of two in the backend's memory, that
/// bring its nonzeros as close to 1 as they can and the largest one of each row and column to about 1. Waits.
template <class B, class T>
void find_line_scales(B& backend, DenseView<const T> A, T* row_scale, T* column_scale) {
  Array<std::int64_t> rows(backend.device(), A.rows() + 1);
  Array<std::int64_t> columns(backend.device(), A.columns() + 1);
  backend.for_each(A.rows() + 1, Multiples{A.columns(), rows.data()});
  backend.for_each(A.columns() + 1, Multiples{A.rows(), columns.data()});
  LineScaling scaling(backend, A.rows(), A.columns(), {rows.data(), columns.data()}, DenseElements<T>{A});
  scaling.scale_rows();
  scaling.fit();
  scaling.even_out_largest();
  scaling.set(row_scale, column_scale);
  backend.synchronize();
}

}  // namespace echelon
