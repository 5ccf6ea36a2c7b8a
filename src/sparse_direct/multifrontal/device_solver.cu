// SPDX-License-Identifier: BSD-3-Clause
/// The methods sparse-cholesky and sparse-ldlt on a GPU.
#include "solver/direct/direct_method.hpp"
#include "solver/instantiate.hpp"
#include "sparse_direct/multifrontal/device_sparse_factorization.cuh"

#include <echelon/methods/sparse_cholesky.hpp>
#include <echelon/methods/sparse_ldlt.hpp>

#include <support/scalar_list.hpp>

namespace echelon {

namespace {

struct CholeskyOnDevice {
  template <class T>
  using Host = SparseCholesky<T>;
  using Options = SparseCholeskyOptions;
  static constexpr auto kind = sparse_direct::FactorKind::cholesky;
  template <class T>
  static bool is_quicker_on_host(const Csr<T>& /*A*/, const Options& /*options*/) {
    return false;
  }
};

struct LdltOnDevice {
  template <class T>
  using Host = SparseLdlt<T>;
  using Options = SparseLdltOptions;
  static constexpr auto kind = sparse_direct::FactorKind::ldlt;
  template <class T>
  static bool is_quicker_on_host(const Csr<T>& /*A*/, const Options& /*options*/) {
    return false;
  }
};

}  // namespace

template <>
struct MethodWith<SparseCholeskyOptions> {
  template <class B, class T>
  using Type = DirectMethod<B, T, sparse_direct::DeviceSparseFactorization<B, T, CholeskyOnDevice>>;
};
template <>
struct MethodWith<SparseLdltOptions> {
  template <class B, class T>
  using Type = DirectMethod<B, T, sparse_direct::DeviceSparseFactorization<B, T, LdltOnDevice>>;
};

#define ECHELON_INSTANTIATE(T)                                                       \
  template std::unique_ptr<SolverImplementation<T>> make_implementation<CudaTarget>( \
      const Device&, const SparseCholeskyOptions&);                                  \
  template std::unique_ptr<SolverImplementation<T>> make_implementation<CudaTarget>( \
      const Device&, const SparseLdltOptions&);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon
