// SPDX-License-Identifier: BSD-3-Clause
#include "backend/store.hpp"
#include "dense/factorization/cusolver.cuh"
#include "dense/factorization/packed_factors.hpp"
#include "dense/factorization/thin_qr.hpp"
#include "linalg/blas/device_lapack.cuh"
#include "linalg/blas/gemm.hpp"
#include "linalg/vector/column_exponents.hpp"
#include "linalg/vector/column_reduction.hpp"
#include "linalg/vector/functors.hpp"
#include "support/machine_epsilon.hpp"
#include "support/scalar.hpp"

#include <echelon/error.hpp>

#include <support/scalar_list.hpp>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace echelon::lu {

namespace {

/// C_k = A_k^H B_k for `count` blocks of rows, which follow each other in A and B; C_k are contiguous.
template <class T>
void multiply_adjoint_blocks(Cuda& backend, std::int64_t rows, int count, DenseView<const T> A,
                             DenseView<const T> B, T* C) {
  const auto m = static_cast<int>(A.columns());
  const auto n = static_cast<int>(B.columns());
  const auto k = static_cast<int>(rows);
  const auto lda = static_cast<int>(A.leading());
  const auto ldb = static_cast<int>(B.leading());
  const long long size = A.columns() * B.columns();
  const auto run = [&](auto gemm, const auto* a, const auto* b, auto* c, auto one, auto zero) {
    check(gemm(backend.blas(), CUBLAS_OP_C, CUBLAS_OP_N, m, n, k, &one, a, lda, rows, b, ldb, rows, &zero, c,
               m, size, count));
  };
  if constexpr (is_complex<T>) {
    run(cublasZgemmStridedBatched, to_library(A.data()), to_library(B.data()), to_library(C),
        cuDoubleComplex{1, 0}, cuDoubleComplex{0, 0});
  } else if constexpr (std::is_same_v<T, double>) {
    run(cublasDgemmStridedBatched, A.data(), B.data(), C, 1.0, 0.0);
  } else {
    run(cublasSgemmStridedBatched, A.data(), B.data(), C, 1.0F, 0.0F);
  }
}

/// Sums `count` contiguous matrices of `size` elements into the first.
template <class T>
struct SumBlocks {
  std::int64_t size;
  int count;
  T* blocks;
  ECHELON_ANYWHERE void operator()(std::int64_t e) const {
    T sum = blocks[e];
    for (int k = 1; k < count; ++k) sum = sum + blocks[k * size + e];
    blocks[e] = sum;
  }
};

/// |g_ij - d_ij|^2 for the identity d.
template <class T>
struct DeviationFromIdentity {
  const T* g;
  std::int64_t n;
  ECHELON_ANYWHERE Sum operator()(std::int64_t e) const {
    const T expected{e % (n + 1) == 0 ? Real<T>{1} : Real<T>{0}};
    return {squared_magnitude(g[e] - expected)};
  }
};

/// L = G, with a diagonal that is multiplied by `factor`.
template <class T>
struct CopyShifted {
  const T* g;
  std::int64_t n;
  Real<T> factor;
  T* l;
  ECHELON_ANYWHERE void operator()(std::int64_t e) const {
    l[e] = e % (n + 1) == 0 ? T{static_cast<Real<T>>(echelon::real(g[e])) * factor} : g[e];
  }
};

/// Indices of pivots l_jj^2 of at most `share` times g_jj, or NaN.
template <class T>
struct PivotAtRounding {
  const T* g;
  const T* l;
  std::int64_t n;
  double share;
  ECHELON_ANYWHERE FirstIndex operator()(std::int64_t j) const {
    const double pivot = squared_magnitude(l[j * (n + 1)]);
    return {pivot > share * echelon::real(g[j * (n + 1)]) ? FirstIndex::none : j};
  }
};

/// R = L^H above zeros.
template <class T>
struct AdjointTriangle {
  const T* l;
  std::int64_t n;
  T* r;
  ECHELON_ANYWHERE void operator()(std::int64_t e) const {
    const std::int64_t i = e % n;
    const std::int64_t j = e / n;
    r[e] = i <= j ? conj(l[j + i * n]) : T{0};
  }
};

/// One repetition after the other of Cholesky QR, in place of an m by n S.
template <class T>
class CholeskyQr {
 public:
  CholeskyQr(Cuda& backend, Dense<T>& S)
      : backend_(backend),
        S_(S),
        n_(S.columns()),
        block_rows_(std::max({n_, least_block_rows, S.rows() / most_blocks})),
        blocks_(static_cast<int>(S.rows() / block_rows_)),
        lapack_(S.device()),
        grams_(S.device(), n_ * n_ * (blocks_ + 1)),
        lower_(S.device(), n_, n_),
        upper_(S.device(), n_, n_),
        sum_(S.device(), 1),
        first_(S.device(), 1) {
    lapack_.reserve_potrf(static_cast<int>(n_));
  }

