// SPDX-License-Identifier: BSD-3-Clause
#include "domain_decomposition/bddc/subdomains/read_partition.hpp"

#include <echelon/error.hpp>

#include <charconv>
#include <fstream>

namespace echelon::bddc {

std::vector<std::int32_t> read_partition(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw BadOption("partition", "the file '" + path + "' cannot be opened");
  std::vector<std::int32_t> part;
  std::string line;
  for (std::int64_t number = 1; std::getline(file, line); ++number) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    std::int32_t value = 0;
    const char* const end = line.data() + line.size();
    const auto [stop, error] = std::from_chars(line.data(), end, value);
    if (error != std::errc() || stop != end) {
      throw BadOption("partition", path + ", line " + std::to_string(number) + ": '" + line.substr(0, 40) +
                                       "' is not the number of a subdomain");
    }
    part.push_back(value);
  }
  if (file.bad()) throw BadOption("partition", "the file '" + path + "' cannot be read");
  if (part.empty()) throw BadOption("partition", "the file '" + path + "' is empty");
  return part;
}

}  // namespace echelon::bddc
