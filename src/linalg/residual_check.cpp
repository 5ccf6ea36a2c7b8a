// SPDX-License-Identifier: BSD-3-Clause
#include "linalg/residual_check.hpp"

#include "backend/columns.hpp"
#include "backend/store.hpp"
#include "backend/target.hpp"
#include "linalg/balancing_scale.hpp"
#include "linalg/doubled_sum.hpp"
#include "linalg/magnitudes.hpp"
#include "linalg/spmv/multiply.hpp"
#include "linalg/spmv/row_products.hpp"
#include "linalg/tile_loop.hpp"
#include "linalg/vector/column_reduction.hpp"
#include "linalg/vector/functors.hpp"
#include "matrix/rows.hpp"
#include "matrix/stencil/stencil_sums.hpp"
#include "support/hash.hpp"
#include "support/scalar.hpp"

#include <echelon/matrix/transform.hpp>

#include <support/scalar_list.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

namespace echelon {

namespace {

/// Sum of squares and largest magnitude, which is not finite if an element is not, computed in one pass.
struct VectorSummary {
  double squares = 0;
  Largest largest = {};
  friend ECHELON_ANYWHERE VectorSummary combine(VectorSummary a, VectorSummary b) {
    return {a.squares + b.squares, combine(a.largest, b.largest)};
  }
};

template <class T>
struct SummariseElement {
  const T* x;
  double scale;
  ECHELON_ANYWHERE VectorSummary operator()(std::int64_t i) const {
    const auto value = static_cast<Dot<T>>(x[i]);
    return {squared_magnitude(value * scale), {magnitude(value)}};
  }
};

/// Summaries of the vectors that are read together, in the backend's memory.
struct GroupSummaries {
  static constexpr std::size_t capacity = most_columns;
  VectorSummary at[capacity] = {};
};

/// The largest sum of magnitudes of a row, and the smallest one that is not zero.
struct ResidualRowSums {
  Largest largest = {};
  double smallest = INFINITY;
  friend ECHELON_ANYWHERE ResidualRowSums combine(ResidualRowSums a, ResidualRowSums b) {
    return {combine(a.largest, b.largest), a.smallest < b.smallest ? a.smallest : b.smallest};
  }
};
ECHELON_ANYWHERE ResidualRowSums row_sum(double sum) {
  return {{sum}, sum > 0 ? sum : INFINITY};
}

/// Sums of magnitudes of rows, and the first non-finite element as row * columns + column.
struct MatrixSummary {
  ResidualRowSums sums = {};
  FirstIndex nonfinite = {};
  friend ECHELON_ANYWHERE MatrixSummary combine(MatrixSummary a, MatrixSummary b) {
    return {combine(a.sums, b.sums), combine(a.nonfinite, b.nonfinite)};
  }
};

/// Sum of magnitudes of a sparse row, which it reads.
template <class T>
struct SumRow {
  const std::int64_t* row_offsets;
  const T* values;
  ECHELON_ANYWHERE ResidualRowSums operator()(std::int64_t i) const {
    constexpr std::int64_t few = 16;  // partial sums take as long as they save
    const std::int64_t begin = row_offsets[i];
    const std::int64_t end = row_offsets[i + 1];
    if (end - begin > few) return row_sum(sum_magnitudes(values, begin, end));
    double sum = 0;
    for (std::int64_t k = begin; k < end; ++k) sum += magnitude(values[k]);
    return row_sum(sum);
  }
};
/// Sums of magnitudes of rows of at most `longest` elements, and the number of longer rows.
struct ShortRows {
  static constexpr std::int64_t longest = 64;
  ResidualRowSums sums;
  std::int64_t longer = 0;
  friend ECHELON_ANYWHERE ShortRows combine(const ShortRows& a, const ShortRows& b) {
    return {combine(a.sums, b.sums), a.longer + b.longer};
  }
};
template <class T>
struct SumShortRow {
  const std::int64_t* row_offsets;
  const T* values;
  ECHELON_ANYWHERE ShortRows operator()(std::int64_t i) const {
    const std::int64_t begin = row_offsets[i];
    const std::int64_t end = row_offsets[i + 1];
    if (end - begin > ShortRows::longest) return {{}, 1};
    double sum = 0;
    for (std::int64_t k = begin; k < end; ++k) sum += magnitude(values[k]);
    return {row_sum(sum), 0};
  }
};
struct RangeOfSums {
  const Sum* sums;
  ECHELON_ANYWHERE ResidualRowSums operator()(std::int64_t i) const { return row_sum(sums[i].value); }
};
template <class T>
struct FindNonfinite {
  const T* values;
  ECHELON_ANYWHERE FirstIndex operator()(std::int64_t k) const {
    return {is_finite(values[k]) ? FirstIndex::none : k};
  }
};

template <class T>
struct SummariseDenseRow {
  DenseView<const T> a;
  std::int64_t row_step;
  std::int64_t column_step;
  ECHELON_ANYWHERE MatrixSummary operator()(std::int64_t i) const {
    MatrixSummary summary;
    double sum = 0;
    for (std::int64_t j = 0; j < a.columns(); ++j) {
      const T value = a.data()[i * row_step + j * column_step];
      sum += magnitude(value);
      if (!is_finite(value) && summary.nonfinite.value == FirstIndex::none) {
        summary.nonfinite.value = i * a.columns() + j;
      }
    }
    summary.sums = row_sum(sum);
    return summary;
  }
};

/// x_i = 1 or -1: all ones, alternating, and by the bits of a hash.
template <class T>
struct FillSigns {
  int pattern;
  T* x;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    const auto k = static_cast<std::uint64_t>(i);
    const std::uint64_t bits = pattern == 0 ? 0 : pattern == 1 ? k : hash_bits(k) >> 40;
    x[i] = (bits & 1) != 0 ? T{-1} : T{1};
  }
};

/// r = b - r.
template <class T>
struct SubtractFrom {
  const T* b;
  T* r;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { r[i] = b[i] - r[i]; }
};

/// Use of a product A x: r = b - A x, as SubtractProduct. A type of its own, since this file is compiled
/// without fused multiply-add instructions, and functions with equal names are linked as one.
template <class T>
struct PutResidual {
  const T* b;
  T* r;
  ECHELON_ANYWHERE void operator()(std::int64_t i, T sum) const { r[i] = b[i] - sum; }
};

/// r_i = b_i - A_i x for a sparse row, with a sum of twice the precision.
template <class T>
struct DoubledResidualOfRow {
  const std::int64_t* row_offsets;
  const std::int32_t* column_indices;
  const T* values;
  const T* b;
  const T* x;
  T* r;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    DoubledSumOf<T> sum{static_cast<Dot<T>>(b[i])};
    for (std::int64_t k = row_offsets[i]; k < row_offsets[i + 1]; ++k) {
      sum.add_product(-static_cast<Dot<T>>(values[k]), static_cast<Dot<T>>(x[column_indices[k]]));
    }
    r[i] = static_cast<T>(sum.value_or_error(row_offsets[i + 1] - row_offsets[i]));
  }
};

#if defined(__x86_64__) && !defined(__CUDACC__) && !defined(ECHELON_OPENCL_TARGET) && \
    !defined(__SANITIZE_ADDRESS__)
#define ECHELON_HAS_FMA_CLONES
template <class F>
[[gnu::target("fma"), gnu::flatten]] void call_with_fma(const F& f, std::int64_t i) {
  f(i);
}
#endif

/// A loop body that is compiled with the fused multiply-add instruction as well, for processors that have it:
/// std::fma is the call of a function without. The bits are the same.
template <class F>
struct WithFma {
  F f;
  bool has_fma;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
#ifdef ECHELON_HAS_FMA_CLONES
    if (has_fma) return call_with_fma(f, i);
#endif
    f(i);
  }
};
template <class F>
WithFma<F> with_fma(const F& f) {
#ifdef ECHELON_HAS_FMA_CLONES
  return {f, __builtin_cpu_supports("fma") != 0};
#else
  return {f, false};
#endif
}

/// Residuals of `height` rows of a dense A, likewise.
template <int height, class T>
struct DoubledResidualOfTile {
  const T* a;  ///< element (i, j) is a[i * row_step + j * column_step]
  std::int64_t rows, columns, row_step, column_step;
  const T* b;
  const T* x;
  T* r;
  ECHELON_ANYWHERE void operator()(std::int64_t tile) const {
    const std::int64_t row = tile * height;
    const int count = rows - row < height ? static_cast<int>(rows - row) : height;
    DoubledSumOf<T> sums[height];
    for (int i = 0; i < count; ++i) sums[i] = DoubledSumOf<T>{static_cast<Dot<T>>(b[row + i])};
    for (std::int64_t j = 0; j < columns; ++j) {
      const T* const column = a + row * row_step + j * column_step;
      const auto factor = static_cast<Dot<T>>(x[j]);
      for (int i = 0; i < count; ++i) sums[i].add_product(-static_cast<Dot<T>>(column[i * row_step]), factor);
    }
    for (int i = 0; i < count; ++i) r[row + i] = static_cast<T>(sums[i].value_or_error(columns));
  }
};

/// A product of an element of a row, numbered row by row, with the element of x in its column.
template <class T>
struct DoubledProduct {
  const T* a;  ///< element j of row i is a[i * step + j]
  std::int64_t columns, step;
  const T* x;
  ECHELON_ANYWHERE DoubledSumOf<T> operator()(std::int64_t k) const {
    const std::int64_t j = k % columns;
    DoubledSumOf<T> product{};
    product.add_product(-static_cast<Dot<T>>(a[k / columns * step + j]), static_cast<Dot<T>>(x[j]));
    return product;
  }
};
/// r_i = b_i plus the sum of the products of row i.
template <class T>
struct PutDoubledResidual {
  const DoubledSumOf<T>* sums;
  std::int64_t columns;
  const T* b;
  T* r;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    DoubledSumOf<T> sum = sums[i];
    sum.add(static_cast<Dot<T>>(b[i]));
    r[i] = static_cast<T>(sum.value_or_error(columns));
  }
};

/// Terms of 1^T A 1 and ||A 1||^2.
template <class T>
struct OnesProducts {
  DoubledSumOf<T> sum;
  double squares = 0;
  friend ECHELON_ANYWHERE OnesProducts combine(const OnesProducts& a, const OnesProducts& b) {
    return {combine(a.sum, b.sum), a.squares + b.squares};
  }
};
template <class T>
struct SumRowDoubled {
  const std::int64_t* row_offsets;
  const T* values;
  ECHELON_ANYWHERE OnesProducts<T> operator()(std::int64_t i) const {
    OnesProducts<T> row;
    for (std::int64_t k = row_offsets[i]; k < row_offsets[i + 1]; ++k)
      row.sum.add(static_cast<Dot<T>>(values[k]));
    row.squares = squared_magnitude(row.sum.value());
    return row;
  }
};

/// The power of two that makes the largest element of a row about 1, where column j is multiplied by
/// column_scale[j] unless it is null.
template <class T>
struct ScaleOfSparseRow {
  SparseRows<T> A;
  const Real<T>* column_scale;
  Real<T>* scale;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    Largest largest;
    for (std::int64_t k = A.begin(i); k < A.end(i); ++k) {
      const Real<T> factor = column_scale == nullptr ? Real<T>{1} : column_scale[A.column(k)];
      largest = combine(largest, {magnitude(A.value(i, k) * factor)});
    }
    scale[i] = balancing_scale<Real<T>>(largest.value);
  }
};
/// The power of two for a row, or a column, of a dense A likewise: element k of line i is a[i * line_step + k
/// * step].
template <class T>
struct ScaleOfDenseLine {
  const T* a;
  std::int64_t length, line_step, step;
  const Real<T>* other_scale;
  Real<T>* scale;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    Largest largest;
    for (std::int64_t k = 0; k < length; ++k) {
      const Real<T> factor = other_scale == nullptr ? Real<T>{1} : other_scale[k];
      largest = combine(largest, {magnitude(a[i * line_step + k * step] * factor)});
    }
    scale[i] = balancing_scale<Real<T>>(largest.value);
  }
};

template <class T>
struct FindInexact {
  int exponent;
  const T* x;
  ECHELON_ANYWHERE FirstIndex operator()(std::int64_t i) const {
    const T restored = scaled_by_power(scaled_by_power(x[i], exponent), -exponent);
    return {restored == x[i] ? FirstIndex::none : i};
  }
};

template <class B, class T>
class BackendResidualCheck final : public ResidualCheck<T> {
 public:
  explicit BackendResidualCheck(const Device& device)
      : backend_(device), summaries_(device, 1), group_(device, 1), matrix_(device, 1) {}

  MatrixFacts matrix(const MatrixRef<T>& A) override {
    if constexpr (!is_complex<T>) {
      if (A.is_stencil()) return facts_of_stencil(*A.stencil());
    }
    if (A.is_operator()) return facts_of_operator(*A.linear_operator());
    if (const Csr<T>* csr = A.csr()) return facts_of_sparse(*csr);
    const DenseView<const T>& dense = A.dense();
    const bool by_column = dense.layout() == Layout::column_major;
    backend_.reduce(
        dense.rows(),
        SummariseDenseRow<T>{dense, by_column ? 1 : dense.leading(), by_column ? dense.leading() : 1},
        Store<MatrixSummary>{matrix_.data()});
    const MatrixSummary summary = backend_.read(matrix_.data());
    MatrixFacts facts = facts_of(summary.sums);
    if (summary.nonfinite.value != FirstIndex::none) {
      facts.row = summary.nonfinite.value / A.columns();
      facts.column = summary.nonfinite.value % A.columns();
    }
    return facts;
  }

  ProductWithOnes product_with_ones(const MatrixRef<T>& ref) override {
    if constexpr (!is_complex<T>) {
      if (ref.is_stencil()) {
        const StencilSums& sums = sums_of(*ref.stencil());
        return {sums.sum, std::sqrt(sums.squares)};
      }
    }
    const Csr<T>& A = *ref.csr();
    Array<OnesProducts<T>> sums(backend_.device(), 1);
    backend_.reduce(A.rows(), SumRowDoubled<T>{A.row_offsets().data(), A.values().data()},
                    Store<OnesProducts<T>>{sums.data()});
    const OnesProducts<T> found = backend_.read(sums.data());
    return {real(found.sum.value()), std::sqrt(found.squares)};
  }

  VectorFacts vector(std::int64_t n, const T* x) override {
    VectorSummary* const summary = &summaries_.data()->residual;
    summarise(n, x, 1, summary);
    return facts(n, x, backend_.read(summary));
  }

  VectorFacts residual(const MatrixRef<T>& A, const T* b, const T* x, T* r) override {
    subtract_product(A, b, x, r);
    return vector(A.rows(), r);
  }

  VectorFacts accurate_residual(const MatrixRef<T>& A, const T* b, const T* x, T* r) override {
    form_accurate_residual(A, b, x, r);
    return vector(A.rows(), r);
  }
  AnswerFacts accurate_answer(const MatrixRef<T>& A, const T* b, const T* x, T* r) override {
    form_accurate_residual(A, b, x, r);
    if (A.rows() != A.columns()) return {vector(A.columns(), x), vector(A.rows(), r)};
    const T* const both[] = {x, r};
    const std::vector<VectorFacts> found = vectors(A.rows(), both);
    return {found[0], found[1]};
  }

  SolutionFacts solution(const MatrixRef<T>& A, const T* b, const T* x, T* r) override {
    Summaries* const there = summaries_.data();
    summarise(A.rows(), b, 1, &there->right);
    summarise(A.columns(), x, 1, &there->answer);
    subtract_product(A, b, x, r);
    summarise(A.rows(), r, 1, &there->residual);
    const Summaries found = backend_.read(there);
    return {facts(A.rows(), b, found.right), facts(A.columns(), x, found.answer),
            facts(A.rows(), r, found.residual)};
  }

  std::vector<VectorFacts> vectors(std::int64_t n, std::span<const T* const> x) override {
    std::vector<VectorFacts> result;
    while (!x.empty()) {
      const std::span<const T* const> group = x.first(std::min(x.size(), GroupSummaries::capacity));
      VectorSummary* next = group_.data()->at;
      const auto count = static_cast<int>(group.size());
      reduce_columns(
          backend_, n, count,
          [&](int c) {
            return SummariseElement<T>{group[static_cast<std::size_t>(c)], 1};
          },
          [&](int c) { return Store<VectorSummary>{next + c}; });
      const GroupSummaries found = backend_.read(group_.data());
      for (std::size_t c = 0; c < group.size(); ++c) result.push_back(facts(n, group[c], found.at[c]));
      x = x.subspan(group.size());
    }
    return result;
  }

