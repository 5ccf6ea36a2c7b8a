// SPDX-License-Identifier: BSD-3-Clause
#include "incomplete/preconditioner.hpp"
#include "solver/factor_status.hpp"
#include "solver/instantiate.hpp"

#include <echelon/methods/ilu0.hpp>

#include <cmath>

namespace echelon {

namespace {

using namespace incomplete;

template <class B, class T>
class IncompleteLu final : public IncompleteFactorization<B, T> {
 public:
  IncompleteLu(const Device& device, const Ilu0Options& /*options*/)
      : IncompleteFactorization<B, T>(device) {}

  Outcome analyze(const MatrixRef<T>& A) override {
    if (!A.is_sparse()) return ilu0_without_pattern();
    const FirstIndex missing = split(this->backend_, *A.csr(), this->factors_);
    if (missing.value != FirstIndex::none) return ilu0_pivot(missing.value, "is not stored");
    this->order_ = RowOrder<B>(this->backend_, this->factors_.lower);
    return {};
  }

  Outcome update_values(const MatrixRef<T>& A) override {
    load_values(this->backend_, *A.csr(), T{1}, this->factors_);
    const LuElimination<T> elimination{TriangleRows<T>(this->factors_)};
    const FirstIndex rejected = factor(this->backend_, this->order_, elimination, this->factors_.rows());
    if (rejected.value == FirstIndex::none) return {};
    const T pivot = read_diagonals(this->backend_, this->factors_, rejected.value).upper;
    return ilu0_pivot(rejected.value, pivot == 0             ? "became zero"
                                      : std::isfinite(pivot) ? "became so small that its inverse overflows"
                                                             : "overflowed");
  }
};

}  // namespace

template <>
struct MethodWith<Ilu0Options> {
  template <class B, class T>
  using Type = IncompleteLu<B, T>;
};

template std::unique_ptr<SolverImplementation<float>> make_implementation<HostTarget>(const Device&,
                                                                                      const Ilu0Options&);
template std::unique_ptr<SolverImplementation<double>> make_implementation<HostTarget>(const Device&,
                                                                                       const Ilu0Options&);

}  // namespace echelon
