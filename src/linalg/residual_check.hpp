// SPDX-License-Identifier: BSD-3-Clause
/// Computes the measured figures of reports: finiteness, norms and the true residual, on the device of the
/// data.
#pragma once

#include "linalg/contraction.hpp"
#include "linalg/vector/multi_vector.hpp"

#include <echelon/matrix/matrix.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace echelon {

struct MatrixFacts {
  double norm_inf = 0;      ///< largest row sum of magnitudes; of an operator a lower bound
  double smallest_row = 0;  ///< smallest row sum of magnitudes that is not zero; 0 if unknown or none is
  std::optional<std::int64_t> row = {};     ///< of the first NaN or Inf
  std::optional<std::int64_t> column = {};  ///< unknown for an operator
};

struct VectorFacts {
  double norm2 = 0;
  double norm_inf = 0;
  std::optional<std::int64_t> nonfinite = {};  ///< first NaN or Inf
};

/// The product of A with the vector 1 of ones.
struct ProductWithOnes {
  double sum = 0;    ///< 1^T A 1, its real part
  double norm2 = 0;  ///< ||A 1||_2
};

struct SolutionFacts {
  VectorFacts right, answer, residual;
};

struct AnswerFacts {
  VectorFacts answer, residual;
};

template <class T>
class ResidualCheck {
 public:
  ResidualCheck() = default;
  ResidualCheck(const ResidualCheck&) = delete;
  ResidualCheck& operator=(const ResidualCheck&) = delete;
  virtual ~ResidualCheck() = default;

  virtual MatrixFacts matrix(const MatrixRef<T>& A) = 0;
  /// A 1 for a sparse A, whose row sums are rounded once, or for a stencil.
  virtual ProductWithOnes product_with_ones(const MatrixRef<T>& A) = 0;
  virtual VectorFacts vector(std::int64_t n, const T* x) = 0;
  /// r = b - A x, and its facts.
  virtual VectorFacts residual(const MatrixRef<T>& A, const T* b, const T* x, T* r) = 0;
  /// r = b - A x, computed with sums of products in twice the precision and rounded once, and its facts; the
  /// plain residual() of an operator or a stencil. An element that is smaller than the bound on its rounding
  /// error is that bound: r is never zero or small because rounding errors hide it. Takes some 2 to 10 times
  /// as long as residual().
  virtual VectorFacts accurate_residual(const MatrixRef<T>& A, const T* b, const T* x, T* r) = 0;
  /// accurate_residual() and the facts of x, which arrive together where A is square.
  virtual AnswerFacts accurate_answer(const MatrixRef<T>& A, const T* b, const T* x, T* r) = 0;
  /// r = b - A x, and the facts of b, x and r, with a single synchronisation.
  virtual SolutionFacts solution(const MatrixRef<T>& A, const T* b, const T* x, T* r) = 0;
  /// vector() of each x. On a GPU, which takes longer to wait for a result than to compute it, the facts of
  /// up to 32 vectors arrive together.
  virtual std::vector<VectorFacts> vectors(std::int64_t n, std::span<const T* const> x) = 0;
  /// residual() of each column, with the bits that it has alone. A GPU reads A once for eight columns.
  virtual std::vector<VectorFacts> residuals(const MatrixRef<T>& A, const MultiVector<const T>& b,
                                             const MultiVector<const T>& x, const MultiVector<T>& r) = 0;
  /// residuals() and the facts of each x, which arrive together where A is square.
  virtual std::vector<AnswerFacts> answers(const MatrixRef<T>& A, const MultiVector<const T>& b,
                                           const MultiVector<const T>& x, const MultiVector<T>& r) = 0;
  /// measure_contraction() with `v` and `product` of n elements, where the scales of columns are the powers
  /// of two that make their largest elements about 1 after such a scaling of the rows. `add(product, v)`
  /// queues v = v + C product for product = -A v. Transposes a sparse A. Waits.
  virtual Contraction contraction(const MatrixRef<T>& A, T* v, T* product,
                                  const std::function<void(T* product, T* v)>& add) = 0;
  /// y = x, y = y + x, and x = 2^exponent x for n elements; queued.
  virtual void copy(std::int64_t n, const T* x, T* y) = 0;
  virtual void add(std::int64_t n, const T* x, T* y) = 0;
  virtual void scale(std::int64_t n, int exponent, T* x) = 0;
  /// Whether none of the elements loses bits by an underflow or an overflow if scaled so. Waits.
  virtual bool scales_exactly(std::int64_t n, int exponent, const T* x) = 0;
  /// Waits for the work queued on the device, for time measurements.
  virtual void synchronize() = 0;
  /// x = conj(x) for n elements; queued.
  virtual void conjugate(std::int64_t n, T* x) = 0;
};

/// Instantiated for HostTarget and, when it is built, for CudaTarget.
template <class Target, class T>
[[nodiscard]] std::unique_ptr<ResidualCheck<T>> make_residual_check(const Device& device);

}  // namespace echelon
