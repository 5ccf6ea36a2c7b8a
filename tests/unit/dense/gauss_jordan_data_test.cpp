// SPDX-License-Identifier: BSD-3-Clause
/// The rank of real rectangular matrices, compared with that of a singular value decomposition.
#include "support/spectra.hpp"
#include "support/test_data.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

namespace echelon::test {
namespace {

std::int64_t rank_by_singular_values(const Dense<double>& a) {
  const std::vector<double> values = singular_values(a);
  const double tolerance = values.front() * static_cast<double>(std::max(a.rows(), a.columns())) *
                           std::numeric_limits<double>::epsilon();
  return std::count_if(values.begin(), values.end(), [&](double value) { return value > tolerance; });
}

TEST_F(RealMatrices, GaussJordan_RankIsThatOfSingularValuesUnlessDoubtful) {
  const std::filesystem::path folder = real_matrices() / "rectangular";
  int sure = 0;
  for (const char* name : {"lp_e226", "qp_KSIP_A", "illc1033"}) {
    SCOPED_TRACE(name);
    const Matrix<double> matrix = read_matrix<double>((folder / (std::string(name) + ".mtx.gz")).string());
    const Dense<double> a = to_dense(MatrixRef<double>(matrix));
    const EchelonForm<double> form = RowReduction<double>().reduce(a);
    ASSERT_EQ(form.report.status, Status::direct);
    EXPECT_EQ(form.facts.doubtful, !form.report.warnings.empty());
    if (form.facts.doubtful) continue;
    ++sure;
    EXPECT_GT(form.facts.gap(), 1e3);
    EXPECT_EQ(form.facts.rank, rank_by_singular_values(a));
    // Twice the columns, half of them dependent: the same rank, and now with something to reject.
    Dense<double> twice(Device(), a.rows(), 2 * a.columns());
    for (std::int64_t j = 0; j < a.columns(); ++j) {
      for (std::int64_t i = 0; i < a.rows(); ++i) {
        twice(i, 2 * j) = a(i, j);
        twice(i, 2 * j + 1) = a(i, j) / 3 + a(i, 0) / 7;
      }
    }
    const RankFacts again = RowReduction<double>().reduce(twice).facts;
    EXPECT_TRUE(again.doubtful || again.rank == form.facts.rank) << again.rank;
  }
  EXPECT_GT(sure, 0);
}

}  // namespace
}  // namespace echelon::test
