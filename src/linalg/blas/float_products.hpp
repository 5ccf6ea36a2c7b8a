// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace echelon {

/// Arithmetic of large products of float matrices. TF32 has the exponent range of float and 11 significant
/// bits, bfloat16 8; with CUDA only: others compute all products in float.
enum class FloatProducts {
  in_float,
  /// a b = high(a) high(b) + high(a) low(b) + low(a) high(b), each factor in TF32: about float's accuracy, at
  /// a third of TF32's speed.
  tf32x3,
  bf16x3,  ///< as tf32x3 with bfloat16, 16 significant bits per factor, a third of bfloat16's speed
  tf32,    ///< from factors rounded to TF32
};

class Cuda;

/// Whether a backend forms products of floats in other arithmetics than float.
template <class B>
inline constexpr bool has_float_products = false;
template <>
inline constexpr bool has_float_products<Cuda> = true;

}  // namespace echelon
