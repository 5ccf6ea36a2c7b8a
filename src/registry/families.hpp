// SPDX-License-Identifier: BSD-3-Clause
/// Methods of each family, which its file describes.
#pragma once

#include <echelon/solver.hpp>

#include <vector>

namespace echelon::registry {

[[nodiscard]] std::vector<Method> automatic_methods();
[[nodiscard]] std::vector<Method> crout_methods();
[[nodiscard]] std::vector<Method> dense_methods();
[[nodiscard]] std::vector<Method> domain_decomposition_methods();
[[nodiscard]] std::vector<Method> graph_laplacian_methods();
[[nodiscard]] std::vector<Method> incomplete_methods();
[[nodiscard]] std::vector<Method> krylov_methods();
[[nodiscard]] std::vector<Method> multigrid_methods();
[[nodiscard]] std::vector<Method> relaxation_methods();
[[nodiscard]] std::vector<Method> sparse_direct_methods();

}  // namespace echelon::registry
