// SPDX-License-Identifier: BSD-3-Clause
/// The oracle against hand calculations, and reports with claims that are known to be true or false.
#include "claims/check.hpp"
#include "claims/tally.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace echelon::claims {

namespace {

LinearSystem system_of(std::size_t m, std::size_t n, std::vector<double> elements, std::vector<double> b) {
  LinearSystem system;
  system.A = Elements(m, n);
  system.A.values() = std::move(elements);
  system.b = std::move(b);
  return system;
}

/// The answer of a method that reports `status` and x.
Answer answer_of(Status status, std::vector<double> x) {
  Answer answer;
  answer.method = "lu";
  answer.report.status = status;
  answer.report.columns.emplace_back();
  answer.x = std::move(x);
  return answer;
}

/// The falsehoods that a check finds.
std::vector<Falsehood> falsehoods(const LinearSystem& system, const Answer& answer) {
  std::vector<Falsehood> result;
  const Facts facts = find_facts(system);
  for (const auto& [falsehood, rule] : check(system, facts, answer, &find_method("lu")).falsehoods) {
    result.push_back(falsehood);
  }
  return result;
}

using List = std::vector<Falsehood>;

const LinearSystem& nonsingular() {
  static const LinearSystem system = system_of(2, 2, {2, 1, 1, 1}, {3, 2});  // x = (1, 1)
  return system;
}
const LinearSystem& inconsistent() {
  static const LinearSystem system = system_of(2, 2, {1, 1, 1, 1}, {1, 2});
  return system;
}
const LinearSystem& consistent() {
  static const LinearSystem system = system_of(2, 2, {1, 1, 1, 1}, {2, 2});
  return system;
}

TEST(ClaimsOracle, Ranks_OverWideRange_AreExact) {
  // The third row of [A b] is the sum of the others.
  const Elements A = system_of(3, 3, {1e300, 0, 0, 0, 0, 0x1p-1074, 1e300, 0, 0x1p-1074}, {}).A;
  constexpr std::uint64_t prime = 2305843009213693921U;
  EXPECT_EQ(ranks_modulo(A, {1, 2, 3}, prime).matrix, 2U);
  EXPECT_EQ(ranks_modulo(A, {1, 2, 3}, prime).augmented, 2U);
  EXPECT_EQ(ranks_modulo(A, {1, 2, 4}, prime).augmented, 3U);
  EXPECT_EQ(find_facts(system_of(2, 2, {1, 1, 0x1p-1074, 0x1p-1073}, {1, 1})).rank, 2U);
}

TEST(ClaimsOracle, Solution_OfScaledRows_IsExact) {
  // Inverse of [[2, 1], [1, 1]] is [[1, -1], [-1, 2]]; rows scaled by 2^900 and 2^-900.
  const LinearSystem system =
      system_of(2, 2, {std::ldexp(2.0, 900), std::ldexp(1.0, 900), 0x1p-900, 0x1p-900}, {1, 0});
  const Facts facts = find_facts(system);
  ASSERT_TRUE(facts.nonsingular);
  EXPECT_EQ(facts.x[0].to_double(), 0x1p-900);
  EXPECT_EQ(facts.x[1].to_double(), -0x1p-900);
  EXPECT_LT(facts.condition, 20);
  EXPECT_GT(facts.condition, 1);
}

TEST(ClaimsOracle, Properties_OfSmallMatrices) {
  EXPECT_TRUE(find_facts(nonsingular()).positive_definite);
  EXPECT_FALSE(find_facts(consistent()).positive_definite);
  EXPECT_FALSE(find_facts(system_of(2, 2, {1, 2, 2, 1}, {1, 1})).positive_definite);
  EXPECT_TRUE(find_facts(consistent()).consistent);
  EXPECT_FALSE(find_facts(inconsistent()).consistent);
  EXPECT_TRUE(find_facts(system_of(2, 2, {2, 1, 0, 3}, {1, 1})).triangular);
  EXPECT_TRUE(find_facts(system_of(0, 0, {}, {})).nonsingular);
  EXPECT_FALSE(find_facts(system_of(3, 1, {1, 1, 1}, {1, 1, 1})).symmetric);
}

TEST(ClaimsOracle, Residuals_ByHand) {
  const LinearSystem& system = inconsistent();
  const Residuals r = measure(system, find_facts(system), {1, 0});
  EXPECT_DOUBLE_EQ(r.relative, 1 / std::sqrt(5.0));
  EXPECT_DOUBLE_EQ(r.backward_error, 1 / (2.0 * 1 + 2));
  EXPECT_DOUBLE_EQ(r.normal_equations, std::sqrt(2.0) / 2);
  EXPECT_FALSE(r.error);
  EXPECT_DOUBLE_EQ(*measure(nonsingular(), find_facts(nonsingular()), {1.5, 1}).error, 0.5);
}

/// [1 1; d 0; 0 d], the matrix of Laeuchli, with a condition above 1e12.
LinearSystem laeuchli() {
  constexpr double d = 1e-12;
  return system_of(3, 2, {1, 1, d, 0, 0, d}, {1, 1, 0});
}
/// x of least residual, which satisfies x1 - x2 = 1 / d and x1 + x2 = (2 + d) / (2 + d^2), but for errors of
/// its size times the machine epsilon.
const std::vector<double> laeuchli_solution = {0.5e12 + 0.501, 0.5 - 0.5e12};
/// Approximation with x1 + x2 = 0, which makes the residual 1.7 times as large.
const std::vector<double> laeuchli_part = {0.5e12, -0.5e12};

TEST(ClaimsOracle, DistanceFromLeastResidual_ByHand) {
  const LinearSystem line = system_of(2, 1, {1, 1}, {1, 0});
  const Facts facts = find_facts(line);
  EXPECT_EQ(measure_least_squares(line, facts, {0.5}).excess, 0);
  // r = (0, -1), of which (-1/2, -1/2) is in the range; the least residual is (1/2, -1/2).
  EXPECT_DOUBLE_EQ(measure_least_squares(line, facts, {1}).excess, std::sqrt(2.0) - 1);
  EXPECT_DOUBLE_EQ(measure_least_squares(line, facts, {1}).backward_error,
                   std::sqrt(0.5) / (std::sqrt(2.0) + 1));
  const LinearSystem ones = system_of(2, 2, {1, 1, 1, 1}, {1, 0});  // of rank 1
  EXPECT_EQ(measure_least_squares(ones, find_facts(ones), {0.25, 0.25}).excess, 0);
  const LinearSystem large = laeuchli();
  const LeastSquaresErrors rounded = measure_least_squares(large, find_facts(large), laeuchli_solution);
  EXPECT_LT(rounded.backward_error, 1e-14);
  EXPECT_NEAR(rounded.excess, 1e-6, 1e-7);  // (x1 + x2 - 1)^2 of ||r*||^2 = 1/2
  EXPECT_GT(measure(large, find_facts(large), laeuchli_solution).normal_equations, 1e-5);
  const LeastSquaresErrors other = measure_least_squares(large, find_facts(large), laeuchli_part);
  EXPECT_NEAR(other.excess, std::sqrt(3.0) - 1, 1e-6);
  EXPECT_GT(other.backward_error, 1e-13);
}

TEST(ClaimsCheck, TrueClaims_Pass) {
  Answer answer = answer_of(Status::direct, {1, 1});
  answer.report.error_estimate = 1e-15;
  answer.report.rank = 2;
  EXPECT_EQ(falsehoods(nonsingular(), answer), List());
  EXPECT_EQ(falsehoods(consistent(), answer_of(Status::direct, {1, 1})), List());
  EXPECT_EQ(falsehoods(consistent(), answer_of(Status::singular, {})), List());
  EXPECT_EQ(falsehoods(consistent(), answer_of(Status::underdetermined, {2, 0})), List());
  EXPECT_EQ(falsehoods(inconsistent(), answer_of(Status::inconsistent, {})), List());
  EXPECT_EQ(falsehoods(nonsingular(), answer_of(Status::not_spd, {})), List());
  EXPECT_EQ(falsehoods(inconsistent(), answer_of(Status::least_squares, {0.75, 0.75})), List());
  Answer rounded = answer_of(Status::least_squares, laeuchli_solution);
  rounded.report.warnings.emplace_back("rounding errors of x may make its residual larger");
  EXPECT_EQ(falsehoods(laeuchli(), rounded), List());
}

TEST(ClaimsCheck, FalseSolutions_AreFound) {
  const List solved = {Falsehood::solved};
  EXPECT_EQ(falsehoods(nonsingular(), answer_of(Status::direct, {})), solved);
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(falsehoods(nonsingular(), answer_of(Status::direct, {1, infinity})), solved);
  EXPECT_EQ(falsehoods(nonsingular(), answer_of(Status::direct, {1, 1.1})), solved);
  EXPECT_EQ(falsehoods(nonsingular(), answer_of(Status::converged, {1, 1 + 1e-7})), solved);
  EXPECT_EQ(falsehoods(inconsistent(), answer_of(Status::direct, {0.75, 0.75})), solved);
  EXPECT_EQ(falsehoods(inconsistent(), answer_of(Status::underdetermined, {0.75, 0.75})), solved);
  EXPECT_EQ(falsehoods(inconsistent(), answer_of(Status::least_squares, {1, 0.75})), solved);
  EXPECT_EQ(falsehoods(laeuchli(), answer_of(Status::least_squares, laeuchli_solution)), solved);
  Answer wrong = answer_of(Status::least_squares, laeuchli_part);
  wrong.report.warnings.emplace_back("rounding errors of x may make its residual larger");
  EXPECT_EQ(falsehoods(laeuchli(), wrong), solved);
}

TEST(ClaimsCheck, FalseSingularities_AreFound) {
  const List singular = {Falsehood::singular};
  EXPECT_EQ(falsehoods(nonsingular(), answer_of(Status::singular, {})), singular);
  EXPECT_EQ(falsehoods(nonsingular(), answer_of(Status::breakdown, {})), singular);
  EXPECT_EQ(falsehoods(nonsingular(), answer_of(Status::inconsistent, {})), singular);
  EXPECT_EQ(falsehoods(consistent(), answer_of(Status::inconsistent, {})), singular);
  Answer answer = answer_of(Status::direct, {1, 1});
  answer.report.rank = 1;
  EXPECT_EQ(falsehoods(nonsingular(), answer), singular);
}

TEST(ClaimsCheck, FalseDigits_AreFound) {
  // Nearly singular: the residual is small although x has few digits.
  const LinearSystem system = system_of(2, 2, {1, 1, 1, 1 + 0x1p-30}, {2, 2 + 0x1p-30});  // x = (1, 1)
  Answer answer = answer_of(Status::direct, {1 + 1e-9, 1 - 1e-9});
  answer.report.error_estimate = 1e-8;
  EXPECT_EQ(falsehoods(system, answer), List());
  answer.report.error_estimate = 1e-9;
  EXPECT_EQ(falsehoods(system, answer), List());
  answer.report.error_estimate = 1e-11;
  EXPECT_EQ(falsehoods(system, answer), List{Falsehood::digits});
}

TEST(ClaimsCheck, Records_SurviveEncoding) {
  Answer answer = answer_of(Status::singular, {});
  answer.report.message = "two\nlines\tand a tab";
  const Facts facts = find_facts(nonsingular());
  const Finding finding = check(nonsingular(), facts, answer, &find_method("lu"));
  const Record record = record_of(nonsingular(), facts, answer, finding, "serial");
  const Record copy = decode(encode(record));
  EXPECT_EQ(encode(copy), encode(record));
  EXPECT_EQ(copy.method, "lu");
  EXPECT_TRUE(copy.must_succeed);
  EXPECT_EQ(copy.falsehoods, record.falsehoods);
  EXPECT_NE(copy.text.find('\n'), std::string::npos);
}

TEST(ClaimsSystems, Systems_OfEveryKind_AreReproducible) {
  for (std::size_t k = 0; k < kinds().size(); ++k) {
    for (const bool single : {false, true}) {
      const auto index = static_cast<std::int64_t>(k);
      const LinearSystem system = make_system(3, index, single, 30);
      EXPECT_EQ(system.kind, kinds()[k].name);
      EXPECT_EQ(system.A.values(), make_system(3, index, single, 30).A.values());
      for (const double element : system.A.values()) {
        EXPECT_TRUE(std::isfinite(element)) << system.kind;
        const double rounded = single ? static_cast<double>(static_cast<float>(element)) : element;
        EXPECT_EQ(element, rounded) << system.kind;
      }
      for (const double element : system.b) EXPECT_TRUE(std::isfinite(element)) << system.kind;
    }
  }
}

}  // namespace

}  // namespace echelon::claims
