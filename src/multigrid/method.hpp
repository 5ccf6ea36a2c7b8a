// SPDX-License-Identifier: BSD-3-Clause
/// Construction of multigrid from user prolongations.
#pragma once

#include "solver/implementation.hpp"

#include <echelon/methods/multigrid/hierarchy.hpp>

#include <memory>
#include <vector>

namespace echelon::multigrid {

/// Makes multigrid with given prolongations, whose shapes have to match.
template <class Target, class T>
[[nodiscard]] std::unique_ptr<SolverImplementation<T>> make_with_prolongations(
    const Device& device, std::vector<Csr<T>> prolongations, const AmgOptions& options);

}  // namespace echelon::multigrid
