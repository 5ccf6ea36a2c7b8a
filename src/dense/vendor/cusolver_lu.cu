// SPDX-License-Identifier: BSD-3-Clause
#include "backend/store.hpp"
#include "dense/factorization/cusolver.cuh"
#include "dense/factorization/magnitudes.cuh"
#include "linalg/condition.hpp"
#include "linalg/refinement.hpp"
#include "linalg/spmv/multiply.hpp"
#include "solver/factor_status.hpp"
#include "solver/instantiate.hpp"

#include <echelon/methods/dense/cusolver_lu.hpp>

#include <cmath>
#include <limits>
#include <vector>

namespace echelon {

namespace {

using namespace magnitudes;

/// Scales to(i, j) = from(i, j) * rows[i] * columns[j] for element k = i + j n; no scale: 1.
template <class T>
struct CopyScaled {
  std::int64_t n;
  const T* from;
  std::int64_t from_leading;
  T* to;
  std::int64_t to_leading;
  const T* rows;
  const T* columns;
  ECHELON_ANYWHERE void operator()(std::int64_t k) const {
    const std::int64_t j = k / n;
    const std::int64_t i = k - j * n;
    T value = from[i + j * from_leading];
    if (rows != nullptr) value *= rows[i];
    if (columns != nullptr) value *= columns[j];
    to[i + j * to_leading] = value;
  }
};

/// The first zero on the diagonal.
template <class T>
struct ZeroDiagonal {
  std::int64_t n;
  const T* a;
  ECHELON_ANYWHERE FirstIndex operator()(std::int64_t i) const {
    return {a[i + i * n] == T{0} ? i : FirstIndex::none};
  }
};

template <class T>
class CusolverFactorization final : public SolverImplementation<T> {
  /// A thread's handles, and the vectors of refinement.
  struct SolveWorkspace : Workspace {
    SolveWorkspace(const Device& device, std::int64_t n)
        : backend(device), cusolver(device), refinement(device, n) {}
    [[nodiscard]] std::size_t bytes() const override { return refinement.bytes() + q_workspace.bytes(); }
    Cuda backend;
    Cusolver cusolver;
    RefinementArrays<T> refinement;
    Array<T> q_workspace;  // for QR factors
  };

 public:
  CusolverFactorization(const Device& device, const CusolverLuOptions& options)
      : SolverImplementation<T>(device), options_(options) {}

  Outcome setup(const MatrixRef<T>& A) override {
    A_ = A;
    tau_ = Array<T>();
    factors_ = Dense<T>();  // releases the old factors before the new ones are allocated
    factors_ = to_dense(A);
    const std::int64_t n = factors_.rows();
    pivots_ = Array<std::int64_t>(this->device(), n);
    row_scale_ = column_scale_ = Array<T>();
    if (n == 0) return {};
    Cuda backend(this->device());
    if (Outcome scaled = equilibrate(backend); !scaled.ok()) return scaled;
    const double norm = norm_one(backend);
    Cusolver cusolver(this->device());
    const double largest = norm_max(backend, false);
    if (this->cancel().stop_requested()) return cancelled_factorization();
    const int zero = cusolver.factor(backend, n, factors_.data(), pivots_.data());
    if (this->cancel().stop_requested()) return cancelled_factorization();
    const double growth = norm_max(backend, true) / largest;
    if (!(growth <= acceptable_growth<T>(n))) return factor_qr(backend, cusolver, norm, growth);
    if (zero > 0) return zero_pivot(zero - 1);
    const double rcond = estimate_reciprocal_condition<T>(backend, n, norm, [&](bool transposed, T* v) {
      cusolver.substitute(transposed, factors_, pivots_, DenseView<T>(v, n, 1, n, this->device()));
    });
    cusolver.status(backend);
    Outcome outcome = assess_condition<T>(rcond);
    outcome.statistics = {{"factorization", "lu"}, {"pivot_growth", growth}};
    return outcome;
  }

  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const override {
    auto own = std::make_unique<SolveWorkspace>(this->device(), factors_.rows());
    if (tau_.size() > 0) {
      own->q_workspace =
          Array<T>(this->device(), own->cusolver.template q_workspace<T>(factors_.view(), tau_.data()));
    }
    return own;
  }

  [[nodiscard]] std::size_t bytes() const override {
    return factors_.bytes() + pivots_.bytes() + tau_.bytes() + row_scale_.bytes() + column_scale_.bytes();
  }

