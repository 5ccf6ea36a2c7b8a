// SPDX-License-Identifier: BSD-3-Clause
// Dense LU with partial pivoting as a Solver.
#include "dense/mixed_precision/solver.hpp"

#include "backend/target.hpp"
#include "dense/lu/dense_factorization.hpp"
#include "solver/direct/direct_method.hpp"
#include "solver/instantiate.hpp"

#include <memory>

namespace echelon {

namespace {

template <class B, class T>
using LuMethod = DirectMethod<B, T, lu::DenseFactorization<B, T>>;

/// LU with factors in a lower precision. Solves with the transpose take factors in the working precision.
template <class B, class T>
class MixedPrecisionLu final : public MixedPrecisionSolver<B, T, LuMethod, LuOptions> {
  using Base = MixedPrecisionSolver<B, T, LuMethod, LuOptions>;

 public:
  using Base::Base;
  [[nodiscard]] MatrixRef<T> factored_matrix() const override { return this->matrix(); }
  [[nodiscard]] std::unique_ptr<SolverImplementation<T>> transposed() const override {
    return this->working().transposed();
  }
};

}  // namespace

template <>
std::unique_ptr<SolverImplementation<float>> make_implementation<ThisTarget>(const Device& device,
                                                                             const LuOptions& options) {
  return make_in_factor_precision<LuMethod, MixedPrecisionLu, float>(device, options);
}
template <>
std::unique_ptr<SolverImplementation<double>> make_implementation<ThisTarget>(const Device& device,
                                                                              const LuOptions& options) {
  return make_in_factor_precision<LuMethod, MixedPrecisionLu, double>(device, options);
}

}  // namespace echelon
