// SPDX-License-Identifier: BSD-3-Clause
/// Preconditioners P of least squares, min ||b - A D P y|| with x = D P y: the inverse of R of a random
/// sketch S A D = Q R, with which A D P is well-conditioned whatever A is, and that of L^H of incomplete
/// factors L L^H of A^H A.
///
/// H. Avron, P. Maymounkov, S. Toledo, Blendenpik, SIAM J. Sci. Comput. 32 (2010). X. Meng, M. A. Saunders,
/// M. W. Mahoney, LSRN, SIAM J. Sci. Comput. 36 (2014). J. Nelson, H. L. Nguyen, OSNAP, FOCS 2013.
#pragma once

#include "incomplete/preconditioner.hpp"
#include "krylov/right_preconditioner_setup.hpp"
#include "linalg/spmv/multiply.hpp"
#include "matrix/rows.hpp"
#include "matrix/views/transposed_matrix.hpp"
#include "support/scalar.hpp"

#include <echelon/methods/least_squares/preconditioner.hpp>
#include <echelon/solver.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <variant>

namespace echelon::krylov {

template <class B, class T>
class RightPreconditioner {
 public:
  RightPreconditioner() = default;
  RightPreconditioner(const RightPreconditioner&) = delete;
  RightPreconditioner& operator=(const RightPreconditioner&) = delete;
  virtual ~RightPreconditioner() = default;

  /// x = P y.
  virtual void apply(B& backend, Workspace* workspace, const T* y, T* x) const = 0;
  /// y = P^H x.
  virtual void apply_adjoint(B& backend, Workspace* workspace, const T* x, T* y) const = 0;
  [[nodiscard]] virtual std::unique_ptr<Workspace> make_workspace() const { return nullptr; }
  [[nodiscard]] virtual std::size_t bytes() const = 0;
};

/// A sequence of bits that depends on `number` alone (S. Vigna's splitmix64).
ECHELON_ANYWHERE inline std::uint64_t random_bits(std::uint64_t number) {
  number = (number + 1) * 0x9e3779b97f4a7c15U;
  number = (number ^ (number >> 30U)) * 0xbf58476d1ce4e5b9U;
  number = (number ^ (number >> 27U)) * 0x94d049bb133111ebU;
  return number ^ (number >> 31U);
}

/// Column j of [S A D; d D]: S adds each row of A, with a random sign, to one row of each of its `blocks`
/// blocks; no blocks: S = I.
template <class Rows, class T>
struct SketchColumn {
  Rows transpose;  ///< rows of A^T
  const T* scale;  ///< null: D = I
  double damping;
  std::uint64_t seed;
  std::int64_t blocks;
  std::int64_t block_rows;
  std::int64_t sketch_rows;  ///< of S A
  std::int64_t leading;
  T* sketch;

  ECHELON_ANYWHERE void operator()(std::int64_t j) const {
    T* const column = sketch + j * leading;
    for (std::int64_t i = 0; i < leading; ++i) column[i] = T{0};
    const double of_column = scale == nullptr ? 1 : echelon::real(scale[j]);
    const double factor = blocks > 0 ? of_column / std::sqrt(static_cast<double>(blocks)) : of_column;
    for (std::int64_t k = transpose.begin(j); k < transpose.end(j); ++k) {
      const std::int64_t i = transpose.column(k);
      const auto value = static_cast<T>(factor * static_cast<Dot<T>>(transpose.value(j, k)));
      if (blocks == 0) column[i] = value;
      for (std::int64_t block = 0; block < blocks; ++block) add(column, i, block, value);
    }
    if (damping > 0) column[sketch_rows + j] = T{static_cast<Real<T>>(damping * of_column)};
  }

 private:
  ECHELON_ANYWHERE void add(T* column, std::int64_t i, std::int64_t block, T value) const {
    const std::uint64_t bits =
        random_bits(random_bits(seed) + static_cast<std::uint64_t>(i * blocks + block));
    const auto place =
        static_cast<std::int64_t>(((bits >> 32U) * static_cast<std::uint64_t>(block_rows)) >> 32U);
    T& element = column[block * block_rows + place];
    element = (bits & 1U) != 0 ? element + value : element - value;
  }
};

/// P = R^-1 of a sketch.
template <class B, class T>
class SketchPreconditioner final : public RightPreconditioner<B, T> {
 public:
  /// Rows of a sketch for each column of A, and rows of a sketch that each row of A is part of.
  static constexpr std::int64_t rows_per_column = 4;
  static constexpr std::int64_t blocks = 8;