  /// Queues everything, whether refinement's steps are accepted included, and waits once at the end for
  /// cuSOLVER's status. Allocates nothing.
  void solve(Workspace& workspace, DenseView<const T> right, DenseView<T> left,
             std::vector<Job>&) const override {
    if (right.rows() == 0 || right.columns() == 0) return;
    auto& own = static_cast<SolveWorkspace&>(workspace);
    substitute(own, right, left);
    for (std::int64_t j = 0; j < right.columns() && options_.refine > 0; ++j) {
      refine_column(own, right.column(j), left.column(j));
    }
    own.cusolver.status(own.backend);
  }

  /// Substitution without refinement. Does not wait.
  void apply(Workspace& workspace, const MultiVector<const T>& r, const MultiVector<T>& z,
             Operation /*operation*/) const override {
    if (factors_.rows() == 0) return;
    for_matrices(r, z, 1, this->device(), [&](DenseView<const T> R, DenseView<T> Z) {
      substitute(static_cast<SolveWorkspace&>(workspace), R, Z);
    });
  }

 private:
  /// Scales rows and columns to magnitude 1 where LAPACK's geequ and laqge would. A row or column of zeros is
  /// a singular matrix.
  Outcome equilibrate(Cuda& backend) {
    const std::int64_t n = factors_.rows();
    Array<double> largest(this->device(), n);
    row_maxima<T>(backend, factors_.view(), largest.data());
    row_scale_ = Array<T>(this->device(), n);
    const Lines rows = select_scales(backend, largest, row_scale_);
    if (rows.zero.value != FirstIndex::none) return zero_line("row", rows.zero.value);

    for_columns<Largest>(this->device(), n, RowScaledMagnitude<T>{n, factors_.data(), row_scale_.data()},
                         largest.data());
    column_scale_ = Array<T>(this->device(), n);
    const Lines columns = select_scales(backend, largest, column_scale_);
    if (columns.zero.value != FirstIndex::none) return zero_line("column", columns.zero.value);

    constexpr double small = std::numeric_limits<T>::min() / std::numeric_limits<T>::epsilon();
    const bool extreme = rows.largest < small || rows.largest > 1 / small;
    if (!rows.uneven() && !extreme) row_scale_ = Array<T>();
    if (!columns.uneven()) column_scale_ = Array<T>();
    if (row_scale_.size() > 0 || column_scale_.size() > 0) {
      backend.for_each(n * n, CopyScaled<T>{n, factors_.data(), n, factors_.data(), n, row_scale_.data(),
                                            column_scale_.data()});
    }
    return {};
  }

  Lines select_scales(Cuda& backend, const Array<double>& largest, Array<T>& scale) const {
    Array<Lines> lines(this->device(), 1);
    backend.reduce(scale.size(),
                   ChooseScale<T>{largest.data(), scale.data(), std::numeric_limits<T>::min_exponent,
                                  std::numeric_limits<T>::max_exponent - 1},
                   Store<Lines>{lines.data()});
    return backend.read(lines.data());
  }

  [[nodiscard]] double norm_one(Cuda& backend) const {
    const std::int64_t n = factors_.rows();
    Array<double> sums(this->device(), n);
    Array<Largest> norm(this->device(), 1);
    for_columns<Sum>(this->device(), n, Magnitude<T>{n, factors_.data()}, sums.data());
    backend.reduce(n, ElementMagnitude<double>{sums.data()}, Store<Largest>{norm.data()});
    return backend.read(norm.data()).value;
  }

  /// max |a_ij| of the matrix in place of the factors, or of its upper triangle.
  [[nodiscard]] double norm_max(Cuda& backend, bool upper_only) const {
    const std::int64_t n = factors_.rows();
    Array<double> maxima(this->device(), n);
    Array<Largest> norm(this->device(), 1);
    for_columns<Largest>(this->device(), n, LargestMagnitude<T>{n, factors_.data(), upper_only},
                         maxima.data());
    backend.reduce(n, ElementMagnitude<double>{maxima.data()}, Store<Largest>{norm.data()});
    return backend.read(norm.data()).value;
  }

