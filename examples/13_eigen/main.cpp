// SPDX-License-Identifier: BSD-3-Clause
/// Matrices of Eigen: a factorisation, new values in the same pattern, and a preconditioner of Eigen's own
/// iteration.
#include <echelon/echelon.hpp>
#include <echelon/eigen.hpp>

#include <Eigen/Sparse>

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <vector>
namespace ec = echelon;

using Matrix = Eigen::SparseMatrix<double>;

/// The matrix of a file, as a program with Eigen may have assembled it.
Matrix read(const char* file) {
  const ec::Csr<double> A = ec::read_matrix_market<double>(file);
  std::vector<Eigen::Triplet<double>> entries;
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k)
      entries.emplace_back(static_cast<int>(i), A.column_indices()[k], A.values()[k]);
  }
  Matrix matrix(A.rows(), A.columns());
  matrix.setFromTriplets(entries.begin(), entries.end());
  return matrix;
}

/// Whether x solves A x = b, which is printed.
bool check(const char* name, const Matrix& A, const Eigen::VectorXd& x, const Eigen::VectorXd& b) {
  const double residual = (b - A * x).norm() / b.norm();
  std::cout << name << ": relative residual " << residual << '\n';
  return residual < 1e-8;
}

int main(int argc, char** argv) try {
  Matrix A = read(argc > 1 ? argv[1] : "data/bcsstk10.mtx.gz");
  const Eigen::VectorXd b = A * Eigen::VectorXd::Ones(A.cols());

  ec::SolverForEigen<Matrix> solver("sparse-cholesky");
  solver.compute(A);
  Eigen::VectorXd x = solver.solve(b);
  bool solved = solver.info() == Eigen::Success && check("factorisation", A, x, b);
  std::cout << "correct digits: " << solver.report().expected_digits().value_or(0) << '\n';

  A.diagonal() *= 2;  // new values, the same pattern
  solver.factorize(A);
  x = solver.solve(b);
  solved = solved && check("new values", A, x, b);

  Eigen::ConjugateGradient<Matrix, Eigen::Lower | Eigen::Upper, ec::PreconditionerForEigen<Matrix>> cg;
  cg.preconditioner().setMethod("ic0");
  cg.setTolerance(1e-10);
  cg.compute(A);
  x = cg.solve(b);
  std::cout << cg.iterations() << " iterations of Eigen's conjugate gradients\n";
  solved = solved && check("preconditioned iteration", A, x, b);
  return solved ? EXIT_SUCCESS : EXIT_FAILURE;
} catch (const ec::Error& error) {
  std::cerr << error.what() << '\n';
  return EXIT_FAILURE;
}
