// SPDX-License-Identifier: BSD-3-Clause
/// Names of linalg/kernels/ that the kernels of fronts use.
#pragma once

#include "linalg/kernels/column.hpp"
#include "linalg/kernels/product.hpp"
#include "linalg/kernels/triangular.hpp"

namespace echelon::sparse_direct {

using kernels::Avx2;
using kernels::Avx512;
using kernels::divide;
using kernels::first_at_least;
using kernels::minus_product;
using kernels::narrow;
using kernels::of_size;
using kernels::PackBuffers;
using kernels::Part;
using kernels::pivot_size;
using kernels::Portable;
using kernels::product;
using kernels::quotient;
using kernels::reciprocal;
using kernels::RightOperand;
using kernels::Simd;
using kernels::solve_rows;
using kernels::solve_unit_lower;
using kernels::subtract_product;
using kernels::transposed;
using kernels::update_column;
using kernels::with_constant;

}  // namespace echelon::sparse_direct
