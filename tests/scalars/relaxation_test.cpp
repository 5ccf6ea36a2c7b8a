// SPDX-License-Identifier: BSD-3-Clause
/// Relaxation and incomplete factorisations of complex matrices.
#include "scalars/complex_systems.hpp"

namespace echelon::test {
namespace {

template <class T>
class ComplexRelaxation : public ComplexSystems<T> {};
TYPED_TEST_SUITE(ComplexRelaxation, ComplexTypes);

TYPED_TEST(ComplexRelaxation, JacobiSolvesDominantSystems) {
  using T = TypeParam;
  Entries entries = random_hermitian(60, 8, 4);
  for (std::int64_t i = 0; i < 60; ++i) {  // neither Hermitian nor with a real diagonal
    entries(i, i) *= 2.0L * Exact(0.6L, 0.8L);
    entries(i, (i + 1) % 60) *= Exact(0, 1);
  }
  const Csr<T> A = sparse<T>(entries);
  const Dense<T> D = dense<T>(entries);
  for (const Device& device : this->devices) {
    for (const char* variant : {"point", "l1"}) {
      for (const Operation operation : {Operation::none, Operation::transpose, Operation::adjoint}) {
        SCOPED_TRACE(device.name() + " " + variant);
        const bool is_point = variant == std::string("point");
        Solver<T> jacobi = this->make("jacobi", device, is_point ? Options() : Options({{"variant", "l1"}}));
        this->expect_solves(jacobi, A, entries, operation);
        this->expect_solves(jacobi, MatrixRef<T>(D.view()), entries, operation);
      }
    }
  }
}

TYPED_TEST(ComplexRelaxation, Jacobi_WithoutADiagonal_BreaksDown) {
  using T = TypeParam;
  const Csr<T> A = Csr<T>::from_triplets(2, 2, {{0, 0, T{0, 1}}, {1, 0, T{1, 0}}});
  Solver<T> jacobi = this->make("jacobi", Device::serial());
  const Report report = jacobi.setup(A);
  EXPECT_EQ(report.status, Status::breakdown);
  EXPECT_EQ(report.row, 1);
}

}  // namespace
}  // namespace echelon::test
