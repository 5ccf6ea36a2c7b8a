// SPDX-License-Identifier: BSD-3-Clause
// Dense QR factorisation as a Solver: of a square matrix, or with column pivoting of any other.
#include "backend/host/host.hpp"
#include "dense/factorization/orthogonal.hpp"
#include "dense/factorization/packed_factors.hpp"
#include "dense/factorization/qr.hpp"
#include "dense/factorization/scaling.hpp"
#include "dense/factorization/zero_diagonal.hpp"
#include "linalg/residual_check.hpp"
#include "linalg/vector/rounding_sample.hpp"
#include "matrix/views/transposed_matrix.hpp"
#include "solver/direct/direct_method.hpp"
#include "solver/direct/normal_corrections.hpp"
#include "solver/factor_status.hpp"
#include "solver/instantiate.hpp"
#include "support/machine_epsilon.hpp"
#include "support/scalar.hpp"
#include "support/text.hpp"

#include <echelon/error.hpp>
#include <echelon/methods/dense/qr.hpp>

#include <fmt/format.h>
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

  [[nodiscard]] DeterminantProduct determinant(B& /*backend*/) const {
    DeterminantProduct product;
    multiply_by_diagonal(product, factors_);
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

/// Solves by a complete orthogonal decomposition of A, on the host: in the sense of least squares, with the
/// rank.
template <class T>
class DecompositionMethod final : public SolverImplementation<T> {
  /// Vectors of the refinement of a right-hand side.
  struct RefinementVectors : Workspace {
    RefinementVectors(const Device& device, std::int64_t m, std::int64_t n)
        : check(make_residual_check<HostTarget, T>(device)),
          zero(std::vector<T>(static_cast<std::size_t>(n), T{0})),
          r(device, m, 1),
          g(device, n, 1),
          d(device, n, 1),
          candidate(device, n, 1) {}
    [[nodiscard]] std::size_t bytes() const override { return r.bytes() + 4 * g.bytes(); }
    std::unique_ptr<ResidualCheck<T>> check;
    std::vector<T> zero;
    Dense<T> r, g, d, candidate;  // b - A x, A^H r, the correction, x + d
  };

 public:
  DecompositionMethod(const Device& device, const QrOptions& options)
      : SolverImplementation<T>(device), options_(options) {}

  [[nodiscard]] bool takes_any_shape() const override { return true; }
  [[nodiscard]] bool takes_any_rank() const override { return true; }
  [[nodiscard]] bool minimizes_residual() const override { return true; }
  [[nodiscard]] double truncation() const override { return options_.tolerance.value_or(0); }
  [[nodiscard]] std::string_view solution_kind() const override {
    if (options_.solution == QrSolution::basic) return "a basic one";
    return decomposition_.scaled() && !decomposition_.wide() ? "the one of least norm in scaled unknowns"
                                                             : "the one of least norm";
  }

  Outcome setup(const MatrixRef<T>& A) override {
    A_ = A;
    transpose_.form(A);
    const bool basic = options_.solution == QrSolution::basic;
    if (!decomposition_.factor(this->device(), A, options_.tolerance, basic, this->control()))
      return cancelled_factorization();
    const DecomposedRank& found = decomposition_.rank();
    Outcome outcome;
    outcome.rank = found.rank;
    outcome.reciprocal_condition = decomposition_.reciprocal_condition();
    if (found.doubtful) {
      outcome.warnings.push_back(
          fmt::format("the rank {} of A is doubtful: of the pivots relative to the largest, the smallest "
                      "accepted is {} and "
                      "the largest rejected {}, with the tolerance {}",
                      found.rank, short_number(found.smallest_accepted), short_number(found.largest_rejected),
                      short_number(found.tolerance)));
    }
    outcome.statistics = {{"tolerance", found.tolerance},
                          {"smallest_accepted_pivot", found.smallest_accepted},
                          {"largest_rejected_pivot", found.largest_rejected}};
    if (found.doubtful) outcome.statistics.push_back({"doubtful", std::int64_t{1}});
    return outcome;
  }
  Outcome update_values(const MatrixRef<T>& A) override { return setup(A); }
  [[nodiscard]] Determinant determinant() const override {
    if (A_.rows() != A_.columns()) throw DimensionMismatch("only a square matrix has a determinant");
    return decomposition_.determinant();
  }
  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const override {
    return std::make_unique<RefinementVectors>(this->device(), A_.rows(), A_.columns());
  }
  [[nodiscard]] std::size_t bytes() const override { return decomposition_.bytes() + transpose_.bytes(); }
  [[nodiscard]] MatrixRef<T> factored_matrix() const override { return A_; }

  void solve(Workspace& workspace, DenseView<const T> rhs, DenseView<T> X,
             std::vector<Job>& jobs) const override {
    decomposition_.solve(rhs, X);
    for (Job& job : jobs) {
      if (job.control->cancel.stop_requested()) {
        job.outcome = {Status::cancelled, "stopped by the caller before refinement"};
      } else {
        improve(static_cast<RefinementVectors&>(workspace), rhs.column(job.number), X.column(job.number),
                job);
      }
    }
  }

  void apply(Workspace& /*workspace*/, const MultiVector<const T>& r, const MultiVector<T>& z,
             Operation /*operation*/) const override {
    const std::int64_t m = A_.rows();
    const std::int64_t n = A_.columns();
    for (int c = 0; c < r.columns(); ++c)
      decomposition_.solve({r[c], m, 1, m, this->device()}, {z[c], n, 1, n, this->device()});
  }

 private:
  /// Computes the correction d of x: (A^H A)^+ A^H r for a tall A, which shows the part of the error that
  /// grows with the square of the condition, and A^+ r for a wide one.
  void compute_correction(RefinementVectors& own, const T* b, const T* x) const {
    own.check->accurate_residual(A_, b, x, own.r.data());
    if (decomposition_.wide()) return decomposition_.solve(own.r.view(), own.d.view());
    // A^H r is the conjugate of A^T conj(r).
    conjugate(own.r);
    own.check->accurate_residual(transpose_.matrix(), own.zero.data(), own.r.data(), own.g.data());
    conjugate(own.r);
    for (std::int64_t j = 0; j < own.g.rows(); ++j) own.g[j] = -conj(own.g[j]);
    decomposition_.solve_normal(own.g.view(), own.d.view());
  }
  static void conjugate(Dense<T>& y) {
    if constexpr (is_complex<T>)
      std::transform(y.data(), y.data() + y.rows(), y.data(), [](T value) { return std::conj(value); });
  }
  /// The change of x by rounding errors of the residual in own.r, relative to x: corrections do not show it.
  double rounding_error(RefinementVectors& own, const T* x) const {
    sample_rounding(own.r.rows(), own.r.data());
    decomposition_.solve(own.r.view(), own.d.view());
    const double change = own.check->vector(own.d.rows(), own.d.data()).norm_inf;
    return change > 0 ? change / own.check->vector(A_.columns(), x).norm_inf : 0;
  }

  /// Whether corrections show the error: the normal equations of a tall A can be solved to a digit or more,
  /// and the equations of a wide one have a solution.
  [[nodiscard]] bool is_correctable() const {
    constexpr double digit = 0.1;
    const double reciprocal = decomposition_.reciprocal_condition();
    if (decomposition_.wide()) return decomposition_.rank().rank == A_.rows();
    return machine_epsilon<T> <= digit * reciprocal * reciprocal;
  }
  /// Bound of the error of an x that is not corrected: eps (kappa + kappa^2 ||r|| / (||A|| ||x||)) (P.-A.
  /// Wedin, BIT 13, 1973).
  double error_bound(RefinementVectors& own, const T* b, const T* x) const {
    const double residual = own.check->residual(A_, b, x, own.r.data()).norm2;
    const double size = decomposition_.largest_pivot() * own.check->vector(A_.columns(), x).norm2;
    const double condition = 1 / decomposition_.reciprocal_condition();
    const double ratio = size > 0 && !decomposition_.scaled() ? std::min(1.0, residual / size) : 1;
    return machine_epsilon<T> * condition * (1 + condition * ratio);
  }

  /// Corrects x while each correction is at most half of the one before, and measures its error by the last
  /// one.
  void improve(RefinementVectors& own, const T* b, T* x, Job& job) const {
    const bool measures = job.control->measure_error;
    const std::int64_t n = A_.columns();
    if (A_.rows() == 0 || n == 0 || (options_.refine == 0 && !measures)) return;
    if (!is_correctable()) {
      if (measures) job.error = error_bound(own, b, x);
      return;
    }
    NormalCorrections corrections(own.d.data(), n, 0.5, [&](const T* y) { compute_correction(own, b, y); });
    correct(options_.refine, DenseView<T>(x, n, 1, n, this->device()), own.candidate.view(), corrections);
    job.statistics.push_back({"refinement_steps", corrections.steps()});
    if (measures) job.error = std::max({corrections.size(), rounding_error(own, x), machine_epsilon<T> / 2});
  }

  QrOptions options_;
  MatrixRef<T> A_;
  TransposedMatrix<T> transpose_;
  OrthogonalDecomposition<T> decomposition_;
};

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
  std::optional<DecompositionMethod<T>> decomposed_;  // of an A that is not square
};

}  // namespace lu

template <>
struct MethodWith<QrOptions> {
  template <class B, class T>
  using Type = lu::QrMethod<B, T>;
};

template std::unique_ptr<SolverImplementation<float>> make_implementation<HostTarget>(const Device&,
                                                                                      const QrOptions&);
template std::unique_ptr<SolverImplementation<double>> make_implementation<HostTarget>(const Device&,
                                                                                       const QrOptions&);

#define ECHELON_INSTANTIATE(T)                                                                         \
  template <>                                                                                          \
  std::unique_ptr<SolverImplementation<T>> make_implementation<HostTarget>(const Device& device,       \
                                                                           const QrOptions& options) { \
    return std::make_unique<lu::DecompositionMethod<T>>(device, options);                              \
  }
ECHELON_FOR_EACH_COMPLEX(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon
