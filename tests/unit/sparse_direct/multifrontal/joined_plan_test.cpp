// SPDX-License-Identifier: BSD-3-Clause
// Plans for several matrices with a border each, which a GPU factors together: a serial factorisation by such
// a plan leaves the Schur complement of each.
#include "sparse_direct/multifrontal/cuda/front_plan.hpp"
#include "support/problems.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

namespace echelon::sparse_direct::gpu {
namespace {

/// A matrix of which the last `border` rows are not eliminated.
struct Part {
  Csr<double> A;
  std::int64_t border;
};

/// A random symmetric matrix with a dominant diagonal.
Part random_part(std::int64_t n, std::int64_t border, std::mt19937& random) {
  std::uniform_int_distribution<std::int32_t> row(0, static_cast<std::int32_t>(n - 1));
  std::uniform_real_distribution<double> value(-1, 1);
  std::vector<Triplet<double>> elements;
  for (std::int32_t i = 0; i < n; ++i) elements.push_back({i, i, 20 + value(random)});
  for (std::int64_t k = 0; k < 2 * n; ++k) {
    const std::int32_t i = row(random);
    const std::int32_t j = row(random);
    if (i == j) continue;
    const double a = value(random);
    elements.push_back({i, j, a});
    elements.push_back({j, i, a});
  }
  return {Csr<double>::from_triplets(n, n, elements), border};
}

SymbolicFactor analysis_of(const Part& part) {
  std::vector<std::int32_t> border(static_cast<std::size_t>(part.border));
  std::iota(border.begin(), border.end(), static_cast<std::int32_t>(part.A.rows() - part.border));
  return analyze_bordered(pattern_of(part.A), border);
}

/// -A_BI A_II^-1 A_IB by elimination of the first rows of a dense matrix.
std::vector<double> dense_complement(const Part& part) {
  const std::int64_t n = part.A.rows();
  const std::int64_t interior = n - part.border;
  std::vector<double> A(static_cast<std::size_t>(n * n), 0.0);
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t k = part.A.row_offsets()[i]; k < part.A.row_offsets()[i + 1]; ++k) {
      const std::int64_t j = part.A.column_indices()[k];
      if (std::min(i, j) < interior) A[static_cast<std::size_t>(i + j * n)] = part.A.values()[k];
    }
  }
  const auto at = [&](std::int64_t i, std::int64_t j) -> double& {
    return A[static_cast<std::size_t>(i + j * n)];
  };
  for (std::int64_t p = 0; p < interior; ++p) {
    for (std::int64_t j = p + 1; j < n; ++j) {
      for (std::int64_t i = p + 1; i < n; ++i) at(i, j) -= at(i, p) * at(p, j) / at(p, p);
    }
  }
  std::vector<double> S;
  for (std::int64_t j = interior; j < n; ++j) {
    for (std::int64_t i = interior; i < n; ++i) S.push_back(at(i, j));
  }
  return S;
}

/// Serial Cholesky factorisation by a plan, with whole fronts.
class PlannedFactorization {
 public:
  /// `interior_end`: the rows of the permuted matrix after the interior of each matrix.
  PlannedFactorization(const FrontPlan& plan, std::vector<double> factor,
                       std::vector<std::int64_t> interior_end)
      : plan_(plan), factor_(std::move(factor)), interior_end_(std::move(interior_end)) {}

  /// The Schur complements of the borders, one after the other; lower triangles.
  std::vector<double> complements() {
    std::vector<double> result(static_cast<std::size_t>(plan_.border_entries), 0.0);
    updates_.resize(plan_.fronts.size());
    std::vector<bool> is_root(plan_.fronts.size(), true);
    for (const std::int32_t child : plan_.layout.children) is_root[static_cast<std::size_t>(child)] = false;
    for (std::size_t s = 0; s < plan_.fronts.size(); ++s) {
      eliminate(s);
      if (is_root[s]) add_to_border(s, result);
    }
    return result;
  }

 private:
  void eliminate(std::size_t s) {
    const Front& front = plan_.fronts[s];
    const std::int64_t m = front.rows;
    std::vector<double> F(static_cast<std::size_t>(m * m), 0.0);
    const auto at = [&](std::int64_t i, std::int64_t j) -> double& {
      return F[static_cast<std::size_t>(i + j * m)];
    };
    std::copy_n(factor_.begin() + front.panel, m * front.pivots, F.begin());
    for (std::int32_t c = front.child_begin; c < front.child_end; ++c) {
      const auto child = static_cast<std::size_t>(plan_.layout.children[static_cast<std::size_t>(c)]);
      for_update(child, [&](std::int64_t i, std::int64_t j, double value) { at(i, j) += value; });
    }
    for (std::int64_t p = 0; p < front.pivots; ++p) {
      ASSERT_GT(at(p, p), 0);
      for (std::int64_t j = p + 1; j < m; ++j) {
        for (std::int64_t i = j; i < m; ++i) at(i, j) -= at(i, p) * at(j, p) / at(p, p);
      }
    }
    for (std::int64_t j = front.pivots; j < m; ++j) {
      for (std::int64_t i = front.pivots; i < m; ++i) updates_[s].push_back(i >= j ? at(i, j) : 0);
    }
  }

