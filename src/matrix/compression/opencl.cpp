// SPDX-License-Identifier: BSD-3-Clause
#include "backend/target.hpp"
#include "matrix/compression/compress.hpp"
#include "matrix/compression/radix.hpp"

namespace echelon {

template <class Backend, class Entries>
CompressedRows<typename Entries::Value> compress(Backend& backend, const Entries& entries, std::int64_t rows,
                                                 std::int64_t columns) {
  return compress_by_radix(backend, entries, rows, columns);
}

#define ECHELON_INSTANTIATE(T)                                                                    \
  template CompressedRows<T> compress(OpenCl&, const CooEntries<T>&, std::int64_t, std::int64_t); \
  template CompressedRows<T> compress(OpenCl&, const TransposedEntries<T>&, std::int64_t, std::int64_t);
ECHELON_INSTANTIATE(float)
ECHELON_INSTANTIATE(double)
#undef ECHELON_INSTANTIATE

}  // namespace echelon
