// SPDX-License-Identifier: BSD-3-Clause
#include "backend/dispatch.hpp"

#include <echelon/error.hpp>

namespace echelon {

void throw_without_target(const Device& device) {
  throw NotBuilt("this operation is not for " + device.name() +
                 ": move its operands to serial or openmp with to(device)");
}

void throw_for_complex(const Device& device) {
  throw NotBuilt("this operation on complex matrices and vectors is not for " + device.name() +
                 ": take serial or openmp");
}

void throw_wrong_target(const Device& device) {
  throw Error("the code of another target was called for device " + device.name());
}

}  // namespace echelon
