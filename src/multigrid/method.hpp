// SPDX-License-Identifier: BSD-3-Clause
/// Interfaces of multigrid methods: their descriptions, and their making with a user's prolongations.
#pragma once

#include "solver/implementation.hpp"

#include <echelon/methods/multigrid/hierarchy.hpp>

#include <memory>
#include <vector>

namespace echelon::multigrid {

/// Implemented by methods that have a hierarchy.
class HierarchyOwner {
 public:
  HierarchyOwner() = default;
  HierarchyOwner(const HierarchyOwner&) = delete;
  HierarchyOwner& operator=(const HierarchyOwner&) = delete;
  virtual ~HierarchyOwner() = default;
  [[nodiscard]] virtual const HierarchyDescription& description() const = 0;
};

/// Multigrid with given prolongations, whose shapes fit each other.
template <class Target, class T>
[[nodiscard]] std::unique_ptr<SolverImplementation<T>> make_with_prolongations(
    const Device& device, std::vector<Csr<T>> prolongations, const AmgOptions& options);

}  // namespace echelon::multigrid