  /// Makes S orthonormal and returns the number of repetitions; 0 if they do not end.
  int run() {
    constexpr int most = 8;
    for (int repetition = 1; repetition <= most; ++repetition) {
      form_gram();
      const bool last = deviation() <= almost_orthonormal;
      if (!factor(0) && !factor(shift())) return 0;
      lapack_.trsm_right(Operation::adjoint, false, S_.rows(), static_cast<int>(n_), lower_.data(),
                         static_cast<int>(n_), S_.data(), S_.rows());
      update_upper(repetition == 1);
      if (last) return repetition;
    }
    return 0;
  }
  [[nodiscard]] const Dense<T>& upper() const { return upper_; }

 private:
  static constexpr std::int64_t least_block_rows = 1024;
  static constexpr std::int64_t most_blocks = 64;
  /// ||S^H S - I||_F from which one repetition leaves rounding errors alone.
  static constexpr double almost_orthonormal = 0.1;

  /// Error of G relative to its diagonal: rounding errors of sums of m products, and of an n by n
  /// factorisation.
  [[nodiscard]] double shift() const {
    const double terms = static_cast<double>(n_) + std::sqrt(static_cast<double>(S_.rows()));
    return 8 * terms * machine_epsilon<T>;
  }

  /// G = S^H S, as a sum over blocks of rows: products of tall matrices have few tiles, and longer sums
  /// larger rounding errors.
  void form_gram() {
    const DenseView<const T> S = S_.view();
    if (blocks_ > 0) multiply_adjoint_blocks<T>(backend_, block_rows_, blocks_, S, S, grams_.data());
    const std::int64_t begin = blocks_ * block_rows_;
    int count = blocks_;
    if (begin < S.rows()) {
      const DenseView<const T> rest(S.data() + begin, S.rows() - begin, n_, S.leading(), S.device());
      multiply_adjoint_blocks<T>(backend_, rest.rows(), 1, rest, rest, grams_.data() + count * n_ * n_);
      ++count;
    }
    backend_.for_each(n_ * n_, SumBlocks<T>{n_ * n_, count, grams_.data()});
  }

  double deviation() {
    backend_.reduce(n_ * n_, DeviationFromIdentity<T>{grams_.data(), n_}, Store<Sum>{sum_.data()});
    return std::sqrt(backend_.read(sum_.data()).value);
  }

  /// Factors G + shift diag(G) = L L^H. False if a pivot is small enough to be a rounding error.
  bool factor(double shift) {
    backend_.for_each(n_ * n_,
                      CopyShifted<T>{grams_.data(), n_, static_cast<Real<T>>(1 + shift), lower_.data()});
    lapack_.potrf(static_cast<int>(n_), lower_.data(), static_cast<int>(n_));
    if (backend_.read(lapack_.info()) != 0) return false;
    const double share = shift > 0 ? 0 : this->shift();
    backend_.reduce(n_, PivotAtRounding<T>{grams_.data(), lower_.data(), n_, share},
                    Store<FirstIndex>{first_.data()});
    return backend_.read(first_.data()).value == FirstIndex::none;
  }

  /// R = L^H R.
  void update_upper(bool first) {
    if (first) {
      backend_.for_each(n_ * n_, AdjointTriangle<T>{lower_.data(), n_, upper_.data()});
      return;
    }
    Dense<T> factor(S_.device(), n_, n_);
    Dense<T> product(S_.device(), n_, n_);
    backend_.for_each(n_ * n_, AdjointTriangle<T>{lower_.data(), n_, factor.data()});
    gemm<T>(backend_, T{1}, factor.view(), upper_.view(), T{0}, product.view());
    upper_ = std::move(product);
  }

