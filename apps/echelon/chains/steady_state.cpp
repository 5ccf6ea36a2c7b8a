// SPDX-License-Identifier: BSD-3-Clause
#include "chains/steady_state.hpp"

#include "output/files.hpp"
#include "output/json.hpp"
#include "terminal/progress_line.hpp"
#include "terminal/terminal.hpp"
#include "terminal/text.hpp"

#include <echelon/matrix/dense.hpp>
#include <echelon/problems/steady_state.hpp>

#include <fmt/format.h>

#include <cstddef>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace echelon::tool {

namespace {

Csr<double> sparse(Matrix<double>&& matrix) {
  if (auto* const csr = std::get_if<Csr<double>>(&matrix)) return std::move(*csr);
  return to_csr(MatrixRef<double>(matrix));
}

Status status_of(const SteadyState& found) {
  if (!found.converged) return Status::stagnated;
  if (found.closed_classes > 1) return Status::underdetermined;
  return found.method == SteadyStateMethod::iteration ? Status::converged : Status::direct;
}

Json steady_state_json(const SteadyStateRequest& request, const SteadyState& found, double seconds) {
  return {{"command", "solve"},
          {"matrix", utf8(request.matrix)},
          {"status", to_string(status_of(found))},
          {"method", to_string(found.method)},
          {"states", found.x.size()},
          {"closed_classes", found.closed_classes},
          {"transient_states", found.transient_states},
          {"residual", found.residual},
          {"componentwise_residual", found.componentwise_residual},
          {"iterations", found.iterations},
          {"seconds", seconds},
          {"output", request.output.empty() ? Json(nullptr) : Json(utf8(request.output))}};
}

std::string method_text(const SteadyState& found) {
  if (found.method == SteadyStateMethod::elimination)
    return "elimination of Grassmann, Taksar and Heyman, each component to its own accuracy";
  return fmt::format("{} of BiCGStab and GMRES, and Gauss-Seidel sweeps: elimination would fill up",
                     counted(found.iterations, "iteration"));
}

std::string steady_state_text(const SteadyStateRequest& request, const SteadyState& found, double seconds) {
  const bool unique = found.closed_classes <= 1 && found.converged;
  std::vector<Row> rows;
  if (!found.converged) {
    rows.emplace_back("because", "the iteration has not reduced the residual to 1e-12");
  } else if (!unique) {
    rows.emplace_back("because", fmt::format("the chain has {} closed classes of states, each with a steady "
                                             "state: x is that of the first one",
                                             grouped(found.closed_classes)));
  }
  rows.emplace_back("matrix", fmt::format("{}: {}", input_name(request.matrix),
                                          counted(static_cast<std::int64_t>(found.x.size()), "state")));
  rows.emplace_back("transient", counted(found.transient_states, "state"));
  rows.emplace_back("method", method_text(found));
  rows.emplace_back("residual",
                    fmt::format("{}, relative to the largest flow, and {}, to that of each state",
                                short_number(found.residual), short_number(found.componentwise_residual)));
  rows.emplace_back("time", duration(seconds));
  if (!request.output.empty()) rows.emplace_back("output", output_name(request.output));
  return fmt::format("{}\n", paint(unique            ? "Steady state"
                                   : found.converged ? "No unique steady state"
                                                     : "No steady state",
                                   unique ? Colour::green : Colour::red, report_stream())) +
         aligned(rows);
}

}  // namespace

ExitCode solve_steady_state(const SteadyStateRequest& request) {
  check_dense_format({"--output", request.output});
  check_files({request.matrix}, {{"--output", request.output}});
  ProgressLine progress(request.quiet);
  progress.announce("reading " + input_name(request.matrix));
  const Csr<double> A = sparse(std::move(read_input<double>(request.matrix, request.input).matrix));
  const Stopwatch stopwatch;
  progress.announce("finding the steady state");
  const SteadyState found = steady_state(A);
  const double seconds = stopwatch.seconds();
  progress.clear();
  if (!request.output.empty()) {
    const Dense<double> x(A.rows(), 1, Array<double>(Device(), std::span<const double>(found.x)));
    write_dense<double>(request.output, x, "steady state of " + input_name(request.matrix));
  }
  if (request.json) {
    print_json(steady_state_json(request, found, seconds));
  } else {
    print_report(steady_state_text(request, found, seconds));
  }
  return found.closed_classes > 1 ? exit_no_solution : exit_code(status_of(found));
}

}  // namespace echelon::tool
