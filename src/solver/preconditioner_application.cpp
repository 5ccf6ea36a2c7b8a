// SPDX-License-Identifier: BSD-3-Clause
#include "solver/implementation.hpp"

#include <echelon/error.hpp>
#include <echelon/matrix/dense.hpp>
#include <echelon/solver/preconditioner_application.hpp>

#include <support/scalar_list.hpp>

#include <algorithm>

namespace echelon {

namespace {

/// Throws unless the last set-up of a solver for n rows left something to apply.
template <class T>
void check_setup(const Solver<T>& solver, std::int64_t n) {
  // A solve without right-hand sides reports the set-up, and throws if there was none.
  const Device& device = solver.device();
  const std::int64_t leading = std::max<std::int64_t>(n, 1);
  const Report setup = solver.solve(DenseView<const T>(nullptr, n, 0, leading, device),
                                    DenseView<T>(nullptr, n, 0, leading, device));
  const bool applicable = setup.solved() || setup.status == Status::underdetermined ||
                          (setup.status == Status::singular && !setup.row);
  if (!applicable) throw Error("the set-up of the preconditioner failed: " + setup.message);
}

}  // namespace

template <class T>
PreconditionerApplication<T>::PreconditionerApplication(const Solver<T>& solver, std::int64_t n)
    : method_(&SolverAccess<T>::implementation(solver)), rows_(n) {
  if (!find_method(method_->name()).usable_as_preconditioner) {
    throw Error("method '" + method_->name() + "' cannot be used as a preconditioner");
  }
  check_setup(solver, n);
  workspace_ = method_->make_workspace();
}
template <class T>
PreconditionerApplication<T>::PreconditionerApplication(PreconditionerApplication&&) noexcept = default;
template <class T>
PreconditionerApplication<T>& PreconditionerApplication<T>::operator=(PreconditionerApplication&&) noexcept =
    default;
template <class T>
PreconditionerApplication<T>::~PreconditionerApplication() = default;

template <class T>
void PreconditionerApplication<T>::operator()(const T* r, T* z) {
  method_->apply(*workspace_, {r, rows_}, {z, rows_});
}

template <class T>
void PreconditionerApplication<T>::operator()(DenseView<const T> R, DenseView<T> Z) {
  apply_to_matrix(*method_, *workspace_, R, Z);
}

template <class T>
bool PreconditionerApplication<T>::is_transposable() const {
  return method_->traits().is_transposable;
}

template <class T>
void PreconditionerApplication<T>::transposed(DenseView<const T> R, DenseView<T> Z) {
  if (!is_transposable())
    throw Error("the preconditioner " + method_->name() + " has no transposed application");
  apply_to_matrix(*method_, *workspace_, R, Z, Operation::transpose);
}

#define ECHELON_INSTANTIATE(T) template class PreconditionerApplication<T>;
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon
