// SPDX-License-Identifier: BSD-3-Clause
/// Sparse matrices in the caller's memory.
#include "support/problems.hpp"

#include <gtest/gtest.h>

#include <string>

namespace echelon::test {
namespace {

/// Arrays as an application may have them.
template <class Offset>
struct Arrays {
  std::int64_t rows = 0;
  std::vector<Offset> offsets;
  std::vector<std::int32_t> columns;
  std::vector<double> values;

  explicit Arrays(const Csr<double>& A)
      : rows(A.rows()), columns(A.column_indices().to_vector()), values(A.values().to_vector()) {
    for (const std::int64_t offset : A.row_offsets().to_vector())
      offsets.push_back(static_cast<Offset>(offset));
  }
  [[nodiscard]] CsrView<double> view() const { return {rows, rows, offsets, columns, values}; }
};

TEST(CsrView, CallersArrays_AreNotCopied) {
  const Csr<double> A = convection_diffusion(6, 0.2).csr<double>();
  const Arrays<std::int64_t> arrays(A);
  const CsrView<double> view(A.rows(), A.columns(), std::span<const std::int64_t>(arrays.offsets),
                             arrays.columns, arrays.values);
  const CsrView<double> copy = view;
  for (const CsrView<double>& each : {view, copy}) {
    EXPECT_EQ(each.csr().row_offsets().data(), arrays.offsets.data());
    EXPECT_EQ(each.csr().column_indices().data(), arrays.columns.data());
    EXPECT_EQ(each.csr().values().data(), arrays.values.data());
    EXPECT_FALSE(each.csr().values().owns());
    EXPECT_EQ(each.nonzeros(), A.nonzeros());
  }
  const MatrixRef<double> reference = view;
  EXPECT_EQ(reference.csr()->values().data(), arrays.values.data());
}

TEST(CsrView, Offsets32_AreWidenedAlone) {
  const Csr<double> A = convection_diffusion(6, 0.2).csr<double>();
  const Arrays<std::int32_t> arrays(A);
  const CsrView<double> view = arrays.view();
  EXPECT_EQ(view.csr().row_offsets().to_vector(), A.row_offsets().to_vector());
  EXPECT_EQ(view.csr().column_indices().data(), arrays.columns.data());
  EXPECT_EQ(view.csr().values().data(), arrays.values.data());
}

TEST(CsrView, EveryMethod_Solves) {
  const Dense<double> b = random_dense<double>(60, 1, 7);
  for (const Method& method : methods()) {
    if (!method.serial || method.kind == MethodKind::preconditioner) continue;
    SCOPED_TRACE(method.name);
    const Csr<double> A = system_for(method, b.rows(), 4, 5).csr<double>();
    const Arrays<std::int32_t> arrays(A);
    const CsrView<double> view = arrays.view();
    Solver<double> solver = make_solver<double>(method.name, Device::serial());
    ASSERT_TRUE(solver.setup(view).ready());
    Dense<double> x(Device(), A.rows(), 1);
    EXPECT_TRUE(solver.solve(b, x).solved());
    EXPECT_LT(assess(A, x, b).relative_residual, 1e-7);
    EXPECT_TRUE(solve(view, b).report.solved());
  }
}

TEST(CsrView, ChangedValues_AreSeenByUpdateValues) {
  const Csr<double> A = random_dominant(40, 4, true, 5).csr<double>();
  Arrays<std::int64_t> arrays(A);
  const CsrView<double> view = arrays.view();
  const Dense<double> b = random_dense<double>(A.rows(), 1, 7);
  Dense<double> x(Device(), A.rows(), 1);
  Dense<double> half(Device(), A.rows(), 1);
  LapackLu<double> lu;
  lu.setup(view);
  ASSERT_TRUE(lu.solve(b, x).solved());
  for (double& value : arrays.values) value *= 2;
  lu.update_values(view);
  ASSERT_TRUE(lu.solve(b, half).solved());
  for (std::int64_t i = 0; i < A.rows(); ++i) EXPECT_NEAR(half[i], x[i] / 2, 1e-12 * std::abs(x[i]));
}

TEST(CsrView, WrongArrays_AreRefused) {
  const std::vector<std::int64_t> offsets = {0, 1, 2};
  const std::vector<double> values = {1, 1};
  const auto view_of = [&](const std::vector<std::int64_t>& rows, const std::vector<std::int32_t>& columns) {
    return CsrView<double>(2, 2, rows, columns, values);
  };
  EXPECT_EQ(view_of(offsets, {0, 1}).nonzeros(), 2);
  EXPECT_THROW((void)view_of(offsets, {0, 2}), InvalidMatrix);
  EXPECT_THROW((void)view_of({0, 1, 3}, {0, 1}), InvalidMatrix);
  EXPECT_THROW((void)view_of({0, 2}, {0, 1}), InvalidMatrix);
  EXPECT_THROW((void)view_of(offsets, {0}), InvalidMatrix);
  const std::vector<std::int32_t> beyond = {0, 7};
  const CsrView<double> unchecked =
      CsrView<double>::unchecked(Device(), 2, 2, 2, offsets.data(), beyond.data(), values.data());
  EXPECT_EQ(unchecked.csr().column_indices().data(), beyond.data());
  const std::vector<std::int32_t> narrow = {0, 1, 2};
  const CsrView<double> widened =
      CsrView<double>::unchecked(Device(), 2, 2, 2, narrow.data(), beyond.data(), values.data());
  EXPECT_EQ(widened.csr().row_offsets().to_vector(), offsets);
  EXPECT_EQ(widened.csr().column_indices().data(), beyond.data());
}

TEST(Array, BorrowedElements_AreCopiedByCopiesOnly) {
  std::vector<int> memory = {1, 2, 3, 4};
  Array<int> borrowed = Array<int>::borrow(Device(), memory.data(), 4);
  EXPECT_FALSE(borrowed.owns());
  EXPECT_EQ(borrowed.data(), memory.data());
  const Array<int> copy = borrowed;
  EXPECT_TRUE(copy.owns());
  EXPECT_EQ(copy.to_vector(), memory);
  Array<int> moved = std::move(borrowed);
  EXPECT_EQ(moved.data(), memory.data());
  EXPECT_FALSE(moved.owns());
  moved.shrink(2);
  EXPECT_EQ(moved.data(), memory.data());
  EXPECT_EQ(moved.size(), 2);
  moved = Array<int>({7, 8});
  EXPECT_TRUE(moved.owns());
  EXPECT_EQ(memory, (std::vector<int>{1, 2, 3, 4}));
}

}  // namespace
}  // namespace echelon::test
