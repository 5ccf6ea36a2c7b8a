// SPDX-License-Identifier: BSD-3-Clause
#include "backend/host/host.hpp"
#include "dense/factorization/blocked_lu.hpp"
#include "dense/factorization/complex_lu.hpp"
#include "dense/factorization/packed_factors.hpp"
#include "dense/factorization/qr_after_growth.hpp"
#include "dense/factorization/scaling.hpp"
#include "dense/factorization/zero_diagonal.hpp"
#include "linalg/blas/blas.hpp"
#include "linalg/blas/lapack.hpp"
#include "solver/direct/direct_method.hpp"
#include "solver/instantiate.hpp"

#include <echelon/methods/dense/lapack_lu.hpp>

#include <support/scalar_list.hpp>

#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace echelon {

namespace {

template <class B, class T>
class LapackFactorization {
  using Operation = direct::Operation;

 public:
  using Scope = blas::Threads;
  static constexpr bool calls_blas = true;
  static constexpr bool assesses_condition = true;  // of LU by LAPACK

  LapackFactorization(const Device&, const LapackLuOptions& options) : equilibrate_(options.equilibrate) {}

  Outcome factor(const direct::FactorContext<B, T>& context) {
    qr_.clear();
    pivots_.clear();
    const int n = blas::dimension(context.A.rows());
    if (Outcome scaled = lu::copy_scaled(context, equilibrate_, factors_, norms_); !scaled.ok())
      return scaled;
    T* const a = factors_.data();
    pivots_.assign(static_cast<std::size_t>(n), 0);
    const BlockedLuResult lu = factor_blocked_lu(n, a, pivots_.data(), context.control);
    if (lu.cancelled) return cancelled_factorization();
    const double growth = static_cast<double>(lapack::upper_norm_max(n, a)) / norms_.largest;
    if (!(growth <= acceptable_growth<T>(n))) return qr_.factor(context, factors_, growth, norms_.largest);
    if (lu.zero_pivot > 0)
      return lu::replace_zero_pivots(context.backend, context.A, factors_, lu.zero_pivot - 1, norms_.largest);
    Outcome outcome = assess_condition<T>(lapack::reciprocal_condition(n, a, static_cast<T>(norms_.one)));
    outcome.statistics = {{"factorization", "lu"}, {"pivot_growth", growth}};
    return outcome;
  }

  void substitute(Operation operation, B& backend, direct::NoSpace& /*space*/, DenseView<T> X) const {
    const bool transposed = operation == Operation::transpose;
    if (!qr_.serves()) {
      lapack::getrs(transposed, static_cast<int>(X.rows()), static_cast<int>(X.columns()), factors_.data(),
                    pivots_.data(), X.data(), blas::dimension(X.leading()));
    } else {
      qr_.substitute(backend, transposed, factors_, X);
    }
  }

  [[nodiscard]] DeterminantProduct determinant(B& /*backend*/) const {
    DeterminantProduct product;
    multiply_by_diagonal(product, factors_);
    if (!qr_.serves()) {
      count_exchanges(product, pivots_, 1);
    } else {
      qr_.multiply(product);
    }
    return product;
  }
  [[nodiscard]] MatrixFactors<T> factors(B& backend) const {
    qr_.check_factors();
    MatrixFactors<T> result;
    result.lower = copy_triangle(backend, factors_.view(), {.lower = true, .unit_diagonal = true});
    result.upper = copy_triangle(backend, factors_.view(), {.lower = false, .unit_diagonal = false});
    result.row_permutation = permutation_by_exchanges(factors_.rows(), pivots_, 1);
    return result;
  }
  [[nodiscard]] double norm() const { return norms_.one; }
  [[nodiscard]] std::size_t bytes() const {
    return factors_.bytes() + pivots_.size() * sizeof(int) + qr_.bytes();
  }

 private:
  bool equilibrate_;
  Dense<T> factors_;  // of LU, or of QR
  lu::ScaledNorms norms_;
  std::vector<int> pivots_;
  lu::QrAfterGrowth<B, T> qr_;
};

}  // namespace

template <>
struct MethodWith<LapackLuOptions> {
  template <class B, class T>
  using Type = DirectMethod<B, T, LapackFactorization<B, T>>;
};

template std::unique_ptr<SolverImplementation<float>> make_implementation<HostTarget>(const Device&,
                                                                                      const LapackLuOptions&);
template std::unique_ptr<SolverImplementation<double>> make_implementation<HostTarget>(
    const Device&, const LapackLuOptions&);

#define ECHELON_INSTANTIATE(T)                                                                               \
  template <>                                                                                                \
  std::unique_ptr<SolverImplementation<T>> make_implementation<HostTarget>(const Device& device,             \
                                                                           const LapackLuOptions& options) { \
    return std::make_unique<DirectMethod<Host, T, lu::ComplexLuFactorization<Host, T>>>(device, options);    \
  }
ECHELON_FOR_EACH_COMPLEX(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon
