// SPDX-License-Identifier: BSD-3-Clause
/// Interfaces of multigrid methods: description of the hierarchy, and construction from user prolongations.
#pragma once

#include "solver/implementation.hpp"

#include <echelon/methods/multigrid/hierarchy.hpp>

#include <cstddef>
#include <memory>
#include <optional>
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

/// Implemented by methods whose levels have matrices of T in CSR.
template <class T>
class LevelOwner {
 public:
  LevelOwner() = default;
  LevelOwner(const LevelOwner&) = delete;
  LevelOwner& operator=(const LevelOwner&) = delete;
  virtual ~LevelOwner() = default;
  /// A copy; without a value if there is no such level, or it keeps no matrix.
  [[nodiscard]] virtual std::optional<Csr<T>> level_matrix(std::size_t level) const = 0;
};

/// Makes multigrid with given prolongations, whose shapes have to match.
template <class Target, class T>
[[nodiscard]] std::unique_ptr<SolverImplementation<T>> make_with_prolongations(
    const Device& device, std::vector<Csr<T>> prolongations, const AmgOptions& options);

}  // namespace echelon::multigrid
