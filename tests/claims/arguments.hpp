// SPDX-License-Identifier: BSD-3-Clause
/// Command line of the program claims.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace echelon::claims {

/// Systems are numbered; a task is a system in one precision, and consists of a solve for each device and
/// method. Position of a solve in the order of a run.
struct Position {
  std::size_t task = 0;
  std::size_t solve = 0;
};

/// Part of a run that a worker process does: the tasks part, part + parts, ... from a position on.
struct WorkerPart {
  std::size_t part = 0;
  std::size_t parts = 1;
  Position first = {};
};

struct Arguments {
  std::int64_t systems = 2000;
  std::uint64_t seed = 1;
  std::vector<std::string> methods = {};  ///< empty: all
  std::vector<std::string> precisions = {"double", "float"};
  std::vector<std::string> devices = {"serial"};
  std::string kind = {};
  std::optional<std::int64_t> only = {};
  std::string json = {};
  double time_limit = 10;  ///< seconds for one solve
  std::int64_t max_iterations = 2000;
  std::size_t largest = 200;
  std::size_t show = 4;  ///< false claims printed for each rule
  std::size_t jobs = std::max(1U, std::thread::hardware_concurrency());
  std::optional<WorkerPart> worker = {};  ///< set in worker processes, by --worker PART,PARTS,TASK,SOLVE
};

[[nodiscard]] std::string usage();
/// Throws BadOption, and std::invalid_argument for an argument that is not a number.
[[nodiscard]] Arguments parse_arguments(const std::vector<std::string>& words);

/// The numbers of the systems asked for.
[[nodiscard]] std::vector<std::int64_t> system_numbers(const Arguments& arguments);

}  // namespace echelon::claims
