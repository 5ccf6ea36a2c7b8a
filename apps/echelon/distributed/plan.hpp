// SPDX-License-Identifier: BSD-3-Clause
/// Choice of method, preconditioner and PETSc's options for `echelon solve --ranks`.
#pragma once

#include <echelon/enum_words.hpp>
#include <echelon/matrix/csr.hpp>
#include <echelon/options.hpp>
#include <echelon/solve.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace echelon::tool {

enum class DistributedMethod { automatic, cg, gmres };
constexpr std::array<EnumWord<DistributedMethod>, 3> words_of(DistributedMethod) {
  return {{{DistributedMethod::automatic, "auto"},
           {DistributedMethod::cg, "cg"},
           {DistributedMethod::gmres, "gmres"}}};
}

enum class DistributedPreconditioner { automatic, bddc, asm_, block_jacobi };
constexpr std::array<EnumWord<DistributedPreconditioner>, 4> words_of(DistributedPreconditioner) {
  return {{{DistributedPreconditioner::automatic, "auto"},
           {DistributedPreconditioner::bddc, "bddc"},
           {DistributedPreconditioner::asm_, "asm"},
           {DistributedPreconditioner::block_jacobi, "block-jacobi"}}};
}

enum class DistributedScaling { cardinality, stiffness, deluxe };
constexpr std::array<EnumWord<DistributedScaling>, 3> words_of(DistributedScaling) {
  return {{{DistributedScaling::cardinality, "cardinality"},
           {DistributedScaling::stiffness, "stiffness"},
           {DistributedScaling::deluxe, "deluxe"}}};
}

/// Options of a solve on several processes.
struct DistributedOptions {
  DistributedMethod method = DistributedMethod::automatic;
  DistributedPreconditioner preconditioner = DistributedPreconditioner::automatic;
  std::string factor = "auto";  ///< direct method for subdomains and the coarse problem
  Options factor_options;
  std::int64_t overlap = 1;
  DistributedScaling scaling = DistributedScaling::stiffness;
  std::int64_t block_size = 1;
  std::int64_t restart = 30;
};

/// Table of the options for -p; `factor.` stands for options of the factorisation.
[[nodiscard]] const std::vector<OptionInfo>& distributed_options_table();

/// Parses --method and -p. Throws BadOption, with the nearest name.
[[nodiscard]] DistributedOptions parse_distributed_options(const SolveOptions& options);

/// A combination to try.
struct DistributedPlan {
  std::string method;    ///< "cg (preconditioner=bddc)"
  std::string reason;    ///< why it was chosen; empty if the user named it
  std::string division;  ///< "rows" or "subdomains"
  std::int64_t block_size = 1;
  std::vector<std::string> arguments;  ///< of PETSc
};

/// Combinations for A in the order in which they are tried: one, unless method and preconditioner are both
/// automatic. `singular`: A maps constants to zero, and the coarse problem of bddc would be singular. Throws
/// BadOption for a method that A is not suited for.
[[nodiscard]] std::vector<DistributedPlan> distributed_plans(const DistributedOptions& chosen,
                                                             const SolveOptions& options,
                                                             const Csr<double>& A, bool singular);

}  // namespace echelon::tool
