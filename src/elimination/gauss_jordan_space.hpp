// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "backend/side.hpp"
#include "elimination/gauss_jordan.hpp"
#include "elimination/gauss_jordan_blocks.hpp"
#include "solver/audit.hpp"

#include <memory>

namespace echelon {

template <class B, class T>
struct BackendSpace final : EliminationSpace {
  explicit BackendSpace(const Device& of)
      : EliminationSpace(of), tools(of), audit(make_audit<ThisSide, T>(of)) {}
  EliminationTools<B> tools;
  std::unique_ptr<Audit<T>> audit;
};

/// The space of a device that is known to be served by B.
template <class B, class T>
BackendSpace<B, T>& space_of(EliminationSpace& space) {
  return static_cast<BackendSpace<B, T>&>(space);
}

}  // namespace echelon
