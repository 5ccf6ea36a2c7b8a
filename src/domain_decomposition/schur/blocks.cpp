// SPDX-License-Identifier: BSD-3-Clause
#include "domain_decomposition/schur/blocks.hpp"

#include "backend/store.hpp"
#include "backend/target.hpp"
#include "solver/factor_status.hpp"
#include "support/scalar.hpp"

#include <support/scalar_list.hpp>

#include <cmath>
#include <cstdint>
#include <limits>

namespace echelon::schur {

namespace {

/// Element (i, j) of a view in any layout.
template <class T>
ECHELON_ANYWHERE T& element(const DenseView<T>& view, std::int64_t i, std::int64_t j) {
  return view.layout() == Layout::column_major ? view.data()[i + j * view.leading()]
                                               : view.data()[i * view.leading() + j];
}

template <class T>
struct GatherBlock {
  DenseView<const T> from;
  const std::int32_t* rows;
  const std::int32_t* columns;
  DenseView<T> to;
  ECHELON_ANYWHERE void operator()(std::int64_t e) const {
    const std::int64_t i = e % to.rows();
    const std::int64_t j = e / to.rows();
    element(to, i, j) = element(from, rows == nullptr ? i : rows[i], columns == nullptr ? j : columns[j]);
  }
};

template <class T>
struct ScatterBlockRows {
  DenseView<const T> from;
  const std::int32_t* rows;
  DenseView<T> to;
  ECHELON_ANYWHERE void operator()(std::int64_t e) const {
    const std::int64_t i = e % from.rows();
    const std::int64_t j = e / from.rows();
    element(to, rows[i], j) = element(from, i, j);
  }
};

template <class T>
struct Mirror {
  DenseView<T> S;
  bool conjugates;
  ECHELON_ANYWHERE void operator()(std::int64_t e) const {
    const std::int64_t i = e % S.rows();
    const std::int64_t j = e / S.rows();
    if (i < j) element(S, i, j) = conjugates ? conj(element(S, j, i)) : element(S, j, i);
  }
};

/// Finds the first element below the diagonal that differs from its mirror image.
template <class T>
struct Differs {
  DenseView<const T> A;
  double tolerance;
  double roundoff;
  ECHELON_ANYWHERE FirstIndex operator()(std::int64_t e) const {
    const std::int64_t i = e / A.columns();
    const std::int64_t j = e % A.columns();
    if (i <= j) return {};
    const auto below = static_cast<double>(element(A, i, j));
    const auto above = static_cast<double>(element(A, j, i));
    const double difference = std::fabs(below - above);
    const double larger = std::fmax(std::fabs(below), std::fabs(above));
    const double diagonal = std::sqrt(std::fabs(static_cast<double>(element(A, i, i)))) *
                            std::sqrt(std::fabs(static_cast<double>(element(A, j, j))));
    if (difference <= tolerance * larger || difference <= roundoff * diagonal) return {};
    return {e};
  }
};

}  // namespace

template <class Target, class T>
void gather_on(DenseView<const T> from, const std::int32_t* rows, const std::int32_t* columns,
               DenseView<T> to) {
  on_backend(to.device(), [&]<class B>() {
    B backend(to.device());
    backend.for_each(to.rows() * to.columns(), GatherBlock<T>{from, rows, columns, to});
  });
}

template <class Target, class T>
void scatter_rows_on(DenseView<const T> from, const std::int32_t* rows, DenseView<T> to) {
  on_backend(to.device(), [&]<class B>() {
    B backend(to.device());
    backend.for_each(from.rows() * from.columns(), ScatterBlockRows<T>{from, rows, to});
  });
}

template <class Target, class T>
void mirror_on(DenseView<T> S, bool conjugates) {
  on_backend(S.device(), [&]<class B>() {
    B backend(S.device());
    backend.for_each(S.rows() * S.columns(), Mirror<T>{S, conjugates});
  });
}

template <class Target, class T>
Asymmetry find_asymmetry_on(DenseView<const T> A) {
  return on_backend(A.device(), [&]<class B>() {
    B backend(A.device());
    constexpr double roundoff = 100 * static_cast<double>(std::numeric_limits<T>::epsilon());
    Array<FirstIndex> first(A.device(), 1);
    backend.reduce(A.rows() * A.columns(), Differs<T>{A, symmetry_tolerance<T>, roundoff},
                   Store<FirstIndex>{first.data()});
    const FirstIndex found = backend.read(first.data());
    if (found.value == FirstIndex::none) return Asymmetry{};
    return Asymmetry{found.value / A.columns(), found.value % A.columns()};
  });
}

#define ECHELON_INSTANTIATE(T)                                                                      \
  template void gather_on<ThisTarget>(DenseView<const T>, const std::int32_t*, const std::int32_t*, \
                                      DenseView<T>);                                                \
  template void scatter_rows_on<ThisTarget>(DenseView<const T>, const std::int32_t*, DenseView<T>); \
  template void mirror_on<ThisTarget>(DenseView<T>, bool);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE
template Asymmetry find_asymmetry_on<ThisTarget>(DenseView<const float>);
template Asymmetry find_asymmetry_on<ThisTarget>(DenseView<const double>);

}  // namespace echelon::schur
