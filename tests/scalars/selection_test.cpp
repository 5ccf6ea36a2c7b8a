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
  EXPECT_EQ(names, (std::vector<std::string>{
                       "auto",        "banded-lu", "bicgstab",     "cg",    "cholesky", "cocg",
                       "cocr",        "cr",        "gauss-seidel", "gmres", "ic0",      "ilu0",
                       "jacobi",      "lu",        "minres",       "qr",    "sor",      "sparse-cholesky",
                       "sparse-ldlt", "sparse-lu", "ssor"}));
  const auto message_of = [](const std::string& method, const Options& options) {
    try {
      static_cast<void>(make_solver<T>(method, Device::serial(), options));
    } catch (const NotBuilt& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const std::string names_both = "those for complex ones are auto, banded-lu, bicgstab, cg";
  EXPECT_NE(message_of("amg", {}).find("'amg' is for real matrices; " + names_both), std::string::npos);
  EXPECT_NE(message_of("cg", {{"preconditioner", "amg"}}).find("'amg' is for real matrices; " + names_both),
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

}  // namespace
}  // namespace echelon::test
