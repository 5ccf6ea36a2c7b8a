// SPDX-License-Identifier: BSD-3-Clause
/// Solvers of the coarsest level.
#pragma once

#include "multigrid/coarse_solvers/dense_inverse.hpp"
#include "multigrid/coarsening/real_companion.hpp"
#include "multigrid/smoothers/smoother.hpp"

#include <echelon/solver.hpp>
#include <echelon/sparse_direct.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace echelon::multigrid {

/// x = M b for the coarsest A: a fixed linear operator, symmetric if A is. Read-only after set-up.
template <class B, class T>
class CoarseSolver {
 public:
  CoarseSolver() = default;
  CoarseSolver(const CoarseSolver&) = delete;
  CoarseSolver& operator=(const CoarseSolver&) = delete;
  virtual ~CoarseSolver() = default;

  [[nodiscard]] virtual std::string name() const = 0;
  [[nodiscard]] virtual std::unique_ptr<Workspace> make_workspace(int /*columns*/) const { return nullptr; }
  [[nodiscard]] virtual std::size_t bytes() const = 0;
  /// True if every apply() queues the same work without waiting, as in Smoother::is_recordable.
  [[nodiscard]] virtual bool is_recordable() const { return false; }
  /// Dimension of the null space of A as far as the solver knows it.
  [[nodiscard]] virtual std::int64_t null_space() const { return 0; }
  virtual void solve(const SmootherArguments<B, T>& arguments) const = 0;
};

/// Coarse solver that multiplies by the inverse, or by the pseudo-inverse of a singular A.
template <class B, class T>
class InverseSolver final : public CoarseSolver<B, T> {
 public:
  explicit InverseSolver(DenseInverse<T> inverse) : inverse_(std::move(inverse)) {}
  [[nodiscard]] std::string name() const override {
    return inverse_.null_space > 0 ? "pseudo-inverse" : "inverse";
  }
  [[nodiscard]] std::size_t bytes() const override { return inverse_.transpose.bytes(); }
  [[nodiscard]] bool is_recordable() const override { return true; }
  [[nodiscard]] std::int64_t null_space() const override { return inverse_.null_space; }
  void solve(const SmootherArguments<B, T>& a) const override {
    for_dense_column_products(a.backend, inverse_.transpose.rows(), inverse_.transpose.data(), a.x.columns(),
                              [&](int c) {
                                return VectorProduct{a.b[c], PutElement<T>{a.x[c]}};
                              });
  }

 private:
  DenseInverse<T> inverse_;
};

/// Coarse solver that substitutes with a sparse factorisation.
template <class B, class T>
class DirectSolver final : public CoarseSolver<B, T> {
 public:
  /// `solver` has been set up for A.
  explicit DirectSolver(Solver<T> solver) : solver_(std::move(solver)) {}
  [[nodiscard]] std::string name() const override { return nested().name(); }
  [[nodiscard]] std::unique_ptr<Workspace> make_workspace(int /*columns*/) const override {
    return nested().make_workspace();
  }
  [[nodiscard]] std::size_t bytes() const override { return nested().bytes(); }
  void solve(const SmootherArguments<B, T>& a) const override {
    apply_as_alone<T>(nested(), *a.workspace, a.b, a.x);
  }

 private:
  [[nodiscard]] SolverImplementation<T>& nested() const { return SolverAccess<T>::implementation(solver_); }
  Solver<T> solver_;
};

/// DirectSolver by the host, which works on copies of the vectors, for a device without sparse
/// factorisations.
template <class B, class T>
class HostedDirectSolver final : public CoarseSolver<B, T> {
  struct Copies final : Workspace {
    [[nodiscard]] std::size_t bytes() const override {
      return nested->bytes() + (b.size() + x.size()) * sizeof(T);
    }
    std::unique_ptr<Workspace> nested;
    std::vector<T> b, x;
  };

 public:
  /// `solver` has been set up for the copy `A` on the host.
  HostedDirectSolver(std::unique_ptr<Csr<T>> A, Solver<T> solver)
      : A_(std::move(A)), solver_(std::move(solver)) {}
  [[nodiscard]] std::string name() const override { return nested().name(); }
  [[nodiscard]] std::unique_ptr<Workspace> make_workspace(int /*columns*/) const override {
    auto copies = std::make_unique<Copies>();
    copies->nested = nested().make_workspace();
    copies->b.resize(static_cast<std::size_t>(A_->rows()));
    copies->x.resize(copies->b.size());
    return copies;
  }
  [[nodiscard]] std::size_t bytes() const override { return A_->bytes() + nested().bytes(); }
  void solve(const SmootherArguments<B, T>& a) const override {
    auto& own = static_cast<Copies&>(*a.workspace);
    const Device& device = a.backend.device();
    const std::int64_t n = A_->rows();
    const std::size_t bytes = own.b.size() * sizeof(T);
    for (int c = 0; c < a.x.columns(); ++c) {
      memory_detail::copy(Device(), own.b.data(), device, a.b[c], bytes);
      nested().apply(*own.nested, MultiVector<const T>(own.b.data(), n), MultiVector<T>(own.x.data(), n));
      memory_detail::copy(device, a.x[c], Device(), own.x.data(), bytes);
    }
  }

