// SPDX-License-Identifier: BSD-3-Clause
#include "support/matrix/sparse_arrays.hpp"

#include <echelon/echelon.hpp>
#include <echelon/matrix/sparse_view.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace echelon::test {
namespace {

/// Random elements of an m by n matrix; with `stored` of a symmetric one.
template <class T>
std::vector<Triplet<T>> random_elements(std::int32_t m, std::int32_t n, StoredElements stored,
                                        unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Triplet<T>> triplets;
  for (std::int32_t i = 0; i < m; ++i) {
    for (std::int32_t j = 0; j < n; ++j) {
      if (random() % 4 != 0 && i != j) continue;
      if (stored == StoredElements::lower && j > i) continue;
      if (stored == StoredElements::upper && j < i) continue;
      triplets.push_back({i, j, static_cast<T>(static_cast<double>(random() % 1000) / 7.0)});
    }
  }
  return triplets;
}

/// The matrix of these elements, mirrored if half of them are given.
template <class T>
std::map<std::pair<std::int64_t, std::int64_t>, double> reference(const std::vector<Triplet<T>>& triplets,
                                                                  StoredElements stored) {
  std::map<std::pair<std::int64_t, std::int64_t>, double> elements;
  for (const Triplet<T>& t : triplets) {
    elements[{t.row, t.column}] += static_cast<double>(t.value);
    if (stored != StoredElements::all && t.row != t.column)
      elements[{t.column, t.row}] += static_cast<double>(t.value);
  }
  return elements;
}

template <class T>
void expect_equal(const Csr<T>& A, const std::map<std::pair<std::int64_t, std::int64_t>, double>& elements) {
  ASSERT_EQ(A.nonzeros(), std::ssize(elements));
  auto next = elements.begin();
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k, ++next) {
      EXPECT_EQ(next->first, std::make_pair(i, std::int64_t{A.column_indices()[k]}));
      EXPECT_NEAR(static_cast<double>(A.values()[k]), next->second, 1e-3);
    }
  }
}

template <class Pair>
class SparseViewOf : public testing::Test {};
using IndicesAndValues = testing::Types<std::pair<std::int32_t, double>, std::pair<std::int64_t, double>,
                                        std::pair<std::int32_t, float>, std::pair<std::int64_t, float>>;
TYPED_TEST_SUITE(SparseViewOf, IndicesAndValues);

TYPED_TEST(SparseViewOf, EveryLayout_SameMatrixAlsoWithNewValues) {
  using I = typename TypeParam::first_type;
  using T = typename TypeParam::second_type;
  unsigned seed = 1;
  for (const auto layout : {SparseLayout::csr, SparseLayout::csc, SparseLayout::coo}) {
    for (const auto stored : {StoredElements::all, StoredElements::lower, StoredElements::upper}) {
      for (const std::int32_t base : {0, 1}) {
        for (const int order : {0, 1, 2}) {
          const ArrayForm as{layout, stored, base, order > 0, order > 1};
          const std::int32_t m = 23;
          const std::int32_t n = stored == StoredElements::all ? 31 : 23;
          std::vector<Triplet<T>> triplets = random_elements<T>(m, n, stored, ++seed);
          if (as.repeated) {
            const auto some = random_elements<T>(m, n, stored, ++seed);
            triplets.insert(triplets.end(), some.begin(), some.end());
          }
          SparseArrays<I, T> arrays = arrays_of<I>(triplets, m, n, as, seed);
          SparseView<T> view(pattern_of(arrays, m, n, as), arrays.values.data());
          expect_equal(view.csr(), reference(triplets, stored));
          const bool csr_form = layout == SparseLayout::csr && stored == StoredElements::all && base == 0 &&
                                order == 0 && sizeof(I) == 4;
          EXPECT_EQ(view.is_in_place(), csr_form);
          EXPECT_EQ(view.csr().values().data() == arrays.values.data(), csr_form);

          std::vector<T> doubled = arrays.values;
          for (T& value : doubled) value *= 2;
          for (Triplet<T>& t : triplets) t.value *= 2;
          view.update_values(doubled.data());
          expect_equal(view.csr(), reference(triplets, stored));
        }
      }
    }
  }
}

