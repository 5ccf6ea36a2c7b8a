// SPDX-License-Identifier: BSD-3-Clause
/// Misuse of the public API ends in an exception of <echelon/error.hpp>.
#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace echelon::test {
namespace {

constexpr std::int64_t n = 30;

class Misuse : public ::testing::Test {
 protected:
  Csr<double> A = generate::tridiagonal<double>(n, -1, 2.5, -1);
  std::vector<double> b = std::vector<double>(n, 1.0);
  std::vector<double> x = std::vector<double>(n);
};

TEST_F(Misuse, MovedFromSolver) {
  Cg<double> solver;
  (void)solver.setup(A);
  const Solver<double> other = std::move(solver);
  EXPECT_TRUE(other.solve(b, x).solved());
  EXPECT_THROW((void)solver.solve(b, x), Error);
  EXPECT_THROW((void)solver.setup(A), Error);
  EXPECT_THROW((void)solver.update_values(A), Error);
  EXPECT_THROW((void)solver.analyze(A), Error);
  EXPECT_THROW((void)solver.describe(), Error);
  EXPECT_THROW((void)solver.bytes(), Error);
  EXPECT_THROW((void)solver.device(), Error);
  EXPECT_THROW(solver.set_preconditioner(other), Error);
}

/// A copy of A whose arrays are said to be in the memory of a GPU.
struct SaidToBeOnGpu {
  explicit SaidToBeOnGpu(const Csr<double>& A)
      : offsets(A.row_offsets().to_vector()),
        columns(A.column_indices().to_vector()),
        values(A.values().to_vector()) {
    const Device gpu = Device::cuda();
    matrix = Csr<double>::unchecked(A.rows(), A.columns(),
                                    Array<std::int64_t>::borrow(gpu, offsets.data(), std::ssize(offsets)),
                                    Array<std::int32_t>::borrow(gpu, columns.data(), std::ssize(columns)),
                                    Array<double>::borrow(gpu, values.data(), std::ssize(values)));
  }
  std::vector<std::int64_t> offsets;
  std::vector<std::int32_t> columns;
  std::vector<double> values;
  Csr<double> matrix;
};

/// The message of the DeviceMismatch that f throws, which names both devices and says what to do.
template <class F>
void expect_mismatch(const F& f, const std::string& operand) {
  try {
    f();
    ADD_FAILURE() << operand << " was accepted";
  } catch (const DeviceMismatch& error) {
    const std::string text = error.what();
    for (const std::string& part :
         {operand + " is on cuda", std::string("is on serial"), std::string("to(device)")})
      EXPECT_NE(text.find(part), std::string::npos) << text;
  }
}

TEST_F(Misuse, MemoryOfGpu_RefusedByEveryMethod) {
  const SaidToBeOnGpu copy(A);
  const Csr<double>& elsewhere = copy.matrix;
  const DenseView<double> there(x.data(), n, 1, n, Device::cuda());
  for (const Method& method : methods()) {
    if (!method.serial || method.name == "auto") continue;  // auto moves the matrix
    SCOPED_TRACE(method.name);
    Solver<double> solver = make_solver<double>(method.name, Device::serial());
    expect_mismatch([&] { (void)solver.setup(elsewhere); }, "A");
    expect_mismatch([&] { (void)solver.analyze(elsewhere); }, "A");
    (void)solver.setup(A);
    expect_mismatch([&] { (void)solver.update_values(elsewhere); }, "A");
    expect_mismatch([&] { (void)solver.solve(b, there); }, "X");
    expect_mismatch([&] { (void)solver.solve(there, x); }, "B");
  }
}

TEST_F(Misuse, MemoryOfGpu_RefusedByAlgebra) {
  const SaidToBeOnGpu copy(A);
  const Csr<double>& elsewhere = copy.matrix;
  const Csr<double> here = A.to(Device::serial());
  const DenseView<double> there(x.data(), n, 1, n, Device::cuda());
  Csr<double> C = add(1.0, here, 1.0, here);
  Dense<double> y(Device::serial(), n, 1);
  const SparseSum<double> sum(here, here);
  expect_mismatch([&] { (void)add(1.0, here, 1.0, elsewhere); }, "B");
  expect_mismatch([&] { sum.update(1.0, here, 1.0, elsewhere, C); }, "B");
  expect_mismatch([&] { (void)multiply(here, elsewhere); }, "factor 2");
  expect_mismatch([&] { multiply<double>(1.0, here, there, 0.0, y.view()); }, "X");
  expect_mismatch([&] { GaussSeidelSweep<double>(Device::serial()).sweep(elsewhere, y, y); }, "A");
  EXPECT_THROW((void)elsewhere.to(Device::serial()), NotBuilt) << "without CUDA nothing can be moved";
}

TEST_F(Misuse, PreconditionedByItself) {
  Gmres<double> one;
  Gmres<double> two;
  EXPECT_THROW(one.set_preconditioner(one), Error);
  one.set_preconditioner(two);
  EXPECT_THROW(two.set_preconditioner(one), Error);
}

TEST_F(Misuse, PreconditionerNotReady) {
  for (const char* method : {"ilu0", "jacobi", "sparse-lu"}) {
    SCOPED_TRACE(method);
    Solver<double> preconditioner = make_solver<double>(method, Device());
    Gmres<double> solver;
    solver.set_preconditioner(preconditioner);
    (void)solver.setup(A);
    EXPECT_THROW((void)solver.solve(b, x), Error);
    const Csr<double> smaller = generate::tridiagonal<double>(n - 1, -1, 2.5, -1);
    (void)preconditioner.setup(smaller);
    EXPECT_THROW((void)solver.solve(b, x), DimensionMismatch);
    (void)preconditioner.setup(A);
    EXPECT_TRUE(solver.solve(b, x).solved());
    Csr<double> invalid = A;
    invalid.values()[0] = std::numeric_limits<double>::quiet_NaN();
    (void)preconditioner.setup(invalid);
    EXPECT_THROW((void)solver.solve(b, x), Error);
  }
}

TEST_F(Misuse, EmptyFunctions) {
  Gmres<double> solver;
  EXPECT_THROW(solver.set_preconditioner(Preconditioner<double>(Preconditioner<double>::Apply())), Error);
  const LinearOperator<double> nothing(n, n, {});
  EXPECT_THROW((void)solve(nothing, b, {.method = "cg"}), Error);
  EXPECT_THROW((void)solver.setup(nothing), Error);
}

TEST_F(Misuse, ElementsWithoutMemory) {
  const DenseView<const double> no_b(nullptr, n, 1, n);
  const DenseView<double> no_x(nullptr, n, 1, n);
  Cg<double> solver;
  (void)solver.setup(A);
  EXPECT_THROW((void)solver.solve(no_b, x), InvalidMatrix);
  EXPECT_THROW((void)solver.solve(b, no_x), InvalidMatrix);
  EXPECT_THROW((void)solve(A, no_b), InvalidMatrix);
  const DenseView<const double> no_matrix(nullptr, n, n, n);
  EXPECT_THROW((void)solve<double>(no_matrix, b), InvalidMatrix);
  Lu<double> lu;
  EXPECT_THROW((void)lu.setup(no_matrix), InvalidMatrix);
  EXPECT_THROW(multiply<double>(1, A, no_b, 0, no_x), InvalidMatrix);
  EXPECT_THROW(multiply<double>(1, no_matrix, b, 0, x), InvalidMatrix);
  const std::int64_t* const no_offsets = nullptr;
  const std::int32_t* const no_narrow_offsets = nullptr;
  EXPECT_THROW(CsrView<double>(Device(), 2, 2, 2, no_offsets, nullptr, nullptr), InvalidMatrix);
  EXPECT_THROW(CsrView<double>(Device(), 2, 2, 2, no_narrow_offsets, nullptr, nullptr), InvalidMatrix);
  const std::vector<std::int64_t> offsets = {0, 1, 2};
  EXPECT_THROW(CsrView<double>(Device(), 2, 2, 2, offsets.data(), nullptr, nullptr), InvalidMatrix);
  EXPECT_NO_THROW(CsrView<double>(Device(), 0, 2, 0, offsets.data(), nullptr, nullptr));
}

TEST_F(Misuse, ColumnsInOneAnother) {
  const Dense<double> B(n, 3, Array<double>(Device(), std::vector<double>(3 * n, 1.0)));
  std::vector<double> memory(3 * n);
  Cg<double> solver;
  (void)solver.setup(A);
  for (const std::int64_t leading : {std::int64_t{0}, std::int64_t{5}, n - 1, -n}) {
    const DenseView<double> X(memory.data() + 2 * n, n, 3, leading);
    EXPECT_THROW((void)solver.solve(B, X), InvalidMatrix) << leading;
    EXPECT_THROW(multiply<double>(1, A, B, 0, X), InvalidMatrix) << leading;
  }
  const DenseView<double> rows(memory.data(), n, 3, 2, Device(), Layout::row_major);
  EXPECT_THROW((void)solver.solve(B, rows), InvalidMatrix);
  const DenseView<double> one_column(memory.data(), n, 1, 0);  // the leading dimension is not used
  EXPECT_TRUE(solver.solve(b, one_column).solved());
}

TEST_F(Misuse, NegativeSizes) {
  const DenseView<const double> matrix(b.data(), -3, -3, 1);
  const DenseView<const double> column(b.data(), -3, 1, 1);
  EXPECT_THROW((void)solve<double>(matrix, column), Error);
  Cg<double> solver;
  (void)solver.setup(A);
  EXPECT_THROW(
      (void)solver.solve(DenseView<const double>(b.data(), n, -1, n), DenseView<double>(x.data(), n, -1, n)),
      InvalidMatrix);
}

TEST_F(Misuse, ResultInMatrix) {
  const std::vector<double> before = A.values().to_vector();
  Cg<double> solver;
  (void)solver.setup(A);
  EXPECT_THROW((void)solver.solve(b, DenseView<double>(A.values().data() + 5, n, 1, n)), OverlappingOperands);
  EXPECT_EQ(A.values().to_vector(), before);
}

TEST_F(Misuse, ExceptionsOfTheStandardLibrary_BecomeOwn) {
  const LinearOperator<double> exhausted(n, n, [](const double*, double*) { throw std::bad_alloc(); });
  EXPECT_THROW((void)solve(exhausted, b, {.method = "cg"}), OutOfMemory);
  struct Own {};
  const LinearOperator<double> own(n, n, [](const double*, double*) { throw Own(); });
  EXPECT_THROW((void)solve(own, b, {.method = "cg"}), Own);
}

}  // namespace
}  // namespace echelon::test
