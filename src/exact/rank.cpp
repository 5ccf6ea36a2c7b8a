// SPDX-License-Identifier: BSD-3-Clause
// Ranks modulo a prime.
#include "exact/rank.hpp"

#include "exact/elimination.hpp"
#include "exact/integers.hpp"

namespace echelon::mapped {

template <class Target, class T>
std::int64_t rank_modulo(const Csr<T>& A, const PrimeField& field) {
  return on_backend(A.device(), [&]<class B>() {
    B backend(A.device());
    require_residues(backend, field, A);
    MappedElimination<B, PrimeField> elimination(backend, field, ClaimRule::largest, UnknownOrder::natural,
                                                 A.rows(), A.columns());
    elimination.run(A, {});
    return elimination.rank();
  });
}

template std::int64_t rank_modulo<ThisTarget>(const Csr<float>&, const PrimeField&);
template std::int64_t rank_modulo<ThisTarget>(const Csr<double>&, const PrimeField&);

}  // namespace echelon::mapped
