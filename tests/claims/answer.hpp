// SPDX-License-Identifier: BSD-3-Clause
/// Solves of one system by all methods.
#pragma once

#include "claims/arguments.hpp"
#include "claims/tally.hpp"

#include <functional>
#include <iosfwd>

namespace echelon::claims {

/// Calls before(position, description) before each solve, and after(record) with its result.
struct SolveEvents {
  std::function<void(const Position&, const std::string&)> before;
  std::function<void(Record)> after;
};

/// Solves task number `task` from solve number `first_solve` on. `details`: null, or the stream to which
/// facts and answers are written.
void run_task(const Arguments& arguments, std::size_t task, std::size_t first_solve,
              const SolveEvents& events, std::ostream* details);

}  // namespace echelon::claims
