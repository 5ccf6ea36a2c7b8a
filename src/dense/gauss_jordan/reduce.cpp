// SPDX-License-Identifier: BSD-3-Clause
// The reduced row echelon form and the null space.
#include "dense/gauss_jordan/dependence.hpp"
#include "dense/gauss_jordan/factor_precision.hpp"
#include "dense/gauss_jordan/factorization.hpp"
#include "dense/gauss_jordan/null_space.hpp"
#include "dense/gauss_jordan/operations.hpp"
#include "dense/gauss_jordan/workspace.hpp"
#include "exact/decide_rank.hpp"
#include "solver/column_report.hpp"
#include "support/scalar.hpp"
#include "support/stopwatch.hpp"

#include <support/scalar_list.hpp>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

namespace echelon {

namespace {

/// Column columns[k] of A = the k-th unit vector.
template <class T>
struct SetUnitColumns {
  DenseView<T> A;
  const std::int64_t* columns;
  ECHELON_ANYWHERE void operator()(std::int64_t e) const {
    const std::int64_t k = e / A.rows();
    const std::int64_t i = e % A.rows();
    A.data()[columns[k] * A.leading() + i] = i == k ? T{1} : T{0};
  }
};

/// Undoes the scaling of the columns in the columns without a pivot: the element of pivot k in column j times
/// c_k / c_j, for the scales c of the pivot's column and of column j.
template <class T>
struct UnscaleReducedColumns {
  DenseView<T> R;
  std::int64_t rank;
  const std::int64_t* columns;  // of the pivots
  const T* scale;
  ECHELON_ANYWHERE void operator()(std::int64_t e) const {
    const std::int64_t j = e / rank;
    T& element = R.data()[j * R.leading() + e % rank];
    const int exponent = std::ilogb(real(scale[columns[e % rank]])) - std::ilogb(real(scale[j]));
    element = scaled_by_power(element, exponent);
  }
};

/// Replaces the transformation in the pivot columns by unit vectors, and undoes the scaling of the others.
template <class B, class T>
void complete_reduced_form(EliminationWorkspace<B>& workspace, GaussJordanFactorization<B, T>& factorization,
                           Report& report) {
  Dense<T>& R = factorization.matrix();
  if (factorization.column_scale() != nullptr) {
    workspace.backend.for_each(
        factorization.rank() * R.columns(),
        UnscaleReducedColumns<T>{R.view(), factorization.rank(), factorization.elimination().columns(),
                                 factorization.column_scale()});
  }
  workspace.backend.for_each(R.rows() * factorization.rank(),
                             SetUnitColumns<T>{R.view(), factorization.elimination().columns()});
  Array<double> row_sums(R.device(), R.rows());
  const MatrixScan scanned = scan<T>(workspace.backend, R.view(), row_sums.data());
  if (scanned.row < 0) return;
  report.status = Status::not_a_number;
  report.message = "the reduced form overflows at row " + std::to_string(scanned.row) + ", column " +
                   std::to_string(scanned.column) + ", counted from 0";
  report.row = scanned.row;
  report.column = scanned.column;
}

template <class B, class T>
class EchelonReduction {
 public:
  EchelonReduction(EliminationWorkspace<B>& workspace, const GaussJordanOptions& options)
      : workspace_(workspace),
        options_(options),
        equilibration_(asks_exact_rank(options) ? Equilibration::if_uneven : Equilibration::never),
        factorization_(workspace, options) {}

