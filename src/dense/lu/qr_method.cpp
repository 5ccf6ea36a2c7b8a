// SPDX-License-Identifier: BSD-3-Clause
// Dense QR factorisation as a Solver: of a square matrix, or with column pivoting of any other.
#include "dense/factorization/orthogonal.hpp"
#include "dense/factorization/packed_factors.hpp"
#include "dense/factorization/qr.hpp"
#include "dense/factorization/scaling.hpp"
#include "dense/factorization/zero_diagonal.hpp"
#include "solver/direct/decomposition_method.hpp"
#include "solver/direct/direct_method.hpp"
#include "solver/factor_status.hpp"
#include "solver/instantiate.hpp"

#include <echelon/methods/dense/qr.hpp>

#include <support/scalar_list.hpp>

#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

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
    if (zero < 0) return {};
    return replace_zero_pivots(context.backend, context.A, factors_, zero, norms_.largest);
  }

  void substitute(direct::Operation operation, B& backend, direct::NoSpace& /*space*/, DenseView<T> X) const {
    substitute_qr<T>(backend, operation == direct::Operation::transpose, factors_.view(), tau_.data(), X);
  }

  [[nodiscard]] DeterminantProduct determinant(B& backend) const {
    DeterminantProduct product;
    for (const double pivot : diagonal_on_host(backend, factors_)) product.multiply(pivot);
    multiply_by_reflections(product, tau_.to_vector());
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

template <class B, class T>
using DenseDecompositionMethod = DecompositionMethod<B, T, OrthogonalDecomposition<B, T>, QrOptions>;

/// Solves with a square A by its QR factors, and with any other by a complete orthogonal decomposition.
template <class B, class T>
class QrMethod final : public DirectMethod<B, T, QrFactorization<B, T>> {
  using Square = DirectMethod<B, T, QrFactorization<B, T>>;

 public:
  QrMethod(const Device& device, const QrOptions& options) : Square(device, options), options_(options) {}

  [[nodiscard]] bool takes_any_shape() const override { return true; }
  [[nodiscard]] bool takes_any_rank() const override { return decomposes(); }
  [[nodiscard]] bool minimizes_residual() const override { return decomposes(); }
  [[nodiscard]] double truncation() const override { return options_.tolerance.value_or(0); }
  [[nodiscard]] std::string_view solution_kind() const override {
    return decomposes() ? decomposed_->solution_kind() : Square::solution_kind();
  }

  Outcome setup(const MatrixRef<T>& A) override {
    decomposed_.reset();
    if (A.rows() == A.columns()) return Square::setup(A);
    decomposed_.emplace(this->device(), options_);
    decomposed_->set_control(this->control());
    return decomposed_->setup(A);
  }
  Outcome update_values(const MatrixRef<T>& A) override { return setup(A); }
  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const override {
    return decomposes() ? decomposed_->make_workspace() : Square::make_workspace();
  }
  [[nodiscard]] std::size_t bytes() const override {
    return decomposes() ? decomposed_->bytes() : Square::bytes();
  }
  [[nodiscard]] std::unique_ptr<SolverImplementation<T>> transposed() const override {
    return decomposes() ? nullptr : Square::transposed();
  }
  [[nodiscard]] MatrixRef<T> factored_matrix() const override {
    return decomposes() ? decomposed_->factored_matrix() : Square::factored_matrix();
  }
  [[nodiscard]] double column_spread() const override {
    return decomposes() ? decomposed_->column_spread() : Square::column_spread();
  }
  [[nodiscard]] Determinant determinant() const override {
    return decomposes() ? decomposed_->determinant() : Square::determinant();
  }
  void solve(Workspace& workspace, DenseView<const T> rhs, DenseView<T> X,
             std::vector<Job>& jobs) const override {
    if (decomposes()) return decomposed_->solve(workspace, rhs, X, jobs);
    Square::solve(workspace, rhs, X, jobs);
  }

 private:
  [[nodiscard]] bool decomposes() const { return decomposed_.has_value(); }

  QrOptions options_;
  std::optional<DenseDecompositionMethod<B, T>> decomposed_;  // of an A that is not square
};

}  // namespace lu

template <>
struct MethodWith<QrOptions> {
  template <class B, class T>
  using Type = lu::QrMethod<B, T>;
};

template std::unique_ptr<SolverImplementation<float>> make_implementation<ThisTarget>(const Device&,
                                                                                      const QrOptions&);
template std::unique_ptr<SolverImplementation<double>> make_implementation<ThisTarget>(const Device&,
                                                                                       const QrOptions&);

#define ECHELON_INSTANTIATE(T)                                                                         \
  template <>                                                                                          \
  std::unique_ptr<SolverImplementation<T>> make_implementation<ThisTarget>(const Device& device,       \
                                                                           const QrOptions& options) { \
    return std::make_unique<lu::DenseDecompositionMethod<ThisTarget::Backend, T>>(device, options);    \
  }
ECHELON_FOR_EACH_COMPLEX(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon
