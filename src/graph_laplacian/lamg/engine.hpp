// SPDX-License-Identifier: BSD-3-Clause
/// Interface between the method lamg and its two algorithms: one for a single core, one in parallel.
#pragma once

#include "solver/implementation.hpp"
#include "solver/nested_solver.hpp"

#include <echelon/cancellation.hpp>
#include <echelon/methods/lamg.hpp>
#include <echelon/methods/multigrid/hierarchy.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

namespace echelon::lamg {

/// Largest number of cycles between two checks.
inline constexpr std::int64_t most_steps = 64;

/// 2-norms of the residual of one right-hand side after some cycles.
struct StepNorms {
  std::array<double, most_steps> at{};
  std::int64_t count = 0;
};

/// A right-hand side whose sum is zero on each component, which stays as it is until the end of the solve,
/// and the vectors of the solve.
template <class T>
struct StartedColumn {
  Workspace* vectors;
  const T* b;
  double tolerance;  ///< on the norm of the residual, at which its cycles end
};
/// The vectors of a solve, and memory for its iterate, which may be that of the right-hand side.
template <class T>
struct FinishedColumn {
  Workspace* vectors;
  T* x;
};

/// Iterative solver for the Laplacian of a graph, on vectors in the memory of B. Read-only after set-up.
template <class B, class T>
class Engine {
 public:
  Engine() = default;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  virtual ~Engine() = default;

  /// Sets up for L, which has to outlive the engine. If `update`, L has the edges of the previous one and
  /// other weights. Ends early, unusable, once `cancel` requests it.
  virtual Outcome setup(B& backend, const Csr<T>& L, const CancellationToken& cancel, bool update) = 0;
  [[nodiscard]] virtual HierarchyDescription description() const = 0;
  /// The Laplacian of a level of the description; without a value if it is eliminated, or there is none.
  [[nodiscard]] virtual std::optional<Csr<T>> level_matrix(std::size_t level) const = 0;
  [[nodiscard]] virtual std::size_t bytes() const = 0;
  /// Vectors of one solve in progress.
  [[nodiscard]] virtual std::unique_ptr<Workspace> make_vectors(const B& backend) const = 0;

  /// Largest number of consecutive steps without progress.
  [[nodiscard]] virtual int idle_steps() const = 0;
  /// Most right-hand sides that are treated together: at most `most_columns`.
  [[nodiscard]] virtual std::size_t width() const = 0;
  /// Begins from x = 0 for each of at most width() right-hand sides.
  virtual void start(B& backend, std::span<const StartedColumn<T>> columns) const = 0;
  /// Does one to `steps` cycles, at most `most_steps`, for each of at most width() right-hand sides, and
  /// writes the norms of their residuals. Each has the bits that it has alone.
  virtual void step(B& backend, std::span<Workspace* const> vectors, std::int64_t steps,
                    std::span<StepNorms> norms) const = 0;
  /// Writes the iterates.
  virtual void finish(B& backend, std::span<const FinishedColumn<T>> columns) const = 0;
  /// Computes z = M r by one cycle for each column, with its vectors. r and z may be the same.
  virtual void apply(B& backend, std::span<Workspace* const> vectors, const MultiVector<const T>& r,
                     const MultiVector<T>& z) const = 0;
  /// Lets `other` use the memory for M of `first`, whose right-hand sides are treated together.
  virtual void share_memory(Workspace& /*first*/, Workspace& /*other*/) const {}
};

}  // namespace echelon::lamg
