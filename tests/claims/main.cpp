// SPDX-License-Identifier: BSD-3-Clause
/// Solves random linear systems whose exact answers are known by every method, and counts the claims of the
/// reports that are false; usage() in arguments.cpp has the options. Exits with 1 when there is a false
/// claim, and with 77 when no device that was asked for is there.
#include "claims/answer.hpp"
#include "claims/arguments.hpp"
#include "claims/processes.hpp"
#include "claims/tally.hpp"

#include <echelon/error.hpp>

#include <fmt/format.h>

#include <chrono>
#include <exception>
#include <fstream>
#include <iostream>

namespace {

using namespace echelon;
using namespace echelon::claims;

constexpr int skipped = 77;

/// Solves one system in this process and prints all answers.
Tally run_one(const Arguments& arguments) {
  Tally tally;
  const SolveEvents events{[](const Position&, const std::string&) {},
                           [&](const Record& record) {
                             for (const auto& [falsehood, rule] : record.falsehoods) {
                               std::cout << "      *** " << to_string(falsehood) << ": " << rule << '\n';
                             }
                             tally.add(record);
                           }};
  for (std::size_t task = 0; task < arguments.precisions.size(); ++task) {
    run_task(arguments, task, 0, events, &std::cout);
  }
  return tally;
}

/// Whether this build and machine have a device; says so if not.
bool has_device(const std::string& name) {
  try {
    require(Device::parse(name));
    return true;
  } catch (const NotBuilt& error) {
    std::cout << "no " << name << ": " << error.what() << '\n';
  } catch (const NoDevice& error) {
    std::cout << "no " << name << ": " << error.what() << '\n';
  }
  return false;
}

int run_all(const Arguments& arguments, const std::vector<std::string>& words) {
  const auto start = std::chrono::steady_clock::now();
  Tally tally = run_in_processes(arguments, words);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  tally.write_table(std::cout);
  std::cout << fmt::format("{} systems of seed {} in {:.1f} s\n", arguments.systems, arguments.seed,
                           elapsed.count());
  tally.write_offences(std::cout, arguments.show);
  if (!arguments.json.empty()) {
    std::ofstream file(arguments.json);
    tally.write_json(file);
    if (!file.flush()) throw std::runtime_error("cannot write " + arguments.json);
  }
  return tally.has_falsehoods() ? 1 : 0;
}

int run_program(const std::vector<std::string>& words) {
  if (words.size() > 1 && words[1] == "--help") {
    std::cout << usage();
    return 0;
  }
  const Arguments arguments = parse_arguments({words.begin() + 1, words.end()});
  if (arguments.kind == "list") {
    for (const Kind& kind : kinds()) std::cout << kind.name << '\n';
    return 0;
  }
  for (const std::string& device : arguments.devices) {
    if (!has_device(device)) return skipped;
  }
  if (arguments.worker) {
    run_worker(arguments);
    return 0;
  }
  if (arguments.only) return run_one(arguments).has_falsehoods() ? 1 : 0;
  return run_all(arguments, words);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run_program({argv, argv + argc});
  } catch (const std::exception& error) {
    std::cerr << "claims: " << error.what() << '\n';
    return 2;
  }
}