TEST(SparseView, SymmetricCscArrays_StayInPlace) {
  const std::vector<std::int64_t> offsets = {0, 2, 4};
  const std::vector<std::int32_t> rows = {0, 1, 0, 1};
  const std::vector<double> values = {4, 1, 1, 3};
  SparsePattern pattern{SparseLayout::csc, 2, 2, 4, offsets.data(), rows.data()};
  EXPECT_FALSE(SparseView<double>(pattern, values.data()).is_in_place());
  pattern.symmetric = true;
  const SparseView<double> view(pattern, values.data());
  EXPECT_TRUE(view.is_in_place());
  EXPECT_EQ(view.csr().row_offsets().data(), offsets.data());
}

TEST(SparseView, SolverWithNewValues_SameFactorisationObject) {
  // 2 x = b in the lower half of a symmetric matrix, counted from 1
  const std::vector<std::int32_t> offsets = {1, 3, 4};
  const std::vector<std::int32_t> rows = {1, 2, 2};
  std::vector<double> values = {4, 1, 3};
  SparseView<double> view({SparseLayout::csc, 2, 2, 3, offsets.data(), rows.data(), 1, StoredElements::lower},
                          values.data());
  Solver<double> solver = make_solver<double>("sparse-cholesky", Device());
  ASSERT_EQ(solver.setup(view.csr()).status, Status::ready);
  std::vector<double> x(2);
  ASSERT_TRUE(solver.solve(std::vector<double>{5, 4}, x).solved());
  EXPECT_DOUBLE_EQ(x[0], 1);
  EXPECT_DOUBLE_EQ(x[1], 1);
  values = {8, 2, 6};
  view.update_values(values.data());
  ASSERT_EQ(solver.update_values(view.csr()).status, Status::ready);
  ASSERT_TRUE(solver.solve(std::vector<double>{5, 4}, x).solved());
  EXPECT_DOUBLE_EQ(x[0], 0.5);
}

TEST(SparseView, UpdateByValuesAlone_InTheOrderOfTheArrays) {
  // [2 1; 0 4] by columns, counted from 1, then multiplied by ten
  const std::vector<std::int64_t> offsets = {1, 2, 4};
  const std::vector<std::int64_t> rows = {1, 2, 1};
  const std::vector<double> values = {2, 4, 1};
  SparseView<double> view({SparseLayout::csc, 2, 2, 3, offsets.data(), rows.data(), 1}, values.data());
  Solver<double> solver = make_solver<double>("sparse-lu", Device());
  ASSERT_TRUE(solver.setup(view).ready());
  std::vector<double> x(2);
  for (const double factor : {10.0, 0.5}) {
    const std::vector<double> later = {factor * 2, factor * 4, factor * 1};
    ASSERT_TRUE(solver.update_values(later).ready());
    ASSERT_TRUE(solver.solve(std::vector<double>{3, 4}, x).solved());
    EXPECT_DOUBLE_EQ(x[0], 1 / factor);
    EXPECT_DOUBLE_EQ(x[1], 1 / factor);
  }
  EXPECT_EQ(view.csr().values()[0], 2) << "the view keeps its values";
}

TEST(SparseView, UpdateByValuesAlone_OfAHalfWithRepeatedPositions) {
  // [4 1; 1 3], its lower half, with 3 = 1 + 2
  const std::vector<std::int32_t> rows = {1, 0, 1, 1};
  const std::vector<std::int32_t> columns = {1, 0, 0, 1};
  const std::vector<double> values = {1, 4, 1, 2};
  const SparseView<double> view(
      {SparseLayout::coo, 2, 2, 4, rows.data(), columns.data(), 0, StoredElements::lower}, values.data());
  for (const char* method : {"sparse-cholesky", "cg"}) {
    Solver<double> solver = make_solver<double>(method, Device());
    ASSERT_TRUE(solver.setup(view).ready());
    ASSERT_TRUE(solver.update_values(std::vector<double>{4, 8, 2, 2}).ready());
    std::vector<double> x(2);
    ASSERT_TRUE(solver.solve(std::vector<double>{10, 8}, x).solved());
    EXPECT_NEAR(x[0], 1, 1e-7);
    EXPECT_NEAR(x[1], 1, 1e-7);
    EXPECT_THROW((void)solver.update_values(std::vector<double>{4, 2, 2, 3, 1}), DimensionMismatch);
    EXPECT_THROW((void)solver.update_values(std::vector<double>{4, 2, 3}), DimensionMismatch);
  }
}

TEST(SparseView, Solve_TakesTheView) {
  const std::vector<std::int32_t> rows = {1, 2, 1};
  const std::vector<std::int32_t> columns = {1, 2, 2};
  const std::vector<double> values = {2, 4, 1};
  const SparseView<double> view({SparseLayout::coo, 2, 2, 3, rows.data(), columns.data(), 1}, values.data());
  const auto [x, report] = solve(view, std::vector<double>{3, 4});
  ASSERT_TRUE(report.solved());
  EXPECT_DOUBLE_EQ(x[0], 1);
  EXPECT_DOUBLE_EQ(x[1], 1);
}

TEST(Solver, UpdateByValuesAlone_FollowsThem) {
  for (const std::string method : {"sparse-lu", "sparse-cholesky", "cg", "amg", "banded-lu"}) {
    const Csr<double> A = Csr<double>::from_triplets(2, 2, {{0, 0, 4}, {0, 1, 1}, {1, 0, 1}, {1, 1, 3}});
    Solver<double> solver = make_solver<double>(method, Device());
    std::vector<double> values = {8, 2, 2, 6};
    EXPECT_THROW((void)solver.update_values(values), Error);
    ASSERT_TRUE(solver.setup(A).ready());
    std::vector<double> x(2);
    for (const double factor : {1.0, 3.0, 0.5}) {
      const std::vector<double> scaled = {factor * 8, factor * 2, factor * 2, factor * 6};
      ASSERT_TRUE(solver.update_values(scaled).ready()) << method;
      ASSERT_TRUE(solver.solve(std::vector<double>{10, 8}, x).solved()) << method;
      EXPECT_NEAR(x[0], 1 / factor, 1e-7) << method;
      EXPECT_NEAR(x[1], 1 / factor, 1e-7) << method;
    }
    values.pop_back();
    EXPECT_THROW((void)solver.update_values(values), DimensionMismatch);
  }
  Solver<double> lu = make_solver<double>("lu", Device());
  const Dense<double> dense(2, 2, Array<double>{4, 1, 1, 3});
  ASSERT_TRUE(lu.setup(dense).ready());
  EXPECT_THROW((void)lu.update_values(std::vector<double>{1, 2, 3, 4}), Error);
}

TEST(SparseView, EmptyMatrices_AreAccepted) {
  const std::vector<std::int64_t> offsets = {0};
  const SparseView<double> none({SparseLayout::csr, 0, 0, 0, offsets.data(), IndexArray()}, nullptr);
  EXPECT_EQ(none.csr().rows(), 0);
  const SparseView<double> zero({SparseLayout::coo, 3, 2, 0}, nullptr);
  EXPECT_EQ(zero.csr().rows(), 3);
  EXPECT_EQ(zero.csr().nonzeros(), 0);
}

/// The message of the InvalidMatrix that a view throws.
std::string error_of(const SparsePattern& pattern, const double* values) {
  try {
    const SparseView<double> view(pattern, values);
  } catch (const InvalidMatrix& error) {
    return error.what();
  }
  return "no error";
}

TEST(SparseView, Misuse_IsNamed) {
  const std::vector<std::int64_t> offsets = {0, 1, 2};
  const std::vector<std::int64_t> falling = {0, 2, 1};
  const std::vector<std::int64_t> indices = {0, 1};
  const std::vector<std::int64_t> outside = {0, 2};
  const std::vector<double> values = {1, 2};
  SparsePattern good{SparseLayout::csr, 2, 2, 2, offsets.data(), indices.data()};
  EXPECT_EQ(error_of(good, values.data()), "no error");
  const auto changed = [&](auto member, auto value) {
    SparsePattern pattern = good;
    pattern.*member = value;
    return error_of(pattern, values.data());
  };
  EXPECT_NE(
      changed(&SparsePattern::indices, IndexArray(outside.data())).find("element 1 is in row 1 and column 2"),
      std::string::npos);
  EXPECT_NE(
      changed(&SparsePattern::offsets_or_rows, IndexArray(falling.data())).find("offset 2 of rows is 1"),
      std::string::npos);
  EXPECT_NE(changed(&SparsePattern::base, 2).find("from 0 or from 1"), std::string::npos);
  EXPECT_NE(changed(&SparsePattern::indices, IndexArray()).find("null pointer"), std::string::npos);
  EXPECT_NE(error_of(good, nullptr).find("null pointer"), std::string::npos);
  good.columns = 3;
  EXPECT_NE(changed(&SparsePattern::symmetric, true).find("not symmetric"), std::string::npos);
  good.columns = 2;
  const std::vector<std::int64_t> upper = {1, 1};
  good.indices = upper.data();
  EXPECT_NE(changed(&SparsePattern::stored, StoredElements::lower).find("which the lower half"),
            std::string::npos);
}

}  // namespace
}  // namespace echelon::test
