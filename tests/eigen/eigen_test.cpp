// SPDX-License-Identifier: BSD-3-Clause
/// Echelon with the interface of Eigen's solvers, compared with Eigen's own.
#include <echelon/echelon.hpp>
#include <echelon/eigen.hpp>

#include <Eigen/Dense>
#include <Eigen/Sparse>
#include <gtest/gtest.h>

#include <string>
#include <type_traits>
#include <vector>

namespace ec = echelon;

namespace {

/// An unsymmetric, diagonally dominant matrix of order n with five diagonals.
template <class Matrix>
Matrix five_diagonals(Eigen::Index n, double shift = 0) {
  using Scalar = typename Matrix::Scalar;
  std::vector<Eigen::Triplet<Scalar, typename Matrix::StorageIndex>> entries;
  const auto add = [&](Eigen::Index i, Eigen::Index j, double value) {
    if (j < 0 || j >= n) return;
    entries.emplace_back(static_cast<typename Matrix::StorageIndex>(i),
                         static_cast<typename Matrix::StorageIndex>(j), static_cast<Scalar>(value));
  };
  for (Eigen::Index i = 0; i < n; ++i) {
    add(i, i - 7, -1);
    add(i, i - 1, -1.5);
    add(i, i, 5 + shift + static_cast<double>(i % 3));
    add(i, i + 1, -0.5);
    add(i, i + 7, -1);
  }
  Matrix A(n, n);
  A.setFromTriplets(entries.begin(), entries.end());
  return A;
}

template <class Matrix>
Matrix symmetric_matrix(Eigen::Index n) {
  const Matrix A = five_diagonals<Matrix>(n);
  return Matrix(A.transpose()) + A;
}

template <class Vector>
Vector ramp(Eigen::Index n) {
  return Vector::LinSpaced(n, 1, 2);
}

template <class Matrix>
class SparseEigen : public testing::Test {};
using SparseTypes =
    testing::Types<Eigen::SparseMatrix<double>, Eigen::SparseMatrix<double, Eigen::RowMajor>,
                   Eigen::SparseMatrix<double, Eigen::RowMajor, long>, Eigen::SparseMatrix<float>,
                   Eigen::SparseMatrix<float, Eigen::ColMajor, long long>>;
TYPED_TEST_SUITE(SparseEigen, SparseTypes);

TYPED_TEST(SparseEigen, Solver_AgreesWithEigensOwn) {
  using Scalar = typename TypeParam::Scalar;
  using Vector = Eigen::Matrix<Scalar, Eigen::Dynamic, 1>;
  const TypeParam A = five_diagonals<TypeParam>(60);
  const Vector b = ramp<Vector>(60);
  const Vector expected = Eigen::Matrix<Scalar, -1, -1>(A).partialPivLu().solve(b);
  ec::SolverForEigen<TypeParam> solver("sparse-lu");
  EXPECT_EQ(solver.info(), Eigen::InvalidInput);
  solver.compute(A);
  ASSERT_EQ(solver.info(), Eigen::Success);
  const Vector x = solver.solve(b);
  EXPECT_EQ(solver.info(), Eigen::Success);
  const Scalar tolerance = 100 * Eigen::NumTraits<Scalar>::epsilon();
  EXPECT_LE((x - expected).norm(), tolerance * expected.norm());
  const Vector y = solver.transpose().solve(b);
  const Vector residual = A.transpose() * y - b;
  EXPECT_LE(residual.norm(), tolerance * b.norm());
}

TYPED_TEST(SparseEigen, NewValues_KeepTheAnalysis) {
  using Vector = Eigen::Matrix<typename TypeParam::Scalar, Eigen::Dynamic, 1>;
  ec::SolverForEigen<TypeParam> solver("sparse-lu");
  const TypeParam first = five_diagonals<TypeParam>(50);
  const TypeParam second = five_diagonals<TypeParam>(50, 3);
  const Vector b = ramp<Vector>(50);
  solver.analyzePattern(first);
  for (const TypeParam* A : {&first, &second, &first}) {
    solver.factorize(*A);
    ASSERT_EQ(solver.info(), Eigen::Success);
    const Vector x = solver.solve(b);
    EXPECT_LE((*A * x - b).norm(), 1e-5 * b.norm());
  }
  // A matrix with another pattern and as many elements has its own solution.
  TypeParam other = first.transpose();
  other.coeffRef(0, 1) = 0;
  other.prune([](auto, auto, const auto& value) { return value != 0; });
  other.coeffRef(0, 30) = 1;
  other.makeCompressed();
  ASSERT_EQ(other.nonZeros(), first.nonZeros());
  solver.factorize(other);
  ASSERT_EQ(solver.info(), Eigen::Success);
  const Vector z = solver.solve(b);
  EXPECT_LE((other * z - b).norm(), 1e-5 * b.norm());
  // A larger matrix is a new one.
  const TypeParam larger = five_diagonals<TypeParam>(90);
  solver.compute(larger);
  const Vector x = solver.solve(ramp<Vector>(90));
  EXPECT_LE((larger * x - ramp<Vector>(90)).norm(), 1e-4);
}

TYPED_TEST(SparseEigen, UncompressedMatrix_IsCopied) {
  using Vector = Eigen::Matrix<typename TypeParam::Scalar, Eigen::Dynamic, 1>;
  TypeParam A = five_diagonals<TypeParam>(30);
  A.uncompress();
  A.insert(0, 20) = 1;
  ASSERT_FALSE(A.isCompressed());
  EXPECT_THROW(static_cast<void>(ec::eigen_view(A)), ec::InvalidMatrix);
  const Vector b = ramp<Vector>(30);
  ec::SolverForEigen<TypeParam> solver(A);
  const Vector x = solver.solve(b);
  EXPECT_LE((A * x - b).norm(), 1e-5 * b.norm());
}

TEST(EigenView, RowMajorSparse_StaysInPlace) {
  const auto rows = five_diagonals<Eigen::SparseMatrix<double, Eigen::RowMajor>>(20);
  const auto columns = five_diagonals<Eigen::SparseMatrix<double>>(20);
  EXPECT_TRUE(ec::eigen_view(rows).is_in_place());
  EXPECT_EQ(ec::eigen_view(rows).csr().values().data(), rows.valuePtr());
  EXPECT_FALSE(ec::eigen_view(columns).is_in_place());
  EXPECT_EQ(ec::eigen_view(columns).csr().nonzeros(), columns.nonZeros());
}

TEST(EigenView, DenseForms_AreTheSameElements) {
  Eigen::MatrixXd A = Eigen::MatrixXd::Random(6, 5);
  const Eigen::Matrix<double, -1, -1, Eigen::RowMajor> R = A;
  const auto same = [](const auto& view, const auto& elements) {
    for (Eigen::Index i = 0; i < elements.rows(); ++i) {
      for (Eigen::Index j = 0; j < elements.cols(); ++j) {
        if (&view(i, j) != &elements.coeffRef(i, j)) return false;
      }
    }
    return view.rows() == elements.rows() && view.columns() == elements.cols();
  };
  static_assert(std::is_same_v<decltype(ec::eigen_view(A)), ec::DenseView<double>>);
  static_assert(std::is_same_v<decltype(ec::eigen_view(R)), ec::DenseView<const double>>);
  EXPECT_TRUE(same(ec::eigen_view(A), A));
  EXPECT_TRUE(same(ec::eigen_view(R), R));
  auto block = A.block(1, 2, 3, 2);
  EXPECT_TRUE(same(ec::eigen_view(block), block));
  auto row = A.row(2).transpose();
  EXPECT_TRUE(same(ec::eigen_view(row), row));
  Eigen::Map<Eigen::VectorXd> map(A.data(), 8);
  EXPECT_TRUE(same(ec::eigen_view(map), map));
  Eigen::Map<Eigen::MatrixXd, 0, Eigen::Stride<-1, -1>> gaps(A.data(), 2, 2, {12, 2});
  EXPECT_THROW(static_cast<void>(ec::eigen_view(gaps)), ec::Error);
}

TEST(EigenView, Solve_TakesViews) {
  const auto A = five_diagonals<Eigen::SparseMatrix<double>>(40);
  const Eigen::VectorXd b = ramp<Eigen::VectorXd>(40);
  const auto view = ec::eigen_view(A);
  const auto [x, report] = ec::solve(view.csr(), ec::eigen_view(b));
  EXPECT_TRUE(report.solved());
  EXPECT_LE((A * Eigen::Map<const Eigen::VectorXd>(x.data(), 40) - b).norm(), 1e-13 * b.norm());
}

template <class Matrix>
class DenseEigen : public testing::Test {};
using DenseTypes = testing::Types<Eigen::MatrixXd, Eigen::Matrix<double, -1, -1, Eigen::RowMajor>,
                                  Eigen::MatrixXf, Eigen::Matrix4d>;
TYPED_TEST_SUITE(DenseEigen, DenseTypes);

TYPED_TEST(DenseEigen, Solver_AgreesWithEigensOwn) {
  using Scalar = typename TypeParam::Scalar;
  const Eigen::Index n = TypeParam::RowsAtCompileTime == Eigen::Dynamic ? 20 : TypeParam::RowsAtCompileTime;
  TypeParam A = TypeParam::Random(n, n);
  A.diagonal().array() += Scalar(5);
  const Eigen::Matrix<Scalar, -1, -1> B = Eigen::Matrix<Scalar, -1, -1>::Random(n, 3);
  ec::SolverForEigen<TypeParam> solver("lu");
  solver.compute(A);
  const Eigen::Matrix<Scalar, -1, -1> X = solver.solve(B);
  const Scalar tolerance = 100 * Eigen::NumTraits<Scalar>::epsilon();
  EXPECT_LE((X - A.partialPivLu().solve(B)).norm(), tolerance * X.norm());
  // New elements in place.
  A *= 2;
  solver.factorize(A);
  const Eigen::Matrix<Scalar, -1, -1> Y = solver.solve(B);
  EXPECT_LE((2 * Y - X).norm(), tolerance * X.norm());
}

TEST(SolverForEigen, RightHandSides_OfAllForms) {
  const auto A = five_diagonals<Eigen::SparseMatrix<double>>(30);
  ec::SolverForEigen<Eigen::SparseMatrix<double>> solver(A);
  const Eigen::MatrixXd expected = Eigen::MatrixXd::Random(30, 4);
  const Eigen::MatrixXd B = A * expected;
  const Eigen::Matrix<double, -1, -1, Eigen::RowMajor> rows = B;
  const auto close = [](const auto& X, const auto& Y) { return (X - Y).norm() <= 1e-12 * Y.norm(); };
  EXPECT_TRUE(close(Eigen::MatrixXd(solver.solve(B)), expected));
  EXPECT_TRUE(close(Eigen::MatrixXd(solver.solve(rows)), expected));
  EXPECT_TRUE(close(Eigen::VectorXd(solver.solve(B.col(2) + B.col(1))), expected.col(2) + expected.col(1)));
  // Into a row-major matrix, a block, a strided map, and the right-hand side itself.
  Eigen::Matrix<double, -1, -1, Eigen::RowMajor> to_rows = solver.solve(B);
  EXPECT_TRUE(close(to_rows, expected));
  Eigen::MatrixXd whole = Eigen::MatrixXd::Zero(32, 6);
  whole.block(1, 1, 30, 4) = solver.solve(B);
  EXPECT_TRUE(close(whole.block(1, 1, 30, 4), expected));
  EXPECT_EQ(whole.row(0).norm() + whole.row(31).norm() + whole.col(0).norm() + whole.col(5).norm(), 0);
  Eigen::VectorXd strided = Eigen::VectorXd::Zero(60);
  Eigen::Map<Eigen::VectorXd, 0, Eigen::InnerStride<2>>(strided.data(), 30) = solver.solve(B.col(0));
  EXPECT_TRUE(close(strided(Eigen::seqN(0, 30, 2)), expected.col(0)));
  Eigen::MatrixXd X = B;
  X = solver.solve(X);
  EXPECT_TRUE(close(X, expected));
  // A sparse right-hand side.
  const Eigen::SparseMatrix<double> sparse = B.sparseView();
  const Eigen::SparseMatrix<double> sparse_x = solver.solve(sparse);
  EXPECT_TRUE(close(Eigen::MatrixXd(sparse_x), expected));
}

TEST(SolverForEigen, Iteration_HasEigensControls) {
  const auto A = symmetric_matrix<Eigen::SparseMatrix<double>>(400);
  const Eigen::VectorXd b = ramp<Eigen::VectorXd>(400);
  ec::SolverForEigen<Eigen::SparseMatrix<double>> solver("cg", {{"preconditioner", "jacobi"}});
  solver.compute(A);
  solver.setMaxIterations(1);
  Eigen::VectorXd x = solver.solve(b);
  EXPECT_EQ(solver.info(), Eigen::NoConvergence);
  EXPECT_EQ(solver.iterations(), 1);
  solver.setMaxIterations(1000).setTolerance(1e-11);
  x = solver.solve(b);
  EXPECT_EQ(solver.info(), Eigen::Success);
  EXPECT_LE(solver.error(), 1e-11);
  EXPECT_LE((A * x - b).norm(), 1.1e-11 * b.norm());
  EXPECT_GT(solver.iterations(), 1);
  x = solver.solveWithGuess(b, x);
  EXPECT_EQ(solver.iterations(), 0);
  EXPECT_EQ(solver.report().method, "cg");
}

TEST(SolverForEigen, Determinant_AsOfEigensSparseLu) {
  using Matrix = Eigen::SparseMatrix<double>;
  const Matrix A = -five_diagonals<Matrix>(75);
  Eigen::SparseLU<Matrix> expected(A);
  for (const char* method : {"sparse-lu", "lu", "banded-lu"}) {
    ec::SolverForEigen<Matrix> solver(method);
    solver.compute(A);
    EXPECT_EQ(solver.signDeterminant(), expected.signDeterminant()) << method;
    EXPECT_NEAR(solver.logAbsDeterminant(), expected.logAbsDeterminant(), 1e-11) << method;
    EXPECT_NEAR(solver.determinant() / expected.determinant(), 1, 1e-11) << method;
  }
  ec::SolverForEigen<Matrix> iterative("gmres");
  iterative.compute(A);
  EXPECT_THROW(static_cast<void>(iterative.determinant()), ec::Error);
}

TEST(SolverForEigen, Failures_AreInfoOrExceptions) {
  Eigen::MatrixXd singular = Eigen::MatrixXd::Ones(3, 3);
  ec::SolverForEigen<Eigen::MatrixXd> lu("lu");
  lu.compute(singular);
  const Eigen::VectorXd x = lu.solve(Eigen::Vector3d(1, 2, 3));
  EXPECT_EQ(lu.info(), Eigen::NumericalIssue);
  ec::SolverForEigen<Eigen::MatrixXd> cholesky("cholesky");
  const Eigen::MatrixXd indefinite = -Eigen::MatrixXd::Identity(3, 3);
  cholesky.compute(indefinite);
  EXPECT_EQ(cholesky.info(), Eigen::NumericalIssue);
  EXPECT_THROW(ec::SolverForEigen<Eigen::MatrixXd>("no-such-method"), ec::BadOption);
}

/// Whether a solver takes an argument.
template <class S, class A>
concept Computes = requires(S s, A&& a) {
  s.compute(std::forward<A>(a));
};

TEST(SolverForEigen, Temporaries_DoNotCompile) {
  using Matrix = Eigen::SparseMatrix<double>;
  using Solver = ec::SolverForEigen<Matrix>;
  static_assert(Computes<Solver, const Matrix&> && Computes<Solver, Matrix&>);
  static_assert(!Computes<Solver, Matrix>);
  static_assert(!std::is_constructible_v<Solver, Matrix>);
}

template <class Iteration>
void expect_convergence(const Eigen::SparseMatrix<double>& A, const std::string& method) {
  const Eigen::VectorXd b = ramp<Eigen::VectorXd>(A.rows());
  Iteration iteration;
  iteration.preconditioner().setMethod(method);
  iteration.compute(A);
  ASSERT_EQ(iteration.info(), Eigen::Success);
  const Eigen::VectorXd x = iteration.solve(b);
  EXPECT_EQ(iteration.info(), Eigen::Success);
  EXPECT_LE((A * x - b).norm(), 1e-10 * b.norm());
  EXPECT_LT(iteration.iterations(), 25) << method;
}

TEST(PreconditionerForEigen, ServesEigensIterations) {
  using Matrix = Eigen::SparseMatrix<double>;
  using Preconditioner = ec::PreconditionerForEigen<Matrix>;
  const auto A = symmetric_matrix<Matrix>(2000);
  for (const char* method : {"ic0", "amg", "sparse-cholesky"}) {
    expect_convergence<Eigen::ConjugateGradient<Matrix, Eigen::Lower | Eigen::Upper, Preconditioner>>(A,
                                                                                                      method);
  }
  expect_convergence<Eigen::BiCGSTAB<Matrix, Preconditioner>>(five_diagonals<Matrix>(2000), "ilu0");
}

TEST(PreconditionerForEigen, FailedSetUp_IsReported) {
  using Matrix = Eigen::SparseMatrix<double>;
  const Matrix A = -symmetric_matrix<Matrix>(20);
  ec::PreconditionerForEigen<Matrix> preconditioner;
  preconditioner.setMethod("sparse-cholesky").compute(A);
  EXPECT_EQ(preconditioner.info(), Eigen::NumericalIssue);
  EXPECT_THROW(static_cast<void>(preconditioner.solve(Eigen::VectorXd::Ones(20))), ec::Error);
}

}  // namespace
