// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/left_looking/stored_zeros.hpp"

#include <echelon/array.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace echelon::sparse_direct {

namespace {

template <class T>
std::int64_t count_zeros(const Csr<T>& a) {
  const auto values = a.values().span();
  return std::count(values.begin(), values.end(), T{0});
}

}  // namespace

template <class T>
bool has_many_zeros(const Csr<T>& a) {
  constexpr std::int64_t least_share = 16;  // one in this many elements
  return least_share * count_zeros(a) > a.nonzeros();
}

template <class T>
Csr<T> without_zeros(const Csr<T>& a) {
  const std::int64_t nonzeros = a.nonzeros() - count_zeros(a);
  Array<std::int64_t> offsets(Device(), a.rows() + 1);
  Array<std::int32_t> columns(Device(), nonzeros);
  Array<T> values(Device(), nonzeros);
  std::int64_t place = 0;
  offsets[0] = 0;
  for (std::int64_t i = 0; i < a.rows(); ++i) {
    for (std::int64_t k = a.row_offsets()[i]; k < a.row_offsets()[i + 1]; ++k) {
      if (a.values()[k] == 0) continue;
      columns[place] = a.column_indices()[k];
      values[place++] = a.values()[k];
    }
    offsets[i + 1] = place;
  }
  return Csr<T>::unchecked(a.rows(), a.columns(), std::move(offsets), std::move(columns), std::move(values));
}

template <class T>
bool copy_kept_values(const Csr<T>& a, Csr<T>& kept) {
  for (std::int64_t i = 0; i < a.rows(); ++i) {
    std::int64_t place = kept.row_offsets()[i];
    for (std::int64_t k = a.row_offsets()[i]; k < a.row_offsets()[i + 1]; ++k) {
      if (place < kept.row_offsets()[i + 1] && kept.column_indices()[place] == a.column_indices()[k]) {
        kept.values()[place++] = a.values()[k];
      } else if (a.values()[k] != 0) {
        return false;
      }
    }
  }
  return true;
}

template bool has_many_zeros(const Csr<float>&);
template bool has_many_zeros(const Csr<double>&);
template Csr<float> without_zeros(const Csr<float>&);
template Csr<double> without_zeros(const Csr<double>&);
template bool copy_kept_values(const Csr<float>&, Csr<float>&);
template bool copy_kept_values(const Csr<double>&, Csr<double>&);

}  // namespace echelon::sparse_direct
