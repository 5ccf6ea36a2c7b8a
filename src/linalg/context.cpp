// SPDX-License-Identifier: BSD-3-Clause
#include "linalg/context.hpp"

#include "backend/dispatch.hpp"

namespace echelon {

Context::Context(const Device& device)
    : device_(device),
      state_(on_target(device, [&]<class Target>() { return make_state<Target>(device); })) {}

Context::Context(Context&&) noexcept = default;
Context& Context::operator=(Context&&) noexcept = default;
Context::~Context() = default;

}  // namespace echelon
