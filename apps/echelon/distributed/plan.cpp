// SPDX-License-Identifier: BSD-3-Clause
#include "distributed/plan.hpp"

#include <echelon/enum_words.hpp>
#include <echelon/error.hpp>
#include <echelon/matrix/structure.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

namespace echelon::tool {

namespace {

constexpr std::string_view factor_prefix = "factor.";

std::string text_of(const OptionValue& value) {
  return std::visit(
      [](const auto& held) -> std::string {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(held)>, std::string>) {
          return held;
        } else {
          return fmt::format("{}", held);
        }
      },
      value.get());
}

template <WordedEnum E>
E word_value(const std::string& name, const std::string& text) {
  if (const std::optional<E> value = from_word<E>(text)) return *value;
  std::vector<std::string> words;
  for (const EnumWord<E>& entry : words_of(E{})) words.emplace_back(entry.word);
  throw BadOption(name, fmt::format("with --ranks, {} is {}, not '{}'", name, fmt::join(words, ", "), text),
                  nearest_name(text, words));
}

std::int64_t whole_number(const std::string& name, const std::string& text, std::int64_t low,
                          std::int64_t high) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < low || value > high)
    throw BadOption(name, fmt::format("{} is a whole number from {} to {}, not '{}'", name, low, high, text));
  return value;
}

void set_option(DistributedOptions& chosen, const std::string& name, const std::string& text) {
  if (name == "preconditioner") {
    chosen.preconditioner = word_value<DistributedPreconditioner>(name, text);
  } else if (name == "factor") {
    chosen.factor = text;
  } else if (name == "overlap") {
    chosen.overlap = whole_number(name, text, 0, 100);
  } else if (name == "scaling") {
    chosen.scaling = word_value<DistributedScaling>(name, text);
  } else if (name == "block_size") {
    chosen.block_size = whole_number(name, text, 1, 16);
  } else if (name == "restart") {
    chosen.restart = whole_number(name, text, 1, 10000);
  } else if (name.starts_with(factor_prefix)) {
    chosen.factor_options.set(name.substr(factor_prefix.size()), text);
  } else {
    std::vector<std::string> names;
    for (const OptionInfo& row : distributed_options_table()) names.push_back(row.name);
    throw BadOption(name, fmt::format("there is no option '{}' of a solve with --ranks", name),
                    nearest_name(name, names));
  }
}

void check_factor(const DistributedOptions& chosen) {
  if (chosen.factor == "auto" && chosen.factor_options.empty()) return;
  if (chosen.factor == "auto")
    throw BadOption("factor", "its options need a factorisation: name it with -p factor=NAME");
  const Method& method = find_method(chosen.factor);
  if (method.kind != MethodKind::direct) {
    throw BadOption("factor",
                    fmt::format("method '{}' is not a factorisation, such as sparse-cholesky, sparse-ldlt or "
                                "sparse-lu",
                                chosen.factor));
  }
  method.check_options(Device(), chosen.factor_options);
}

/// Words that the option `factor` takes.
std::vector<std::string> factor_words() {
  std::vector<std::string> words = {"auto"};
  for (const Method& method : methods()) {
    if (method.kind == MethodKind::direct) words.push_back(method.name);
  }
  return words;
}

/// PETSc's options for the factorisation in a place, which their prefix names.
void add_factor(std::vector<std::string>& arguments, const std::string& prefix, bool symmetric,
                const DistributedOptions& chosen, const SolveOptions& options) {
  const auto add = [&](std::string_view name, const std::string& value) {
    arguments.push_back(fmt::format("-{}{}", prefix, name));
    arguments.push_back(value);
  };
  add("pc_type", symmetric ? "cholesky" : "lu");
  add("pc_factor_mat_solver_type", "echelon");
  if (chosen.factor != "auto") add("mat_echelon_method", chosen.factor);
  for (const auto& [name, value] : chosen.factor_options.entries())
    add("mat_echelon_" + name, text_of(value));
  if (options.device) add("mat_echelon_device", options.device->name());
}

std::vector<std::string> bddc_arguments(const DistributedOptions& chosen, const SolveOptions& options) {
  std::vector<std::string> arguments = {"-pc_type",
                                        "bddc",
                                        "-pc_bddc_use_faces",
                                        "1",
                                        "-pc_bddc_detect_disconnected",
                                        "1",
                                        "-pc_is_use_stiffness_scaling",
                                        chosen.scaling == DistributedScaling::stiffness ? "1" : "0"};
  if (chosen.scaling == DistributedScaling::deluxe) {
    // PCBDDC asks only packages of certain names for Schur complements: Echelon takes one of them.
    for (const char* word : {"-pc_bddc_use_deluxe_scaling", "1", "-echelon_as_mkl_pardiso", "1",
                             "-sub_schurs_mat_solver_type", "mkl_pardiso"})
      arguments.emplace_back(word);
  }
  for (const char* place : {"dirichlet", "neumann", "coarse_redundant"})
    add_factor(arguments, fmt::format("pc_bddc_{}_", place), true, chosen, options);
  return arguments;
}

std::vector<std::string> schwarz_arguments(bool symmetric, const DistributedOptions& chosen,
                                           const SolveOptions& options) {
  std::vector<std::string> arguments;
  if (chosen.preconditioner == DistributedPreconditioner::block_jacobi) {
    arguments = {"-pc_type", "bjacobi"};
  } else {
    arguments = {"-pc_type",        "asm",
                 "-pc_asm_overlap", std::to_string(chosen.overlap),
                 "-pc_asm_type",    symmetric ? "basic" : "restrict"};
  }
  add_factor(arguments, "sub_", symmetric, chosen, options);
  return arguments;
}

std::vector<std::string> krylov_arguments(DistributedMethod method, const DistributedOptions& chosen,
                                          const SolveOptions& options) {
  std::vector<std::string> arguments = {"-ksp_type", std::string(echelon::to_string(method)),
                                        "-ksp_norm_type", "unpreconditioned"};
  const auto add = [&](std::string_view name, const std::string& value) {
    arguments.emplace_back(name);
    arguments.push_back(value);
  };
  if (method == DistributedMethod::gmres) {
    add("-ksp_pc_side", "right");
    add("-ksp_gmres_restart", std::to_string(chosen.restart));
  }
  const Stop defaults;
  const std::int64_t most = options.max_iterations.value_or(defaults.max_iterations);
  add("-ksp_rtol", fmt::format("{}", options.rtol.value_or(defaults.relative_tolerance(false))));
  add("-ksp_atol", fmt::format("{}", options.atol.value_or(defaults.atol)));
  add("-ksp_divtol", "1e10");
  add("-ksp_max_it", std::to_string(std::min<std::int64_t>(most, std::numeric_limits<std::int32_t>::max())));
  return arguments;
}

struct Symmetry {
  bool symmetric = false;
  bool maybe_definite = false;
};

Symmetry symmetry_of(const Csr<double>& A) {
  constexpr double rounding = 1e-10;
  const Structure structure = analyze_structure(MatrixRef<double>(A));
  const bool symmetric = structure.asymmetry <= rounding;
  return {symmetric, symmetric && structure.definiteness != Definiteness::indefinite &&
                         structure.positive_diagonals == structure.rows};
}

DistributedPlan make_plan(DistributedMethod method, DistributedOptions chosen, bool symmetric,
                          const SolveOptions& options, std::string reason) {
  const bool is_bddc = chosen.preconditioner == DistributedPreconditioner::bddc;
  DistributedPlan plan;
  plan.method = fmt::format("{} (preconditioner={})", echelon::to_string(method),
                            echelon::to_string(chosen.preconditioner));
  plan.reason = std::move(reason);
  plan.division = is_bddc ? "subdomains" : "rows";
  plan.block_size = chosen.block_size;
  plan.arguments = krylov_arguments(method, chosen, options);
  const std::vector<std::string> more =
      is_bddc ? bddc_arguments(chosen, options) : schwarz_arguments(symmetric, chosen, options);
  plan.arguments.insert(plan.arguments.end(), more.begin(), more.end());
  return plan;
}

}  // namespace

const std::vector<OptionInfo>& distributed_options_table() {
  static const std::vector<OptionInfo> table = {
      {"preconditioner",
       OptionKind::word,
       "auto",
       {"auto", "bddc", "asm", "block-jacobi"},
       {},
       "auto: bddc for a symmetric A with a positive diagonal that does not map constants to zero, else "
       "asm"},
      {"factor",
       OptionKind::method,
       "auto",
       factor_words(),
       {},
       "factorisation of subdomains and of the coarse problem; auto: sparse-ldlt if A is symmetric, else "
       "sparse-lu"},
      {"factor.", OptionKind::nested, "", {}, {}, "an option of the factorisation"},
      {"overlap",
       OptionKind::integer,
       "1",
       {},
       {0, 100},
       "asm: layers of neighbours that each subdomain shares"},
      {"scaling",
       OptionKind::word,
       "stiffness",
       {"cardinality", "stiffness", "deluxe"},
       {},
       "bddc: weights of shared values, equal, by the diagonals of the subdomain matrices, or by their Schur "
       "complements"},
      {"block_size",
       OptionKind::integer,
       "1",
       {},
       {1, 16},
       "unknowns per node of a system of equations; divides the number of rows"},
      {"restart", OptionKind::integer, "30", {}, {1, 10000}, "gmres: iterations between restarts"}};
  return table;
}

DistributedOptions parse_distributed_options(const SolveOptions& options) {
  DistributedOptions chosen;
  chosen.method = word_value<DistributedMethod>("method", options.method);
  for (const auto& [name, value] : options.parameters.entries()) set_option(chosen, name, text_of(value));
  check_factor(chosen);
  return chosen;
}

std::vector<DistributedPlan> distributed_plans(const DistributedOptions& chosen, const SolveOptions& options,
                                               const Csr<double>& A, bool singular) {
  const auto [symmetric, maybe_definite] = symmetry_of(A);
  const bool free_method = chosen.method == DistributedMethod::automatic;
  const bool free_preconditioner = chosen.preconditioner == DistributedPreconditioner::automatic;
  if (!symmetric &&
      (chosen.method == DistributedMethod::cg || chosen.preconditioner == DistributedPreconditioner::bddc)) {
    const bool is_cg = chosen.method == DistributedMethod::cg;
    throw BadOption(is_cg ? "method" : "preconditioner",
                    fmt::format("{} needs a symmetric matrix, and this one is not: take gmres with asm",
                                is_cg ? "cg" : "bddc"));
  }
  DistributedOptions first = chosen;
  if (free_preconditioner)
    first.preconditioner =
        maybe_definite && !singular ? DistributedPreconditioner::bddc : DistributedPreconditioner::asm_;
  const DistributedMethod method = !free_method     ? chosen.method
                                   : maybe_definite ? DistributedMethod::cg
                                                    : DistributedMethod::gmres;
  const bool chosen_here = free_method || free_preconditioner;
  const std::string_view kind = maybe_definite && singular ? "symmetric, and maps constants to zero"
                                : maybe_definite           ? "symmetric with a positive diagonal"
                                : symmetric                ? "symmetric indefinite"
                                                           : "not symmetric";
  const std::string reason = chosen_here ? fmt::format("the matrix is {}", kind) : "";
  std::vector<DistributedPlan> plans = {make_plan(method, first, symmetric, options, reason)};
  if (free_method && free_preconditioner && maybe_definite) {
    first.preconditioner = DistributedPreconditioner::asm_;
    plans.push_back(make_plan(DistributedMethod::gmres, first, symmetric, options,
                              "it needs neither a definite matrix nor definite subdomains"));
  }
  return plans;
}

}  // namespace echelon::tool