  /// `transpose`: A^T. `scale`: the diagonal of D, or null.
  SketchPreconditioner(B& backend, const MatrixRef<T>& transpose, const T* scale, double damping,
                       std::int64_t seed) {
    const std::int64_t n = transpose.rows();
    const std::int64_t m = transpose.columns();
    const bool copies = m <= rows_per_column * n;
    const std::int64_t block_rows = rows_per_column * n / blocks + 1;
    const std::int64_t sketch_rows = copies ? m : blocks * block_rows;
    Dense<T> sketch(backend.device(), damping > 0 ? sketch_rows + n : sketch_rows, n);
    with_rows(transpose, [&](const auto& rows) {
      backend.for_each(n, SketchColumn<std::decay_t<decltype(rows)>, T>{
                              rows, scale, damping, static_cast<std::uint64_t>(seed), copies ? 0 : blocks,
                              block_rows, sketch_rows, sketch.rows(), sketch.data()});
    });
    backend.synchronize();
    const Device& device = backend.device();
    if (!device.on_host()) sketch = sketch.to(Device());
    rows_ = sketch_rows;
    store(invert_sketch(device.on_host() ? device : Device(), sketch), device);
  }

  [[nodiscard]] std::int64_t rows() const { return rows_; }
  [[nodiscard]] std::int64_t columns() const { return inverse_.columns(); }
  [[nodiscard]] std::int64_t rank() const { return rank_; }

  void apply(B& backend, Workspace* /*workspace*/, const T* y, T* x) const override {
    multiply(backend, T{1}, MatrixRef<T>(inverse_.view()), y, T{0}, x);
  }
  void apply_adjoint(B& backend, Workspace* /*workspace*/, const T* x, T* y) const override {
    multiply(backend, T{1}, MatrixRef<T>(adjoint_.view()), x, T{0}, y);
  }
  [[nodiscard]] std::size_t bytes() const override { return inverse_.bytes() + adjoint_.bytes(); }

 private:
  void store(SketchInverse<T> found, const Device& device) {
    const std::int64_t n = found.inverse.rows();
    rank_ = found.rank;
    adjoint_ = Dense<T>(Device::serial(), n, n);
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t i = 0; i < n; ++i) adjoint_(j, i) = conj(found.inverse(i, j));
    }
    inverse_ = std::move(found.inverse);
    if (device.on_host()) return;
    adjoint_ = adjoint_.to(device);
    inverse_ = inverse_.to(device);
  }

  std::int64_t rows_ = 0;
  std::int64_t rank_ = 0;
  Dense<T> inverse_, adjoint_;  // P and P^H
};

/// P = L^-H of an incomplete factorisation L L^H of A^H A + d^2 I.
template <class B, class T>
class IncompletePreconditioner final : public RightPreconditioner<B, T> {
 public:
  explicit IncompletePreconditioner(const Device& device) : ic0_(make_solver<T>("ic0", device)) {}

  /// `A`: sparse.
  Outcome setup(const MatrixRef<T>& A, double damping, const SetupControl& control) {
    Csr<T> normal = normal_matrix(A, damping);
    const Device& device = factors().device();
    if (!device.on_host()) normal = normal.to(device);
    factors().set_control(control);
    Outcome outcome = factors().setup(normal);
    for (const Statistic& statistic : outcome.statistics) {
      if (statistic.name == "shift") shift_ = std::get<double>(statistic.value);
    }
    return outcome;
  }
  /// Multiple of the diagonal of A^H A that was added to it.
  [[nodiscard]] double shift() const { return shift_; }

  void apply(B& /*backend*/, Workspace* workspace, const T* y, T* x) const override {
    factors().solve_upper(*workspace, y, x);
  }
  void apply_adjoint(B& /*backend*/, Workspace* workspace, const T* x, T* y) const override {
    factors().solve_lower(*workspace, x, y);
  }
  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const override {
    return factors().make_workspace();
  }
  [[nodiscard]] std::size_t bytes() const override { return factors().bytes(); }

 private:
  using Factors = incomplete::IncompleteFactorization<B, T>;
  [[nodiscard]] Factors& factors() const {
    return static_cast<Factors&>(SolverAccess<T>::implementation(ic0_));
  }
  Solver<T> ic0_;
  double shift_ = 0;
};

}  // namespace echelon::krylov
