// SPDX-License-Identifier: BSD-3-Clause
/// Systems solved with multigrid, and single applications of a solver, for its tests.
#pragma once

#include "solver/implementation.hpp"

#include <echelon/matrix/csr.hpp>
#include <echelon/options.hpp>
#include <echelon/solver.hpp>

#include <vector>

namespace echelon::test {

struct SolvedSystem {
  Report report;
  std::vector<double> x;
};

inline SolvedSystem solve_with(Solver<double>& solver, const Csr<double>& A, const std::vector<double>& b) {
  SolvedSystem solved{solver.setup(A), std::vector<double>(b.size())};
  if (solved.report.ready()) solved.report = solver.solve(b, solved.x);
  return solved;
}

/// Solves with cg and amg, whose options have the prefix "preconditioner.".
inline SolvedSystem solve_cg(const Csr<double>& A, const std::vector<double>& b, Options amg = {},
                             const Device& device = Device()) {
  amg.set("preconditioner", "amg");
  Solver<double> solver = make_solver<double>("cg", device, amg);
  return solve_with(solver, A, b);
}

/// z = M r of a solver that is set up.
inline std::vector<double> applied(const Solver<double>& solver, const std::vector<double>& r) {
  const SolverImplementation<double>& implementation = SolverAccess<double>::implementation(solver);
  const auto workspace = implementation.make_workspace();
  std::vector<double> z(r.size());
  const auto n = static_cast<std::int64_t>(r.size());
  implementation.apply(*workspace, {r.data(), n}, {z.data(), n});
  return z;
}

}  // namespace echelon::test
