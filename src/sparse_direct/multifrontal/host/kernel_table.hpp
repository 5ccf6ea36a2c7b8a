// SPDX-License-Identifier: BSD-3-Clause
/// Table of the kernels, for the files that compile them for an instruction set.
#pragma once

#include "sparse_direct/multifrontal/host/cholesky_front.hpp"
#include "sparse_direct/multifrontal/host/kernels.hpp"
#include "sparse_direct/multifrontal/host/ldlt_front.hpp"
#include "sparse_direct/multifrontal/host/lu_front.hpp"
#include "sparse_direct/multifrontal/host/solve_divided.hpp"
#include "sparse_direct/multifrontal/host/solve_front.hpp"
#include "sparse_direct/multifrontal/host/solve_vector.hpp"

namespace echelon::sparse_direct {

template <class Isa, class T>
const FrontKernels<T>* kernels_of() {
  static constexpr FrontKernels<T> kernels{
      .factor_cholesky = factor_cholesky_front<Isa, T>,
      .factor_lu = factor_lu_front<Isa, T>,
      .factor_ldlt = factor_ldlt_front<Isa, T>,
      .lower = {solve_lower<Isa, false, T>, solve_all_lower<Isa, false, T>,
                solve_divided_lower<Isa, false, T>},
      .unit_lower = {solve_lower<Isa, true, T>, solve_all_lower<Isa, true, T>,
                     solve_divided_lower<Isa, true, T>},
      .lower_transposed = {solve_lower_transposed<Isa, false, T>, solve_all_lower_transposed<Isa, false, T>,
                           solve_divided_lower_transposed<Isa, false, T>},
      .unit_lower_transposed = {solve_lower_transposed<Isa, true, T>,
                                solve_all_lower_transposed<Isa, true, T>,
                                solve_divided_lower_transposed<Isa, true, T>},
      .upper = {solve_upper<Isa, T>, solve_all_upper<Isa, T>, solve_divided_upper<Isa, T>},
      .upper_transposed = {solve_upper_transposed<Isa, T>, solve_all_upper_transposed<Isa, T>,
                           solve_divided_upper_transposed<Isa, T>},
  };
  return &kernels;
}

}  // namespace echelon::sparse_direct
