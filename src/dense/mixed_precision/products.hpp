// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "linalg/blas/float_products.hpp"

#include <echelon/report.hpp>

namespace echelon {

/// Arithmetic of large products in float on a GPU for a factor_precision.
inline FloatProducts float_products(Precision precision) {
  switch (precision) {
    case Precision::working:
    case Precision::single:
      return FloatProducts::in_float;
    case Precision::tf32x3:
      return FloatProducts::tf32x3;
    case Precision::bf16x3:
      return FloatProducts::bf16x3;
    case Precision::tf32:
      return FloatProducts::tf32;
  }
  return FloatProducts::in_float;
}

}  // namespace echelon