 private:
  [[nodiscard]] SolverImplementation<T>& nested() const { return SolverAccess<T>::implementation(solver_); }
  std::unique_ptr<Csr<T>> A_;
  Solver<T> solver_;
};

/// Coarse solver that applies a few steps of the smoother, for a level too large for a factorisation.
template <class B, class T>
class SmoothingSolver final : public CoarseSolver<B, T> {
 public:
  explicit SmoothingSolver(std::unique_ptr<Smoother<B, T>> smoother) : smoother_(std::move(smoother)) {}
  [[nodiscard]] std::string name() const override { return "smoother"; }
  [[nodiscard]] std::unique_ptr<Workspace> make_workspace(int columns) const override {
    return smoother_->make_workspace(columns);
  }
  [[nodiscard]] std::size_t bytes() const override { return smoother_->bytes(); }
  [[nodiscard]] bool is_recordable() const override { return smoother_->is_recordable(); }
  void solve(const SmootherArguments<B, T>& arguments) const override {
    smoother_->start(arguments);
    for (int step = 1; step < steps; ++step) smoother_->pre_smooth(arguments);
    for (int step = 0; step < steps; ++step) smoother_->post_smooth(arguments);
  }

 private:
  static constexpr int steps = 2;  ///< pre-smoothing steps, and as many adjoint ones: M is symmetric
  std::unique_ptr<Smoother<B, T>> smoother_;
};

/// Largest number of rows for which the coarsest matrix is inverted, and that for complex matrices, which are
/// inverted as real ones of twice the order.
inline constexpr std::int64_t largest_inverse = 1024;
inline constexpr std::int64_t largest_complex_inverse = largest_inverse / 2;
/// Limits of a sparse factorisation of the coarsest matrix: flops, and bytes per nonzero.
inline constexpr double factor_flops = 2e10;
inline constexpr double factor_bytes_per_nonzero = 400;

/// Coarsest matrix of a hierarchy, and its inverse if that came with the null space.
template <class T>
struct CoarsestMatrix {
  const Csr<T>& A;
  bool symmetric = true;     ///< or, if it is complex, Hermitian
  HostInverse inverse = {};  ///< 0 by 0 if it is still to be computed
};

/// Makes the solver for the coarsest A; null if A has elements that are not finite. A is `exact` times
/// `scale`; `exact` may have a higher precision, because a singular matrix becomes regular when its elements
/// are rounded. Calls make_smoother() if A is too large for a factorisation. Waits.
template <class B, class T, class Exact, class MakeSmoother>
std::unique_ptr<CoarseSolver<B, T>> make_coarse_solver(B& backend, const Csr<T>& A,
                                                       const CoarsestMatrix<Exact>& exact, double scale,
                                                       const MakeSmoother& make_smoother) {
  if (A.rows() <= (is_complex<T> ? largest_complex_inverse : largest_inverse)) {
    const bool is_known = exact.inverse.transpose.rows() == A.rows();
    auto inverse = is_known ? rounded_inverse<T>(exact.inverse, scale, A.device())
                            : dense_inverse<T>(exact.A, scale, exact.symmetric);
    if (inverse.transpose.rows() != A.rows()) return nullptr;
    return std::make_unique<InverseSolver<B, T>>(std::move(inverse));
  }
  const FactorPrediction prediction = predict_factor(real_companion(backend, A), Ordering::amd);
  constexpr double flops_ratio = is_complex<T> ? 4 : 1;
  if (flops_ratio * prediction.flops <= factor_flops &&
      static_cast<double>(prediction.bytes) <= factor_bytes_per_nonzero * static_cast<double>(A.nonzeros())) {
    for (const bool cholesky : {true, false}) {
      if (cholesky && !exact.symmetric) continue;
      const char* const method = cholesky ? "sparse-cholesky" : "sparse-lu";
      const bool runs_there = find_method(method).runs_on(A.device());
      Solver<T> solver = make_solver<T>(method, runs_there ? A.device() : Device());
      if (runs_there) {
        if (solver.setup(A).ready()) return std::make_unique<DirectSolver<B, T>>(std::move(solver));
      } else {
        auto copy = std::make_unique<Csr<T>>(A.to(Device()));
        if (solver.setup(*copy).ready())
          return std::make_unique<HostedDirectSolver<B, T>>(std::move(copy), std::move(solver));
      }
    }
  }
  return std::make_unique<SmoothingSolver<B, T>>(make_smoother());
}

}  // namespace echelon::multigrid
