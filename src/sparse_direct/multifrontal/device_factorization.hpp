// SPDX-License-Identifier: BSD-3-Clause
/// Multifrontal factorisation on an NVIDIA GPU: Cholesky, and L D L^T, L D L^H and LU with pivots among the
/// fully summed rows of each front.
#pragma once

#include "solver/implementation.hpp"
#include "sparse_direct/multifrontal/cuda/device_elements.hpp"
#include "sparse_direct/multifrontal/fronts/factor_facts.hpp"
#include "sparse_direct/multifrontal/fronts/factor_kind.hpp"
#include "sparse_direct/symbolic/symbolic_factor.hpp"

#include <echelon/cancellation.hpp>
#include <echelon/device.hpp>
#include <echelon/matrix/scalar.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace echelon::sparse_direct {

namespace gpu {
template <class T>
struct FactorState;
}  // namespace gpu

/// Factorisation on a GPU, in this order: the constructor plans it, allocate() prepares the device, factor()
/// or partial() may be called for every change of values, and solve() any number of times afterwards. Work is
/// queued on the calling thread's stream; factor() and partial() wait.
template <class T>
class DeviceFactorization {
 public:
  /// Plans a factorisation with an assembly tree. For FactorKind::lu that is the tree of P A + (P A)^T: row k
  /// of P A is row row_permutation[k] of A; empty: the identity.
  DeviceFactorization(const Device& device, FactorKind kind, SymbolicFactor tree,
                      std::span<const std::int32_t> row_permutation = {});
  /// Plans the factorisation of several matrices together, which are the diagonal blocks of one and may have
  /// a border each. Throws InvalidMatrix for more rows than the numbers of rows can count.
  DeviceFactorization(const Device& device, FactorKind kind, std::span<const SymbolicFactor* const> trees);
  ~DeviceFactorization();
  DeviceFactorization(DeviceFactorization&&) noexcept;
  DeviceFactorization& operator=(DeviceFactorization&&) noexcept;

  /// Memory of the factorisation of a matrix with this many nonzeros.
  [[nodiscard]] DeviceFactorMemory memory(std::int64_t nonzeros) const;
  /// Levels of the assembly tree, which are factored one after the other.
  [[nodiscard]] std::int64_t levels() const;
  /// Facts about the tree and the memory of the factorisation of a matrix with this many nonzeros, under the
  /// names of the report.
  [[nodiscard]] std::vector<Statistic> statistics(std::int64_t nonzeros) const;

  /// Prepares for a matrix with this pattern, in host memory, and the given scale factors of its rows and
  /// columns; empty: 1. Throws OutOfMemory.
  void allocate(std::span<const std::int64_t> row_offsets, std::span<const std::int32_t> columns,
                std::span<const Real<T>> row_scale = {}, std::span<const Real<T>> column_scale = {});

  /// Makes searches for pivots of LU take the element on the diagonal where it is at least `threshold` times
  /// the largest one of its column, and the next factorisation search.
  void prefer_diagonal(double threshold);

  /// Factors the scaled matrix.
  FactorResult factor(const DeviceElements<T>& A, const CancellationToken& cancel = {});
  /// Factors the rows outside of the borders. `complements`, on the device, receives the Schur complements of
  /// the borders in the scaled matrix, one after the other, column-major, without the elements of the matrix
  /// in the borders' rows and columns; for symmetric factors the lower triangles.
  FactorResult partial(const DeviceElements<T>& A, T* complements, const CancellationToken& cancel = {});
  [[nodiscard]] const FactorFacts& facts() const;

  /// Number of elements of `workspace` that a solve of `columns` right-hand sides needs.
  [[nodiscard]] std::int64_t workspace_size(std::int64_t columns) const;
  /// Computes X = A^-1 B, or A^-T B, in the user's order, column-major, in device memory. X and B may be the
  /// same. With Equilibrated::yes A is the scaled matrix. In the rows of a border B holds X, divided by the
  /// scale of its row and its column; the other rows of X follow from the equations of these rows.
  void solve(bool transposed, std::int64_t columns, const T* B, std::int64_t leading_b, T* X,
             std::int64_t leading_x, T* workspace, Equilibrated equilibrated = Equilibrated::no) const;

  [[nodiscard]] std::size_t bytes() const;

 private:
  std::unique_ptr<gpu::FactorState<T>> state_;
};

}  // namespace echelon::sparse_direct
