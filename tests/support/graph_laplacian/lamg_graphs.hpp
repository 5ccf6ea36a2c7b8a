// SPDX-License-Identifier: BSD-3-Clause
/// Graphs for tests of solvers for Laplacians, and their matrices row by row.
#pragma once

#include <echelon/generate.hpp>
#include <echelon/matrix/csr.hpp>
#include <echelon/options.hpp>

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace echelon::test {

using Rows = std::vector<std::vector<double>>;

inline Csr<double> make_graph(const std::string& family, const Options& options) {
  return std::get<Csr<double>>(make_matrix<double>(family, options));
}

inline Rows rows_of(const Csr<double>& A) {
  Rows rows(static_cast<std::size_t>(A.rows()), std::vector<double>(static_cast<std::size_t>(A.columns())));
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
      rows[static_cast<std::size_t>(i)][static_cast<std::size_t>(A.column_indices()[k])] += A.values()[k];
    }
  }
  return rows;
}

inline std::vector<Csr<double>> small_graphs() {
  std::vector<Csr<double>> graphs;
  for (const int seed : {1, 2, 3}) {
    graphs.push_back(make_graph("chimera", {{"n", 70}, {"seed", seed}, {"weights", "chimera"}}));
    graphs.push_back(make_graph("grown", {{"n", 60}, {"seed", seed}}));
    graphs.push_back(make_graph("erdos-renyi", {{"n", 65}, {"degree", 3}, {"seed", seed}}));
  }
  graphs.push_back(make_graph("grid-2d", {{"nx", 11}, {"ny", 9}}));
  return graphs;
}

}  // namespace echelon::test
