// SPDX-License-Identifier: BSD-3-Clause
/// Loop bodies that several methods use.
#pragma once

#include "backend/backend.hpp"

#include <cstdint>

namespace echelon {

/// Contributes to (x, y).
template <class T>
struct Product {
  const T* x;
  const T* y;
  ECHELON_ANYWHERE Sum operator()(std::int64_t i) const {
    return {static_cast<double>(x[i]) * static_cast<double>(y[i])};
  }
};

}  // namespace echelon
