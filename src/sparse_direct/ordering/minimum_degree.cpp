// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/ordering/minimum_degree.hpp"

#include "backend/device/memory_limits.hpp"

#include <echelon/error.hpp>

#include <amd.h>

#include <array>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

namespace echelon::sparse_direct {

namespace {

int order(int n, const int* begin, const int* columns, int* permutation, double* facts) {
  return amd_order(n, begin, columns, permutation, nullptr, facts);
}
SuiteSparse_long order(SuiteSparse_long n, const SuiteSparse_long* begin, const SuiteSparse_long* columns,
                       SuiteSparse_long* permutation, double* facts) {
  return amd_l_order(n, begin, columns, permutation, nullptr, facts);
}

void check(std::int64_t status, const Pattern& a) {
  if (status == AMD_OUT_OF_MEMORY) {
    throw host_out_of_memory(static_cast<std::size_t>(2 * a.entries() + 9 * a.n) * sizeof(int));
  }
  if (status < 0) throw InvalidMatrix("AMD refuses the pattern: its columns are out of range");
}

DegreeBounds bounds_of(const std::array<double, AMD_INFO>& facts, std::int64_t n) {
  return {facts[AMD_LNZ] + static_cast<double>(n), facts[AMD_NDIV] + 2 * facts[AMD_NMULTSUBS_LU]};
}

}  // namespace

std::vector<std::int32_t> minimum_degree_ordering(const Pattern& a, DegreeBounds* bounds) {
  std::vector<std::int32_t> permutation(static_cast<std::size_t>(a.n));
  std::array<double, AMD_INFO> facts{};
  if (a.columns.empty()) {  // AMD refuses a null pointer
    if (bounds != nullptr) *bounds = {static_cast<double>(a.n), 0};
    std::iota(permutation.begin(), permutation.end(), 0);
    return permutation;
  }
  // AMD's workspace of at most 2.4 entries + 9 n integers has to be countable.
  if (2.4 * static_cast<double>(a.entries()) + 9.0 * static_cast<double>(a.n) <
      std::numeric_limits<std::int32_t>::max()) {
    const std::vector<int> begin(a.row_begin.begin(), a.row_begin.end());
    check(order(static_cast<int>(a.n), begin.data(), a.columns.data(), permutation.data(), facts.data()), a);
    if (bounds != nullptr) *bounds = bounds_of(facts, a.n);
    return permutation;
  }
  const std::vector<SuiteSparse_long> begin(a.row_begin.begin(), a.row_begin.end());
  const std::vector<SuiteSparse_long> columns(a.columns.begin(), a.columns.end());
  std::vector<SuiteSparse_long> result(permutation.size());
  check(order(SuiteSparse_long{a.n}, begin.data(), columns.data(), result.data(), facts.data()), a);
  if (bounds != nullptr) *bounds = bounds_of(facts, a.n);
  permutation.assign(result.begin(), result.end());
  return permutation;
}

}  // namespace echelon::sparse_direct
