// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace echelon::bddc {

/// Reads a file with one whole number for each row, such as METIS writes. Throws BadOption for a file that
/// cannot be read, is empty, or contains anything else, with the line.
[[nodiscard]] std::vector<std::int32_t> read_partition(const std::string& path);

}  // namespace echelon::bddc
