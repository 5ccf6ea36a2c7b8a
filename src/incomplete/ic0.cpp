// SPDX-License-Identifier: BSD-3-Clause
#include "incomplete/preconditioner.hpp"
#include "incomplete/symmetry.hpp"
#include "solver/instantiate.hpp"
#include "support/text.hpp"

#include <echelon/error.hpp>
#include <echelon/matrix/transform.hpp>
#include <echelon/methods/ic0.hpp>

#include <support/scalar_list.hpp>

#include <cmath>
#include <complex>
#include <limits>
#include <optional>
#include <string>

namespace echelon {

namespace {

using namespace incomplete;

/// Shifts that follow 0, as multiples of the diagonal. Doubling costs few more factorisations than larger
/// steps and finds smaller shifts, with which fewer iterations are needed (docs/benchmarks/incomplete.md).
constexpr double first_shift = 1e-3;
constexpr double shift_growth = 2;
constexpr std::int64_t max_attempts = 16;

std::string place_text(std::int64_t row, std::int64_t column) {
  return std::string("(") + std::to_string(row) + ", " + std::to_string(column) + ")";
}

Outcome no_diagonal(std::int64_t row) {
  return {Status::not_spd,
          "ic0 needs a positive diagonal: element " + place_text(row, row) + " (from 0) is not stored", row};
}

std::string number_text(double number) {
  return short_number(number);
}
std::string number_text(std::complex<double> number) {
  return short_number(number.real()) + (std::signbit(number.imag()) ? " - " : " + ") +
         short_number(std::fabs(number.imag())) + "i";
}

template <class T>
Outcome not_definite(const NotDefinite<T>& fault) {
  const std::string element =
      "element " + place_text(fault.row, fault.column) + " (from 0) is " + number_text(fault.element);
  if (fault.row == fault.column) {
    return {Status::not_spd, "ic0 needs a positive diagonal: " + element, fault.row};
  }
  return {Status::not_spd,
          std::string("ic0 needs a ") + (is_complex<T> ? "Hermitian" : "symmetric") + " matrix: " + element +
              ", but element " + place_text(fault.column, fault.row) + " is " + number_text(fault.transposed),
          fault.row};
}

template <class B, class T>
class IncompleteCholesky final : public IncompleteFactorization<B, T> {
  using Base = IncompleteFactorization<B, T>;

 public:
  IncompleteCholesky(const Device& device, const Ic0Options& options) : Base(device), shift_(options.shift) {}

  /// L L^T is its transpose; that of L L^H is its conjugate.
  [[nodiscard]] OperatorTraits traits() const override { return {.is_transposable = !is_complex<T>}; }

  Outcome analyze(const MatrixRef<T>& A) override {
    if (!A.is_sparse()) {
      return {Status::breakdown, "ic0 needs a sparse matrix: a dense one has no pattern to keep to"};
    }
    complete_pattern_ = false;
    FirstIndex missing = split(this->backend_, *A.csr(), this->factors_);
    if (missing.value != FirstIndex::none) return no_diagonal(missing.value);
    if (!find_transposed(this->backend_, this->factors_, transposed_)) {
      complete_pattern_ = true;
      missing = split(this->backend_, symmetrize_pattern(*A.csr()), this->factors_);
      if (missing.value != FirstIndex::none ||
          !find_transposed(this->backend_, this->factors_, transposed_)) {
        throw InvalidMatrix("ic0: the columns of A do not ascend within its rows");
      }
    }
    this->order_ = RowOrderFor<B, T>(this->backend_, this->factors_.lower);
    return {};
  }

  Outcome update_values(const MatrixRef<T>& A) override {
    if (complete_pattern_) return factor_shifted(symmetrize_pattern(*A.csr()));
    return factor_shifted(*A.csr());
  }

  [[nodiscard]] std::size_t bytes() const override { return Base::bytes() + transposed_.bytes(); }

 private:
  /// A has the pattern of the triangles.
  Outcome factor_shifted(const Csr<T>& A) {
    double shift = shift_.value_or(0);
    load_values(this->backend_, A, static_cast<Real<T>>(1 + shift), this->factors_);
    const NotDefinite<T> fault = find_fault();
    if (fault.row != FirstIndex::none) return not_definite(fault);
    const std::int64_t limit = shift_ ? 1 : max_attempts;
    for (std::int64_t attempt = 1;; ++attempt) {
      const FirstIndex rejected = factor_once();
      if (rejected.value == FirstIndex::none) return succeeded(shift, attempt);
      if (attempt == limit) return broke_down(shift, rejected.value);
      shift = shift == 0 ? first_shift : shift_growth * shift;
      load_values(this->backend_, A, static_cast<Real<T>>(1 + shift), this->factors_);
    }
  }

  NotDefinite<T> find_fault() {
    constexpr Real<T> epsilon = std::numeric_limits<Real<T>>::epsilon();
    Array<NotDefinite<T>> found(this->device(), 1);
    this->backend_.reduce(
        this->factors_.rows(),
        FindNotDefinite<T>{TriangleRows<T>(this->factors_), transposed_.data(), std::sqrt(epsilon)},
        Store<NotDefinite<T>>{found.data()});
    return this->backend_.read(found.data());
  }

  FirstIndex factor_once() {
    constexpr Real<T> epsilon = std::numeric_limits<Real<T>>::epsilon();
    const CholeskyElimination<T> elimination{TriangleRows<T>(this->factors_), transposed_.data(),
                                             std::sqrt(epsilon)};
    return factor(this->backend_, this->order_, elimination, this->factors_.rows());
  }

  Outcome succeeded(double shift, std::int64_t attempts) {
    this->backend_.for_each(this->factors_.rows(),
                            CopyTransposed<T>{TriangleRows<T>(this->factors_), transposed_.data()});
    Outcome outcome;
    outcome.statistics = {{"shift", shift}, {"attempts", attempts}};
    return outcome;
  }

  Outcome broke_down(double shift, std::int64_t row) {
    const Diagonals<T> diagonal = read_diagonals(this->backend_, this->factors_, row);
    const double ratio = real(diagonal.upper) / real(diagonal.lower);
    return {Status::breakdown,
            "ic0 broke down with the shift " + short_number(shift) + ": the pivot of row " +
                std::to_string(row) + " (from 0) is " + short_number(ratio) +
                " times the diagonal element; a larger shift may help",
            row};
  }

  std::optional<double> shift_;
  bool complete_pattern_ = false;  // whether A lacks elements (k, i), and stores (i, k)
  Array<std::int32_t> transposed_;
};

}  // namespace

template <>
struct MethodWith<Ic0Options> {
  template <class B, class T>
  using Type = IncompleteCholesky<B, T>;
};

#define ECHELON_INSTANTIATE(T)                                                                     \
  template std::unique_ptr<SolverImplementation<T>> make_implementation<ThisTarget>(const Device&, \
                                                                                    const Ic0Options&);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon
