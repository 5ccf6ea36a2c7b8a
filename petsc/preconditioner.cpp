// SPDX-License-Identifier: BSD-3-Clause
#include "preconditioner.hpp"

#include "echelon_petsc.h"
#include "guard.hpp"
#include "host_arrays.hpp"
#include "matrix_copy.hpp"
#include "node_share.hpp"
#include "options.hpp"
#include "report_view.hpp"

#include <echelon/methods/multigrid/near_null_space.hpp>
#include <echelon/solver.hpp>
#include <echelon/solver/preconditioner_application.hpp>

#include <petsc/private/pcimpl.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace echelon::petsc {

namespace {

/// Any method of the library as a preconditioner: by one application of a method that is usable as one, else
/// by a whole solve.
struct MethodPreconditioner {
  MethodChoice choice{.method = "amg", .device = Device::openmp(thread_share()), .options = {}};
  MatrixCopy copy;
  std::optional<Solver<double>> solver;
  std::optional<PreconditionerApplication<double>> application;  // none: each application is a whole solve
  Report setup;
  std::optional<Report> last_solve;
  std::unique_ptr<MethodPreconditioner> transposed;  // for A^T, made by the first transposed application

  /// Whether the outcome of a whole solve is what the user asked for: a number of iterations that was given
  /// counts as such.
  [[nodiscard]] bool accepts(const Report& report) const {
    return report.solved() || (report.status == Status::max_iterations && choice.has("max_iterations"));
  }
};

MethodPreconditioner& method_of(PC pc) {
  return *static_cast<MethodPreconditioner*>(pc->data);
}

void set_failure(PC pc, PCFailedReason reason) {
  pc->failedreason = pc->failedreasonrank = reason;
}

PCFailedReason failed_reason(Status status) {
  switch (status) {
    case Status::singular:
    case Status::underdetermined:
    case Status::inconsistent:
    case Status::not_spd:
    case Status::breakdown:
      return PC_FACTOR_NUMERIC_ZEROPIVOT;
    case Status::out_of_memory:
      return PC_FACTOR_OUTMEMORY;
    default:
      return PC_FACTOR_OTHER;
  }
}

/// Copies the vectors of A's near null space; no columns if A has none.
PetscErrorCode copy_near_null_space(Mat A, Dense<double>& vectors) {
  MatNullSpace space = nullptr;
  PetscCall(MatGetNearNullSpace(A, &space));
  vectors = Dense<double>(Device::serial(), 0, 0);
  if (space == nullptr) return success;
  PetscBool constants = PETSC_FALSE;
  PetscInt count = 0;
  PetscInt rows = 0;
  const Vec* members = nullptr;
  PetscCall(MatNullSpaceGetVecs(space, &constants, &count, &members));
  PetscCall(MatGetSize(A, &rows, nullptr));
  const PetscInt first = constants == PETSC_TRUE ? 1 : 0;
  vectors = Dense<double>(Device::serial(), rows, first + count);
  if (first == 1) std::fill_n(vectors.data(), rows, 1.0);
  for (PetscInt k = 0; k < count; ++k) {
    const PetscScalar* values = nullptr;
    PetscCall(VecGetArrayRead(members[k], &values));
    std::copy_n(values, rows, vectors.view().column(first + k));
    PetscCall(VecRestoreArrayRead(members[k], &values));
  }
  return success;
}

/// Makes the solver, with what PETSc knows of A: the size of its blocks and its near null space.
PetscErrorCode make_method(Mat A, MethodPreconditioner& method) {
  Options options = method.choice.options;
  PetscInt block_size = 1;
  PetscCall(MatGetBlockSize(A, &block_size));
  const bool coarsens_by_vectors = find_method(method.choice.method).takes_near_null_space;
  if (coarsens_by_vectors && block_size > 1 && block_size <= 16 && !method.choice.has("block_size"))
    options.set("block_size", block_size);
  method.solver = make_solver<double>(method.choice.method, method.choice.device, options);
  Dense<double> vectors;
  PetscCall(copy_near_null_space(A, vectors));
  const bool classical = method.choice.has("coarsening");
  if (coarsens_by_vectors && vectors.columns() > 0 && !classical)
    set_near_null_space(*method.solver, vectors);
  return success;
}

PetscErrorCode set_up(PC pc, Mat matrix, MethodPreconditioner& method) {
  set_failure(pc, PC_NOERROR);
  method.application.reset();
  method.last_solve.reset();
  method.transposed.reset();
  if (!method.solver) PetscCall(choose_device(matrix, method.choice));
  PetscCall(method.copy.assign(matrix, Elements::all, method.choice.device));
  const MatrixRef<double> A = method.copy.matrix();
  if (A.rows() == 0) return success;
  if (!method.solver) {
    PetscCall(make_method(matrix, method));
    method.setup = method.solver->setup(A);
  } else {
    method.setup = method.copy.same_pattern() ? method.solver->update_values(A) : method.solver->setup(A);
  }
  if (!method.setup.ready()) {
    PetscCheck(!pc->erroriffailure, PETSC_COMM_SELF, PETSC_ERR_NOT_CONVERGED, "%s: %s",
               method.choice.method.c_str(), method.setup.message.c_str());
    PetscCall(PetscInfo(pc, "%s: %s\n", method.choice.method.c_str(), method.setup.message.c_str()));
    set_failure(pc, failed_reason(method.setup.status));
    return success;
  }
  if (find_method(method.choice.method).usable_as_preconditioner)
    method.application.emplace(*method.solver, A.rows());
  return success;
}

/// Applies the method to the columns of r, by one whole solve of all or to one after the other.
PetscErrorCode apply_to(PC pc, MethodPreconditioner& method, DenseView<const double> r, DenseView<double> z) {
  if (r.rows() == 0 || r.columns() == 0) return success;
  if (method.application) {
    apply_on(method.choice.device, r, z, std::ref(*method.application));
    return success;
  }
  method.last_solve =
      solve_on(method.choice.device, r, z,
               [&](DenseView<const double> b, DenseView<double> x) { return method.solver->solve(b, x); });
  const Report& report = *method.last_solve;
  if (method.accepts(report)) return success;
  PetscCheck(!pc->erroriffailure, PETSC_COMM_SELF, PETSC_ERR_NOT_CONVERGED, "%s: %s",
             method.choice.method.c_str(), report.message.c_str());
  PetscCall(PetscInfo(pc, "%s: %s\n", method.choice.method.c_str(), report.message.c_str()));
  set_failure(pc, PC_SUBPC_ERROR);
  fill_infinite(z);
  return success;
}

/// Sets up the method for A^T, for methods that cannot apply the transpose from the set-up for A.
PetscErrorCode set_up_transposed(PC pc) {
  MethodPreconditioner& method = method_of(pc);
  if (method.transposed) return success;
  PetscCheck(find_method(method.choice.method).transposable, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "method %s has no transposed application: factorizations, jacobi, ilu0, ic0 and ssor have",
             method.choice.method.c_str());
  auto transposed = std::make_unique<MethodPreconditioner>();
  transposed->choice = method.choice;
  Mat A = nullptr;
  PetscCall(MatTranspose(pc->pmat, MAT_INITIAL_MATRIX, &A));
  PetscCall(set_up(pc, A, *transposed));
  PetscCall(MatDestroy(&A));
  method.transposed = std::move(transposed);
  return success;
}

PetscErrorCode apply_vector(PC pc, Vec r, Vec z, bool transposed) {
  const PetscScalar* from = nullptr;
  PetscScalar* to = nullptr;
  PetscInt n = 0;
  PetscCall(VecGetLocalSize(z, &n));
  PetscCall(VecGetArrayRead(r, &from));
  PetscCall(VecGetArrayWrite(z, &to));
  const PetscInt leading = std::max<PetscInt>(n, 1);
  const PetscErrorCode code = guarded(PETSC_COMM_SELF, "PCApply_Echelon", [&] {
    MethodPreconditioner& method = method_of(pc);
    const bool is_transposable = method.application && method.application->is_transposable();
    if (transposed && !is_transposable) PetscCall(set_up_transposed(pc));
    if (pc->failedreason == PC_NOERROR) {
      const DenseView<const double> R(from, n, 1, leading);
      const DenseView<double> Z(to, n, 1, leading);
      if (!transposed) return apply_to(pc, method, R, Z);
      if (!is_transposable) return apply_to(pc, *method.transposed, R, Z);
      apply_on(method.choice.device, R, Z,
               [&](auto from_r, auto to_z) { method.application->transposed(from_r, to_z); });
      return success;
    }
    fill_infinite({to, n, 1, leading});
    return success;
  });
  PetscCall(VecRestoreArrayWrite(z, &to));
  PetscCall(VecRestoreArrayRead(r, &from));
  return code;
}

PetscErrorCode apply_once(PC pc, Vec r, Vec z) {
  return apply_vector(pc, r, z, false);
}

PetscErrorCode apply_transpose(PC pc, Vec r, Vec z) {
  return apply_vector(pc, r, z, true);
}

/// Applies the preconditioner to the columns of a seqdense matrix.
PetscErrorCode apply_columns(PC pc, Mat R, Mat Z) {
  const PetscScalar* from = nullptr;
  PetscScalar* to = nullptr;
  PetscInt n = 0;
  PetscInt columns = 0;
  PetscInt leading_from = 0;
  PetscInt leading_to = 0;
  PetscCall(MatGetLocalSize(Z, &n, nullptr));
  PetscCall(MatGetSize(Z, nullptr, &columns));
  PetscCall(MatDenseGetLDA(R, &leading_from));
  PetscCall(MatDenseGetLDA(Z, &leading_to));
  PetscCall(MatDenseGetArrayRead(R, &from));
  PetscCall(MatDenseGetArrayWrite(Z, &to));
  const PetscErrorCode code = guarded(PETSC_COMM_SELF, "PCMatApply_Echelon", [&] {
    return apply_to(pc, method_of(pc), {from, n, columns, leading_from}, {to, n, columns, leading_to});
  });
  PetscCall(MatDenseRestoreArrayWrite(Z, &to));
  PetscCall(MatDenseRestoreArrayRead(R, &from));
  return code;
}

PetscErrorCode read_options(PC pc) {
  MethodPreconditioner& method = method_of(pc);
  OptionReader reader(reinterpret_cast<PetscObject>(pc), "pc_echelon_", "Echelon preconditioner options");
  MethodChoice choice = method.choice;
  PetscCall(reader.read_own({{"method", "a method that `echelon methods` lists", &choice.method}}));
  PetscCall(reader.read_method(choice));
  method.choice = std::move(choice);
  method.application.reset();
  method.transposed.reset();
  method.solver.reset();
  return success;
}

PetscErrorCode view_method(PC pc, PetscViewer viewer) {
  MethodPreconditioner& method = method_of(pc);
  if (!method.solver) return view_text(viewer, "method: " + method.choice.method + ", not set up");
  PetscCall(view_text(viewer, method.solver->describe()));
  PetscCall(view_report(viewer, "Echelon's report of the set-up:", method.setup));
  if (method.last_solve)
    PetscCall(view_report(viewer, "Echelon's report of the last solve:", *method.last_solve));
  return success;
}

PetscErrorCode guarded_set_up(PC pc) {
  return guarded(PETSC_COMM_SELF, "PCSetUp_Echelon", [&] { return set_up(pc, pc->pmat, method_of(pc)); });
}

PetscErrorCode guarded_read_options(PC pc, PetscOptionItems* /*items*/) {
  return guarded(PetscObjectComm(reinterpret_cast<PetscObject>(pc)), "PCSetFromOptions_Echelon",
                 [&] { return read_options(pc); });
}

PetscErrorCode view(PC pc, PetscViewer viewer) {
  PetscBool ascii = PETSC_FALSE;
  PetscCall(PetscObjectTypeCompare(reinterpret_cast<PetscObject>(viewer), PETSCVIEWERASCII, &ascii));
  if (ascii == PETSC_FALSE) return success;
  return guarded(PETSC_COMM_SELF, "PCView_Echelon", [&] { return view_method(pc, viewer); });
}

PetscErrorCode reset(PC pc) {
  method_of(pc).application.reset();
  method_of(pc).transposed.reset();
  method_of(pc).solver.reset();
  return success;
}

PetscErrorCode destroy(PC pc) {
  delete static_cast<MethodPreconditioner*>(pc->data);
  pc->data = nullptr;
  return success;
}

PetscErrorCode create(PC pc) {
  return guarded(PETSC_COMM_SELF, "PCCreate_Echelon", [&] {
    pc->data = new MethodPreconditioner;
    pc->ops->setup = guarded_set_up;
    pc->ops->apply = apply_once;
    pc->ops->applytranspose = apply_transpose;
    pc->ops->matapply = apply_columns;
    pc->ops->setfromoptions = guarded_read_options;
    pc->ops->view = view;
    pc->ops->reset = reset;
    pc->ops->destroy = destroy;
    return success;
  });
}

}  // namespace

PetscErrorCode register_preconditioner() {
  return PCRegister(PCECHELON, create);
}

}  // namespace echelon::petsc