  /// Calls f(row, column, value) for the lower triangle of a front's update matrix, in positions of the
  /// parent.
  template <class F>
  void for_update(std::size_t s, F f) {
    const Front& front = plan_.fronts[s];
    const std::int64_t border = front.rows - front.pivots;
    for (std::int64_t j = 0; j < border; ++j) {
      for (std::int64_t i = j; i < border; ++i) {
        f(plan_.layout.position_in_parent[static_cast<std::size_t>(front.border + i)],
          plan_.layout.position_in_parent[static_cast<std::size_t>(front.border + j)],
          updates_[s][static_cast<std::size_t>(i + j * border)]);
      }
    }
  }

  /// Adds the update of a root to the complement of the border of its matrix, which is that of the pivot.
  void add_to_border(std::size_t s, std::vector<double>& result) {
    std::int64_t offset = 0;
    std::size_t k = 0;
    for (; interior_end_[k] <= plan_.fronts[s].first; ++k) {
      const std::int64_t size = plan_.borders[k + 1] - plan_.borders[k];
      offset += size * size;
    }
    const std::int64_t size = plan_.borders[k + 1] - plan_.borders[k];
    for_update(s, [&](std::int64_t i, std::int64_t j, double value) {
      ASSERT_LT(i, size);
      result[static_cast<std::size_t>(offset + i + j * size)] += value;
    });
  }

  const FrontPlan& plan_;
  std::vector<double> factor_;
  std::vector<std::int64_t> interior_end_;
  std::vector<std::vector<double>> updates_;
};

/// The offsets, columns and values of a block diagonal matrix.
struct Joined {
  std::vector<std::int64_t> offsets{0};
  std::vector<std::int32_t> columns;
  std::vector<double> values;
  explicit Joined(const std::vector<Part>& parts) {
    std::int64_t first = 0;
    for (const Part& part : parts) {
      for (std::int64_t i = 0; i < part.A.rows(); ++i) {
        for (std::int64_t k = part.A.row_offsets()[i]; k < part.A.row_offsets()[i + 1]; ++k) {
          columns.push_back(static_cast<std::int32_t>(first + part.A.column_indices()[k]));
          values.push_back(part.A.values()[k]);
        }
        offsets.push_back(std::ssize(columns));
      }
      first += part.A.rows();
    }
  }
};

TEST(JoinedPlan, Borders_HaveTheSchurComplementsOfTheirMatrices) {
  std::mt19937 random(20);
  const std::vector<Part> parts = {random_part(40, 7, random),   random_part(1, 0, random),
                                   random_part(33, 0, random),   random_part(5, 5, random),
                                   random_part(300, 31, random), random_part(2, 1, random)};
  std::vector<SymbolicFactor> analyses;
  for (const Part& part : parts) analyses.push_back(analysis_of(part));
  std::vector<const SymbolicFactor*> pointers;
  for (const SymbolicFactor& own : analyses) pointers.push_back(&own);
  const JoinedSymbolic joined = join(pointers);
  const FrontPlan plan =
      plan_fronts(lay_out(joined.symbolic, FactorKind::cholesky), sizeof(double), {}, joined.borders);
  const Joined matrix(parts);
  const std::vector<std::int32_t> places = inverse_permutation(joined.symbolic.permutation);
  const auto offsets = element_offsets(plan, matrix.offsets, matrix.columns, places, places);
  std::vector<double> factor(static_cast<std::size_t>(plan.factor_entries), 0.0);
  for (std::size_t e = 0; e < matrix.values.size(); ++e) {
    if (offsets[e] >= 0) factor[static_cast<std::size_t>(offsets[e])] = matrix.values[e];
  }
  std::vector<std::int64_t> interior_end;
  std::int64_t interior = 0;
  for (const Part& part : parts) interior_end.push_back(interior += part.A.rows() - part.border);
  EXPECT_EQ(joined.symbolic.interior(), interior);
  const std::vector<double> S =
      PlannedFactorization(plan, std::move(factor), std::move(interior_end)).complements();
  std::size_t begin = 0;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const std::vector<double> expected = dense_complement(parts[k]);
    const auto size = static_cast<std::size_t>(parts[k].border);
    for (std::size_t j = 0; j < size; ++j) {
      for (std::size_t i = j; i < size; ++i)
        ASSERT_NEAR(S[begin + i + j * size], expected[i + j * size], 1e-13) << "matrix " << k;
    }
    begin += size * size;
  }
  EXPECT_EQ(begin, S.size());
}

}  // namespace
}  // namespace echelon::sparse_direct::gpu
