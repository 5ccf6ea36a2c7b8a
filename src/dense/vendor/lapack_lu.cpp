// SPDX-License-Identifier: BSD-3-Clause
#include "backend/host/host.hpp"
#include "dense/factorization/scaling.hpp"
#include "dense/vendor/blocked_lu.hpp"
#include "linalg/blas/blas.hpp"
#include "linalg/blas/lapack.hpp"
#include "solver/direct/direct_method.hpp"
#include "solver/instantiate.hpp"

#include <echelon/methods/dense/lapack_lu.hpp>

#include <cstddef>
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
    tau_.clear();
    pivots_.clear();
    const int n = blas::dimension(context.A.rows());
    if (Outcome scaled = lu::copy_scaled(context, equilibrate_, factors_, norms_); !scaled.ok())
      return scaled;
    T* const a = factors_.data();
    pivots_.assign(static_cast<std::size_t>(n), 0);
    const BlockedLuResult lu = factor_blocked_lu(n, a, pivots_.data(), context.cancel);
    if (lu.cancelled) return cancelled_factorization();
    const double growth = static_cast<double>(lapack::upper_norm_max(n, a)) / norms_.largest;
    if (!(growth <= acceptable_growth<T>(n))) return factor_qr(context, growth);
    if (lu.zero_pivot > 0) return zero_pivot(lu.zero_pivot - 1);
    Outcome outcome = assess_condition<T>(lapack::reciprocal_condition(n, a, static_cast<T>(norms_.one)));
    outcome.statistics = {{"factorization", "lu"}, {"pivot_growth", growth}};
    return outcome;
  }

  void substitute(Operation operation, B& /*backend*/, direct::NoSpace& /*space*/, DenseView<T> X) const {
    const bool transposed = operation == Operation::transpose;
    if (tau_.empty()) {
      lapack::getrs(transposed, static_cast<int>(X.rows()), static_cast<int>(X.columns()), factors_.data(),
                    pivots_.data(), X.data(), blas::dimension(X.leading()));
    } else {
      substitute_qr(transposed, X);
    }
  }

  [[nodiscard]] double norm() const { return norms_.one; }
  [[nodiscard]] std::size_t bytes() const {
    return factors_.bytes() + pivots_.size() * sizeof(int) + tau_.size() * sizeof(T);
  }

 private:
  /// Factors A = Q R, which is backward stable for every A, at twice the flops of LU.
  Outcome factor_qr(const direct::FactorContext<B, T>& context, double growth) {
    const auto n = static_cast<int>(factors_.rows());
    lu::restore_scaled(context, factors_);
    tau_.assign(static_cast<std::size_t>(n), T{0});
    if (context.cancel.stop_requested()) return cancelled_factorization();
    lapack::geqrf(n, factors_.data(), tau_.data());
    for (int i = 0; i < n; ++i) {
      if (factors_(i, i) == 0) return zero_pivot(i);
    }
    Outcome outcome = assess_condition<T>(context.reciprocal_condition());
    outcome.warnings.push_back(growth_warning(growth));
    outcome.statistics = {{"factorization", "qr"}, {"pivot_growth", growth}};
    return outcome;
  }

  /// Computes X = R^-1 Q^T X, or Q R^-T X.
  void substitute_qr(bool transposed, DenseView<T> X) const {
    const T* const qr = factors_.data();
    const int n = static_cast<int>(X.rows());
    const int columns = static_cast<int>(X.columns());
    const int leading = blas::dimension(X.leading());
    if (!transposed) lapack::multiply_by_q(true, n, columns, qr, tau_.data(), X.data(), leading);
    blas::trsm(CblasUpper, transposed ? CblasTrans : CblasNoTrans, CblasNonUnit, n, columns, qr, n, X.data(),
               leading);
    if (transposed) lapack::multiply_by_q(false, n, columns, qr, tau_.data(), X.data(), leading);
  }

  bool equilibrate_;
  Dense<T> factors_;  // of LU, or of QR
  lu::ScaledNorms norms_;
  std::vector<int> pivots_;
  std::vector<T> tau_;  // of QR's reflections; empty: LU
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

}  // namespace echelon