  std::vector<VectorFacts> residuals(const MatrixRef<T>& A, const MultiVector<const T>& b,
                                     const MultiVector<const T>& x, const MultiVector<T>& r) override {
    subtract_products(A, b, x, r);
    return vectors(A.rows(), pointers(r));
  }
  std::vector<AnswerFacts> answers(const MatrixRef<T>& A, const MultiVector<const T>& b,
                                   const MultiVector<const T>& x, const MultiVector<T>& r) override {
    subtract_products(A, b, x, r);
    std::vector<const T*> both = pointers(r);
    const std::vector<const T*> of_x = pointers(x);
    std::vector<VectorFacts> found;
    if (A.rows() == A.columns()) {
      both.insert(both.end(), of_x.begin(), of_x.end());
      found = vectors(A.rows(), both);
    } else {
      found = vectors(A.rows(), both);
      const std::vector<VectorFacts> facts_of_x = vectors(A.columns(), of_x);
      found.insert(found.end(), facts_of_x.begin(), facts_of_x.end());
    }
    std::vector<AnswerFacts> result;
    const std::size_t columns = of_x.size();
    for (std::size_t c = 0; c < columns; ++c) result.push_back({found[columns + c], found[c]});
    return result;
  }

  Contraction contraction(const MatrixRef<T>& A, T* v, T* product,
                          const std::function<void(T*, T*)>& add) override {
    Array<Real<T>> rows(backend_.device(), A.rows());
    Array<Real<T>> scale(backend_.device(), A.columns());
    if (const Csr<T>* csr = A.csr()) {
      const Csr<T> columns = transpose(*csr);
      backend_.for_each(A.rows(), ScaleOfSparseRow<T>{SparseRows<T>(*csr), nullptr, rows.data()});
      backend_.for_each(A.columns(), ScaleOfSparseRow<T>{SparseRows<T>(columns), rows.data(), scale.data()});
      backend_.synchronize();
    } else {
      const DenseView<const T>& a = A.dense();
      const bool by_column = a.layout() == Layout::column_major;
      const std::int64_t row_step = by_column ? 1 : a.leading();
      const std::int64_t column_step = by_column ? a.leading() : 1;
      backend_.for_each(
          a.rows(), ScaleOfDenseLine<T>{a.data(), a.columns(), row_step, column_step, nullptr, rows.data()});
      backend_.for_each(a.columns(), ScaleOfDenseLine<T>{a.data(), a.rows(), column_step, row_step,
                                                         rows.data(), scale.data()});
    }
    // Products in twice the precision have the same bits on every device.
    const auto multiply_by_minus_a = [&](const T* x, T* y) {
      backend_.fill(A.rows(), T{0}, y);
      form_accurate_residual(A, y, x, y);
    };
    return measure_contraction(backend_, A.rows(), scale.data(), v, product, &matrix_.data()->sums.largest,
                               multiply_by_minus_a, add);
  }
  void copy(std::int64_t n, const T* x, T* y) override { backend_.copy(n, x, y); }
  void add(std::int64_t n, const T* x, T* y) override { backend_.for_each(n, AddVectors<T>{x, y, y}); }
  void scale(std::int64_t n, int exponent, T* x) override {
    backend_.for_each(n, ScaleByPowerOfTwo<T>{exponent, x});
  }
  bool scales_exactly(std::int64_t n, int exponent, const T* x) override {
    FirstIndex* const found = &matrix_.data()->nonfinite;
    backend_.reduce(n, FindInexact<T>{exponent, x}, Store<FirstIndex>{found});
    return backend_.read(found).value == FirstIndex::none;
  }
  void synchronize() override { backend_.synchronize(); }
  void conjugate(std::int64_t n, T* x) override { backend_.for_each(n, ConjugateElement{x, x}); }

 private:
  struct Summaries {
    VectorSummary right, answer, residual;
  };

  /// Sums of rows on a GPU. A thread sums a row if all rows are short, as on a mesh; otherwise several
  /// threads do: one alone would take long for the longest row, and several take long for many short rows.
  ResidualRowSums sums_on_device(const Csr<T>& A) {
    constexpr std::int64_t short_row = 16;
    const std::int64_t* const offsets = A.row_offsets().data();
    const T* const values = A.values().data();
    if (A.nonzeros() < short_row * A.rows()) {
      Array<ShortRows> rows(A.device(), 1);
      backend_.reduce(A.rows(), SumShortRow<T>{offsets, values}, Store<ShortRows>{rows.data()});
      const ShortRows found = backend_.read(rows.data());
      if (found.longer == 0) return found.sums;
    }
    ResidualRowSums* const range = &matrix_.data()->sums;
    Array<Sum> sums(A.device(), A.rows());
    backend_.segmented_reduce(A.rows(), offsets, Magnitude<const T*>{values}, sums.data());
    backend_.reduce(A.rows(), RangeOfSums{sums.data()}, Store<ResidualRowSums>{range});
    return backend_.read(range);
  }
  ResidualRowSums sums_on_host(const Csr<T>& A) {
    ResidualRowSums* const range = &matrix_.data()->sums;
    backend_.reduce(A.rows(), SumRow<T>{A.row_offsets().data(), A.values().data()},
                    Store<ResidualRowSums>{range});
    return backend_.read(range);
  }
  static MatrixFacts facts_of(const ResidualRowSums& sums) {
    return {.norm_inf = sums.largest.value, .smallest_row = std::isfinite(sums.smallest) ? sums.smallest : 0};
  }
  MatrixFacts facts_of_sparse(const Csr<T>& A) {
    MatrixFacts facts = facts_of(A.device().on_host() ? sums_on_host(A) : sums_on_device(A));
    if (facts.norm_inf - facts.norm_inf != 0) find_nonfinite(A, facts);
    return facts;
  }
  /// The sum of a row is not finite if an element is not, and possibly if all are.
  void find_nonfinite(const Csr<T>& A, MatrixFacts& facts) {
    const std::int64_t k = first_nonfinite(A.nonzeros(), A.values().data());
    if (k == FirstIndex::none) return;
    const std::vector<std::int64_t> offsets = A.row_offsets().to_vector();
    facts.row = std::upper_bound(offsets.begin(), offsets.end(), k) - offsets.begin() - 1;
    facts.column = backend_.read(A.column_indices().data() + k);
  }

  /// The coefficients are finite.
  static MatrixFacts facts_of_stencil(const Stencil<T>& A) {
    const StencilSums& sums = sums_of(A);
    return {.norm_inf = sums.largest, .smallest_row = sums.smallest};
  }

  /// ||A||_inf is the largest ||A v||_inf with ||v||_inf = 1; a few such v give a lower bound.
  MatrixFacts facts_of_operator(const LinearOperator<T>& A) {
    Array<T> v(A.device(), A.columns());
    Array<T> product(A.device(), A.rows());
    MatrixFacts result;
    for (int pattern = 0; pattern < 3 && !result.row; ++pattern) {
      backend_.for_each(A.columns(), FillSigns<T>{pattern, v.data()});
      A.apply(v.data(), product.data());
      const VectorFacts found = vector(A.rows(), product.data());
      if (found.norm_inf > result.norm_inf) result.norm_inf = found.norm_inf;
      result.row = found.nonfinite;
    }
    return result;
  }

  void form_accurate_residual(const MatrixRef<T>& A, const T* b, const T* x, T* r) {
    if (A.is_operator()) return subtract_product(A, b, x, r);
    if (const Csr<T>* csr = A.csr()) {
      backend_.for_each(csr->rows(), with_fma(DoubledResidualOfRow<T>{csr->row_offsets().data(),
                                                                      csr->column_indices().data(),
                                                                      csr->values().data(), b, x, r}));
      return;
    }
    // Each thread of a GPU has one row, so that neighbouring threads read neighbouring elements; a tile on
    // the host covers whole cache lines of each column.
    constexpr int height = B::on_host ? 32 : 1;
    const DenseView<const T>& a = A.dense();
    const bool by_column = a.layout() == Layout::column_major;
    if constexpr (!B::on_host) {
      if (!by_column && a.columns() > a.rows()) return form_accurate_residual_of_rows(a, b, x, r);
    }
    for_each_tile(backend_, (a.rows() + height - 1) / height,
                  with_fma(DoubledResidualOfTile<height, T>{a.data(), a.rows(), a.columns(),
                                                            by_column ? 1 : a.leading(),
                                                            by_column ? a.leading() : 1, b, x, r}));
  }

