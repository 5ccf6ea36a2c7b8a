// SPDX-License-Identifier: BSD-3-Clause
/// Flexible GMRES for a few steps with a good preconditioner. Y. Saad, A flexible inner-outer preconditioned
/// GMRES algorithm, SIAM J. Sci. Comput. 14 (1993).
#pragma once

#include "backend/backend.hpp"
#include "backend/store.hpp"
#include "linalg/spmv/multiply.hpp"
#include "linalg/vector/functors.hpp"
#include "support/hypotenuse.hpp"

#include <echelon/array.hpp>
#include <echelon/matrix/dense.hpp>
#include <echelon/matrix/matrix.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace echelon {

namespace gmres_detail {

inline constexpr std::int64_t max_steps = 50;

/// Most steps of a cycle for n unknowns; they cost about as much as a factorisation in the working precision.
inline std::int64_t cycle_steps(std::int64_t n) {
  constexpr std::int64_t few = 10;
  constexpr std::int64_t unknowns_per_step = 32;
  return std::min(n, std::clamp(n / unknowns_per_step, few, max_steps));
}

/// A column of the Hessenberg matrix.
struct HessenbergColumn {
  double elements[max_steps + 1] = {};
};

/// Coefficients of both passes of Gram-Schmidt, and the norm of the remaining vector.
template <class T>
struct CollectColumn {
  const T* first;
  const T* second;
  std::int64_t count;
  const Sum* squares;
  HessenbergColumn* column;
  ECHELON_ANYWHERE void operator()(std::int64_t) const {
    for (std::int64_t i = 0; i < count; ++i)
      column->elements[i] = static_cast<double>(first[i]) + static_cast<double>(second[i]);
    column->elements[count] = std::sqrt(squares->value);
  }
};

template <class T>
struct CopyCoefficients {
  const HessenbergColumn* column;
  T* coefficients;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    coefficients[i] = static_cast<T>(column->elements[i]);
  }
};

template <class T>
struct Divide {
  const T* x;
  double divisor;
  T* y;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    y[i] = static_cast<T>(static_cast<double>(x[i]) / divisor);
  }
};

/// The least-squares problem min ||beta e_1 - H y||, kept triangular by Givens rotations.
class HessenbergLeastSquares {
 public:
  explicit HessenbergLeastSquares(double beta) : right_{beta} {}

  /// Appends a column of `count` + 1 elements. Returns the norm of the residual.
  double append(HessenbergColumn column, std::size_t count) {
    double* const h = column.elements;
    for (std::size_t i = 0; i + 1 < count; ++i) rotate(cosines_[i], sines_[i], h[i], h[i + 1]);
    const double diagonal = hypotenuse(h[count - 1], h[count]);
    cosines_.push_back(diagonal > 0 ? h[count - 1] / diagonal : 1);
    sines_.push_back(diagonal > 0 ? h[count] / diagonal : 0);
    h[count - 1] = diagonal;
    right_.push_back(0);
    rotate(cosines_.back(), sines_.back(), right_[count - 1], right_[count]);
    columns_.push_back(column);
    return std::fabs(right_[count]);
  }

  [[nodiscard]] std::vector<double> solution() const {
    std::vector<double> y(right_.begin(), right_.end() - 1);
    for (std::size_t k = y.size(); k-- > 0;) {
      y[k] = columns_[k].elements[k] != 0 ? y[k] / columns_[k].elements[k] : 0;
      for (std::size_t i = 0; i < k; ++i) y[i] -= columns_[k].elements[i] * y[k];
    }
    return y;
  }

 private:
  static void rotate(double cosine, double sine, double& upper, double& lower) {
    const double old = upper;
    upper = cosine * old + sine * lower;
    lower = cosine * lower - sine * old;
  }

  std::vector<HessenbergColumn> columns_;
  std::vector<double> cosines_, sines_, right_;
};

}  // namespace gmres_detail

/// Basis and workspace of a cycle: 2 steps + 1 vectors of n elements.
template <class B, class T>
class FlexibleGmres {
 public:
  FlexibleGmres(const Device& device, std::int64_t n)
      : steps_(gmres_detail::cycle_steps(n)),
        basis_(device, n, steps_ + 1),
        directions_(device, n, steps_),
        first_(device, steps_ + 1),
        second_(device, steps_ + 1),
        squares_(device, 1),
        column_(device, 1) {}
  [[nodiscard]] std::size_t bytes() const {
    return basis_.bytes() + directions_.bytes() + first_.bytes() + second_.bytes() + column_.bytes();
  }

  /// Computes x = x + z, where z minimises ||r - A z||_2 over preconditioned Krylov vectors; ends when that
  /// norm is at most `target`, or after `cycle_steps(n)` steps. `largest`: ||r||_inf, finite and not 0.
  /// `precondition(v, z)` queues z = C v. Returns the number of steps; each waits once. x does not change
  /// where a preconditioned vector is not finite in the first step.
  template <class Precondition>
  std::int64_t cycle(B& backend, const MatrixRef<T>& A, const T* r, double largest, double target, T* x,
                     const Precondition& precondition) {
    using namespace gmres_detail;
    const std::int64_t n = basis_.rows();
    // Squares of r may be outside of the number range.
    T* const v = basis_.data();
    backend.for_each(n, Divide<T>{r, largest, v});
    const double length = norm(backend, v);
    backend.for_each(n, Divide<T>{v, length, v});
    HessenbergLeastSquares least_squares(largest * length);
    std::int64_t count = 0;
    for (bool running = true; running && count < steps_;) {
      const HessenbergColumn column = expand(backend, A, count, precondition);
      const double remaining = column.elements[count + 1];
      if (!std::isfinite(remaining)) break;
      running = least_squares.append(column, static_cast<std::size_t>(++count)) > target && remaining > 0;
      if (running) {
        T* const w = basis_.view().column(count);
        backend.for_each(n, Divide<T>{w, remaining, w});
      }
    }
    add_directions(backend, least_squares.solution(), count, x);
    return count;
  }

 private:
  double norm(B& backend, const T* v) {
    backend.reduce(basis_.rows(), Product<T>{v, v}, Store<Sum>{squares_.data()});
    return std::sqrt(backend.read(squares_.data()).value);
  }

  /// The next vector of the basis, not normalised, and its column of the Hessenberg matrix.
  template <class Precondition>
  gmres_detail::HessenbergColumn expand(B& backend, const MatrixRef<T>& A, std::int64_t count,
                                        const Precondition& precondition) {
    const std::int64_t n = basis_.rows();
    T* const z = directions_.view().column(count);
    T* const w = basis_.view().column(count + 1);
    precondition(basis_.view().column(count), z);
    multiply<T>(backend, T{1}, A, z, T{0}, w);
    const DenseView<const T> V(basis_.data(), n, count + 1, basis_.leading(), basis_.device());
    for (Array<T>* coefficients : {&first_, &second_}) {  // once is not enough for orthogonality
      multiply_transposed<T>(backend, T{1}, V, w, T{0}, coefficients->data());
      multiply<T>(backend, T{-1}, MatrixRef<T>(V), coefficients->data(), T{1}, w);
    }
    backend.reduce(n, Product<T>{w, w}, Store<Sum>{squares_.data()});
    backend.for_each(1, gmres_detail::CollectColumn<T>{first_.data(), second_.data(), count + 1,
                                                       squares_.data(), column_.data()});
    return backend.read(column_.data());
  }

  /// Computes x = x + Z y.
  void add_directions(B& backend, const std::vector<double>& y, std::int64_t count, T* x) {
    if (count == 0) return;
    gmres_detail::HessenbergColumn coefficients;
    std::copy(y.begin(), y.end(), coefficients.elements);
    backend.write(coefficients, column_.data());
    backend.for_each(count, gmres_detail::CopyCoefficients<T>{column_.data(), first_.data()});
    const DenseView<const T> Z(directions_.data(), directions_.rows(), count, directions_.leading(),
                               directions_.device());
    multiply<T>(backend, T{1}, MatrixRef<T>(Z), first_.data(), T{1}, x);
  }

  std::int64_t steps_;
  Dense<T> basis_;       // V
  Dense<T> directions_;  // Z = C V
  Array<T> first_, second_;
  Array<Sum> squares_;
  Array<gmres_detail::HessenbergColumn> column_;
};

}  // namespace echelon
