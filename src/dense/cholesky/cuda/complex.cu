// SPDX-License-Identifier: BSD-3-Clause
// Dense Cholesky factorisation of Hermitian matrices on a GPU, by cuSOLVER.
#include "backend/cuda/cuda.cuh"
#include "backend/store.hpp"
#include "dense/factorization/cusolver.cuh"
#include "dense/factorization/magnitudes.cuh"
#include "dense/factorization/packed_factors.hpp"
#include "dense/factorization/scaling_steps.hpp"
#include "dense/mixed_precision/solver.hpp"
#include "linalg/vector/functors.hpp"
#include "solver/direct/direct_method.hpp"
#include "solver/direct/scales.hpp"
#include "solver/factor_status.hpp"
#include "solver/hermitian.hpp"
#include "solver/instantiate.hpp"

#include <echelon/methods/dense/cholesky.hpp>

#include <support/scalar_list.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace echelon {

namespace {

/// Real parts of the diagonal.
template <class T>
struct TakeRealDiagonal {
  DenseView<const T> A;
  double* to;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { to[i] = real(A.data()[i + i * A.leading()]); }
};

/// S A S = L L^H for a diagonal S of powers of two.
template <class B, class T>
class HermitianCholesky {
  /// A thread's handle.
  struct Space {
    explicit Space(const Device& device) : cusolver(device) {}
    [[nodiscard]] std::size_t bytes() const { return 0; }
    Cusolver cusolver;
  };

 public:
  HermitianCholesky(const Device& device, const CholeskyOptions& options)
      : device_(device), equilibrates_(options.equilibrate) {}

  Outcome factor(const direct::FactorContext<B, T>& context) {
    factors_ = Dense<T>();  // releases the old factors before the new ones are allocated
    Outcome outcome = require_hermitian(context.A, {}, Status::not_spd, "sparse-ldlt", "lu");
    if (!outcome.ok()) return outcome;
    factors_ = to_dense(context.A);
    if (equilibrates_) equilibrate(context);
    norm_ = norm_one(context.backend);
    if (!cusolver_) cusolver_.emplace(device_);
    if (context.control.stop_requested()) return cancelled_factorization();
    const int column = cusolver_->factor_cholesky(context.backend, factors_.rows(), factors_.data());
    if (context.control.stop_requested()) return cancelled_factorization();
    return column == 0 ? Outcome{} : not_positive(column - 1, "not positive");
  }

  [[nodiscard]] Space make_workspace(B& /*backend*/) const { return Space(device_); }

  /// The transpose of A is its conjugate.
  void substitute(direct::Operation operation, B& backend, Space& space, DenseView<T> X) const {
    const bool conjugated = operation == direct::Operation::transpose;
    const auto conjugate = [&] {
      using Elements = ViewElements<T>;
      backend.for_each(X.rows() * X.columns(), ConjugateElement{Elements(X), Elements(X)});
    };
    if (conjugated) conjugate();
    space.cusolver.substitute_cholesky(factors_, X);
    if (conjugated) conjugate();
  }

  /// Waits for cuSOLVER's status.
  void check(B& backend, Space& space) const { space.cusolver.status(backend); }

  [[nodiscard]] DeterminantProduct determinant(B& backend) const {
    DeterminantProduct product;
    for (const double pivot : diagonal(backend)) {
      for (int side = 0; side < 2; ++side) product.multiply(pivot);
    }
    return product;
  }
  [[nodiscard]] Inertia inertia() const { return {.positive = factors_.rows()}; }
  [[nodiscard]] MatrixFactors<T> factors(B& backend) const {
    MatrixFactors<T> result;
    result.form = FactorForm::cholesky;
    result.lower = triangle_on_host(backend, factors_.view(), {.lower = true, .unit_diagonal = false});
    return result;
  }
  [[nodiscard]] double norm() const { return norm_; }
  [[nodiscard]] std::size_t bytes() const { return factors_.bytes(); }

 private:
  [[nodiscard]] std::vector<double> diagonal(B& backend) const {
    Array<double> elements(device_, factors_.rows());
    backend.for_each(factors_.rows(), TakeRealDiagonal<T>{factors_.view(), elements.data()});
    return elements.to_vector();
  }

  /// Scales the diagonal elements to about 1. A diagonal that is not positive is reported by the
  /// factorisation.
  void equilibrate(const direct::FactorContext<B, T>& context) {
    const std::vector<double> elements = diagonal(context.backend);
    const auto [least, largest] = std::minmax_element(elements.begin(), elements.end());
    if (!(*least > 0) || *largest <= 10 * *least) return;
    std::vector<T> scale;
    for (const double element : elements) scale.push_back(T{std::ldexp(1.0, -std::ilogb(element) / 2)});
    context.scales.rows = Array<T>(device_, std::span<const T>(scale));
    context.scales.columns = Array<T>(device_, std::span<const T>(scale));
    scale_by<B, T>(context.backend, context.scales, factors_.view());
  }

  [[nodiscard]] double norm_one(B& backend) const {
    const std::int64_t n = factors_.rows();
    Array<double> sums(device_, n);
    Array<Largest> largest(device_, 1);
    magnitudes::for_columns<Sum>(device_, n, magnitudes::MatrixMagnitude<T>{factors_.view()}, sums.data());
    backend.reduce(n, LargestMagnitude<const double*>{sums.data()}, Store<Largest>{largest.data()});
    return backend.read(largest.data()).value;
  }

  Device device_;
  bool equilibrates_;
  std::optional<Cusolver> cusolver_;  // of set-ups
  Dense<T> factors_;
  double norm_ = 0;
};

}  // namespace

#define ECHELON_INSTANTIATE(T)                                                                               \
  template <>                                                                                                \
  std::unique_ptr<SolverImplementation<T>> make_implementation<CudaTarget>(const Device& device,             \
                                                                           const CholeskyOptions& options) { \
    return make_in_working_precision<DirectMethod<Cuda, T, HermitianCholesky<Cuda, T>>>(device, options);    \
  }
ECHELON_FOR_EACH_COMPLEX(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon
