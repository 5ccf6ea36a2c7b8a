// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/banded/order.hpp"

#include "sparse_direct/ordering/cuthill_mckee.hpp"
#include "sparse_direct/ordering/pattern.hpp"

#include <algorithm>

namespace echelon::banded {

template <class T>
BandOrder BandOrder::reverse_cuthill_mckee(const Csr<T>& A) {
  const sparse_direct::PatternStorage pattern = sparse_direct::symmetrized_pattern(A);
  BandOrder result;
  result.order = sparse_direct::reverse_cuthill_mckee(pattern.view());
  result.inverse = sparse_direct::inverse_permutation(result.order);
  return result;
}

void BandOrder::number_originally(std::vector<std::int64_t>& numbers) const {
  for (std::int64_t& number : numbers) number = original(number);
  std::sort(numbers.begin(), numbers.end());
}

template BandOrder BandOrder::reverse_cuthill_mckee(const Csr<float>&);
template BandOrder BandOrder::reverse_cuthill_mckee(const Csr<double>&);

}  // namespace echelon::banded
