// SPDX-License-Identifier: BSD-3-Clause
/// Elimination of many systems with one pattern by a common program, per compilation target.
#pragma once

#include "backend/targets.hpp"
#include "sparse_direct/batched/elimination_program.hpp"
#include "support/machine_epsilon.hpp"

#include <echelon/batched.hpp>
#include <echelon/matrix/dense.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

namespace echelon::sparse_direct {

/// Figures of the solutions of one system: maxima over its right-hand sides.
struct SystemResidual {
  double backward_error = 0;     ///< componentwise
  double relative_residual = 0;  ///< ||b - A x||_2 / ||b||_2; 0 if both are
};

/// Systems of one call: column s of `values` has the elements of A_s.
template <class T>
struct BatchOfSystems {
  DenseView<const T> values;
  DenseBatch<const T> B;
  DenseBatch<T> X;
};

/// The systems from `first` on.
template <class T>
[[nodiscard]] BatchOfSystems<T> part_of(const BatchOfSystems<T>& all, std::int64_t first) {
  const auto from = [&](const auto& batch) {
    return std::decay_t<decltype(batch)>{batch.data() + first * batch.stride(),
                                         batch.rows(),
                                         batch.columns(),
                                         batch.count() - first,
                                         batch.leading(),
                                         batch.stride(),
                                         batch.device()};
  };
  const DenseView<const T>& values = all.values;
  return {{values.column(first), values.rows(), values.columns() - first, values.leading(), values.device()},
          from(all.B),
          from(all.X)};
}

/// Componentwise backward error up to which x needs no step of refinement.
template <class T>
inline constexpr double refined_batch_error = 4 * machine_epsilon<T>;

template <class T>
class BatchElimination {
 public:
  BatchElimination() = default;
  BatchElimination(const BatchElimination&) = delete;
  BatchElimination& operator=(const BatchElimination&) = delete;
  virtual ~BatchElimination() = default;

  /// Factors, substitutes, refines and measures the systems [first, first + count). `residuals`: on the host,
  /// of all systems.
  virtual void solve(const BatchOfSystems<T>& systems, std::int64_t first, std::int64_t count,
                     SystemResidual* residuals) = 0;
  /// Largest number of systems for one call of `solve`, with what is free in memory now.
  [[nodiscard]] virtual std::int64_t most_systems() const = 0;
  [[nodiscard]] virtual std::size_t bytes_per_system() const = 0;
};

template <class Target, class T>
[[nodiscard]] std::unique_ptr<BatchElimination<T>> make_batch_elimination(const Device& device,
                                                                          const BatchPattern& A,
                                                                          const EliminationProgram& program);

}  // namespace echelon::sparse_direct
