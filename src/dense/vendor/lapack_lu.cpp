// SPDX-License-Identifier: BSD-3-Clause
#include "backend/openmp/openmp.hpp"
#include "backend/serial/serial.hpp"
#include "dense/factorization/host_factorization.hpp"
#include "dense/vendor/blocked_lu.hpp"
#include "solver/instantiate.hpp"

#include <echelon/methods/dense/lapack_lu.hpp>

namespace echelon {

namespace {

template <class B, class T>
class LapackFactorization final : public HostFactorization<B, T> {
 public:
  LapackFactorization(const Device& device, const LapackLuOptions& options)
      : HostFactorization<B, T>(device, options.equilibrate, options.refine) {}

  [[nodiscard]] std::size_t bytes() const override {
    return HostFactorization<B, T>::bytes() + pivots_.size() * sizeof(int) + tau_.size() * sizeof(T);
  }

 private:
  void clear() override {
    tau_.clear();
    pivots_.clear();
  }

  Outcome factor(int n) override {
    T* const a = this->factors().data();
    pivots_.assign(static_cast<std::size_t>(n), 0);
    const T norm = lapack::norm_one(n, a);
    const T largest = lapack::norm_max(n, a);
    const BlockedLuResult lu = factor_blocked_lu(n, a, pivots_.data(), this->cancel());
    if (lu.cancelled) return cancelled_factorization();
    const double growth = static_cast<double>(lapack::upper_norm_max(n, a) / largest);
    if (!(growth <= acceptable_growth<T>(n))) return factor_qr(n, norm, growth);
    if (lu.zero_pivot > 0) return zero_pivot(lu.zero_pivot - 1);
    Outcome outcome = assess_condition<T>(lapack::reciprocal_condition(n, a, norm));
    outcome.statistics = {{"factorization", "lu"}, {"pivot_growth", growth}};
    return outcome;
  }

  /// Factors A = Q R, which is backward stable for every A, at twice the flops of LU.
  Outcome factor_qr(int n, T norm, double growth) {
    this->restore_matrix();
    tau_.assign(static_cast<std::size_t>(n), T{0});
    if (this->cancel().stop_requested()) return cancelled_factorization();
    lapack::geqrf(n, this->factors().data(), tau_.data());
    for (int i = 0; i < n; ++i) {
      if (this->factors()(i, i) == 0) return zero_pivot(i);
    }
    Outcome outcome = assess_condition<T>(this->reciprocal_condition(norm));
    outcome.warnings.push_back(growth_warning(growth));
    outcome.statistics = {{"factorization", "qr"}, {"pivot_growth", growth}};
    return outcome;
  }

  void substitute_factors(bool transposed, DenseView<T> X) const override {
    if (tau_.empty()) {
      lapack::getrs(transposed, static_cast<int>(X.rows()), static_cast<int>(X.columns()),
                    this->factors().data(), pivots_.data(), X.data(), blas::dimension(X.leading()));
    } else {
      substitute_qr(transposed, X);
    }
  }

  /// Computes X = R^-1 Q^T X, or Q R^-T X.
  void substitute_qr(bool transposed, DenseView<T> X) const {
    const T* const qr = this->factors().data();
    const int n = static_cast<int>(X.rows());
    const int columns = static_cast<int>(X.columns());
    const int leading = blas::dimension(X.leading());
    if (!transposed) lapack::multiply_by_q(true, n, columns, qr, tau_.data(), X.data(), leading);
    blas::trsm(CblasUpper, transposed ? CblasTrans : CblasNoTrans, CblasNonUnit, n, columns, qr, n, X.data(),
               leading);
    if (transposed) lapack::multiply_by_q(false, n, columns, qr, tau_.data(), X.data(), leading);
  }

  std::vector<int> pivots_;
  std::vector<T> tau_;  // of QR's reflections; empty: LU
};

}  // namespace

template <>
struct MethodWith<LapackLuOptions> {
  template <class B, class T>
  using Type = LapackFactorization<B, T>;
};

template std::unique_ptr<SolverImplementation<float>> make_implementation<HostTarget>(const Device&,
                                                                                      const LapackLuOptions&);
template std::unique_ptr<SolverImplementation<double>> make_implementation<HostTarget>(
    const Device&, const LapackLuOptions&);

}  // namespace echelon
