// SPDX-License-Identifier: BSD-3-Clause
#include "solver/selection/direct_cost.hpp"
#include "solver/selection/method_selection.hpp"
#include "solver/selection/rectangular.hpp"

#include <echelon/solver.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

namespace echelon {

namespace {

/// Times of a factorisation up to which it comes first, and at all; a complex one takes four times the flops
/// of a real one.
constexpr double first_seconds = 60;
constexpr double last_seconds = 1200;
constexpr double flops_ratio = 4;

/// Time of conjugate gradients with multigrid for each nonzero, 20 iterations and the set-up, on one core.
constexpr double multigrid_seconds = 7e-7;

std::string kind_of_symmetry(const Structure& structure) {
  if (structure.hermitian_values) return "Hermitian";
  return structure.symmetric_values ? "complex symmetric" : "complex and unsymmetric";
}

/// Whether A is Hermitian and may be positive definite.
bool plausibly_definite(const Structure& structure) {
  return structure.hermitian_values && structure.positive_diagonals == structure.rows &&
         structure.definiteness != Definiteness::indefinite;
}

/// Whether the graph of A is a mesh with enough points for multigrid, and A may suit it.
bool suits_multigrid(const MethodSelection& selection) {
  const Structure& structure = selection.structure;
  return selection.sparse && structure.rows >= multigrid_rows && structure.zero_diagonals == 0 &&
         selection.is_mesh() && !selection.is_expander() &&
         (plausibly_definite(structure) || selection.is_complex_symmetric());
}

/// Algebraic multigrid in a Krylov method for the symmetry of A.
Candidate multigrid(const MethodSelection& selection, const std::string& kind) {
  const bool definite = plausibly_definite(selection.structure);
  return {definite ? "cg" : "cocg",
          selection.device,
          {{"preconditioner", "amg"}, {"max_iterations", multigrid_iterations}},
          fmt::format("A is {}, a mesh of {} points: {} with algebraic multigrid", kind,
                      selection.structure.rows, definite ? "CG" : "COCG")};
}

/// Krylov methods in the order of their work in an iteration.
void add_iterations(const MethodSelection& selection, const std::string& kind, std::vector<Candidate>& list) {
  const Structure& structure = selection.structure;
  const auto add = [&](const char* method, Options parameters, std::string reason) {
    list.push_back({method, selection.device, std::move(parameters), std::move(reason)});
  };
  const bool full_diagonal = structure.zero_diagonals == 0;
  if (plausibly_definite(structure))
    add("cg", {{"preconditioner", "jacobi"}}, fmt::format("A is {} with a positive diagonal: CG", kind));
  if (structure.hermitian_values)
    add("minres", {{"max_iterations", 3000}}, fmt::format("A is {}: MINRES, which keeps few vectors", kind));
  if (selection.is_complex_symmetric() && full_diagonal)
    add("cocg", {{"preconditioner", "jacobi"}, {"max_iterations", 3000}},
        fmt::format("A is {}: COCG, which keeps few vectors", kind));
  if (full_diagonal) {
    add("gmres", {{"preconditioner", "jacobi"}, {"restart", 100}, {"max_iterations", 2000}},
        fmt::format("A is {}: GMRES with Jacobi", kind));
  } else {
    add("gmres", {{"restart", 200}, {"max_iterations", 2000}},
        fmt::format("A is {} and has {} zeros on the diagonal: GMRES without a preconditioner", kind,
                    structure.zero_diagonals));
  }
}

bool runs(const Candidate& candidate) {
  return find_method(candidate.method).takes_complex_on(candidate.device);
}

/// Moves candidates that take no complex matrices on their device to the host, and says why.
std::vector<Candidate> placed(std::vector<Candidate> list) {
  for (Candidate& candidate : list) {
    if (runs(candidate)) continue;
    candidate.reason += fmt::format(", on the host, since {} takes no complex matrices on {}",
                                    candidate.method, candidate.device.name());
    candidate.device = Device();
  }
  return list;
}

/// The end of the reason for a factorisation that a core performs quicker than the GPU that was asked for.
const char* place_of(const MethodSelection& selection, const Device& device) {
  return device.on_host() && !selection.device.on_host() ? ", on the host, which is quicker" : "";
}

/// Candidates for a square A as if every method took complex matrices on every device.
std::vector<Candidate> square_candidates(const MethodSelection& selection) {
  const Structure& structure = selection.structure;
  const std::string kind = kind_of_symmetry(structure);
  std::vector<Candidate> direct;
  double seconds = 0;
  if (selection.factor) {
    const Device device = factor_device(selection);
    const DirectCost cost = sparse_cost(selection, device);
    seconds = flops_ratio * cost.seconds;
    if (cost.fits && seconds <= last_seconds) {
      const auto add = [&](const char* method, const std::string& how) {
        direct.push_back({method,
                          device,
                          {},
                          fmt::format("A is {}: {}{}", kind, how, place_of(selection, device)),
                          seconds});
      };
      const char* const half = "a factorisation with half of the work of LU";
      if (plausibly_definite(structure)) add("sparse-cholesky", half);
      if (structure.hermitian_values || structure.symmetric_values) add("sparse-ldlt", half);
      add("sparse-lu", "a factorisation is reliable");
    }
  } else if (dense_fits(selection)) {
    seconds = flops_ratio * dense_seconds(structure.rows, selection.device);
    const char* const why = selection.sparse ? "small" : "dense";
    const auto add = [&](const char* method, const char* how, double share) {
      direct.push_back({method,
                        selection.device,
                        {},
                        fmt::format("A is {} and {} (n = {}): {}", kind, why, structure.rows, how),
                        share * seconds});
    };
    if (plausibly_definite(structure)) add("cholesky", "Cholesky, half of the work of LU", 0.5);
    const bool mirrored = structure.hermitian_values || structure.symmetric_values;
    const bool one_thread = selection.device.on_host() && selection.device.threads() == 1;
    if (mirrored && one_thread && structure.rows >= ldlt_rows)
      add("ldlt", "L D L^T with rook pivoting, half of the work of LU", 0.5);
    add("lu", "LU with partial pivoting", 1);
  }
  std::vector<Candidate> list;
  const bool by_multigrid = suits_multigrid(selection);
  const double iterated = multigrid_seconds * static_cast<double>(structure.nonzeros);
  const bool first = by_multigrid && structure.hermitian_values && seconds > iterated;
  if (first) list.push_back(multigrid(selection, kind));
  if (seconds <= first_seconds) std::move(direct.begin(), direct.end(), std::back_inserter(list));
  if (seconds <= first_seconds) direct.clear();
  if (by_multigrid && !first) list.push_back(multigrid(selection, kind));
  add_iterations(selection, kind, list);
  std::move(direct.begin(), direct.end(), std::back_inserter(list));
  return list;
}

}  // namespace

std::vector<Candidate> complex_candidates(const MethodSelection& selection) {
  if (selection.structure.rows != selection.structure.columns)
    return placed(rectangular_candidates(selection));
  std::vector<Candidate> list = square_candidates(selection);
  std::stable_partition(list.begin(), list.end(), runs);  // methods of a GPU come first
  return placed(std::move(list));
}

std::vector<Candidate> singular_complex_candidates(const MethodSelection& selection) {
  const Structure& structure = selection.structure;
  std::vector<Candidate> list;
  const auto add = [&](const char* method, Options parameters, const char* reason) {
    list.push_back({method, selection.device, std::move(parameters), reason});
  };
  const double dense_time = flops_ratio * dense_seconds(structure.rows, selection.device);
  if (selection.factor) {
    const Device host = selection.device.on_host() ? selection.device : Device();
    const DirectCost cost = sparse_cost(selection, host);
    const bool mirrored = structure.hermitian_values || structure.symmetric_values;
    if (cost.fits && flops_ratio * cost.seconds <= first_seconds)
      list.push_back({mirrored ? "sparse-ldlt" : "sparse-lu",
                      host,
                      {},
                      "A is singular: a factorisation determines its rank, and whether b is in its range"});
  }
  if (dense_time <= most_elimination_seconds && dense_fits(selection))
    add("gauss-jordan", {}, "A is singular: its rank, and whether b is in its range");
  const char* const shape = "A is singular: a solution of minimal residual";
  if (structure.hermitian_values) add("minres", {{"max_iterations", 2000}}, shape);
  add("gmres", {{"restart", 200}, {"max_iterations", 1000}}, shape);
  return placed(std::move(list));
}

}  // namespace echelon
