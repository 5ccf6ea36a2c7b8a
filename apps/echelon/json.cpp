// SPDX-License-Identifier: BSD-3-Clause
#include "json.hpp"

#include "terminal.hpp"

namespace echelon::tool {

void print_json(const Json& value) {
  print_result(value.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace echelon::tool
