// SPDX-License-Identifier: BSD-3-Clause
/// Exceptions at the boundary of the public API.
#pragma once

#include "backend/device/memory_limits.hpp"

#include <echelon/error.hpp>

#include <functional>
#include <new>
#include <stdexcept>
#include <string>

namespace echelon {

/// Calls f, and replaces exceptions of the standard library that mean misuse or a lack of resources by those
/// of <echelon/error.hpp>. Other exceptions, such as those of a user's callback, pass unchanged.
template <class F>
decltype(auto) at_api_boundary(const F& f) {
  try {
    return f();
  } catch (const std::bad_alloc&) {
    throw host_out_of_memory(0);
  } catch (const std::length_error& error) {
    throw InvalidMatrix(std::string("a size that cannot be allocated: ") + error.what());
  } catch (const std::bad_function_call&) {
    throw Error("a function that was passed is empty");
  }
}

}  // namespace echelon
