// SPDX-License-Identifier: BSD-3-Clause
/// The registry, the structure of complex matrices, and the choice of a method.
#include "scalars/complex_systems.hpp"

namespace echelon::test {
namespace {

template <class T>
class ComplexSelection : public ComplexSystems<T> {};
TYPED_TEST_SUITE(ComplexSelection, ComplexTypes);

TYPED_TEST(ComplexSelection, RealMethods_NameThoseForComplexMatrices) {
  using T = TypeParam;
  std::vector<std::string> names;
  for (const Method& method : methods()) {
    EXPECT_EQ(method.complex, static_cast<bool>(method.template maker<T>())) << method.name;
    if (method.complex) names.push_back(method.name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"amg",
                                             "augmented",
                                             "auto",
                                             "banded-lu",
                                             "bicgstab",
                                             "cg",
                                             "cgls",
                                             "cholesky",
                                             "cocg",
                                             "cocr",
                                             "cr",
                                             "craig",
                                             "cusolver-lu",
                                             "gauss-jordan",
                                             "gauss-seidel",
                                             "gmres",
                                             "ic0",
                                             "ilu0",
                                             "jacobi",
                                             "lapack-lu",
                                             "ldlt",
                                             "lsmr",
                                             "lsqr",
                                             "lu",
                                             "minres",
                                             "multigrid",
                                             "qr",
                                             "sor",
                                             "sparse-cholesky",
                                             "sparse-ldlt",
                                             "sparse-lu",
                                             "sparse-qr",
                                             "ssor"}));
  const auto message_of = [](const std::string& method, const Options& options) {
    try {
      static_cast<void>(make_solver<T>(method, Device::serial(), options));
    } catch (const NotBuilt& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const std::string names_both = "those for complex ones are amg, augmented, auto, banded-lu, bicgstab";
  EXPECT_NE(message_of("lamg", {}).find("'lamg' is for real matrices; " + names_both), std::string::npos);
  EXPECT_NE(message_of("cg", {{"preconditioner", "lamg"}}).find("'lamg' is for real matrices; " + names_both),
            std::string::npos);
  EXPECT_THROW(static_cast<void>(make_solver<T>("gc", Device::serial())), BadOption);
}

TYPED_TEST(ComplexSelection, StructureTellsHermitianFromSymmetric) {
  using T = TypeParam;
  const Csr<T> hermitian = sparse<T>(random_hermitian(30, 6, 61));
  const Structure of_hermitian = analyze_structure<T>(hermitian);
  EXPECT_TRUE(of_hermitian.hermitian_values);
  EXPECT_FALSE(of_hermitian.symmetric_values);
  EXPECT_EQ(of_hermitian.definiteness, Definiteness::positive_definite);
  const Csr<T> symmetric = sparse<T>(damped_helmholtz(5, 1.0, 0.5));
  const Structure of_symmetric = analyze_structure<T>(symmetric);
  EXPECT_TRUE(of_symmetric.symmetric_values);
  EXPECT_FALSE(of_symmetric.hermitian_values);
  EXPECT_EQ(of_symmetric.definiteness, Definiteness::unknown);
  EXPECT_EQ(structural_rank<T>(symmetric), 25);
  const Structure of_dense = analyze_structure<T>(MatrixRef<T>(dense<T>(random_entries(6, 6, 62)).view()));
  EXPECT_FALSE(of_dense.hermitian_values || of_dense.symmetric_values);
}

TYPED_TEST(ComplexSelection, Cg_WithASymmetricMatrix_IsRefusedByAuto) {
  using T = TypeParam;
  const Csr<T> symmetric = sparse<T>(damped_helmholtz(13, 1.0, 0.5));
  for (const Candidate& candidate : choose<T>(symmetric)) {
    EXPECT_NE(candidate.method, "cg");
    EXPECT_NE(candidate.method, "minres");
    EXPECT_NE(candidate.reason.find("complex symmetric"), std::string::npos) << candidate.reason;
  }
  const Dense<T> rectangle(Device(), 3, 2);
  EXPECT_EQ(choose<T>(MatrixRef<T>(rectangle.view())).front().method, "qr");
}

/// A cube of side^3 points with the phases of a weak field, or with a shift of -k^2 (1 + i / 2).
template <class T>
Csr<T> cube(std::int32_t side, bool hermitian) {
  std::vector<Triplet<T>> elements;
  const std::int32_t strides[] = {1, side, side * side};
  for (std::int32_t i = 0; i < side * side * side; ++i) {
    elements.push_back({i, i, hermitian ? T{6, 0} : T{5.7F, -0.15F}});
    for (const std::int32_t stride : strides) {
      if (i / stride % side + 1 == side) continue;
      const T phase = hermitian ? rounded<T>(std::polar(1.0F, 1e-4F * static_cast<float>(stride))) : T{1, 0};
      elements.push_back({i, i + stride, -phase});
      elements.push_back({i + stride, i, -std::conj(phase)});
    }
  }
  return Csr<T>::from_triplets(side * side * side, side * side * side, elements);
}

TYPED_TEST(ComplexSelection, LargeMesh_IsSolvedByMultigrid) {
  using T = TypeParam;
  const Csr<T> hermitian = cube<T>(34, true);
  const Candidate first = choose<T>(hermitian).front();
  EXPECT_EQ(first.method, "cg");
  EXPECT_NE(first.reason.find("multigrid"), std::string::npos) << first.reason;
  Solver<T> solver = this->make("auto", Device());
  ASSERT_TRUE(solver.setup(hermitian).ready());
  Dense<T> x(Device(), hermitian.rows(), 1);
  const Report report = solver.solve(column<T>(Random(3).vector(hermitian.rows())), x);
  EXPECT_EQ(report.status, Status::converged) << report.message;
  EXPECT_NE(report.method.find("amg"), std::string::npos) << report.method;
  const std::vector<Candidate> of_shifted = choose<T>(cube<T>(34, false));
  const auto found = std::find_if(of_shifted.begin(), of_shifted.end(), [](const Candidate& candidate) {
    return candidate.method == "cocg" && candidate.reason.find("multigrid") != std::string::npos;
  });
  EXPECT_NE(found, of_shifted.end());
}

TYPED_TEST(ComplexSelection, LargeSparseRectangle_IsFactoredOrIterated) {
  using T = TypeParam;
  std::vector<Triplet<T>> entries;
  Random random(65);
  for (std::int32_t i = 0; i < 30000; ++i) {
    entries.push_back({i, i % 10000, rounded<T>(Exact(3) + random())});
    entries.push_back({i, (7 * i + 1) % 10000, rounded<T>(random())});
  }
  const Csr<T> A = Csr<T>::from_triplets(30000, 10000, entries);
  const std::vector<Candidate> candidates = choose<T>(A);
  ASSERT_GT(candidates.size(), 2U);
  EXPECT_EQ(candidates[0].method, "lsmr");
  EXPECT_NE(candidates[0].reason.find("at most 10 iterations"), std::string::npos) << candidates[0].reason;
  const auto by_qr = std::ranges::find(candidates, "sparse-qr", &Candidate::method);
  ASSERT_LT(by_qr - candidates.begin() + 1, std::ssize(candidates));
  EXPECT_NE(by_qr->reason.find("sparse QR"), std::string::npos) << by_qr->reason;
  EXPECT_EQ(by_qr[1].method, "lsmr");
  EXPECT_NE(by_qr[1].reason.find("adjoint"), std::string::npos) << by_qr[1].reason;
  const Dense<T> b = column<T>(Random(66).vector(30000));
  Solver<T> solver = this->make("auto", Device());
  ASSERT_TRUE(solver.setup(A).ready());
  Dense<T> x(Device(), 10000, 1);
  const Report report = solver.solve(b, x, {.least_squares = true});
  EXPECT_EQ(report.status, Status::least_squares) << report.message;
}

/// auto finds a solution of a singular system if there is one, and says why the method was chosen.
TYPED_TEST(ComplexSelection, SingularMatrices_AreEliminated) {
  using T = TypeParam;
  Entries dense_one = random_entries(40, 40, 67);
  for (std::int64_t i = 0; i < 40; ++i) dense_one(i, 30) = Exact(0, 1) * dense_one(i, 2);
  Entries sparse_one = random_sparse(300, 4, 68);
  for (std::int64_t j = 0; j < 300; ++j) sparse_one(70, j) = Exact(0, 2) * sparse_one(4, j);
  for (const bool is_dense : {true, false}) {
    const Entries& entries = is_dense ? dense_one : sparse_one;
    SCOPED_TRACE(is_dense ? "dense" : "sparse");
    const std::int64_t n = entries.rows;
    const Csr<T> csr = sparse<T>(entries);
    const Dense<T> full = dense<T>(entries);
    Solver<T> solver = this->make("auto", Device());
    static_cast<void>(solver.setup(is_dense ? MatrixRef<T>(full.view()) : MatrixRef<T>(csr)));
    const Vector b = product(entries, Random(3).vector(n));
    Dense<T> x(Device(), n, 1);
    const Report consistent = solver.solve(column<T>(b), x);
    EXPECT_TRUE(consistent.solved()) << consistent.message;
    EXPECT_LT(consistent.backward_error, 1e4 * epsilon<T>);
    const Report contradiction = solver.solve(column<T>(Random(4).vector(n)), x);
    EXPECT_FALSE(contradiction.solved()) << contradiction.message;
    if (!is_dense) continue;
    EXPECT_EQ(contradiction.status, Status::inconsistent) << contradiction.message;
    EXPECT_NE(contradiction.method.find("gauss-jordan"), std::string::npos) << contradiction.method;
    EXPECT_NE(contradiction.reason.find("singular"), std::string::npos) << contradiction.reason;
    EXPECT_EQ(contradiction.rank, 39);
  }
}

}  // namespace
}  // namespace echelon::test
