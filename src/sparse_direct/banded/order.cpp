// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/banded/order.hpp"

#include "sparse_direct/ordering/cuthill_mckee.hpp"
#include "sparse_direct/pattern/pattern.hpp"

#include <support/scalar_list.hpp>

#include <algorithm>
#include <span>
#include <utility>

namespace echelon::banded {

template <class T>
BandOrder BandOrder::reverse_cuthill_mckee(const Csr<T>& A, const Device& device) {
  const sparse_direct::PatternStorage pattern = sparse_direct::symmetrized_pattern(A);
  BandOrder result;
  result.host_order = sparse_direct::reverse_cuthill_mckee(pattern.view());
  const std::vector<std::int32_t> inverse = sparse_direct::inverse_permutation(result.host_order);
  result.order = Array<std::int32_t>(device, std::span<const std::int32_t>(result.host_order));
  result.inverse = Array<std::int32_t>(device, std::span<const std::int32_t>(inverse));
  return result;
}

void BandOrder::number_originally(std::vector<std::int64_t>& numbers) const {
  for (std::int64_t& number : numbers) number = original(number);
  std::sort(numbers.begin(), numbers.end());
}

#define ECHELON_INSTANTIATE(T) \
  template BandOrder BandOrder::reverse_cuthill_mckee(const Csr<T>&, const Device&);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon::banded
