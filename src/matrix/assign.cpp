// SPDX-License-Identifier: BSD-3-Clause
#include "matrix/assign.hpp"

#include "backend/target.hpp"

#include <support/scalar_list.hpp>

#include <type_traits>

namespace echelon {

namespace {

template <class T>
struct AssignElement {
  DenseView<const T> from;
  DenseView<T> to;
  ECHELON_ANYWHERE std::int64_t place(std::int64_t i, std::int64_t j, std::int64_t leading,
                                      Layout layout) const {
    return layout == Layout::column_major ? i + j * leading : i * leading + j;
  }
  ECHELON_ANYWHERE void operator()(std::int64_t k) const {
    const std::int64_t i = k % to.rows();
    const std::int64_t j = k / to.rows();
    to.data()[place(i, j, to.leading(), to.layout())] =
        from.data()[place(i, j, from.leading(), from.layout())];
  }
};

}  // namespace

template <class Target, class T>
void assign_on(DenseView<const T> from, DenseView<T> to) {
  static_assert(std::is_same_v<Target, ThisTarget>,
                "instantiated beside a caller, for a target of another compiler");
  on_backend(to.device(), [&]<class B>() {
    B(to.device()).for_each(to.rows() * to.columns(), AssignElement<T>{from, to});
  });
}

#define ECHELON_INSTANTIATE(T) template void assign_on<ThisTarget>(DenseView<const T>, DenseView<T>);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon
