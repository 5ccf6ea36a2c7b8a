// SPDX-License-Identifier: BSD-3-Clause
#include "claims/arguments.hpp"

#include "claims/linear_system.hpp"

#include <echelon/error.hpp>
#include <echelon/solver.hpp>

#include <functional>
#include <map>

namespace echelon::claims {

std::string usage() {
  return "usage: claims [OPTION]...\n"
         "  --systems N           number of systems (2000), each in every precision\n"
         "  --seed S              seed of the systems (1)\n"
         "  --methods A,B         methods (all, and auto)\n"
         "  --precision P,Q       double,float\n"
         "  --device D,E          devices (serial): serial, openmp, cuda\n"
         "  --kind K              systems of one kind only; 'list' lists the kinds\n"
         "  --only INDEX          one system; prints the answers of all methods\n"
         "  --json FILE           write the counts and all false claims\n"
         "  --time-limit SECONDS  stop a solve after this time (10); a failure after six times as much\n"
         "  --max-iterations N    of iterative methods (2000)\n"
         "  --largest N           largest order that is drawn freely (200)\n"
         "  --show N              print this many false claims of each sort (4)\n"
         "  --jobs N              processes, each with a system of its own (all cores)\n";
}

namespace {

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> result;
  std::size_t begin = 0;
  while (begin <= list.size()) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    result.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return result;
}

WorkerPart parse_part(const std::string& text) {
  const std::vector<std::string> words = split(text);
  if (words.size() != 4) throw BadOption("--worker", "PART,PARTS,TASK,SOLVE");
  return {std::stoull(words[0]), std::stoull(words[1]), {std::stoull(words[2]), std::stoull(words[3])}};
}

/// The names of all methods that solve, and auto.
std::vector<std::string> all_methods() {
  std::vector<std::string> names = {"auto"};
  for (const Method& method : methods()) {
    if (method.kind == MethodKind::direct || method.kind == MethodKind::iterative)
      names.push_back(method.name);
  }
  return names;
}

void check(Arguments& arguments) {
  if (arguments.methods.empty()) arguments.methods = all_methods();
  for (const std::string& name : arguments.methods) {
    if (name != "auto") (void)find_method(name);
  }
  for (const std::string& precision : arguments.precisions) {
    if (precision != "double" && precision != "float") throw BadOption("--precision", "double or float");
  }
}

}  // namespace

Arguments parse_arguments(const std::vector<std::string>& words) {
  Arguments arguments;
  const std::map<std::string, std::function<void(const std::string&)>> options = {
      {"--systems", [&](const std::string& v) { arguments.systems = std::stoll(v); }},
      {"--seed", [&](const std::string& v) { arguments.seed = std::stoull(v); }},
      {"--methods", [&](const std::string& v) { arguments.methods = split(v); }},
      {"--precision", [&](const std::string& v) { arguments.precisions = split(v); }},
      {"--device", [&](const std::string& v) { arguments.devices = split(v); }},
      {"--kind", [&](const std::string& v) { arguments.kind = v; }},
      {"--only", [&](const std::string& v) { arguments.only = std::stoll(v); }},
      {"--json", [&](const std::string& v) { arguments.json = v; }},
      {"--time-limit", [&](const std::string& v) { arguments.time_limit = std::stod(v); }},
      {"--max-iterations", [&](const std::string& v) { arguments.max_iterations = std::stoll(v); }},
      {"--largest", [&](const std::string& v) { arguments.largest = std::stoull(v); }},
      {"--show", [&](const std::string& v) { arguments.show = std::stoull(v); }},
      {"--jobs", [&](const std::string& v) { arguments.jobs = std::max<std::size_t>(1, std::stoull(v)); }},
      {"--worker", [&](const std::string& v) { arguments.worker = parse_part(v); }},
  };
  for (std::size_t k = 0; k < words.size(); k += 2) {
    const auto option = options.find(words[k]);
    if (option == options.end()) throw BadOption(words[k], "no such option; see --help");
    if (k + 1 == words.size()) throw BadOption(words[k], "the value is missing");
    option->second(words[k + 1]);
  }
  check(arguments);
  return arguments;
}

std::vector<std::int64_t> system_numbers(const Arguments& arguments) {
  if (arguments.only) return {*arguments.only};
  const auto count = static_cast<std::int64_t>(kinds().size());
  std::int64_t first = 0;
  std::int64_t stride = 1;
  if (!arguments.kind.empty()) {
    while (first < count && kinds()[static_cast<std::size_t>(first)].name != arguments.kind) ++first;
    if (first == count) throw BadOption("--kind", "no such kind; see --kind list");
    stride = count;
  }
  std::vector<std::int64_t> result;
  for (std::int64_t k = 0; k < arguments.systems; ++k) result.push_back(first + k * stride);
  return result;
}

}  // namespace echelon::claims
