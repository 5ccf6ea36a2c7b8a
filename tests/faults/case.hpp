// SPDX-License-Identifier: BSD-3-Clause
/// Computations of which every allocation is made to fail.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace echelon::faults {

/// How a run ended; what is not listed ends the program.
enum class End { right, out_of_memory, wrong };

/// A computation that starts anew with each call.
struct Case {
  std::string name;
  std::function<End()> run;
};

/// Entry points of the library other than solvers: analysis of graphs, Schur complements, batches, bands,
/// row reduction, ranks, structure and predictions. Their results are known in closed form.
[[nodiscard]] std::vector<Case> entry_point_cases();

}  // namespace echelon::faults
