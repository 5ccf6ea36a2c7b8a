// SPDX-License-Identifier: BSD-3-Clause
#include "backend/dispatch.hpp"

#include <echelon/error.hpp>

namespace echelon {

void throw_without_target(const Device& device) {
  throw Error("no code is compiled for device " + device.name());
}

void throw_wrong_target(const Device& device) {
  throw Error("the code of another target was called for device " + device.name());
}

}  // namespace echelon
