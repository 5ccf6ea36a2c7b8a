// SPDX-License-Identifier: BSD-3-Clause
#include "incomplete/preconditioner.hpp"
#include "solver/instantiate.hpp"

#include <echelon/methods/ilu0.hpp>

#include <support/scalar_list.hpp>

#include <string>

namespace echelon {

namespace {

using namespace incomplete;

/// `row` counts from 0; `what` completes "the diagonal element ...".
Outcome no_pivot(std::int64_t row, const char* what) {
  return {
      Status::breakdown,
      "ilu0 needs nonzero pivots: the diagonal element of row " + std::to_string(row) + " (from 0) " + what,
      row};
}

template <class B, class T>
class IncompleteLu final : public IncompleteFactorization<B, T> {
 public:
  IncompleteLu(const Device& device, const Ilu0Options& /*options*/)
      : IncompleteFactorization<B, T>(device) {}

  Outcome analyze(const MatrixRef<T>& A) override {
    if (!A.is_sparse()) {
      return {Status::breakdown, "ilu0 needs a sparse matrix: a dense one has no pattern to keep to"};
    }
    const FirstIndex missing = split(this->backend_, *A.csr(), this->factors_);
    if (missing.value != FirstIndex::none) return no_pivot(missing.value, "is not stored");
    this->order_ = RowOrderFor<B, T>(this->backend_, this->factors_.lower);
    return {};
  }

  Outcome update_values(const MatrixRef<T>& A) override {
    load_values(this->backend_, *A.csr(), Real<T>{1}, this->factors_);
    const LuElimination<T> elimination{TriangleRows<T>(this->factors_)};
    const FirstIndex rejected = factor(this->backend_, this->order_, elimination, this->factors_.rows());
    if (rejected.value == FirstIndex::none) return {};
    const T pivot = read_diagonals(this->backend_, this->factors_, rejected.value).upper;
    return no_pivot(rejected.value, pivot == T{0}      ? "became zero"
                                    : is_finite(pivot) ? "became so small that its inverse overflows"
                                                       : "overflowed");
  }
};

}  // namespace

template <>
struct MethodWith<Ilu0Options> {
  template <class B, class T>
  using Type = IncompleteLu<B, T>;
};

#define ECHELON_INSTANTIATE(T)                                                                     \
  template std::unique_ptr<SolverImplementation<T>> make_implementation<ThisTarget>(const Device&, \
                                                                                    const Ilu0Options&);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon
