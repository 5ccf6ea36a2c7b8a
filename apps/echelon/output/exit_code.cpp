// SPDX-License-Identifier: BSD-3-Clause
#include "output/exit_code.hpp"

namespace echelon::tool {

ExitCode exit_code(Status status) {
  switch (status) {
    case Status::converged:
    case Status::direct:
    case Status::least_squares:
    case Status::ready:
    case Status::underdetermined:
      return exit_solved;
    case Status::max_iterations:
    case Status::stagnated:
    case Status::diverged:
    case Status::cancelled:
      return exit_not_converged;
    case Status::breakdown:
    case Status::singular:
    case Status::inconsistent:
    case Status::not_a_number:
    case Status::not_spd:
      return exit_no_solution;
    case Status::out_of_memory:
      return exit_resources;
  }
  return exit_internal;
}

}  // namespace echelon::tool
