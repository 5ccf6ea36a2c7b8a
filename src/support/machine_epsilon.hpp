// SPDX-License-Identifier: BSD-3-Clause
/// Machine epsilon as a constant that device code can read, too.
#pragma once

#include <echelon/matrix/scalar.hpp>

#include <limits>

namespace echelon {

/// Distance from 1 to the next real number in the precision of T, 2^-52 for double. Device code cannot call
/// epsilon() itself: the compiler warns, and the result is undefined. Hidden by name: -fvisibility leaves
/// variable templates out.
template <class T>
[[gnu::visibility("hidden")]] inline constexpr double machine_epsilon =
    static_cast<double>(std::numeric_limits<Real<T>>::epsilon());

}  // namespace echelon