  /// Residuals of long contiguous rows, each summed by several threads.
  void form_accurate_residual_of_rows(const DenseView<const T>& a, const T* b, const T* x, T* r) {
    Array<DoubledSumOf<T>> sums(a.device(), a.rows());
    ColumnReduction<B, DoubledSumOf<T>>(backend_, a.columns(), a.rows())
        .run(DoubledProduct<T>{a.data(), a.columns(), a.leading(), x}, sums.data());
    backend_.for_each(a.rows(), PutDoubledResidual<T>{sums.data(), a.columns(), b, r});
  }

  template <class U>
  static std::vector<const T*> pointers(const MultiVector<U>& V) {
    std::vector<const T*> result;
    result.reserve(static_cast<std::size_t>(V.columns()));
    for (int c = 0; c < V.columns(); ++c) result.push_back(V[c]);
    return result;
  }

  void subtract_products(const MatrixRef<T>& A, const MultiVector<const T>& b, const MultiVector<const T>& x,
                         const MultiVector<T>& r) {
    if (A.is_sparse() && !A.device().on_host()) {
      for_column_products(backend_, *A.csr(), r.columns(), [&](int c) {
        return VectorProduct{x[c], PutResidual<T>{b[c], r[c]}};
      });
    } else {
      for (int c = 0; c < r.columns(); ++c) subtract_product(A, b[c], x[c], r[c]);
    }
  }

  void subtract_product(const MatrixRef<T>& A, const T* b, const T* x, T* r) {
    if (A.is_operator() && !A.is_stencil()) {
      A.linear_operator()->apply(x, r);
      backend_.for_each(A.rows(), SubtractFrom<T>{b, r});
      return;
    }
    backend_.copy(A.rows(), b, r);
    multiply(backend_, T{-1}, A, x, T{1}, r);
  }

  VectorFacts facts(std::int64_t n, const T* x, VectorSummary summary) {
    double scale = 1;
    // The squares overflowed, or underflowed enough to matter: computed again, scaled by a power of two.
    const bool finite = std::isfinite(summary.largest.value);
    const bool risky = summary.squares > 1e300 || summary.squares < 1e-280;
    if (risky && finite && summary.largest.value > 0) {
      constexpr int largest_power = std::numeric_limits<double>::max_exponent - 1;
      scale = std::exp2(std::min(-std::ilogb(summary.largest.value), largest_power));
      VectorSummary* const again = &summaries_.data()->residual;
      summarise(n, x, scale, again);
      summary = backend_.read(again);
    }
    VectorFacts result{std::sqrt(summary.squares) / scale, summary.largest.value};
    if (finite) return result;
    const std::int64_t first = first_nonfinite(n, x);
    if (first != FirstIndex::none) result.nonfinite = first;
    return result;
  }

  std::int64_t first_nonfinite(std::int64_t n, const T* x) {
    FirstIndex* const found = &matrix_.data()->nonfinite;
    backend_.reduce(n, FindNonfinite<T>{x}, Store<FirstIndex>{found});
    return backend_.read(found).value;
  }

  void summarise(std::int64_t n, const T* x, double scale, VectorSummary* result) {
    backend_.reduce(n, SummariseElement<T>{x, scale}, Store<VectorSummary>{result});
  }

  B backend_;
  Array<Summaries> summaries_;
  Array<GroupSummaries> group_;
  Array<MatrixSummary> matrix_;
};

}  // namespace

template <class Target, class T>
std::unique_ptr<ResidualCheck<T>> make_residual_check(const Device& device) {
  return on_backend(device, [&]<class B>() -> std::unique_ptr<ResidualCheck<T>> {
    return std::make_unique<BackendResidualCheck<B, T>>(device);
  });
}

#define ECHELON_INSTANTIATE(T) \
  template std::unique_ptr<ResidualCheck<T>> make_residual_check<ThisTarget, T>(const Device&);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon
