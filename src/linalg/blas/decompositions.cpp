// SPDX-License-Identifier: BSD-3-Clause
#include "linalg/blas/decompositions.hpp"

#include "backend/memory_limits.hpp"

#include <echelon/error.hpp>

#include <fmt/format.h>
#include <lapacke.h>

namespace echelon::lapack {

int checked_info(int info, const char* routine) {
  if (info == LAPACK_WORK_MEMORY_ERROR || info == LAPACK_TRANSPOSE_MEMORY_ERROR) throw host_out_of_memory(0);
  if (info < 0) throw Error(fmt::format("LAPACK's {} refused argument {}", routine, -info));
  return info;
}

void invert_factored(int n, double* a) {
  checked_info(LAPACKE_dpotri_work(LAPACK_COL_MAJOR, 'L', n, a, n), "dpotri");
}

bool symmetric_eigenvectors(int n, double* a, double* values) {
  return checked_info(LAPACKE_dsyevd(LAPACK_COL_MAJOR, 'V', 'L', n, a, n, values), "dsyevd") == 0;
}

bool singular_vectors(int n, double* a, double* values, double* u, double* v_transposed) {
  return checked_info(LAPACKE_dgesdd(LAPACK_COL_MAJOR, 'A', n, n, a, n, values, u, n, v_transposed, n),
                      "dgesdd") == 0;
}

}  // namespace echelon::lapack
