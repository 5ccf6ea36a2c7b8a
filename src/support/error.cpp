// SPDX-License-Identifier: BSD-3-Clause
#include "support/text.hpp"

#include <echelon/error.hpp>

#include <fmt/format.h>

#include <utility>

namespace echelon {

namespace {
std::string located(const std::string& file, std::int64_t line, std::int64_t column,
                    const std::string& reason) {
  if (line == 0) return fmt::format("{}: {}", file, reason);
  if (column == 0) return fmt::format("{}:{}: {}", file, line, reason);
  return fmt::format("{}:{}:{}: {}", file, line, column, reason);
}
}  // namespace

ParseError::ParseError(std::string file, std::int64_t line, std::int64_t column, const std::string& reason)
    : Error(located(file, line, column, reason)), file_(std::move(file)), line_(line), column_(column) {}

BadOption::BadOption(std::string path, const std::string& reason, std::string did_you_mean)
    : Error(did_you_mean.empty() ? reason : fmt::format("{}; did you mean '{}'?", reason, did_you_mean)),
      path_(std::move(path)),
      did_you_mean_(std::move(did_you_mean)) {}

OutOfMemory::OutOfMemory(const std::string& device, std::size_t asked, std::size_t available)
    : Error(fmt::format("out of memory on {}: {} asked for, {} available", device,
                        asked > 0 ? byte_count(asked) : "an unknown amount", byte_count(available))),
      asked_(asked),
      available_(available) {}

}  // namespace echelon
