// SPDX-License-Identifier: BSD-3-Clause
#include "factor.hpp"

#include "backward_error.hpp"
#include "guard.hpp"
#include "host_arrays.hpp"
#include "report_view.hpp"

#include <echelon/enum_words.hpp>

#include <petsc/private/matimpl.h>

#include <cstddef>
#include <cstdint>
#include <sstream>
#include <utility>
#include <variant>
#include <vector>

namespace echelon::petsc {

namespace {

/// Backward error of a substitution above which all solves are refined: 450 units of rounding.
constexpr double acceptable_error = 1e-13;

Check check_of(const std::string& word) {
  if (word == "first") return Check::first;
  if (word == "always") return Check::always;
  if (word == "never") return Check::never;
  throw BadOption("check", "option 'check' takes first, always or never, not '" + word + "'",
                  nearest_name(word, {"first", "always", "never"}));
}

/// The method for `auto`: a factorisation that exploits what PETSc knows of A.
std::string default_method(bool dense, bool symmetric, bool positive_definite) {
  const std::string kind = !symmetric ? "lu" : positive_definite ? "cholesky" : "ldlt";
  return dense ? kind : "sparse-" + kind;
}

MatFactorError factor_error(Status status) {
  switch (status) {
    case Status::singular:
    case Status::underdetermined:
    case Status::inconsistent:
    case Status::not_spd:
      return MAT_FACTOR_NUMERIC_ZEROPIVOT;
    case Status::out_of_memory:
      return MAT_FACTOR_OUTMEMORY;
    default:
      return MAT_FACTOR_OTHER;
  }
}

std::optional<std::int64_t> integer_statistic(const Report& report, std::string_view name) {
  const Statistic* statistic = report.find_statistic(name);
  const auto* value = statistic != nullptr ? std::get_if<std::int64_t>(&statistic->value) : nullptr;
  return value != nullptr ? std::optional(*value) : std::nullopt;
}

}  // namespace

PetscErrorCode Factor::read_options(Mat F, Mat A) {
  OptionReader reader(reinterpret_cast<PetscObject>(F), "mat_echelon_", "Echelon factorization options");
  std::string method = "auto";
  std::string check = "first";
  PetscCall(reader.read_own({{"method", "direct method; auto: sparse or dense lu, ldlt or cholesky", &method},
                             {"check", "solves that are measured: first, always or never", &check}}));
  check_ = check_of(check);
  if (method == "auto") {
    PetscBool dense = PETSC_FALSE;
    PetscBool known = PETSC_FALSE;
    PetscBool positive_definite = PETSC_FALSE;
    PetscCall(PetscObjectBaseTypeCompare(reinterpret_cast<PetscObject>(A), MATSEQDENSE, &dense));
    PetscCall(MatIsSPDKnown(A, &known, &positive_definite));
    method = default_method(dense == PETSC_TRUE, symmetric(),
                            known == PETSC_TRUE && positive_definite == PETSC_TRUE);
  }
  if (find_method(method).kind != MethodKind::direct)
    throw BadOption("method", "method '" + method + "' is not a factorisation; use it by -pc_type echelon");
  choice_.method = method;
  return reader.read_method(choice_);
}

void Factor::make_solver() {
  Solver<double> made = echelon::make_solver<double>(choice_.method, choice_.device, choice_.options);
  if (choice_.method == SparseLuOptions::name) {
    static_cast<Solver<double>&>(solver_.emplace<SparseLu<double>>(choice_.device)) = std::move(made);
  } else if (choice_.method == LuOptions::name) {
    static_cast<Solver<double>&>(solver_.emplace<Lu<double>>(choice_.device)) = std::move(made);
  } else {
    solver_.emplace<Solver<double>>(std::move(made));
  }
}

Solver<double>& Factor::solver() {
  if (auto* sparse = std::get_if<SparseLu<double>>(&solver_)) return *sparse;
  if (auto* dense = std::get_if<Lu<double>>(&solver_)) return *dense;
  return std::get<Solver<double>>(solver_);
}

/// Copies the values of A unless the copy has them.
PetscErrorCode Factor::copy(Mat A) {
  PetscObjectState state = 0;
  PetscObjectId id = 0;
  PetscCall(PetscObjectStateGet(reinterpret_cast<PetscObject>(A), &state));
  PetscCall(PetscObjectGetId(reinterpret_cast<PetscObject>(A), &id));
  if (state == copied_state_ && id == copied_id_) return success;
  copied_state_ = -1;
  PetscCall(copy_.assign(A, symmetric() ? Elements::symmetric : Elements::all, choice_.device));
  copied_state_ = state;
  copied_id_ = id;
  return success;
}

PetscErrorCode Factor::analyze(Mat F, Mat A) {
  substitution_.reset();
  factored_ = false;
  copied_state_ = -1;
  PetscCall(read_options(F, A));
  if (!schur_) PetscCall(choose_device(A, choice_));
  PetscCall(copy(A));
  if (schur_) {
    (void)schur_options();  // checks them
    return success;
  }
  make_solver();
  if (copy_.matrix().rows() > 0) setup_ = solver().analyze(copy_.matrix());
  return success;
}

PetscErrorCode Factor::factor(Mat F, Mat A) {
  F->factorerrortype = MAT_FACTOR_NOERROR;
  substitution_.reset();
  substitution_measured_ = false;
  checked_.reset();
  PetscCall(copy(A));
  if (copy_.matrix().rows() == 0) return success;
  if (!copy_.asymmetry().empty()) {
    setup_ = {};
    setup_.status = Status::breakdown;
    setup_.method = choice_.method;
    setup_.message = copy_.asymmetry();
    return set_error(F, A, setup_);
  }
  if (schur_) return factor_schur(F, A);
  const bool update = factored_ && copy_.same_pattern();
  setup_ = update ? solver().update_values(copy_.matrix()) : solver().setup(copy_.matrix());
  factored_ = setup_.ready();
  if (!setup_.ready()) return set_error(F, A, setup_);
  if (check_ != Check::always && find_method(choice_.method).usable_as_preconditioner)
    substitution_.emplace(solver(), copy_.matrix().rows());
  substitution_measured_ = check_ == Check::never;
  return success;
}

PetscErrorCode Factor::set_schur(Mat F, IS interface) {
  PetscInt count = 0;
  const PetscInt* indices = nullptr;
  PetscCall(ISGetLocalSize(interface, &count));
  PetscCall(ISGetIndices(interface, &indices));
  schur_.emplace(std::vector<std::int32_t>(indices, indices + count));
  PetscCall(ISRestoreIndices(interface, &indices));
  return MatCreateSeqDense(PETSC_COMM_SELF, count, count, nullptr, &F->schur);
}

void Factor::set_schur_solve(SchurSolve solve) {
  if (schur_) schur_->set_solve(solve);
}

SchurOptions Factor::schur_options() const {
  const std::string& method = choice_.method;
  SchurOptions options;
  if (method == "sparse-cholesky" || method == "cholesky") {
    options.factorization = SchurFactorization::cholesky;
  } else if (method == "sparse-ldlt" || method == "ldlt") {
    options.factorization = SchurFactorization::ldlt;
  } else if (method == "sparse-lu" || method == "lu") {
    options.factorization = SchurFactorization::lu;
  } else {
    throw BadOption("method",
                    "method '" + method +
                        "' forms no Schur complement: sparse-lu, sparse-ldlt, sparse-cholesky and the "
                        "dense lu, ldlt and cholesky do");
  }
  if (!choice_.device.on_host())
    throw BadOption("device", "Schur complements for PETSc are formed on the host");
  options.device = choice_.device;
  for (const auto& [name, value] : choice_.options.entries()) {
    const auto* text = std::get_if<std::string>(&value.get());
    const auto ordering = name == "ordering" && text != nullptr ? from_word<Ordering>(*text) : std::nullopt;
    if (!ordering)
      throw BadOption(
          name,
          "a factorisation that leaves a Schur complement takes the option ordering, not '" + name + "'");
    options.ordering = *ordering;
  }
  return options;
}

PetscErrorCode Factor::factor_schur(Mat F, Mat A) {
  PetscCall(schur_->factor(F, copy_.matrix(), schur_options()));
  setup_ = schur_->report();
  factored_ = setup_.ready();
  return factored_ ? success : set_error(F, A, setup_);
}

PetscErrorCode Factor::set_error(Mat F, Mat A, const Report& report) const {
  const PetscErrorCode code = symmetric() ? PETSC_ERR_MAT_CH_ZRPVT : PETSC_ERR_MAT_LU_ZRPVT;
  PetscCheck(A == nullptr || !A->erroriffailure, PETSC_COMM_SELF, code, "%s: %s", choice_.method.c_str(),
             report.message.c_str());
  F->factorerrortype = factor_error(report.status);
  if (report.row) F->factorerror_zeropivot_row = static_cast<PetscInt>(*report.row);
  PetscCall(PetscInfo(F, "%s: %s\n", choice_.method.c_str(), report.message.c_str()));
  return success;
}

/// Substitution without refinement. The first column after a factorisation is measured; false if its backward
/// error is too large.
bool Factor::substitute(DenseView<const double> b, DenseView<double> x) {
  const auto n = static_cast<std::size_t>(b.rows());
  apply_on(choice_.device, b, x, std::ref(*substitution_));
  if (substitution_measured_) return true;
  substitution_error_ = backward_error(copy_.host(), {b.data(), n}, {x.data(), n});
  if (!(substitution_error_ <= acceptable_error)) return false;
  return substitution_measured_ = true;
}

/// Solve with refinement. Of the refined solves after a factorisation, the first one measures the error of x.
Report Factor::solve_checked(DenseView<const double> B, DenseView<double> X, bool transposed) {
  const Control control = {.measure_error = check_ == Check::always || !checked_};
  const auto on_device = [&](DenseView<const double> right, DenseView<double> left) -> Report {
    if (!transposed || symmetric()) return solver().solve(right, left, control);
    if (auto* sparse = std::get_if<SparseLu<double>>(&solver_)) return sparse->solve_transposed(right, left);
    if (auto* dense = std::get_if<Lu<double>>(&solver_)) return dense->solve_transposed(right, left);
    throw Error("method '" + choice_.method + "' does not solve with the transpose; sparse-lu and lu do");
  };
  return solve_on(choice_.device, B, X, on_device);
}

PetscErrorCode Factor::solve(Mat F, DenseView<const double> B, DenseView<double> X, bool transposed) {
  if (B.rows() == 0 || B.columns() == 0) return success;
  if (schur_) return schur_->solve(F, B, X, transposed);
  const bool plain = substitution_ && (!transposed || symmetric());
  if (plain && substitute(B, X)) return success;
  checked_ = solve_checked(B, X, transposed);
  if (checked_->solved()) {
    if (plain) substitution_.reset();  // the factor needs refinement
    return success;
  }
  fill_infinite(X);
  // A right-hand side with a NaN says nothing about the factor.
  if (checked_->status == Status::not_a_number) return success;
  return set_error(F, nullptr, *checked_);
}

PetscErrorCode Factor::inertia(Mat F, PetscInt* negative, PetscInt* zero, PetscInt* positive) const {
  const auto n = static_cast<std::int64_t>(copy_.matrix().rows());
  const bool definite = choice_.method == "sparse-cholesky" || choice_.method == "cholesky" || n == 0;
  const auto below = definite ? std::int64_t{0} : integer_statistic(setup_, "negative_eigenvalues");
  const auto above = definite ? n : integer_statistic(setup_, "positive_eigenvalues");
  PetscCheck(!schur_, PETSC_COMM_SELF, PETSC_ERR_SUP, "the inertia is not known with a Schur complement");
  PetscCheck(below && above && (!definite || F->factorerrortype == MAT_FACTOR_NOERROR), PETSC_COMM_SELF,
             PETSC_ERR_SUP, "the inertia is known after a factorization by sparse-ldlt or ldlt, not %s",
             choice_.method.c_str());
  if (negative != nullptr) *negative = static_cast<PetscInt>(*below);
  if (positive != nullptr) *positive = static_cast<PetscInt>(*above);
  if (zero != nullptr) *zero = static_cast<PetscInt>(n - *below - *above);
  return success;
}

double Factor::entries() const {
  return static_cast<double>(integer_statistic(setup_, "factor_entries").value_or(0));
}

PetscErrorCode Factor::view(PetscViewer viewer) const {
  PetscCall(view_report(viewer, "Echelon's report of the factorization:", setup_));
  if (substitution_ && substitution_measured_ && check_ == Check::first) {
    std::ostringstream text;
    text << "first solve, by substitution alone: backward error " << substitution_error_;
    PetscCall(view_text(viewer, text.str()));
  }
  if (checked_) PetscCall(view_report(viewer, "Echelon's report of the last refined solve:", *checked_));
  return success;
}

}  // namespace echelon::petsc
