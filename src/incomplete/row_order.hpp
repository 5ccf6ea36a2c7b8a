// SPDX-License-Identifier: BSD-3-Clause
/// Order in which a backend computes the rows of a factorisation, each after the rows that it depends on.
#pragma once

#include "relaxation/gauss_seidel/level_schedule.hpp"

#include <echelon/array.hpp>
#include <echelon/matrix/csr.hpp>

#include <cstddef>
#include <cstdint>

namespace echelon {

class Host;
class Cuda;

namespace incomplete {

/// Constructed from the pattern of the lower triangle with its diagonal: row i depends on the rows of the
/// columns left of it. Affects speed, never results. That of backends
/// without a native factorisation is in factor_by_levels.hpp.
template <class B>
class RowOrder;

/// Rows by levels, if they have enough rows for several threads; otherwise one after another.
template <>
class RowOrder<Host> {
 public:
  RowOrder() = default;
  template <class T>
  RowOrder(Host& backend, const Csr<T>& lower);
  [[nodiscard]] std::size_t bytes() const { return levels.bytes(); }
  /// Device on which triangular solves run.
  [[nodiscard]] Device solve_device(const Device& device) const {
    return levels.empty() ? Device::openmp(1) : device;
  }
  Levels levels;
};

/// All rows sorted by level, which minimises the waiting among the rows that a GPU computes at a time. 4
/// bytes per row.
template <>
class RowOrder<Cuda> {
 public:
  RowOrder() = default;
  /// Computes the levels by one kernel, in which rows wait for rows, and sorts. Does not wait.
  template <class T>
  RowOrder(Cuda& backend, const Csr<T>& lower);
  [[nodiscard]] std::size_t bytes() const { return rows.bytes() + tickets.bytes(); }
  [[nodiscard]] static Device solve_device(const Device& device) { return device; }

  Array<std::int32_t> rows;
  Array<unsigned> tickets;  ///< one counter, at zero between kernels
};

}  // namespace incomplete
}  // namespace echelon
