// SPDX-License-Identifier: BSD-3-Clause
// Sparse factorisations of complex matrices on a GPU, compared with those of the host and with residuals in
// long double.
#include "gpu/complex/backward_error.hpp"
#include "gpu/gpu_fixture.hpp"
#include "scalars/complex_systems.hpp"

#include <echelon/domain_decomposition/schur_complement.hpp>

#include <map>
#include <utility>

namespace echelon::test {
namespace {

using T = std::complex<double>;

/// Rows of a grid of side by side points with their neighbours: a diagonal element, and those to the next
/// point along each axis and back.
struct GridStencil {
  T diagonal;
  T forward[2];
  T backward[2];
};
Csr<T> grid(std::int64_t side, const GridStencil& stencil) {
  std::vector<Triplet<T>> triplets;
  const auto add = [&](std::int64_t i, std::int64_t j, T value) {
    triplets.push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>(j), value});
  };
  for (std::int64_t i = 0; i < side * side; ++i) {
    add(i, i, stencil.diagonal);
    for (int axis = 0; axis < 2; ++axis) {
      const std::int64_t step = axis == 0 ? 1 : side;
      if (axis == 0 ? i % side == side - 1 : i / side == side - 1) continue;
      add(i, i + step, stencil.forward[axis]);
      add(i + step, i, stencil.backward[axis]);
    }
  }
  return Csr<T>::from_triplets(side * side, side * side, triplets);
}

const T phase{0.6, 0.8};
const T turned{-0.28, 0.96};
/// A positive definite magnetic Laplacian, shifted.
Csr<T> hermitian_grid(std::int64_t side, double shift) {
  return grid(side, {T{4 - shift}, {-phase, -turned}, {-std::conj(phase), -std::conj(turned)}});
}
Csr<T> symmetric_grid(std::int64_t side, T diagonal) {
  return grid(side, {diagonal, {-1, -phase}, {-1, -phase}});
}
Csr<T> general_grid(std::int64_t side) {
  return grid(side, {T{3.5, 1}, {-1.5, -phase}, {-0.5, T{0, 1}}});
}

class GpuComplexSparseDirect : public GpuTest {
 protected:
  static Dense<T> right_hand_sides(std::int64_t n, std::int64_t columns) {
    Dense<T> B(Device(), n, columns);
    Random random(11);
    for (std::int64_t k = 0; k < n * columns; ++k) B[k] = rounded<T>(random());
    return B;
  }

  /// Sets the solver up, which must not go over to the host.
  static Report set_up(Solver<T>& solver, const Csr<T>& there) {
    const Report report = solver.setup(there);
    EXPECT_TRUE(report.ready()) << report.message;
    expect_on_gpu(report.warnings);
    return report;
  }

  /// Solves with A, its transpose and its adjoint, and several right-hand sides.
  void expect_solutions(const Solver<T>& solver, const Csr<T>& A) const {
    const Dense<T> B = right_hand_sides(A.rows(), 3);
    const Dense<T> there = B.to(gpu);
    for (const Operation operation : {Operation::none, Operation::transpose, Operation::adjoint}) {
      Dense<T> X(gpu, A.rows(), 3);
      const Report report = solver.solve(there, X, {.operation = operation});
      EXPECT_EQ(report.status, Status::direct) << report.message;
      const Dense<T> here = X.to(Device());
      for (std::int64_t c = 0; c < 3; ++c) {
        EXPECT_LT(backward_error(A, operation, B.view().column(c), here.view().column(c)), 1e-14)
            << static_cast<int>(operation) << ", " << c;
      }
    }
  }

  void expect_factored(const std::string& method, const Csr<T>& A) const {
    SCOPED_TRACE(method + " of " + std::to_string(A.rows()) + " rows");
    const Csr<T> there = A.to(gpu);
    Solver<T> solver = make_solver<T>(method, gpu);
    const Report report = set_up(solver, there);
    Solver<T> on_host = make_solver<T>(method, Device());
    const Report expected = on_host.setup(A);
    ASSERT_TRUE(report.reciprocal_condition && expected.reciprocal_condition);
    const double ratio = *report.reciprocal_condition / *expected.reciprocal_condition;
    EXPECT_TRUE(ratio > 0.01 && ratio < 100) << ratio;  // of matrices that are scaled differently
    expect_solutions(solver, A);
  }
};

TEST_F(GpuComplexSparseDirect, DefiniteMatrices) {
  for (const char* const method : {"sparse-cholesky", "sparse-ldlt", "sparse-lu"}) {
    for (const std::int64_t side : {1, 2, 7, 40, 120}) expect_factored(method, hermitian_grid(side, -0.01));
    for (const std::int64_t n : {33, 97, 130, 161, 500, 900})
      expect_factored(method, sparse<T>(random_hermitian(n, 2 * n, 1)));
  }
}

TEST_F(GpuComplexSparseDirect, IndefiniteHermitianMatrices_HaveTheInertiaOfTheHost) {
  for (const std::int64_t side : {3, 10, 50, 100}) {
    const Csr<T> A = hermitian_grid(side, 1.37);
    for (const char* const method : {"sparse-ldlt", "sparse-lu"}) expect_factored(method, A);
    Solver<T> there = make_solver<T>("sparse-ldlt", gpu);
    Solver<T> here = make_solver<T>("sparse-ldlt", Device());
    const Csr<T> moved = A.to(gpu);
    set_up(there, moved);
    ASSERT_TRUE(here.setup(A).ready());
    EXPECT_EQ(there.inertia().positive, here.inertia().positive) << side;
    EXPECT_EQ(there.inertia().negative, here.inertia().negative) << side;
  }
}

/// Zeros on the diagonal need pivots of order two.
TEST_F(GpuComplexSparseDirect, SaddlePoints_OfEitherKind) {
  for (const bool hermitian : {true, false}) {
    const std::int64_t n = 300;
    Entries A(n, n);
    Random random(5);
    for (std::int64_t i = 0; i < n / 2; ++i) {
      A(i, i) = hermitian ? Exact(2) : Exact(2, 1);
      for (const std::int64_t j : {n / 2 + i, n / 2 + (i + 1) % (n / 2)}) {
        A(i, j) = random();
        A(j, i) = hermitian ? std::conj(A(i, j)) : A(i, j);
      }
    }
    const Csr<T> matrix = sparse<T>(A);
    expect_factored("sparse-ldlt", matrix);
    Solver<T> solver = make_solver<T>("sparse-ldlt", gpu);
    const Csr<T> there = matrix.to(gpu);
    set_up(solver, there);
    if (hermitian) {
      EXPECT_EQ(solver.inertia().negative, n / 2);
    } else {
      EXPECT_THROW(static_cast<void>(solver.inertia()), Error);
    }
  }
}

/// Random full matrices: fronts with rejected pivots, which move to spare columns.
TEST_F(GpuComplexSparseDirect, FullIndefiniteMatrices) {
  for (const std::int64_t n : {40, 64, 65, 129, 400}) {
    for (const bool hermitian : {true, false}) {
      Entries A = random_entries(n, n, static_cast<unsigned>(n));
      for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j < i; ++j) A(i, j) = hermitian ? std::conj(A(j, i)) : A(j, i);
        if (hermitian) A(i, i) = A(i, i).real();
      }
      expect_factored("sparse-ldlt", sparse<T>(A));
    }
  }
}

TEST_F(GpuComplexSparseDirect, SymmetricMatrices) {
  for (const std::int64_t side : {1, 2, 9, 40, 120}) {
    const Csr<T> A = symmetric_grid(side, T{2.7, 0.3});
    for (const char* const method : {"sparse-ldlt", "sparse-lu"}) expect_factored(method, A);
  }
}