  /// Factors A = Q R, which is backward stable for every A, at twice the flops of LU.
  Outcome factor_qr(Cuda& backend, Cusolver& cusolver, double norm, double growth) {
    const std::int64_t n = factors_.rows();
    factors_ = Dense<T>();
    factors_ = to_dense(A_);
    if (row_scale_.size() > 0 || column_scale_.size() > 0) {
      backend.for_each(n * n, CopyScaled<T>{n, factors_.data(), n, factors_.data(), n, row_scale_.data(),
                                            column_scale_.data()});
    }
    tau_ = Array<T>(this->device(), n);
    cusolver.factor_qr(backend, n, factors_.data(), tau_.data());
    Array<FirstIndex> zero(this->device(), 1);
    backend.reduce(n, ZeroDiagonal<T>{n, factors_.data()}, Store<FirstIndex>{zero.data()});
    if (const std::int64_t pivot = backend.read(zero.data()).value; pivot != FirstIndex::none) {
      return zero_pivot(pivot);
    }
    Array<T> workspace(this->device(), cusolver.template q_workspace<T>(factors_.view(), tau_.data()));
    const double rcond = estimate_reciprocal_condition<T>(backend, n, norm, [&](bool transposed, T* v) {
      substitute_qr(backend, cusolver, workspace, transposed, v);
    });
    Outcome outcome = assess_condition<T>(rcond);
    outcome.warnings.push_back(growth_warning(growth));
    outcome.statistics = {{"factorization", "qr"}, {"pivot_growth", growth}};
    return outcome;
  }

  /// Computes x = R^-1 Q^T x, or Q R^-T x.
  void substitute_qr(Cuda& backend, Cusolver& cusolver, Array<T>& workspace, bool transposed, T* x) const {
    if (!transposed) cusolver.multiply_by_q<T>(true, factors_.view(), tau_.data(), x, workspace);
    solve_triangle<T>(backend, transposed, factors_.view(), x);
    if (transposed) cusolver.multiply_by_q<T>(false, factors_.view(), tau_.data(), x, workspace);
  }

  /// Computes X = A^-1 B by the factors: B's rows are scaled like A's, and X's like A's columns.
  void substitute(SolveWorkspace& own, DenseView<const T> B, DenseView<T> X) const {
    const std::int64_t n = B.rows();
    const std::int64_t count = n * B.columns();
    own.backend.for_each(
        count, CopyScaled<T>{n, B.data(), B.leading(), X.data(), X.leading(), row_scale_.data(), nullptr});
    if (tau_.size() == 0) {
      own.cusolver.substitute(false, factors_, pivots_, X);
    } else {
      for (std::int64_t j = 0; j < X.columns(); ++j) {
        substitute_qr(own.backend, own.cusolver, own.q_workspace, false, X.column(j));
      }
    }
    if (column_scale_.size() == 0) return;
    own.backend.for_each(
        count, CopyScaled<T>{n, X.data(), X.leading(), X.data(), X.leading(), column_scale_.data(), nullptr});
  }

  void refine_column(SolveWorkspace& own, const T* b, T* x) const {
    const std::int64_t n = factors_.rows();
    refine(
        own.backend, n, options_.refine, x, own.refinement,
        [&](const T* iterate, T* r) { residual(own, b, iterate, r); },
        [&](const T* r, T* z) {
          substitute(own, DenseView<const T>(r, n, 1, n, this->device()),
                     DenseView<T>(z, n, 1, n, this->device()));
        });
  }

  /// Computes r = b - A x.
  void residual(SolveWorkspace& own, const T* b, const T* x, T* r) const {
    own.backend.copy(factors_.rows(), b, r);
    multiply(own.backend, T{-1}, A_, x, T{1}, r);
  }

  CusolverLuOptions options_;
  MatrixRef<T> A_;
  Dense<T> factors_;  // of LU, or of QR
  Array<std::int64_t> pivots_;
  Array<T> tau_;                       // of QR's reflections; empty: LU
  Array<T> row_scale_, column_scale_;  // empty: not scaled
};

}  // namespace

template <>
struct MethodWith<CusolverLuOptions> {
  template <class B, class T>
  using Type = CusolverFactorization<T>;
};

template std::unique_ptr<SolverImplementation<float>> make_implementation<CudaTarget>(
    const Device&, const CusolverLuOptions&);
template std::unique_ptr<SolverImplementation<double>> make_implementation<CudaTarget>(
    const Device&, const CusolverLuOptions&);

}  // namespace echelon
