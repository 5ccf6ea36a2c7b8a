// SPDX-License-Identifier: BSD-3-Clause
#include "backend/api_boundary.hpp"
#include "backend/dispatch.hpp"
#include "exact/prime.hpp"
#include "exact/rank.hpp"

#include <echelon/matrix/csr.hpp>
#include <echelon/rank_modulo.hpp>

#include <cstdint>

namespace echelon {

template <class T>
std::int64_t rank_modulo(MatrixRef<T> A, std::int64_t p) {
  return at_api_boundary([&] {
    const mapped::PrimeField field = mapped::prime_field("p", p);
    const Csr<T> copy = A.is_sparse() ? Csr<T>() : to_csr(A);
    const Csr<T>& csr = A.is_sparse() ? *A.csr() : copy;
    return on_target(csr.device(),
                     [&]<class Target>() { return mapped::rank_modulo<Target, T>(csr, field); });
  });
}

template std::int64_t rank_modulo(MatrixRef<float>, std::int64_t);
template std::int64_t rank_modulo(MatrixRef<double>, std::int64_t);

}  // namespace echelon