TEST_F(GpuComplexSparseDirect, GeneralMatrices) {
  for (const std::int64_t side : {1, 2, 9, 40, 120}) expect_factored("sparse-lu", general_grid(side));
  for (const std::int64_t n : {60, 150, 500, 900})
    expect_factored("sparse-lu", sparse<T>(random_entries(n, n, static_cast<unsigned>(n))));
  expect_factored("sparse-lu", sparse<T>(random_sparse(300, 5, 9)));
}

TEST_F(GpuComplexSparseDirect, NewValues_KeepTheAnalysis) {
  const std::map<std::string, std::vector<Csr<T>>> steps = {
      {"sparse-cholesky", {hermitian_grid(60, -0.1), hermitian_grid(60, -0.5), hermitian_grid(60, -0.2)}},
      {"sparse-lu",
       {general_grid(60), symmetric_grid(60, T{3, 1}), hermitian_grid(60, -1), general_grid(60)}},
      {"sparse-ldlt",
       {hermitian_grid(60, 0.3), hermitian_grid(60, 0.9), symmetric_grid(60, T{3, 1}),
        hermitian_grid(60, 0.3)}}};
  for (const auto& [method, matrices] : steps) {
    SCOPED_TRACE(method);
    Solver<T> solver = make_solver<T>(method, gpu);
    std::vector<Csr<T>> there;
    for (const Csr<T>& A : matrices) there.push_back(A.to(gpu));
    set_up(solver, there.front());
    for (std::size_t k = 1; k < matrices.size(); ++k) {
      const Report report = solver.update_values(there[k]);
      ASSERT_TRUE(report.ready()) << report.message;
      expect_solutions(solver, matrices[k]);
    }
  }
  Solver<T> solver = make_solver<T>("sparse-ldlt", gpu);
  const Csr<T> first = hermitian_grid(20, 0.3).to(gpu);
  const Csr<T> second = general_grid(20).to(gpu);
  set_up(solver, first);
  const Report report = solver.update_values(second);
  EXPECT_EQ(report.status, Status::breakdown);
  EXPECT_NE(report.message.find("neither symmetric nor Hermitian"), std::string::npos) << report.message;
}

TEST_F(GpuComplexSparseDirect, UnsuitableMatrices_AreNamedAsOnTheHost) {
  const auto setup_of = [&](const std::string& method, const Csr<T>& A, const Device& device) {
    const Csr<T> there = A.to(device);
    Solver<T> solver = make_solver<T>(method, device);
    return solver.setup(there);
  };
  Entries imaginary = random_hermitian(30, 4, 3);
  imaginary(7, 7) += Exact(0, 1);
  Entries indefinite = random_hermitian(30, 4, 3);
  indefinite(7, 7) = -1;
  Entries bad = random_hermitian(30, 4, 3);
  bad(4, 4) = Exact(1, std::numeric_limits<double>::quiet_NaN());
  Entries deficient = random_sparse(30, 4, 3);
  for (std::int64_t i = 0; i < 30; ++i) deficient(i, 12) = Exact(0, 1) * deficient(i, 5);
  const std::pair<const char*, Csr<T>> cases[] = {{"sparse-cholesky", sparse<T>(imaginary)},
                                                  {"sparse-cholesky", sparse<T>(indefinite)},
                                                  {"sparse-cholesky", symmetric_grid(5, T{3, 1})},
                                                  {"sparse-ldlt", general_grid(5)},
                                                  {"sparse-ldlt", sparse<T>(bad)},
                                                  {"sparse-lu", sparse<T>(bad)},
                                                  {"sparse-cholesky", sparse<T>(bad)},
                                                  {"sparse-lu", sparse<T>(deficient)},
                                                  {"sparse-ldlt", sparse<T>(Entries(3, 3))},
                                                  {"sparse-lu", sparse<T>(Entries(3, 3))}};
  for (const auto& [method, A] : cases) {
    const Report there = setup_of(method, A, gpu);
    const Report here = setup_of(method, A, Device());
    EXPECT_EQ(there.status, here.status) << method << ": " << there.message << "; " << here.message;
    EXPECT_EQ(there.row, here.row) << method << ": " << there.message << "; " << here.message;
    EXPECT_FALSE(there.ready()) << method;
  }
}

TEST_F(GpuComplexSparseDirect, Preconditioners) {
  const Csr<T> A = general_grid(30);
  const Csr<T> there = A.to(gpu);
  Solver<T> solver = make_solver<T>("gmres", gpu, {{"preconditioner", "sparse-lu"}});
  ASSERT_TRUE(solver.setup(there).ready());
  const Dense<T> b = right_hand_sides(A.rows(), 1);
  Dense<T> x(gpu, A.rows(), 1);
  const Report report = solver.solve(b.to(gpu), x, {.rtol = 1e-12});
  EXPECT_EQ(report.status, Status::converged) << report.message;
  EXPECT_LE(report.iterations, 3);
  EXPECT_LT(backward_error(A, Operation::none, b.data(), x.to(Device()).data()), 1e-12);
}

/// Schur complements by the fronts of the GPU: definite, indefinite, symmetric and general interiors.
TEST_F(GpuComplexSparseDirect, SchurComplements_AsOnTheHost) {
  const std::vector<std::int32_t> interface = {17, 3, 40, 8, 1500};
  for (const Csr<T>& A : {hermitian_grid(40, -0.1), hermitian_grid(40, 0.77), symmetric_grid(40, T{2.7, 0.3}),
                          general_grid(40)}) {
    const Csr<T> moved = A.to(gpu);
    const SchurComplement<T> expected = schur_complement(A, interface);
    const SchurComplement<T> found = schur_complement(moved, interface);
    ASSERT_TRUE(expected.ready()) << expected.report().message;
    ASSERT_TRUE(found.ready()) << found.report().message;
    expect_on_gpu(found.report().warnings);
    EXPECT_EQ(found.matrix().device(), gpu);
    const Dense<T> S = found.matrix().to(Device());
    for (std::int64_t j = 0; j < S.columns(); ++j) {
      for (std::int64_t i = 0; i < S.rows(); ++i)
        EXPECT_LT(std::abs(S(i, j) - expected.matrix()(i, j)), 1e-11) << i << ", " << j;
    }
    if (expected.interior_inertia()) {
      ASSERT_TRUE(found.interior_inertia());
      EXPECT_EQ(found.interior_inertia()->negative, expected.interior_inertia()->negative);
    }
    const Dense<T> b = right_hand_sides(A.rows(), 1);
    Dense<T> x(gpu, A.rows(), 1);
    const Report report = found.solve(b.to(gpu), x);
    EXPECT_TRUE(report.solved()) << report.message;
    EXPECT_LT(backward_error(A, Operation::none, b.data(), x.to(Device()).data()), 1e-13);
    Dense<T> G(gpu, 5, 1);
    Dense<T> of_host(Device(), 5, 1);
    found.reduce_transposed(b.to(gpu), G);
    expected.reduce_transposed(b, of_host);
    const Dense<T> reduced = G.to(Device());
    for (std::int64_t i = 0; i < 5; ++i) EXPECT_LT(std::abs(reduced[i] - of_host[i]), 1e-11) << i;
    found.expand_transposed(G, b.to(gpu), x);
    Dense<T> whole(Device(), A.rows(), 1);
    expected.expand_transposed(of_host, b, whole);
    const Dense<T> expanded = x.to(Device());
    for (std::int64_t i = 0; i < A.rows(); ++i) EXPECT_LT(std::abs(expanded[i] - whole[i]), 1e-10) << i;
  }
}

}  // namespace
}  // namespace echelon::test
