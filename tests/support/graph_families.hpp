// SPDX-License-Identifier: BSD-3-Clause
/// Small graphs of the families on which Laplacian solvers are known to fail.
#pragma once

#include <echelon/options.hpp>

#include <string>
#include <utility>
#include <vector>

namespace echelon::test {

/// Names and options of generators.
inline std::vector<std::pair<std::string, Options>> graph_families() {
  return {
      {"path", {{"n", 3000}}},
      {"star", {{"n", 3000}}},
      {"ring", {{"n", 1025}}},
      {"complete-binary-tree", {{"n", 2047}}},
      {"complete", {{"n", 100}}},
      {"barbell", {}},
      {"sachdeva-star", {{"copies", 20}, {"clique", 20}}},
      {"grid-2d", {{"nx", 60}, {"ny", 50}}},
      {"grid-2d", {{"nx", 60}, {"ny", 50}, {"weight_y", 1e-4}}},
      {"grid-2d", {{"nx", 60}, {"ny", 50}, {"weights", "log-uniform"}, {"decades", 6}}},
      {"grid-3d", {{"nx", 15}, {"ny", 15}, {"nz", 15}}},
      {"barabasi-albert", {{"n", 4000}}},
      {"rmat", {{"scale", 11}}},
  };
}

}  // namespace echelon::test
