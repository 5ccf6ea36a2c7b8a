// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/ordering/ordering.hpp"

#include "sparse_direct/ordering/cuthill_mckee.hpp"
#include "sparse_direct/ordering/dissection/nested_dissection.hpp"
#include "sparse_direct/ordering/metis.hpp"
#include "sparse_direct/ordering/minimum_degree.hpp"
#include "sparse_direct/pattern/dense_rows.hpp"

#include <echelon/error.hpp>

#include <cstdint>
#include <iterator>
#include <numeric>
#include <vector>

namespace echelon::sparse_direct {

namespace {

std::vector<std::int32_t> natural_ordering(std::int64_t n) {
  std::vector<std::int32_t> permutation(static_cast<std::size_t>(n));
  std::iota(permutation.begin(), permutation.end(), 0);
  return permutation;
}

std::vector<std::int32_t> given_ordering(std::int64_t n, std::span<const std::int32_t> permutation) {
  if (!is_permutation(permutation, n)) {
    throw BadOption("permutation",
                    "it does not hold each of the rows 0 to " + std::to_string(n - 1) + " once");
  }
  return {permutation.begin(), permutation.end()};
}

/// Rows of the parts that nested dissection leaves to minimum degree. Minimum degree takes less time, but
/// numbers a long narrow part from its ends, so that its pivots wait for each other. On a GPU they would take
/// longer than all separators.
constexpr std::int64_t leaf_size = 800;
constexpr std::int64_t leaf_size_for_gpu = 200;

}  // namespace

std::vector<std::int32_t> order(const Pattern& a, const OrderingOptions& options) {
  if (!options.permutation.empty()) return given_ordering(a.n, options.permutation);
  test_for_stop(options.cancel);
  switch (options.ordering) {
    case Ordering::automatic:
      break;
    case Ordering::amd:
      if (std::ssize(options.minimum_degree) == a.n)
        return {options.minimum_degree.begin(), options.minimum_degree.end()};
      return minimum_degree_ordering(a);
    case Ordering::dissection:
      return nested_dissection_ordering(a, {.leaf_size = options.for_gpu ? leaf_size_for_gpu : leaf_size,
                                            .threads = options.threads,
                                            .cancel = options.cancel});
    case Ordering::metis:
      return with_dense_rows_last(a, metis_ordering);
    case Ordering::rcm:
      return reverse_cuthill_mckee(a);
    case Ordering::natural:
      return natural_ordering(a.n);
  }
  throw Error("an ordering is chosen by its predicted factor");
}

}  // namespace echelon::sparse_direct
