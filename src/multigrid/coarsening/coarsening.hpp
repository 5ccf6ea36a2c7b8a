// SPDX-License-Identifier: BSD-3-Clause
/// Interface of the coarsenings of algebraic multigrid.
#pragma once

#include <echelon/matrix/csr.hpp>

#include <string>

namespace echelon {

/// Coarsens a matrix level by level: makes the prolongation from the next coarser level.
template <class T>
class Coarsening {
 public:
  Coarsening() = default;
  Coarsening(const Coarsening&) = delete;
  Coarsening& operator=(const Coarsening&) = delete;
  virtual ~Coarsening() = default;

  /// P, n by n_c, on A's device, columns ascending in each row, for the matrix A (n by n) of level `level`,
  /// 0 being the finest. n_c = n or n_c = 0 means that A cannot be coarsened; `reason` then says why.
  /// Called once for each level, from the finest on.
  [[nodiscard]] virtual Csr<T> prolongation(const Csr<T>& A, int level, std::string& reason) = 0;

  /// Overwrites the values of P, which `prolongation` returned for a matrix with the pattern of A, by those
  /// for the values of A, and keeps its pattern. By default they stay.
  virtual void update_values(const Csr<T>& /*A*/, int /*level*/, Csr<T>& /*P*/) {}
  /// Whether update_values() writes every value of P.
  [[nodiscard]] virtual bool updates_prolongations() const { return false; }
};

}  // namespace echelon
