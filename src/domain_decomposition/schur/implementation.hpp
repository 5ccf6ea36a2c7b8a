// SPDX-License-Identifier: BSD-3-Clause
/// Elimination of the interior of a matrix: the interface that SchurComplement has of the kinds of matrices
/// and devices.
#pragma once

#include "backend/targets.hpp"
#include "solver/implementation.hpp"

#include <echelon/domain_decomposition/schur_complement.hpp>
#include <echelon/matrix/matrix.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace echelon::schur {

/// The two sets of unknowns.
struct InterfacePartition {
  std::vector<std::int32_t> interior;   ///< ascending
  std::vector<std::int32_t> interface;  ///< as given
  /// Number of each unknown in its set; those of the interface are counted down from -1.
  std::vector<std::int32_t> number;

  [[nodiscard]] bool is_interior(std::int64_t unknown) const {
    return number[static_cast<std::size_t>(unknown)] >= 0;
  }
  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(number.size()); }
};

/// Equations of a right-hand side: A X = B, or A^T X = B.
enum class Equations { plain, transposed };

/// Elimination of the interior of one matrix. The factorisation is not `automatic`.
template <class T>
class InteriorElimination {
 public:
  InteriorElimination() = default;
  InteriorElimination(const InteriorElimination&) = delete;
  InteriorElimination& operator=(const InteriorElimination&) = delete;
  virtual ~InteriorElimination() = default;

  /// Eliminates; called once. The outcome has the facts for the report.
  virtual Outcome eliminate(SchurFactorization factorization) = 0;
  /// S, after a successful elimination.
  [[nodiscard]] virtual const Dense<T>& complement() const = 0;
  [[nodiscard]] virtual std::optional<Inertia> inertia() const = 0;
  [[nodiscard]] virtual std::size_t bytes() const = 0;

  /// G = B_B - A_BI A_II^-1 B_I, for A or its transpose.
  virtual void reduce(Equations equations, DenseView<const T> B, DenseView<T> G) const = 0;
  /// X from X_B, and B or, without elements, zeros.
  virtual void expand(Equations equations, DenseView<const T> X_B, DenseView<const T> B,
                      DenseView<T> X) const = 0;
};

// A, the partition and the options outlive an elimination.

/// Elimination of a sparse A on its device. Defined for HostTarget and CudaTarget.
template <class Target, class T>
[[nodiscard]] std::unique_ptr<InteriorElimination<T>> sparse_elimination_on(
    const Csr<T>& A, const InterfacePartition& partition, const Device& device, const SchurOptions& options);
/// Elimination of a dense A, on any device.
template <class T>
[[nodiscard]] std::unique_ptr<InteriorElimination<T>> dense_elimination(DenseView<const T> A,
                                                                        const InterfacePartition& partition,
                                                                        const Device& device,
                                                                        const SchurOptions& options);
/// Elimination of a sparse A in the memory of a device by the host's cores; S is copied to the device, and
/// vectors in both directions.
template <class T>
[[nodiscard]] std::unique_ptr<InteriorElimination<T>> sparse_elimination_on_host(
    const Csr<T>& A, const InterfacePartition& partition, const Device& device, const SchurOptions& options);

}  // namespace echelon::schur