  EchelonForm<T> run(Dense<T> A) {
    const Stopwatch stopwatch;
    EchelonForm<T> form;
    Report& report = form.report;
    const Dense<T> copy = asks_exact_rank(options_) ? copy_for_exact_rank<T>(A.view()) : Dense<T>();
    left_product_ = Array<T>(A.device(), A.columns());
    Outcome outcome = factor(std::move(A), copy);
    report = outcome_report(outcome, std::string(GaussJordanOptions::name), workspace_.backend.device());
    report.factor_precision =
        report_factor_precision<B, T>(options_, "the reduced form needs the working precision");
    report.column = factorization_.nonfinite_column();
    report.bytes = factorization_.bytes() - factorization_.matrix().bytes() + copy.bytes();
    if (!outcome.ok()) return form;
    describe(form);
    if (form.facts.doubtful) report.warnings.push_back(describe_rank(form.facts, factorization_.columns()));
    complete_reduced_form(workspace_, factorization_, report);
    form.R = std::move(factorization_.matrix());
    report.setup_seconds = stopwatch.seconds();
    return form;
  }

 private:
  /// Eliminates A, again if the exact rank is another one. Empty `copy`: the exact rank is not asked.
  Outcome factor(Dense<T> A, const Dense<T>& copy) {
    Outcome outcome = factorization_.factor(std::move(A), equilibration_, {}, left_product_.data());
    if (!outcome.ok() || copy.rows() == 0) return outcome;
    const std::int64_t rank = factorization_.rank();
    NumericalRank found = factorization_.found_rank();
    found.doubtful = found.doubtful || growth_in_rank();
    const std::optional<std::int64_t> exact = decide_rank(MatrixRef<T>(copy), found);
    if (exact == rank) factorization_.confirm_rank();
    if (!exact || exact == rank) return outcome;
    if (factorization_.factor_with_rank(copy, equilibration_, *exact, left_product_.data())) return outcome;
    return factorization_.factor(copy, equilibration_, {}, left_product_.data());
  }

  /// Whether a column without a pivot is not dependent on those before it.
  [[nodiscard]] bool growth_in_rank() {
    if (options_.tolerance || is_full()) return false;
    return !is_dependent<B, T>(workspace_.backend, factorization_.matrix().view(),
                               factorization_.pivot_columns(), factorization_.first_without_pivot(),
                               left_product_.data(), factorization_.scaled_norm_inf());
  }
  [[nodiscard]] bool is_full() const {
    return factorization_.rank() == std::min(factorization_.rows(), factorization_.columns());
  }

  void describe(EchelonForm<T>& form) {
    form.facts = factorization_.facts();
    form.pivot_columns = factorization_.pivot_columns();
    form.row_permutation = factorization_.row_permutation();
    if (factorization_.rows() == factorization_.columns()) {
      form.determinant = factorization_.determinant();
      form.report.reciprocal_condition = is_full() ? factorization_.reciprocal_condition() : 0;
    }
    if (!growth_in_rank()) return;
    form.facts.doubtful = !form.facts.proven;
    form.report.warnings.push_back(growth_in_elimination(factorization_.first_without_pivot()));
  }

  EliminationWorkspace<B>& workspace_;
  GaussJordanOptions options_;
  Equilibration equilibration_;
  GaussJordanFactorization<B, T> factorization_;
  Array<T> left_product_;  // v^T S
};

}  // namespace

template <class Target, class T>
EchelonForm<T> reduce_on(OperationWorkspace& workspace, const GaussJordanOptions& options, Dense<T> A) {
  return on_backend(workspace.device, [&]<class B>() {
    return EchelonReduction<B, T>(workspace_of<B, T>(workspace).elimination, options).run(std::move(A));
  });
}

template <class Target, class T>
Dense<T> null_space_on(const EchelonForm<T>& form) {
  return on_backend(form.R.device(), [&]<class B>() {
    B backend(form.R.device());
    return null_basis<B, T>(backend, form.R.view(), form.pivot_columns, nullptr);
  });
}

#define ECHELON_INSTANTIATE(T)                                                                             \
  template EchelonForm<T> reduce_on<ThisTarget>(OperationWorkspace&, const GaussJordanOptions&, Dense<T>); \
  template Dense<T> null_space_on<ThisTarget>(const EchelonForm<T>&);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon
