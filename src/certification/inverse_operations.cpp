// SPDX-License-Identifier: BSD-3-Clause
#include "certification/inverse_operations.hpp"

#include "backend/target.hpp"
#include "certification/conventional_product.hpp"
#include "certification/rounding.hpp"
#include "certification/row_tiles.hpp"
#include "linalg/doubled_sum.hpp"
#include "linalg/vector/functors.hpp"

#include <echelon/rref.hpp>
#include <echelon/solver.hpp>

#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

namespace echelon::certification {

namespace {

constexpr double largest_finite = std::numeric_limits<double>::max();

ECHELON_ANYWHERE inline int exponent_of(double value) {
  if (value == 0) return exponent_of_zero;
  if (!(std::abs(value) <= largest_finite)) return exponent_of_nonfinite;
  return std::ilogb(value);
}

ECHELON_ANYWHERE inline int larger(int a, int b) {
  return a > b ? a : b;
}

/// Largest exponent of the elements that were added, times 2^term unless they are zero or not finite.
struct LargestExponent {
  int value = exponent_of_zero;
  ECHELON_ANYWHERE void add(double element, int term) {
    const int exponent = exponent_of(element);
    const bool ordinary = exponent > exponent_of_zero && exponent < exponent_of_nonfinite;
    value = larger(value, ordinary ? exponent + term : exponent);
  }
  friend ECHELON_ANYWHERE LargestExponent combine(LargestExponent a, LargestExponent b) {
    return {larger(a.value, b.value)};
  }
};

/// Exponent of element k, for reductions over the segments that are columns.
struct ElementExponent {
  const double* matrix;
  ECHELON_ANYWHERE LargestExponent operator()(std::int64_t k) const { return {exponent_of(matrix[k])}; }
};

/// Term of column j: the exponent of its scale.
struct ExponentTerm {
  const int* exponents;
  ECHELON_ANYWHERE int operator()(std::int64_t j) const { return exponents[j]; }
};

struct ScaleElementsByExponents {
  double* matrix;
  std::int64_t n;
  const int* rows;
  const int* columns;
  ECHELON_ANYWHERE void operator()(std::int64_t e) const {
    matrix[e] = std::ldexp(matrix[e], rows[e % n] + columns[e / n]);
  }
};

/// Sum of products with a vector of unevaluated sums.
struct DoubledTerm {
  double high, low;
};
struct DoubledTerms {
  const double* high;
  const double* low;
  ECHELON_ANYWHERE DoubledTerm operator()(std::int64_t j) const { return {high[j], low[j]}; }
};
struct DoubledRowSum : DoubledSum {
  ECHELON_ANYWHERE void add(double element, DoubledTerm term) {
    add_product(element, term.high);
    add_to_low(rounded_product(element, term.low));
  }
  friend ECHELON_ANYWHERE DoubledRowSum combine(DoubledRowSum a, DoubledRowSum b) {
    return {combine(static_cast<DoubledSum>(a), static_cast<DoubledSum>(b))};
  }
};

/// Sum of magnitudes of products.
struct MagnitudeTerms {
  const double* v;
  ECHELON_ANYWHERE double operator()(std::int64_t j) const { return v[j]; }
};
struct MagnitudeRow {
  double value = 0;
  ECHELON_ANYWHERE void add(double element, double term) { value += std::abs(element) * term; }
  friend ECHELON_ANYWHERE MagnitudeRow combine(MagnitudeRow a, MagnitudeRow b) { return {a.value + b.value}; }
};

struct FillIdentity {
  double* matrix;
  std::int64_t n;
  ECHELON_ANYWHERE void operator()(std::int64_t e) const { matrix[e] = e % (n + 1) == 0 ? 1 : 0; }
};

struct Transpose {
  const double* from;
  double* to;
  std::int64_t n;
  ECHELON_ANYWHERE void operator()(std::int64_t e) const { to[e] = from[e / n + e % n * n]; }
};

template <class B>
Dense<double> in_double(Dense<double> A) {
  return A;
}
template <class B>
Dense<double> in_double(const Dense<float>& A) {
  B backend(A.device());
  Dense<double> result(A.device(), A.rows(), A.columns());
  backend.for_each(A.rows() * A.columns(), ConvertVector<float, double>{A.data(), result.data()});
  backend.synchronize();
  return result;
}

template <class B>
class BackendOperations final : public InverseOperations {
 public:
  explicit BackendOperations(Dense<double> A)
      : backend_(A.device()), n_(A.rows()), S_(std::move(A)), R_(device(), n_, n_), F_(device(), n_, n_) {
    scale();
  }

  [[nodiscard]] const std::vector<int>& row_exponents() const override { return row_exponents_; }
  [[nodiscard]] const std::vector<int>& column_exponents() const override { return column_exponents_; }

  bool invert(InverseAlgorithm how) override {
    if (!(how == InverseAlgorithm::elimination ? invert_by_elimination() : invert_by_lu())) return false;
    backend_.for_each(n_ * n_, FillIdentity{F_.data(), n_});
    subtract_conventional_product(backend_, R_.view(), S_.view(), F_.view());
    return true;
  }