  Cuda& backend_;
  Dense<T>& S_;
  std::int64_t n_, block_rows_;
  int blocks_;
  DeviceLapack<T> lapack_;
  Array<T> grams_;
  Dense<T> lower_, upper_;
  Array<Sum> sum_;
  Array<FirstIndex> first_;
};

/// Memory for this many elements.
template <class T>
T* grown(const Device& device, std::int64_t size, Array<T>& scratch) {
  if (scratch.size() < size) scratch = Array<T>(device, size);
  return scratch.data();
}

}  // namespace

template <class T>
std::vector<int> exponents_of_columns(Cuda& backend, const Dense<T>& S) {
  Array<Largest> largest(S.device(), S.columns());
  ColumnReduction<Cuda, Largest>(backend, S.rows(), S.columns())
      .run(LargestMagnitude<const T*>{S.data()}, largest.data());
  std::vector<Real<T>> sizes;
  for (const Largest& size : largest.to_vector()) sizes.push_back(static_cast<Real<T>>(size.value));
  return exponents_of(sizes);
}

template <class T>
Dense<T> ThinQr<Cuda, T>::factor(Cuda& backend, Dense<T> S) {
  const CurrentDevice current(backend.device().id());
  Dense<T> copy = S;
  CholeskyQr<T> cholesky(backend, S);
  repetitions_ = cholesky.run();
  if (repetitions_ == 0) return factor_by_reflections(backend, std::move(copy));
  q_ = std::move(S);
  return cholesky.upper().to(Device());
}

template <class T>
Dense<T> ThinQr<Cuda, T>::factor_by_reflections(Cuda& backend, Dense<T> S) {
  Cusolver cusolver(backend.device());
  Array<T> tau(backend.device(), S.columns());
  cusolver.factor_qr(backend, S.rows(), S.columns(), S.data(), tau.data());
  Dense<T> R = triangle_on_host(backend, std::as_const(S).view(), {.lower = false, .unit_diagonal = false});
  cusolver.form_q(backend, static_cast<int>(S.rows()), static_cast<int>(S.columns()), S.data(), tau.data());
  q_ = std::move(S);
  return R;
}

template <class T>
void ThinQr<Cuda, T>::multiply_adjoint(Cuda& backend, DenseView<const T> B, DenseView<T> Y,
                                       Array<T>& scratch) const {
  const CurrentDevice current(backend.device().id());
  T* const product = grown(backend.device(), q_.columns() * B.columns(), scratch);
  multiply_adjoint_blocks<T>(backend, q_.rows(), 1, q_.view(), B, product);
  backend.synchronize();
  for (std::int64_t j = 0; j < Y.columns(); ++j)
    memory_detail::copy(Device(), Y.column(j), backend.device(), product + j * q_.columns(),
                        static_cast<std::size_t>(q_.columns()) * sizeof(T));
}

template <class T>
void ThinQr<Cuda, T>::multiply(Cuda& backend, DenseView<T> Y, DenseView<T> X, Array<T>& scratch) const {
  const std::int64_t n = q_.columns();
  T* const there = grown(backend.device(), n * Y.columns(), scratch);
  for (std::int64_t j = 0; j < Y.columns(); ++j)
    memory_detail::copy(backend.device(), there + j * n, Device(), Y.column(j),
                        static_cast<std::size_t>(n) * sizeof(T));
  gemm<T>(backend, T{1}, q_.view(), DenseView<const T>(there, n, Y.columns(), n, backend.device()), T{0}, X);
  backend.synchronize();
}

template <class T>
void ThinQr<Cuda, T>::multiply_by_determinant(DeterminantProduct& /*product*/) const {
  throw Error("method 'qr' has no determinant of a complex matrix on a GPU: lu has");
}

#define ECHELON_INSTANTIATE(T)                                            \
  template std::vector<int> exponents_of_columns(Cuda&, const Dense<T>&); \
  template class ThinQr<Cuda, T>;
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon::lu
