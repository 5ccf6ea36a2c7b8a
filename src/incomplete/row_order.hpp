// SPDX-License-Identifier: BSD-3-Clause
/// Order in which a backend computes the rows of a factorisation, each after the rows that it depends on.
#pragma once

#include "incomplete/level_schedule.hpp"

#include <echelon/matrix/csr.hpp>

#include <cstddef>
#include <cstdint>

namespace echelon {

class Serial;
class OpenMp;

namespace incomplete {

/// Made from the pattern of the lower triangle with its diagonal: row i depends on the rows of the columns
/// left of it. Affects speed, never results.
template <class B>
class RowOrder;

/// One row after another.
template <>
class RowOrder<Serial> {
 public:
  RowOrder() = default;
  template <class T>
  RowOrder(Serial& /*backend*/, const Csr<T>& /*lower*/) {}
  [[nodiscard]] static std::size_t bytes() { return 0; }
  /// Where triangular solves run.
  [[nodiscard]] static Device solve_device(const Device& device) { return device; }
};

/// By levels, where they have enough rows for several threads.
template <>
class RowOrder<OpenMp> {
 public:
  RowOrder() = default;
  template <class T>
  RowOrder(OpenMp& backend, const Csr<T>& lower);
  [[nodiscard]] std::size_t bytes() const { return levels.bytes(); }
  [[nodiscard]] Device solve_device(const Device& device) const {
    return levels.empty() ? Device::openmp(1) : device;
  }
  Levels levels;
};

}  // namespace incomplete
}  // namespace echelon
