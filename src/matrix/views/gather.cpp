// SPDX-License-Identifier: BSD-3-Clause
#include "matrix/views/gather.hpp"

#include "backend/store.hpp"
#include "backend/target.hpp"

#include <support/scalar_list.hpp>

#include <type_traits>

namespace echelon {

namespace {

template <class T>
struct GatherSum {
  const std::int64_t* offsets;
  const std::int64_t* indices;
  const T* from;
  T* to;
  ECHELON_ANYWHERE void operator()(std::int64_t k) const {
    T sum{0};
    for (std::int64_t l = offsets[k]; l < offsets[k + 1]; ++l) sum += from[indices[l]];
    to[k] = sum;
  }
};

}  // namespace

template <class Target, class T>
void gather_on(const Device& device, const GatherMap& map, const T* from, std::int64_t count, T* to) {
  static_assert(std::is_same_v<Target, ThisTarget>,
                "instantiated beside a caller, for a target of another compiler");
  on_backend(device, [&]<class B>() {
    B backend(device);
    if (map.offsets.size() == 0) {
      backend.for_each(count, GatherElement{map.indices.data(), from, to});
    } else {
      backend.for_each(count, GatherSum<T>{map.offsets.data(), map.indices.data(), from, to});
    }
  });
}

#define ECHELON_INSTANTIATE(T) \
  template void gather_on<ThisTarget>(const Device&, const GatherMap&, const T*, std::int64_t, T*);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon
