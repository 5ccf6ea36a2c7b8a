// SPDX-License-Identifier: BSD-3-Clause
/// The interface between subdomains and its classes: corners, edges and faces.
#pragma once

#include <echelon/domain_decomposition/bddc.hpp>

#include <cstdint>
#include <vector>

namespace echelon::bddc {

enum class ClassKind { corner, edge, face };

/// Nodes that belong to the same subdomains and are connected within each of them.
struct InterfaceClass {
  ClassKind kind = ClassKind::face;
  std::vector<std::int32_t> nodes;       ///< ascending
  std::vector<std::int32_t> unknowns;    ///< of these nodes, ascending
  std::vector<std::int32_t> subdomains;  ///< two or more, ascending
};

struct Interface {
  /// Classes in the order of their first nodes; every node of the interface is in one.
  std::vector<InterfaceClass> classes;
  std::vector<std::int32_t> unknowns;  ///< of the interface, ascending

  [[nodiscard]] std::int64_t count(ClassKind kind) const;
};

/// Classifies the nodes (of `block_size` unknowns each) that two or more subdomains share: a class of at most
/// `vertex_size` nodes is a corner, one of two subdomains a face, any other an edge. With `edge_ends` the two
/// nodes of an edge that are farthest apart become corners.
/// C. Pechstein, C. Dohrmann, A unified framework for adaptive BDDC, ETNA 46 (2017), section 2.
[[nodiscard]] Interface classify_interface(const std::vector<SubdomainMatrix>& subdomains,
                                           std::int64_t unknowns, std::int64_t block_size,
                                           std::int64_t vertex_size, bool edge_ends = false);

}  // namespace echelon::bddc
