// SPDX-License-Identifier: BSD-3-Clause
#include "linalg/blas/decompositions.hpp"

#include "backend/device/memory_limits.hpp"

#include <echelon/error.hpp>

#include <fmt/format.h>
#include <lapacke.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

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

std::optional<int> least_squares(int m, int n, int columns, double* a, double* b, double tolerance) {
  std::vector<double> values(static_cast<std::size_t>(std::min(m, n)));
  lapack_int rank = 0;
  const int info = checked_info(LAPACKE_dgelsd(LAPACK_COL_MAJOR, m, n, columns, a, m, b, std::max(m, n),
                                               values.data(), tolerance, &rank),
                                "dgelsd");
  return info == 0 ? std::optional(rank) : std::nullopt;
}

}  // namespace echelon::lapack