  DoubledVector multiply_doubled(Factor M, const std::vector<double>& high, const std::vector<double>& low,
                                 const std::vector<double>& start) override {
    const Array<double> there_high(device(), high);
    const Array<double> there_low(device(), low);
    const std::vector<DoubledRowSum> sums =
        sum_rows<DoubledRowSum>(backend_, matrix(M), n_, n_,
                                DoubledTerms{there_high.data(), there_low.data()})
            .to_vector();
    DoubledVector result;
    for (std::size_t i = 0; i < sums.size(); ++i) {
      DoubledSum sum = sums[i];
      sum.DoubledSum::add(start[i]);
      const double value = sum.high + sum.low;
      result.high.push_back(value);
      result.low.push_back(error_of_sum(sum.high, sum.low, value));
      result.error.push_back(
          error_bound(sum, n_ + tiles_of_columns() + 1, std::numeric_limits<double>::min()));
    }
    return result;
  }

  std::vector<double> multiply_magnitudes(Factor M, const std::vector<double>& v) override {
    const Array<double> there(device(), v);
    const std::vector<MagnitudeRow> sums =
        sum_rows<MagnitudeRow>(backend_, matrix(M), n_, n_, MagnitudeTerms{there.data()}).to_vector();
    std::vector<double> bounds;
    bounds.reserve(sums.size());
    // A sum s of n products is at least (1 - gamma) of the exact one, underflow apart, and 1 / (1 - gamma) <=
    // 1 + 2 gamma.
    const double factor = add_up(1, 2 * gamma_up(static_cast<double>(n_ + tiles_of_columns() + 1)));
    const double underflow = 2 * static_cast<double>(n_) * std::numeric_limits<double>::min();
    for (const MagnitudeRow& sum : sums) bounds.push_back(add_up(multiply_up(sum.value, factor), underflow));
    return bounds;
  }

 private:
  [[nodiscard]] const Device& device() const { return backend_.device(); }
  [[nodiscard]] const double* matrix(Factor M) const {
    return M == Factor::S ? S_.data() : M == Factor::R ? R_.data() : F_.data();
  }
  [[nodiscard]] std::int64_t tiles_of_columns() const {
    return (n_ + tile_columns<B>(n_) - 1) / tile_columns<B>(n_);
  }

  static std::vector<int> scale_exponents(const std::vector<LargestExponent>& largest) {
    std::vector<int> exponents;
    exponents.reserve(largest.size());
    for (const LargestExponent& exponent : largest) exponents.push_back(-exponent.value);
    return exponents;
  }

  /// Scales columns, so that rows of small elements are not lost next to large columns, then rows. Columns of
  /// zeros keep the scale 1, and so do those with NaN, whose rows the next step finds.
  void scale() {
    Array<std::int64_t> offsets(device(), n_ + 1);
    backend_.for_each(n_ + 1, Multiples{n_, offsets.data()});
    Array<LargestExponent> of_columns(device(), n_);
    backend_.segmented_reduce(n_, offsets.data(), ElementExponent{S_.data()}, of_columns.data());
    column_exponents_ = scale_exponents(of_columns.to_vector());
    for (int& exponent : column_exponents_) {
      if (exponent == -exponent_of_zero || exponent == -exponent_of_nonfinite) exponent = 0;
    }
    const Array<int> columns(device(), column_exponents_);
    row_exponents_ = scale_exponents(
        sum_rows<LargestExponent>(backend_, S_.data(), n_, n_, ExponentTerm{columns.data()}).to_vector());
    const Array<int> rows(device(), row_exponents_);
    backend_.for_each(n_ * n_, ScaleElementsByExponents{S_.data(), n_, rows.data(), columns.data()});
    backend_.synchronize();
  }

  bool invert_by_elimination() {
    backend_.copy(n_ * n_, S_.data(), R_.data());
    backend_.synchronize();
    GaussJordanOptions options;
    options.tolerance = 0;
    const Report report = RowReduction<double>(device(), options).invert(R_.view());
    // The result is no inverse after a missing pivot or an overflow.
    return !report.column;
  }

  /// Inverts by the factors of the transpose: each column of its inverse, a row of R, then has a small
  /// residual with S on the right.
  bool invert_by_lu() {
    const DenseView<const double> transposed(S_.data(), n_, n_, n_, device(), Layout::row_major);
    Solver<double> solver = make_solver<double>("lu", device());
    solver.setup(transposed);
    Dense<double> X(device(), n_, n_);
    backend_.for_each(n_ * n_, FillIdentity{F_.data(), n_});
    backend_.synchronize();
    if (solver.solve(F_.view(), X.view()).columns.empty()) return false;
    backend_.for_each(n_ * n_, Transpose{X.data(), R_.data(), n_});
    backend_.synchronize();
    return true;
  }

  B backend_;
  std::int64_t n_;
  Dense<double> S_, R_, F_;
  std::vector<int> row_exponents_, column_exponents_;
};

}  // namespace

template <class Target, class T>
std::unique_ptr<InverseOperations> make_inverse_operations(Dense<T> A) {
  const Device device = A.device();
  return on_backend(device, [&]<class B>() -> std::unique_ptr<InverseOperations> {
    return std::make_unique<BackendOperations<B>>(in_double<B>(std::move(A)));
  });
}

template std::unique_ptr<InverseOperations> make_inverse_operations<ThisTarget>(Dense<float>);
template std::unique_ptr<InverseOperations> make_inverse_operations<ThisTarget>(Dense<double>);

}  // namespace echelon::certification
