// SPDX-License-Identifier: BSD-3-Clause
// Complex matrices on a GPU: copies, conversions, products and vector operations, compared with long double.
#include "gpu/gpu_fixture.hpp"
#include "scalars/complex_systems.hpp"

namespace echelon::test {
namespace {

using T = std::complex<double>;

class GpuComplexProducts : public GpuTest {
 protected:
  /// A block of random columns, and the same in long double.
  struct Columns {
    Dense<T> values;
    std::vector<Vector> exact;
  };
  static Columns random_columns(std::int64_t rows, std::int64_t columns, unsigned seed) {
    Random random(seed);
    Columns block{Dense<T>(Device(), rows, columns), {}};
    for (std::int64_t c = 0; c < columns; ++c) {
      block.exact.push_back(random.vector(rows));
      for (std::int64_t i = 0; i < rows; ++i)
        block.values(i, c) = rounded<T>(block.exact.back()[static_cast<std::size_t>(i)]);
    }
    return block;
  }

  /// Compares alpha op(A) X + beta Y with the products of the columns.
  void check_product(const Entries& entries, MatrixRef<T> A, Operation operation, std::int64_t columns) {
    const Entries op = operate(operation, entries);
    const Columns X = random_columns(op.columns, columns, 9);
    const Columns Y = random_columns(op.rows, columns, 10);
    Dense<T> result = Y.values.to(gpu);
    const Dense<T> factor = X.values.to(gpu);
    Context context(gpu);
    multiply<T>(context, operation, T{2, -1}, A, factor, T{-1, 3}, result);
    const Dense<T> found = result.to(Device());
    for (std::int64_t c = 0; c < columns; ++c) {
      const auto number = static_cast<std::size_t>(c);
      Vector expected = product(op, X.exact[number]);
      for (std::size_t i = 0; i < expected.size(); ++i)
        expected[i] = Exact(2, -1) * expected[i] + Exact(-1, 3) * Y.exact[number][i];
      EXPECT_LT(relative_error(found.view().column(c), expected), 40 * epsilon<T>)
          << entries.rows << " by " << entries.columns << ", column " << c << " of " << columns;
    }
  }
};

TEST_F(GpuComplexProducts, ProductsOfEachOperation) {
  for (const auto& [m, n] : {std::pair<std::int64_t, std::int64_t>{1, 1}, {7, 12}, {33, 31}, {300, 290}}) {
    const Entries entries = random_entries(m, n, 5);
    const Csr<T> A = sparse<T>(entries).to(gpu);
    const Dense<T> D = dense<T>(entries).to(gpu);
    for (const Operation operation : {Operation::none, Operation::transpose, Operation::adjoint}) {
      for (const std::int64_t columns : {1, 3, 35}) {
        check_product(entries, A, operation, columns);
        check_product(entries, MatrixRef<T>(D.view()), operation, columns);
      }
    }
  }
}

/// Rows that a few lanes, a warp and a block sum, and empty ones, against the host.
TEST_F(GpuComplexProducts, RowsOfAnyLength) {
  constexpr std::int32_t n = 5000;
  for (const std::int32_t rows : {std::int32_t{5}, n}) {
    std::vector<Triplet<T>> entries;
    Random random(11);
    for (std::int32_t i = 0; i + 1 < rows; ++i) {
      const std::int32_t length = i == 1 ? 60 : i == 2 ? 900 : i == 3 ? n : i % 3;
      for (std::int32_t j = 0; j < length; ++j) entries.push_back({i, (i + 3 * j) % n, rounded<T>(random())});
    }
    const Csr<T> A = Csr<T>::from_triplets(rows, n, entries);
    for (const Operation operation : {Operation::none, Operation::adjoint}) {
      const bool plain = operation == Operation::none;
      const Dense<T> x = column<T>(Random(12).vector(plain ? n : rows));
      Dense<T> expected(Device(), plain ? rows : n, 1);
      Dense<T> found(gpu, plain ? rows : n, 1);
      multiply<T>(operation, T{1}, A, x, T{0}, expected);
      multiply<T>(operation, T{1}, A.to(gpu), x.to(gpu), T{0}, found);
      axpy<T>(T{-1}, found.to(Device()), expected);
      EXPECT_LT(norm2<T>(expected), 1e-13 * norm2<T>(x)) << rows << " rows";
    }
  }
}

TEST_F(GpuComplexProducts, EmptyMatrices) {
  const Csr<T> A = Csr<T>(5, 0, {0, 0, 0, 0, 0, 0}, {}, {}).to(gpu);
  Dense<T> y = column<T>(Random(3).vector(5)).to(gpu);
  multiply<T>(T{1}, A, Dense<T>(gpu, 0, 1), T{0}, y);
  EXPECT_EQ(y.to(Device())[4], T{0});
  EXPECT_EQ(Csr<T>().to(gpu).nonzeros(), 0);
}

TEST_F(GpuComplexProducts, ReductionsAndSums) {
  for (const std::int64_t n : {0, 1, 31, 5000, 300'000}) expect_reductions<T>(n, gpu);
}

/// Neither squares nor magnitudes overflow, and a NaN remains one.
TEST_F(GpuComplexProducts, ExtremeNorms) {
  const Dense<T> large = column<T>({Exact(3e300L, 4e300L), Exact(0, 0)}).to(gpu);
  EXPECT_NEAR(norm2<T>(large), 5e300, 1e286);
  EXPECT_NEAR(norm1<T>(large), 5e300, 1e286);
  const Dense<T> small = column<T>({Exact(3e-300L, 0), Exact(0, 4e-300L)}).to(gpu);
  EXPECT_NEAR(norm2<T>(small), 5e-300, 1e-314);
  Dense<T> bad(Device(), 2, 1);
  bad[1] = {0, std::numeric_limits<double>::quiet_NaN()};
  EXPECT_TRUE(std::isnan(norm2<T>(bad.to(gpu))));
}

TEST_F(GpuComplexProducts, MatricesConvert) {
  const std::vector<std::int32_t> rows = {1, 0, 0};
  const std::vector<std::int32_t> columns = {2, 1, 1};
  const std::vector<T> values = {{0, -1}, {1, 2}, {3, 4}};
  const Coo<T> list(2, 3, Array<std::int32_t>(gpu, std::span<const std::int32_t>(rows)),
                    Array<std::int32_t>(gpu, std::span<const std::int32_t>(columns)),
                    Array<T>(gpu, std::span<const T>(values)));
  const Csr<T> A = to_csr<T>(list);
  EXPECT_EQ(A.nonzeros(), 2);
  EXPECT_EQ(to_dense<T>(A).to(Device())(0, 1), (T{4, 6}));
  const Entries entries = random_sparse(700, 9, 12);
  const Csr<T> B = sparse<T>(entries);
  const Csr<T> moved = transpose(B.to(gpu)).to(Device());
  const Csr<T> expected = transpose(B);
  EXPECT_EQ(moved.row_offsets().to_vector(), expected.row_offsets().to_vector());
  EXPECT_EQ(moved.column_indices().to_vector(), expected.column_indices().to_vector());
  EXPECT_EQ(moved.values().to_vector(), expected.values().to_vector());
  EXPECT_EQ(diagonal(B.to(gpu)).to(Device())[5], diagonal(B)[5]);
  EXPECT_EQ(to_csr<T>(MatrixRef<T>(dense<T>(entries).to(gpu).view())).nonzeros(), B.nonzeros());
}

}  // namespace
}  // namespace echelon::test
