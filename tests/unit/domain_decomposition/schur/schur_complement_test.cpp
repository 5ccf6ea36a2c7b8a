// SPDX-License-Identifier: BSD-3-Clause
#include "support/domain_decomposition/schur_cases.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <stop_token>
#include <string>
#include <vector>

namespace echelon {
namespace {

using test::check_schur;
using test::check_schur_of;
using test::check_schur_solve;
using test::csr_of;
using test::Elements;
using test::grid_system;
using test::Interface;
using test::random_interface;
using test::random_system;
using test::saddle_point;
using test::SparseSystem;
using test::statistic;

template <class T>
class SchurComplementOf : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(SchurComplementOf, Types);

std::vector<Device> host_devices() {
  return {Device::serial(), Device::openmp(3)};
}

std::vector<SparseSystem> small_definite_systems() {
  std::vector<SparseSystem> list = test::definite_systems();
  std::erase_if(list, [](const SparseSystem& system) { return system.n > 200; });
  list.push_back(grid_system(8, 7, 6));
  return list;
}

/// A system with one path in a corner of the plane that nothing else touches: a part without interface.
SparseSystem two_parts() {
  SparseSystem s = grid_system(6, 6, 1);
  for (std::int32_t i = 36; i < 50; ++i) {
    s.elements.push_back({i, i, 3});
    if (i + 1 == 50) continue;
    s.elements.push_back({i, i + 1, -1});
    s.elements.push_back({i + 1, i, -1});
  }
  s.n = 50;
  s.name = "two parts";
  return s;
}

/// Rows of a random matrix in another order, so that its diagonal has no usable pivots.
SparseSystem with_rows_exchanged(SparseSystem system) {
  for (auto& e : system.elements) e.row = static_cast<std::int32_t>((e.row + 1) % system.n);
  system.name += " with other rows";
  return system;
}

TYPED_TEST(SchurComplementOf, DefiniteSystems_MatchBlockElimination) {
  for (const Device& device : host_devices()) {
    for (const SparseSystem& system : small_definite_systems())
      check_schur_of<TypeParam>(device, system, SchurFactorization::cholesky);
  }
}

TYPED_TEST(SchurComplementOf, DefiniteSystems_MatchWithEveryFactorization) {
  for (const SchurFactorization factorization :
       {SchurFactorization::automatic, SchurFactorization::ldlt, SchurFactorization::lu}) {
    check_schur_of<TypeParam>(Device::serial(), grid_system(9, 8, 1), factorization);
    check_schur_of<TypeParam>(Device::openmp(2), two_parts(), factorization);
  }
}

TYPED_TEST(SchurComplementOf, IndefiniteSystems_MatchBlockElimination) {
  for (const Device& device : host_devices()) {
    for (const SchurFactorization factorization : {SchurFactorization::ldlt, SchurFactorization::lu}) {
      for (const unsigned seed : {2U, 3U}) {
        check_schur_of<TypeParam>(device, random_system(97, 4, true, -0.4, seed), factorization, seed);
        check_schur_of<TypeParam>(device, random_system(33, 9, true, 0.02, seed), factorization, seed);
      }
    }
  }
}

TYPED_TEST(SchurComplementOf, UnsymmetricSystems_MatchBlockElimination) {
  for (const Device& device : host_devices()) {
    for (const unsigned seed : {4U, 5U}) {
      check_schur_of<TypeParam>(device, random_system(100, 3, false, 0.7, seed), SchurFactorization::lu,
                                seed);
      check_schur_of<TypeParam>(device, random_system(31, 12, false, 0.01, seed), SchurFactorization::lu,
                                seed);
    }
    check_schur_of<TypeParam>(device, grid_system(11, 10, 1, 0, 0.6), SchurFactorization::automatic);
  }
}

TEST(SchurComplement, RowsWithoutDiagonal_AreExchangedInTheInterior) {
  // The cyclic exchange leaves pairs of rows and columns of the interior only where both are in it.
  const SparseSystem system = with_rows_exchanged(random_system(90, 5, false, 1.2, 8));
  const Csr<double> A = csr_of<double>(system.n, system.elements);
  for (const std::int32_t count : {3, 20}) {
    const Interface interface = random_interface(system.n, count, 3);
    check_schur<double>(Device::serial(), A, A, interface, {}, system.name);
    check_schur_solve<double>(Device::serial(), A, A, interface, {}, system.name);
  }
}

TEST(SchurComplement, SaddlePoint_HasTheInertiaOfItsInterior) {
  const SparseSystem system = saddle_point(9, false);
  const Csr<double> A = csr_of<double>(system.n, system.elements);
  const Interface interface = {80, 79, 40, 44, 38};  // unknowns that no constraint needs
  check_schur<double>(Device::serial(), A, A, interface, {.factorization = SchurFactorization::ldlt},
                      "saddle");
  const SchurComplement<double> schur = schur_complement(A, interface);
  ASSERT_TRUE(schur.ready()) << schur.report().message;
  EXPECT_EQ(statistic(schur.report(), "interior"), static_cast<double>(system.n - 5));
  ASSERT_TRUE(schur.interior_inertia());
  EXPECT_EQ(schur.interior_inertia()->positive, 81 - 5);
  EXPECT_EQ(schur.interior_inertia()->negative, system.n - 81);
  EXPECT_EQ(schur.interior_inertia()->zero, 0);
  EXPECT_FALSE(schur_complement(A, interface, {.factorization = SchurFactorization::lu}).interior_inertia());
}

TEST(SchurComplement, Automatic_TakesTheCheapestThatSuits) {
  const auto chosen = [](const SparseSystem& system) {
    const Csr<double> A = csr_of<double>(system.n, system.elements);
    const SchurComplement<double> schur = schur_complement(A, Interface{0, 5});
    EXPECT_TRUE(schur.ready()) << schur.report().message;
    return to_string(*schur.report().find_statistic("factorization"));
  };
  EXPECT_EQ(chosen(grid_system(5, 5, 1)), "factorization cholesky");
  EXPECT_EQ(chosen(grid_system(5, 5, 1, -3)), "factorization ldlt");  // a positive diagonal is not enough
  EXPECT_EQ(chosen(random_system(30, 4, true, -0.5, 1)), "factorization ldlt");
  EXPECT_EQ(chosen(random_system(30, 4, false, 0.5, 1)), "factorization lu");
}

TEST(SchurComplement, IndefiniteComplement_IsSolvedAsWell) {
  SparseSystem system = grid_system(6, 5, 1);
  const Interface interface = {29, 2, 11};
  for (auto& e : system.elements) {
    if (e.row == e.column && (e.row == 2 || e.row == 11)) e.value = -3;
  }
  const Csr<double> A = csr_of<double>(system.n, system.elements);
  check_schur_solve<double>(Device::serial(), A, A, interface,
                            {.factorization = SchurFactorization::cholesky}, "indefinite complement");
}

TEST(SchurComplement, DelayedPivots_AreEliminatedBeforeTheInterface) {
  // Pivots of about 1e-9, with elements of the interface of magnitude 1, wait for the last front.
  const double small = 1e-9;
  Elements elements;
  const std::int32_t pairs = 12;
  const std::int32_t border = 2 * pairs;
  for (std::int32_t p = 0; p < pairs; ++p) {
    const std::int32_t i = 2 * p;
    elements.insert(elements.end(), {{i, i, 1}, {i, i + 1, 2}, {i + 1, i, 2}, {i + 1, i + 1, 4 + small}});
    for (std::int32_t b = border; b < border + 3; ++b) {
      const double value = 1.0 + 0.1 * p + 0.3 * (b - border) * (p % 3);
      elements.insert(elements.end(), {{i, b, value}, {b, i, value}, {i + 1, b, -value}, {b, i + 1, -value}});
    }
  }
  for (std::int32_t b = border; b < border + 3; ++b) elements.push_back({b, b, 5});
  const Csr<double> A = csr_of<double>(border + 3, elements);
  const Interface interface = {border + 1, border + 2, border};
  for (const SchurFactorization factorization : {SchurFactorization::ldlt, SchurFactorization::lu}) {
    check_schur<double>(Device::serial(), A, A, interface, {.factorization = factorization}, "delayed");
    const SchurComplement<double> schur = schur_complement(A, interface, {.factorization = factorization});
    EXPECT_GT(statistic(schur.report(), "delayed_pivots"), 0);
  }
}

TEST(SchurComplement, EmptyInterface_LeavesTheFactors) {
  const SparseSystem system = grid_system(7, 6, 1);
  const Csr<double> A = csr_of<double>(system.n, system.elements);
  const Dense<double> dense = to_dense<double>(MatrixRef<double>(A));
  for (const SchurFactorization factorization :
       {SchurFactorization::cholesky, SchurFactorization::ldlt, SchurFactorization::lu}) {
    EXPECT_EQ(schur_complement(A, Interface{}).matrix().rows(), 0);
    check_schur<double>(Device::serial(), A, A, {}, {.factorization = factorization}, "empty interface");
    check_schur_solve<double>(Device::serial(), A, A, {}, {.factorization = factorization},
                              "empty interface");
    check_schur<double>(Device::serial(), A, dense, {}, {.factorization = factorization}, "empty interface");
    check_schur_solve<double>(Device::serial(), A, dense, {}, {.factorization = factorization}, "empty");
  }
}

TEST(SchurComplement, WholeInterface_IsTheMatrixInItsOrder) {
  const SparseSystem system = random_system(23, 3, false, 1, 3);
  const Csr<double> A = csr_of<double>(system.n, system.elements);
  const Dense<double> dense = to_dense<double>(MatrixRef<double>(A));
  const Interface interface = random_interface(system.n, system.n, 4);
  const auto check = [&](const SchurComplement<double>& schur) {
    ASSERT_TRUE(schur.ready()) << schur.report().message;
    for (std::int64_t i = 0; i < system.n; ++i) {
      for (std::int64_t j = 0; j < system.n; ++j) {
        EXPECT_EQ(schur.matrix()(i, j),
                  dense(interface[static_cast<std::size_t>(i)], interface[static_cast<std::size_t>(j)]));
      }
    }
  };
  check(schur_complement(A, interface));
  check(schur_complement(dense, interface));
  check_schur_solve<double>(Device::serial(), A, A, interface, {}, "whole interface");
}

TEST(SchurComplement, EmptyMatrix_HasAnEmptyComplement) {
  const Csr<double> A = csr_of<double>(0, {});
  const SchurComplement<double> schur = schur_complement(A, Interface{});
  EXPECT_TRUE(schur.ready()) << schur.report().message;
  EXPECT_EQ(schur.matrix().rows(), 0);
  Dense<double> x(Device(), 0, 2);
  EXPECT_TRUE(schur.solve(Dense<double>(Device(), 0, 2), x).solved());
}

/// Text of the error of type E that f throws.
template <class E, class F>
std::string error_of(const F& f) {
  try {
    f();
  } catch (const E& error) {
    return error.what();
  }
  return "no error";
}

TEST(SchurComplement, BadInterface_NamesTheElement) {
  const Csr<double> A = csr_of<double>(9, grid_system(3, 3, 1).elements);
  const auto compute = [&](Interface interface) { return schur_complement(A, interface); };
  EXPECT_EQ(error_of<InvalidMatrix>([&] {
              compute({1, 9});
            }),
            "element 1 of the interface is 9, and A has the rows 0 to 8: an interface holds rows of A");
  EXPECT_NE(error_of<InvalidMatrix>([&] { compute({-1}); }).find("is -1"), std::string::npos);
  EXPECT_EQ(error_of<InvalidMatrix>([&] {
              compute({3, 1, 2, 1});
            }),
            "row 1 is in the interface twice, as elements 1 and 3");
  const Csr<double> rectangle = Csr<double>::from_triplets(2, 3, {{0, 0, 1.0}});
  EXPECT_THROW(static_cast<void>(schur_complement(rectangle, Interface{0})), DimensionMismatch);
  EXPECT_THROW(static_cast<void>(schur_complement(A, Interface{0}, {.refine = 21})), BadOption);
}

TEST(SchurComplement, WrongShapes_AreRefused) {
  const Csr<double> A = csr_of<double>(9, grid_system(3, 3, 1).elements);
  const SchurComplement<double> schur = schur_complement(A, Interface{0, 4});
  Dense<double> full(Device(), 9, 2);
  Dense<double> part(Device(), 2, 2);
  Dense<double> narrow(Device(), 2, 1);
  EXPECT_THROW(schur.reduce(part, part), DimensionMismatch);
  EXPECT_THROW(schur.reduce(full, narrow), DimensionMismatch);
  EXPECT_THROW(schur.expand(full, full, full), DimensionMismatch);
  EXPECT_THROW(schur.extend(narrow, full), DimensionMismatch);
  EXPECT_THROW(static_cast<void>(schur.solve(part, full)), DimensionMismatch);
}

/// A Laplacian with a singular part 0, ..., 3 that the interface does not touch, and a regular one.
SparseSystem singular_part() {
  SparseSystem s{"singular part", 9, {}};
  for (std::int32_t i = 0; i < 3; ++i) {
    s.elements.insert(s.elements.end(), {{i, i, 1}, {i + 1, i + 1, 1}, {i, i + 1, -1}, {i + 1, i, -1}});
  }
  for (std::int32_t i = 4; i < 9; ++i) s.elements.push_back({i, i, 2});
  s.elements.insert(s.elements.end(), {{4, 8, 1}, {8, 4, 1}});
  return s;
}

TEST(SchurComplement, SingularInterior_NamesAColumnOfThePart) {
  const SparseSystem system = singular_part();
  const Csr<double> A = csr_of<double>(system.n, system.elements);
  for (const SchurFactorization factorization : {SchurFactorization::ldlt, SchurFactorization::lu}) {
    const SchurComplement<double> schur = schur_complement(A, Interface{8}, {.factorization = factorization});
    const Report& report = schur.report();
    EXPECT_EQ(report.status, Status::singular);
    ASSERT_TRUE(report.row);
    EXPECT_LE(*report.row, 3);
    EXPECT_EQ(report.rank, 7);
    EXPECT_NE(report.message.find("rank is 7 of 8"), std::string::npos) << report.message;
    EXPECT_THROW(static_cast<void>(schur.matrix()), Error);
    Dense<double> x(Device(), 9, 1);
    EXPECT_EQ(schur.solve(Dense<double>(Device(), 9, 1), x).status, Status::singular);
    // With one of its unknowns in the interface the part is regular.
    EXPECT_TRUE(schur_complement(A, Interface{8, 2}, {.factorization = factorization}).ready());
  }
  const Report cholesky =
      schur_complement(A, Interface{8}, {.factorization = SchurFactorization::cholesky}).report();
  EXPECT_TRUE(cholesky.status == Status::not_spd || cholesky.status == Status::singular);
  const Dense<double> dense = to_dense<double>(MatrixRef<double>(A));
  EXPECT_EQ(schur_complement(dense, Interface{8}).report().status, Status::singular);
}

TEST(SchurComplement, ZeroRowInTheInterior_IsStructurallySingular) {
  Elements elements = grid_system(3, 3, 1).elements;
  std::erase_if(elements, [](const auto& e) {
    return (e.row == 4) != (e.column == 4) ? e.row != 8 && e.column != 8 : e.row == 4;
  });
  elements.insert(elements.end(), {{4, 8, 1}, {8, 4, 1}});  // row 4 has an element in the interface only
  const Csr<double> A = csr_of<double>(9, elements);
  for (const SchurFactorization factorization : {SchurFactorization::ldlt, SchurFactorization::lu}) {
    const Report report = schur_complement(A, Interface{8}, {.factorization = factorization}).report();
    EXPECT_EQ(report.status, Status::singular);
    EXPECT_EQ(report.row, 4);
    EXPECT_NE(report.message.find("structural rank is 7 of 8"), std::string::npos) << report.message;
  }
}

TEST(SchurComplement, NearlySingularInterior_IsReported) {
  SparseSystem system = singular_part();
  system.elements.push_back({0, 0, 1e-17});
  const Csr<double> A = csr_of<double>(system.n, system.elements);
  for (const SchurFactorization factorization : {SchurFactorization::ldlt, SchurFactorization::lu}) {
    EXPECT_EQ(schur_complement(A, Interface{8}, {.factorization = factorization}).report().status,
              Status::singular);
  }
}

TEST(SchurComplement, UnsuitableMatrix_HasAReason) {
  const SparseSystem indefinite = grid_system(5, 5, 1, -3);
  const Csr<double> A = csr_of<double>(indefinite.n, indefinite.elements);
  const Report report =
      schur_complement(A, Interface{3}, {.factorization = SchurFactorization::cholesky}).report();
  EXPECT_EQ(report.status, Status::not_spd);
  EXPECT_TRUE(report.row);
  const SparseSystem unsymmetric = grid_system(5, 5, 1, 0, 0.2);
  const Csr<double> B = csr_of<double>(unsymmetric.n, unsymmetric.elements);
  const Dense<double> dense = to_dense<double>(MatrixRef<double>(B));
  for (const SchurFactorization factorization : {SchurFactorization::cholesky, SchurFactorization::ldlt}) {
    const SchurOptions options{.factorization = factorization};
    const Status expected =
        factorization == SchurFactorization::cholesky ? Status::not_spd : Status::breakdown;
    EXPECT_EQ(schur_complement(B, Interface{3}, options).report().status, expected);
    EXPECT_EQ(schur_complement(dense, Interface{3}, options).report().status, expected);
    EXPECT_NE(schur_complement(dense, Interface{3}, options).report().message.find("not symmetric"),
              std::string::npos);
  }
}

TEST(SchurComplement, NotANumber_IsLocated) {
  Elements elements = grid_system(3, 3, 1).elements;
  elements[5].value = std::numeric_limits<double>::quiet_NaN();
  const Csr<double> A = csr_of<double>(9, elements);
  const Report report = schur_complement(A, Interface{8}).report();
  EXPECT_EQ(report.status, Status::not_a_number);
  EXPECT_EQ(report.row, elements[5].row);
  EXPECT_EQ(report.column, elements[5].column);
}

TEST(SchurComplement, Cancelled_SaysSo) {
  std::stop_source source;
  source.request_stop();
  const SparseSystem system = grid_system(12, 12, 1);
  const Csr<double> A = csr_of<double>(system.n, system.elements);
  for (const SchurFactorization factorization : {SchurFactorization::cholesky, SchurFactorization::lu}) {
    const SchurOptions options{.factorization = factorization, .cancel = source.get_token()};
    EXPECT_EQ(schur_complement(A, Interface{8}, options).report().status, Status::cancelled);
  }
}

TEST(SchurComplement, Threads_DoNotChangeTheBits) {
  const SparseSystem system = grid_system(20, 20, 12);
  const Csr<double> A = csr_of<double>(system.n, system.elements);
  Interface interface(400);
  std::iota(interface.begin(), interface.end(), 5 * 400);
  for (const SchurFactorization factorization :
       {SchurFactorization::cholesky, SchurFactorization::ldlt, SchurFactorization::lu}) {
    SchurOptions options{.factorization = factorization, .device = Device::serial()};
    const std::vector<double> serial = schur_complement(A, interface, options).matrix().to_vector();
    for (const int threads : {2, 5}) {
      options.device = Device::openmp(threads);
      EXPECT_EQ(schur_complement(A, interface, options).matrix().to_vector(), serial) << threads;
    }
  }
}

TEST(SchurComplement, RowMajorViews_AreTaken) {
  const SparseSystem system = random_system(20, 4, false, 0.8, 6);
  const Csr<double> A = csr_of<double>(system.n, system.elements);
  const Dense<double> dense = to_dense<double>(MatrixRef<double>(A));
  const Interface interface = {3, 17, 4};
  const DenseView<const double> transpose(dense.data(), 20, 20, 20, Device(), Layout::row_major);
  const SchurComplement<double> schur(MatrixRef<double>(A), interface);
  const SchurComplement<double> of_transpose(MatrixRef<double>(transpose), interface);
  for (std::int64_t i = 0; i < 3; ++i) {
    for (std::int64_t j = 0; j < 3; ++j)
      EXPECT_NEAR(of_transpose.matrix()(j, i), schur.matrix()(i, j), 1e-13);
  }
}

}  // namespace
}  // namespace echelon
