// SPDX-License-Identifier: BSD-3-Clause
// The reduced row echelon form and the null space.
#include "dense/gauss_jordan/dependence.hpp"
#include "dense/gauss_jordan/factor_precision.hpp"
#include "dense/gauss_jordan/factorization.hpp"
#include "dense/gauss_jordan/inspection.hpp"
#include "dense/gauss_jordan/null_space.hpp"
#include "dense/gauss_jordan/operations.hpp"
#include "dense/gauss_jordan/workspace.hpp"
#include "solver/column_report.hpp"
#include "support/stopwatch.hpp"

#include <algorithm>
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

/// Sets v to the test vector.
template <class T>
struct SetTestElements {
  T* v;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { v[i] = test_vector_at<T>(i); }
};

/// Replaces the transformation in the pivot columns by unit vectors.
template <class B, class T>
void complete_reduced_form(EliminationWorkspace<B>& workspace, Factorization<B, T>& factorization,
                           Report& report) {
  Dense<T>& R = factorization.matrix();
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

/// Computes v^T A for the test vector v.
template <class B, class T>
Array<T> multiply_by_test_vector(B& backend, DenseView<const T> A) {
  Array<T> v(A.device(), A.rows());
  Array<T> product(A.device(), A.columns());
  backend.for_each(A.rows(), SetTestElements<T>{v.data()});
  multiply_transposed<T>(backend, T{1}, A, v.data(), T{0}, product.data());
  return product;
}

/// Marks the rank as doubtful if a column without a pivot is not dependent on those before it.
template <class B, class T>
void check_rank(B& backend, const Factorization<B, T>& factorization, DenseView<const T> reduced,
                const T* left_product, EchelonForm<T>& form) {
  if (factorization.rank() == std::min(factorization.rows(), factorization.columns())) return;
  const std::int64_t column = factorization.first_without_pivot();
  if (is_dependent<B, T>(backend, reduced, form.pivot_columns, column, left_product,
                         factorization.norm_inf())) {
    return;
  }
  form.facts.doubtful = true;
  form.report.warnings.push_back(growth_in_elimination(column));
}

template <class B, class T>
EchelonForm<T> reduce(EliminationWorkspace<B>& workspace, const GaussJordanOptions& options, Dense<T> A) {
  const Stopwatch stopwatch;
  EchelonForm<T> form;
  Report& report = form.report;
  Factorization<B, T> factorization(workspace, options);
  const bool square = A.rows() == A.columns();
  const Array<T> left_product = multiply_by_test_vector<B, T>(workspace.backend, A.view());
  const Outcome outcome = factorization.factor(std::move(A), false);
  report = outcome_report(outcome, std::string(GaussJordanOptions::name), workspace.backend.device());
  report.factor_precision =
      report_factor_precision<B, T>(options, "the reduced form needs the working precision");
  report.column = factorization.nonfinite_column();
  report.bytes = factorization.bytes() - factorization.matrix().bytes();
  if (!outcome.ok()) return form;
  form.facts = factorization.facts();
  form.pivot_columns = factorization.pivot_columns();
  form.row_permutation = factorization.row_permutation();
  if (square) {
    form.determinant = factorization.determinant();
    const bool regular = factorization.rank() == factorization.rows();
    report.reciprocal_condition = regular ? factorization.reciprocal_condition() : 0;
  }
  if (!options.tolerance)
    check_rank<B, T>(workspace.backend, factorization, factorization.matrix().view(), left_product.data(),
                     form);
  if (form.facts.doubtful) report.warnings.push_back(describe_rank(form.facts, factorization.columns()));
  complete_reduced_form(workspace, factorization, report);
  form.R = std::move(factorization.matrix());
  report.setup_seconds = stopwatch.seconds();
  return form;
}

}  // namespace

template <class Target, class T>
EchelonForm<T> reduce_on(OperationWorkspace& workspace, const GaussJordanOptions& options, Dense<T> A) {
  return on_backend(workspace.device, [&]<class B>() {
    return reduce<B, T>(workspace_of<B, T>(workspace).elimination, options, std::move(A));
  });
}

template <class Target, class T>
Dense<T> null_space_on(const EchelonForm<T>& form) {
  return on_backend(form.R.device(), [&]<class B>() {
    B backend(form.R.device());
    return null_basis<B, T>(backend, form.R.view(), form.pivot_columns, nullptr);
  });
}

template EchelonForm<float> reduce_on<ThisTarget>(OperationWorkspace&, const GaussJordanOptions&,
                                                  Dense<float>);
template EchelonForm<double> reduce_on<ThisTarget>(OperationWorkspace&, const GaussJordanOptions&,
                                                   Dense<double>);
template Dense<float> null_space_on<ThisTarget>(const EchelonForm<float>&);
template Dense<double> null_space_on<ThisTarget>(const EchelonForm<double>&);

}  // namespace echelon
