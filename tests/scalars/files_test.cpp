// SPDX-License-Identifier: BSD-3-Clause
/// Files of complex matrices.
#include "scalars/complex_systems.hpp"

namespace echelon::test {
namespace {

template <class T>
class ComplexFiles : public ComplexSystems<T> {};
TYPED_TEST_SUITE(ComplexFiles, ComplexTypes);

template <class T>
std::vector<T> elements(const Dense<T>& A) {
  return {A.data(), A.data() + A.rows() * A.columns()};
}

TYPED_TEST(ComplexFiles, FilesHoldComplexMatrices) {
  using T = TypeParam;
  const Csr<T> A = sparse<T>(random_sparse(12, 3, 71));
  const Dense<T> D = dense<T>(random_entries(5, 3, 72));
  for (const char* ending : {"mtx", "npz", "npy", "mtx.gz"}) {
    const std::string path = testing::TempDir() + "complex_test." + ending;
    write_matrix<T>(path, A);
    const MatrixFile<T> back = read_matrix_file<T>(path);
    EXPECT_EQ(back.info.field, "complex") << ending;
    EXPECT_EQ(elements(to_dense(MatrixRef<T>(back.matrix))), elements(to_dense<T>(A))) << ending;
    write_matrix<T>(path, MatrixRef<T>(D.view()));
    const Matrix<T> again = read_matrix<T>(path);
    EXPECT_EQ(elements(to_dense(MatrixRef<T>(again))), elements(D)) << ending;
    EXPECT_THROW(static_cast<void>(read_matrix<double>(path)), ParseError) << ending;
    EXPECT_EQ(read_any_matrix_file(path).index(), 1U) << ending;
  }
  EXPECT_THROW(write_matrix<T>(testing::TempDir() + "complex_test.txt", A), InvalidMatrix);
}

TYPED_TEST(ComplexFiles, PetscFiles_KeepEveryForm) {
  if constexpr (std::is_same_v<TypeParam, std::complex<double>>) {
    using T = TypeParam;
    const std::string path = testing::TempDir() + "complex_test.petsc";
    const Csr<T> A = sparse<T>(random_sparse(12, 3, 73));
    const Dense<T> D = dense<T>(random_entries(5, 3, 74));
    const Dense<T> b = column<T>(Random(75).vector(12));
    for (const int bits : {32, 64}) {
      for (const MatrixRef<T>& matrix : {MatrixRef<T>(A), MatrixRef<T>(D.view()), MatrixRef<T>(b.view())}) {
        write_petsc<T>(path, matrix, {.index_bits = bits});
        for (const PetscScalar scalar : {PetscScalar::automatic, PetscScalar::complex128}) {
          const PetscFile<T> back = read_petsc<T>(path, scalar);
          EXPECT_TRUE(back.complex);
          EXPECT_EQ(MatrixRef<T>(back.matrix).is_sparse(), matrix.is_sparse());
          EXPECT_EQ(elements(to_dense(MatrixRef<T>(back.matrix))), elements(to_dense(matrix)));
        }
        EXPECT_THROW(static_cast<void>(read_petsc<double>(path)), ParseError);
        EXPECT_EQ(read_any_matrix_file(path).index(), 1U);
        EXPECT_EQ(read_matrix_file<T>(path).info.field, "complex");
      }
    }
    const Csr<double> real = Csr<double>::from_triplets(2, 2, {{0, 0, 3.0}, {1, 0, -1.0}, {1, 1, 2.0}});
    write_petsc<double>(path, real);
    const PetscFile<T> of_real = read_petsc<T>(path);
    EXPECT_FALSE(of_real.complex);
    EXPECT_EQ(elements(to_dense(MatrixRef<T>(of_real.matrix))), (std::vector<T>{3, -1, 0, 2}));
  }
}

/// A file of type `type` with the elements (1, 1), (2, 1) and (2, 2).
std::string harwell_boeing(const std::string& type, const std::string& values) {
  return std::string(72, 't') + "key     \n  3  1  1  1  0\n" + type +
         "  2  2  3  0\n(3I4)           (3I4)           (6F8.3)\n   1   3   4\n   1   2   2\n" + values +
         "\n";
}

TYPED_TEST(ComplexFiles, HarwellBoeingFiles_OfEachSymmetry) {
  using T = TypeParam;
  const std::string path = testing::TempDir() + "complex_test.hb";
  const std::string values = "   2.000   0.000   1.000   2.500   3.000   0.000";
  const std::vector<std::pair<std::string, T>> mirrors = {
      {"CUA", T{0, 0}}, {"CSA", T{1, 2.5}}, {"CHA", T{1, -2.5}}};
  for (const auto& [type, mirror] : mirrors) {
    write_bytes(path, harwell_boeing(type, values));
    const HarwellBoeingFile<T> file = read_harwell_boeing<T>(path);
    EXPECT_EQ(file.info.field, "complex") << type;
    EXPECT_EQ(elements(to_dense<T>(file.matrix)), (std::vector<T>{T{2, 0}, T{1, 2.5}, mirror, T{3, 0}}))
        << type;
    EXPECT_THROW(static_cast<void>(read_harwell_boeing<double>(path)), ParseError) << type;
    EXPECT_EQ(read_any_matrix_file(path).index(), 1U) << type;
  }
  write_bytes(path, harwell_boeing("CHA", "   2.000   0.500   1.000   2.500   3.000   0.000"));
  EXPECT_THROW(static_cast<void>(read_harwell_boeing<T>(path)), ParseError);
  write_bytes(path, harwell_boeing("CZA", values));
  EXPECT_THROW(static_cast<void>(read_harwell_boeing<T>(path)), ParseError);
}

}  // namespace
}  // namespace echelon::test
