// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace echelon {

/// How large products of float matrices are formed. TF32 has float's exponents and 11 significant bits; only
/// GPUs know it, and the host forms all products in float.
enum class FloatProducts {
  in_float,
  /// a b = high(a) high(b) + high(a) low(b) + low(a) high(b), each factor in TF32: about float's accuracy, at
  /// a third of TF32's speed.
  tf32x3,
  tf32,  ///< from factors rounded to TF32
};

}  // namespace echelon
