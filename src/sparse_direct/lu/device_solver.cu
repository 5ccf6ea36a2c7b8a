// SPDX-License-Identifier: BSD-3-Clause
/// The method sparse-lu on a GPU.
#include "solver/direct/direct_method.hpp"
#include "solver/instantiate.hpp"
#include "sparse_direct/left_looking/prediction.hpp"
#include "sparse_direct/multifrontal/device_sparse_factorization.cuh"

#include <echelon/methods/sparse_lu.hpp>

#include <support/scalar_list.hpp>

namespace echelon {

namespace {

struct LuOnDevice {
  template <class T>
  using Host = SparseLu<T>;
  using Options = SparseLuOptions;
  static constexpr auto kind = sparse_direct::FactorKind::lu;
  /// Where a left-looking factorisation, which real matrices have, takes less time than a GPU needs for the
  /// levels of a tree of tiny fronts.
  template <class T>
  static bool is_quicker_on_host([[maybe_unused]] const Csr<T>& A, const Options& options) {
    if constexpr (is_complex<T>) return false;
    if (options.factorization != LuFactorization::automatic)
      return options.factorization == LuFactorization::left_looking;
    const bool by_degree = options.ordering == Ordering::automatic || options.ordering == Ordering::amd;
    return by_degree && sparse_direct::predict_left_looking(A).has_value();
  }
};

}  // namespace

template <>
struct MethodWith<SparseLuOptions> {
  template <class B, class T>
  using Type = DirectMethod<B, T, sparse_direct::DeviceSparseFactorization<B, T, LuOnDevice>>;
};

#define ECHELON_INSTANTIATE(T)                                                                     \
  template std::unique_ptr<SolverImplementation<T>> make_implementation<CudaTarget>(const Device&, \
                                                                                    const SparseLuOptions&);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon
