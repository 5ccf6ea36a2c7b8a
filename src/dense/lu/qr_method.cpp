// SPDX-License-Identifier: BSD-3-Clause
// Dense QR factorisation of a square matrix as a Solver.
#include "backend/host/host.hpp"
#include "dense/factorization/packed_factors.hpp"
#include "dense/factorization/qr.hpp"
#include "dense/factorization/scaling.hpp"
#include "dense/factorization/zero_diagonal.hpp"
#include "solver/direct/direct_method.hpp"
#include "solver/factor_status.hpp"
#include "solver/instantiate.hpp"

#include <echelon/methods/dense/qr.hpp>

#include <cstddef>
#include <cstdint>

namespace echelon {

namespace lu {

/// R A C = Q R' for scales R and C.
template <class B, class T>
class QrFactorization {
 public:
  QrFactorization(const Device& /*device*/, const QrOptions& options) : equilibrate_(options.equilibrate) {}

  Outcome factor(const direct::FactorContext<B, T>& context) {
    if (Outcome scaled = copy_scaled(context, equilibrate_, factors_, norms_); !scaled.ok()) return scaled;
    tau_ = Array<T>(context.backend.device(), factors_.rows());
    if (!factor_qr<T>(context.backend, factors_.view(), tau_.data(), context.control))
      return cancelled_factorization();
    const std::int64_t zero = first_zero_on_diagonal(context.backend, factors_);
    return zero >= 0 ? zero_pivot(zero) : Outcome();
  }

  void substitute(direct::Operation operation, B& backend, direct::NoSpace& /*space*/, DenseView<T> X) const {
    substitute_qr<T>(backend, operation == direct::Operation::transpose, factors_.view(), tau_.data(), X);
  }

  [[nodiscard]] DeterminantProduct determinant(B& /*backend*/) const {
    DeterminantProduct product;
    multiply_by_diagonal(product, factors_);
    count_reflections(product, tau_.to_vector());
    return product;
  }
  [[nodiscard]] double norm() const { return norms_.one; }
  [[nodiscard]] std::size_t bytes() const { return factors_.bytes() + tau_.bytes(); }

 private:
  bool equilibrate_;
  Dense<T> factors_;  // R' above the vectors of the reflections
  Array<T> tau_;      // their factors
  ScaledNorms norms_;
};

}  // namespace lu

template <>
struct MethodWith<QrOptions> {
  template <class B, class T>
  using Type = DirectMethod<B, T, lu::QrFactorization<B, T>>;
};

template std::unique_ptr<SolverImplementation<float>> make_implementation<HostTarget>(const Device&,
                                                                                      const QrOptions&);
template std::unique_ptr<SolverImplementation<double>> make_implementation<HostTarget>(const Device&,
                                                                                       const QrOptions&);

}  // namespace echelon
