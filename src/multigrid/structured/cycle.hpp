// SPDX-License-Identifier: BSD-3-Clause
/// V-cycle for stencil matrices, in float.
///
/// Vectors b of a level are divided by the diagonal elements, as its rows are. The smoother is the Chebyshev
/// polynomial of the fourth kind of degree 2 in D^-1 A, which needs no lower bound of the spectrum (J.
/// Lottes, arXiv 2202.08830):
///
///   y = x + c1 r(x),   z = y + (y - x) / 5 + c2 r(y),   c1 = 4 / (3 lambda),   c2 = 12 / (5 lambda)
///
/// with r(x) = b - A x for the scaled A and lambda its spectral radius. It comes before and after the coarse
/// correction, which makes the cycle symmetric for a symmetric A. Where the strong connections lie along
/// different axes from place to place, the smoother is damped Jacobi by lines, along one axis after another,
/// and in the opposite order after the coarse correction.
#pragma once

#include "backend/arena.hpp"
#include "backend/recording.hpp"
#include "linalg/vector/float_vector.hpp"
#include "matrix/stencil/stencil_matrix.hpp"
#include "multigrid/coarse_solvers/dense_inverse.hpp"
#include "multigrid/structured/hierarchy.hpp"
#include "solver/implementation.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace echelon::multigrid {

/// Vectors between the levels during a transfer along one axis after another.
struct TransferScratch {
  float* vectors[2];
};

/// Vectors of a level.
struct LevelVectors {
  float *b, *x, *y;
  TransferScratch transfer;  ///< on the host
};

/// x = M b by one V-cycle. Read-only after set-up; queues its work without waiting.
template <class B>
class StencilCycle {
 public:
  /// Vectors of all levels.
  struct Scratch final : Workspace {
    [[nodiscard]] std::size_t bytes() const override { return size; }
    Arena memory;
    std::size_t size = 0;
    std::vector<LevelVectors> levels;
    Recording<B> recording;
  };

  StencilCycle(std::vector<StencilLevel> levels, std::int64_t coarsest_rows, DenseInverse<float> inverse)
      : levels_(std::move(levels)), coarsest_rows_(coarsest_rows), inverse_(std::move(inverse)) {}

  [[nodiscard]] const std::vector<StencilLevel>& levels() const { return levels_; }
  [[nodiscard]] const DenseInverse<float>& inverse() const { return inverse_; }
  [[nodiscard]] std::size_t bytes() const {
    std::size_t bytes = inverse_.transpose.bytes();
    for (const StencilLevel& level : levels_) bytes += level.bytes();
    return bytes;
  }
  /// Diagonal of the finest level, by which b is divided; null if that is the coarsest.
  [[nodiscard]] const float* diagonal() const { return levels_.empty() ? nullptr : diagonal_of(0); }

  [[nodiscard]] std::unique_ptr<Scratch> make_scratch(const Device& device) const {
    auto scratch = std::make_unique<Scratch>();
    std::int64_t bytes = 2 * Arena::bytes<float>(coarsest_rows_);
    for (const StencilLevel& level : levels_) {
      bytes += 3 * Arena::bytes<float>(level.A.rows()) + 2 * Arena::bytes<float>(size_of_transfer(level));
    }
    scratch->memory = Arena(device, bytes);
    scratch->size = static_cast<std::size_t>(bytes);
    const auto take = [&](std::int64_t n) { return scratch->memory.template take<float>(n); };
    for (const StencilLevel& level : levels_) {
      const std::int64_t n = level.A.rows();
      const std::int64_t between = size_of_transfer(level);
      scratch->levels.push_back({take(n), take(n), take(n), {take(between), take(between)}});
    }
    scratch->levels.push_back({take(coarsest_rows_), take(coarsest_rows_), nullptr, {}});
    return scratch;
  }

  /// b = factor r for the points of A, divided by the diagonal elements of the finest level.
  template <class T>
  void round_residual(B& backend, const Grid& points, const FloatScale* scale, const T* r, float* b) const;
  /// From b of the scratch memory's first level to its x.
  void apply(B& backend, Scratch& scratch) const;

 private:
  [[nodiscard]] const float* diagonal_of(std::size_t l) const {
    const StencilMatrix<float>& A = levels_[l].A;
    return A.values.data() + A.places() / 2 * A.stride();
  }

  /// Elements of a vector between a level and the next one.
  static std::int64_t size_of_transfer(const StencilLevel& level) {
    return B::on_host && level.transfers.size() > 1 ? level.transfers.front().coarse().size() : 0;
  }

  void visit(B& backend, Scratch& scratch, std::size_t l) const;

  std::vector<StencilLevel> levels_;
  std::int64_t coarsest_rows_;
  DenseInverse<float> inverse_;
};

}  // namespace echelon::multigrid
