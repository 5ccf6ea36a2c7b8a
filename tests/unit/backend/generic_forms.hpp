// SPDX-License-Identifier: BSD-3-Clause
/// Kernels in the loops of any backend compared with the native ones of a device, bit for bit. The backend of
/// the device has been included.
#pragma once

#include "dense/factorization/scaling.hpp"
#include "dense/factorization/scaling_steps.hpp"
#include "dense/gauss_jordan/inspection.hpp"
#include "dense/gauss_jordan/inspection_by_products.hpp"
#include "dense/panels/panel.hpp"
#include "dense/panels/panel_loops.hpp"
#include "incomplete/factor.hpp"
#include "incomplete/factor_by_levels.hpp"
#include "linalg/spadd/row_sums.hpp"
#include "linalg/spgemm/expansion.hpp"
#include "matrix/compression/merge_duplicates.hpp"
#include "matrix/compression/radix.hpp"
#include "relaxation/gauss_seidel/by_levels.hpp"
#include "support/problems.hpp"
#include "support/sparse_algebra.hpp"
#include "support/test_data.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <utility>
#include <vector>

namespace echelon::test {

template <class V>
Array<V> array_on(const Device& device, const std::vector<V>& values) {
  return Array<V>(device, std::span<const V>(values));
}

/// Lists of entries in any order, many of them repeated, and transposes.
template <class B, class T>
void expect_compression_by_radix(const Device& device) {
  B backend(device);
  std::mt19937 random(1);
  for (const auto& [rows, columns, count] :
       {std::array<std::int64_t, 3>{1, 1, 3}, {0, 0, 0}, {5, 7, 0}, {7, 300, 4000}, {3000, 41, 60'000}}) {
    SCOPED_TRACE(count);
    std::vector<std::int32_t> i, j;
    std::vector<T> values;
    for (std::int64_t k = 0; k < count; ++k) {
      i.push_back(static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(rows)));
      j.push_back(static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(columns)));
      values.push_back(static_cast<T>(static_cast<double>(random() % 1000) / 7));
    }
    const Array<std::int32_t> row_indices = array_on(device, i);
    const Array<std::int32_t> column_indices = array_on(device, j);
    const Array<T> elements = array_on(device, values);
    const CooEntries<T> list(row_indices.data(), column_indices.data(), elements.data(), count);
    const Csr<T> expected = merge_repeated(backend, columns, compress(backend, list, rows, columns));
    expect_identical(merge_repeated(backend, columns, compress_by_radix(backend, list, rows, columns)),
                     expected);
    const TransposedEntries<T> mirrored(expected);
    expect_identical(merge_repeated(backend, rows, compress_by_radix(backend, mirrored, columns, rows)),
                     merge_repeated(backend, rows, compress(backend, mirrored, columns, rows)));
  }
}

template <class B, class T>
void expect_sums_by_rows(const Device& device) {
  B backend(device);
  for (const auto& [name, A, B_] : summand_pairs<T>()) {
    SCOPED_TRACE(name);
    const Csr<T> a = A.to(device);
    const Csr<T> b = B_.to(device);
    const auto for_each_row = [&, rows = A.rows()](std::int64_t, const auto& f) {
      backend.for_each(rows, f);
    };
    const ScaledCsr<T> scaled_a{T{2}, a};
    const ScaledCsr<T> scaled_b{static_cast<T>(-0.3), b};
    SumArrays<T> sum = sum_by_rows(backend, scaled_a, scaled_b, true, for_each_row);
    Array<T> updated(device, sum.values.size());
    EXPECT_TRUE(update_sum_by_rows(backend, scaled_a, scaled_b, sum.row_offsets, sum.column_indices,
                                   updated.data(), for_each_row));
    EXPECT_TRUE(same_values(updated.to_vector(), sum.values.to_vector()));
    const Csr<T> C = Csr<T>::unchecked(A.rows(), A.columns(), std::move(sum.row_offsets),
                                       std::move(sum.column_indices), std::move(sum.values));
    expect_identical(C, add(T{2}, a, static_cast<T>(-0.3), b));
    if (a.nonzeros() == 0) continue;
    EXPECT_EQ(update_sum_by_rows(backend, ScaledCsr<T>{T{1}, a}, ScaledCsr<T>{T{1}, a}, C.row_offsets(),
                                 C.column_indices(), updated.data(), for_each_row),
              C.nonzeros() == a.nonzeros())
        << "columns of b are missing";
  }
}

template <class B, class T>
void expect_products_by_expansion(const Device& device) {
  B backend(device);
  for (const auto& [name, A, B_] : factor_pairs<T>()) {
    SCOPED_TRACE(name);
    const Csr<T> a = A.to(device);
    const Csr<T> b = B_.to(device);
    const Csr<T> expected = multiply(a, b);
    expect_identical(multiply_by_expansion(backend, a, b), expected);
    const std::array factors = {&a, &b};
    ExpansionPlan<B, T> plan{Factors<T>(factors)};
    Array<T> values(device, expected.nonzeros());
    const Csr<T> a2 = with_new_values(A, 77).to(device);
    const std::array new_factors = {&a2, &b};
    EXPECT_TRUE(plan.update(Factors<T>(new_factors), values.data()));
    EXPECT_TRUE(same_values(values.to_vector(), multiply(a2, b).values().to_vector()));
  }
}

/// Matrices whose rows depend on few others, on many, on the row before, and without some diagonal elements.
template <class T>
std::vector<Csr<T>> matrices_of_sweeps() {
  std::vector<Csr<T>> matrices = {convection_diffusion(17, 0.3).csr<T>(),
                                  random_dominant(300, 40, false, 5).csr<T>(),
                                  random_dominant(1, 0, false, 1).csr<T>(),
                                  diagonal(33).csr<T>(),
                                  shifted_cycle(40).csr<T>(),
                                  arrow<T>(200, 3, 190, 6)};
  matrices.push_back(from_rows<T>(0, MapRows<T>()));
  return matrices;
}

template <class B, class T>
void expect_sweeps_by_levels(const Device& device) {
  B backend(device);
  for (const Csr<T>& matrix : matrices_of_sweeps<T>()) {
    SCOPED_TRACE(matrix.rows());
    const Csr<T> A = matrix.to(device);
    const Dense<T> b = random_dense<T>(A.rows(), 2, 3).to(device);
    const Dense<T> x = random_dense<T>(A.rows(), 2, 4).to(device);
    gauss_seidel::LevelSweeps<B, T> by_levels(A);
    for (const SweepKind kind : {SweepKind::forward, SweepKind::backward, SweepKind::symmetric}) {
      for (const double omega : {1.0, 1.3}) {
        const SweepOptions options{.kind = kind, .sweeps = 2, .omega = omega};
        Dense<T> expected = x;
        const SweepReport report = GaussSeidelSweep<T>(device).sweep(A, b, expected, options);
        Dense<T> got = x;
        Array<gauss_seidel::SkippedRows> skipped(device, 1);
        backend.write(gauss_seidel::SkippedRows{}, skipped.data());
        by_levels.sweep(backend, {.A = &A,
                                  .right_hand_sides = 2,
                                  .b = b.data(),
                                  .leading_b = b.leading(),
                                  .x = got.data(),
                                  .leading_x = got.leading(),
                                  .kind = kind,
                                  .sweeps = 2,
                                  .omega = static_cast<T>(omega),
                                  .skipped = skipped.data()});
        backend.synchronize();
        EXPECT_TRUE(same_values(got.to_vector(), expected.to_vector())) << to_string(kind) << ' ' << omega;
        EXPECT_EQ(backend.read(skipped.data()).count, report.skipped_rows);
      }
    }
  }
}

/// For each element (i, k) of the lower triangle, the number of elements before (k, i) in row k of the upper
/// one.
template <class T>
std::vector<std::int32_t> places_of_transposed(const incomplete::Triangles<T>& triangles) {
  const std::vector<std::int64_t> lower = triangles.lower.row_offsets().to_vector();
  const std::vector<std::int32_t> lower_columns = triangles.lower.column_indices().to_vector();
  const std::vector<std::int64_t> upper = triangles.upper.row_offsets().to_vector();
  const std::vector<std::int32_t> upper_columns = triangles.upper.column_indices().to_vector();
  std::vector<std::int32_t> places;
  for (std::size_t i = 0; i + 1 < lower.size(); ++i) {
    for (std::int64_t e = lower[i]; e < lower[i + 1]; ++e) {
      const auto k = static_cast<std::size_t>(lower_columns[static_cast<std::size_t>(e)]);
      std::int64_t at = upper[k];
      while (upper_columns[static_cast<std::size_t>(at)] != static_cast<std::int32_t>(i)) ++at;
      places.push_back(static_cast<std::int32_t>(at - upper[k]));
    }
  }
  return places;
}

/// Compares the factors by levels with the native ones of a matrix with a full diagonal; `transposed`: for
/// IC(0).
template <class B, class T>
void expect_factors_by_levels(B& backend, const Csr<T>& A, bool cholesky) {
  incomplete::Triangles<T> native;
  ASSERT_EQ(incomplete::split(backend, A, native).value, FirstIndex::none);
  incomplete::load_values(backend, A, T{1}, native);
  incomplete::Triangles<T> by_levels = native;
  const auto compare = [&](const auto& elimination, const auto& elimination_by_levels) {
    incomplete::RowOrder<B> order(backend, native.lower);
    const FirstIndex expected = incomplete::factor(backend, order, elimination, A.rows());
    const FirstIndex got = incomplete::factor_by_levels(
        backend, gauss_seidel::LevelOrder(by_levels.lower, false), elimination_by_levels);
    EXPECT_EQ(got.value, expected.value);
    if (expected.value != FirstIndex::none) return;
    expect_identical(by_levels.upper, native.upper);
    if (!cholesky) expect_identical(by_levels.lower, native.lower);
  };
  using Rows = incomplete::TriangleRows<T>;
  if (!cholesky) {
    return compare(incomplete::LuElimination<T>{Rows(native)}, incomplete::LuElimination<T>{Rows(by_levels)});
  }
  const Array<std::int32_t> transposed = array_on(A.device(), places_of_transposed(native));
  compare(incomplete::CholeskyElimination<T>{Rows(native), transposed.data(), T{0}},
          incomplete::CholeskyElimination<T>{Rows(by_levels), transposed.data(), T{0}});
}

template <class B, class T>
void expect_incomplete_factors_by_levels(const Device& device) {
  B backend(device);
  for (const Problem& problem :
       {convection_diffusion(19, 0), convection_diffusion(11, 0.4), random_dominant(129, 20, false, 4),
        random_dominant(400, 6, true, 3), diagonal(33), random_dominant(1, 0, true, 1)}) {
    SCOPED_TRACE(problem.name);
    const Csr<T> A = problem.csr<T>().to(device);
    expect_factors_by_levels(backend, A, false);
    if (problem.traits.symmetric) expect_factors_by_levels(backend, A, true);
  }
  // The pivots of rows 1 and 2 become zero.
  const std::vector<Triplet<T>> elements = {{0, 0, 1}, {0, 1, 1}, {0, 2, 1}, {1, 0, 1}, {1, 1, 1},
                                            {2, 0, 1}, {2, 2, 1}, {3, 2, 1}, {3, 3, 1}, {2, 3, 1}};
  const Csr<T> singular = Csr<T>::from_triplets(4, 4, elements).to(device);
  expect_factors_by_levels(backend, singular, false);
  expect_factors_by_levels(backend, singular, true);
}

/// A matrix as B stores it, and row exchanges of an elimination.
template <class B, class T>
void expect_dense_loops(const Device& device) {
  B backend(device);
  for (const auto& [rows, columns] :
       {std::pair<std::int64_t, std::int64_t>{1, 1}, {7, 5}, {300, 40}, {65, 65}}) {
    for (const bool spoilt : {false, true}) {
      SCOPED_TRACE(rows);
      Dense<T> A = random_dense<T>(rows, columns, 5);
      if (spoilt) A(rows - 1, columns / 2) = A(rows / 2, columns - 1) = std::numeric_limits<T>::infinity();
      const Dense<T> there = A.to(device);
      Array<double> sums(device, rows);
      Array<double> native_sums(device, rows);
      Array<MatrixScan> found(device, 2);
      const DenseView<const T> view = there.view();
      scan(backend, view, native_sums.data(), found.data());
      scan_by_rows(backend, view, sums.data(), found.data() + 1);
      backend.synchronize();
      const std::vector<MatrixScan> scans = found.to_vector();
      EXPECT_EQ(scans[1].largest, scans[0].largest);
      EXPECT_EQ(scans[1].row, scans[0].row);
      EXPECT_EQ(scans[1].column, scans[0].column);
      if (spoilt) continue;
      const double eps = std::numeric_limits<double>::epsilon();
      EXPECT_NEAR(scans[1].norm_inf, scans[0].norm_inf, 50 * eps * scans[0].norm_inf);
    }
    const std::int64_t pivots = std::min(rows, columns);
    std::vector<std::int64_t> exchanges;
    std::mt19937 random(3);
    for (std::int64_t k = 0; k < pivots; ++k)
      exchanges.push_back(k + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(rows - k)));
    const Array<std::int64_t> list = array_on(device, exchanges);
    const PivotRange range{pivots / 3, pivots};
    Dense<T> X = random_dense<T>(rows, 9, 6).to(device);
    Dense<T> Y = X;
    Array<T> W(device, range.count() * 9);
    Array<T> V(device, range.count() * 9);
    take_pivot_rows(backend, X.view(), range, list.data(), W.data());
    take_pivot_rows_by_columns(backend, Y.view(), range, list.data(), V.data());
    EXPECT_EQ(X.to_vector(), Y.to_vector());
    EXPECT_EQ(W.to_vector(), V.to_vector());
    put_back_pivot_rows(backend, range, list.data(), W.data(), X.data());
    put_back_pivot_rows_in_order(backend, range, list.data(), W.data(), Y.data());
    EXPECT_EQ(X.to_vector(), Y.to_vector());
    if (rows != columns) continue;
    EliminationState full;
    full.rank = columns;
    const Array<EliminationState> state = array_on(device, std::vector{full});
    Dense<T> C = random_dense<T>(rows, columns, 7).to(device);
    Dense<T> D = C;
    put_back_columns(backend, C.view(), list.data(), state.data());
    put_back_columns_by_rows(backend, D.view(), list.data(), state.data());
    EXPECT_EQ(C.to_vector(), D.to_vector());
  }
}

/// Dense matrices of order n that scale() treats in different ways.
template <class T>
std::vector<Dense<T>> matrices_of_scaling(std::int64_t n) {
  constexpr int far = std::numeric_limits<T>::max_exponent - 10;
  std::vector<Dense<T>> matrices;
  // Exponents of row i and of column j: of one size, uneven rows, uneven columns, both, both very much, and
  // all near the end of the range.
  for (const auto& [rows, columns, all] :
       {std::array{0, 0, 0}, {8, 0, 0}, {0, 8, 0}, {8, 8, 0}, {60, 60, 0}, {0, 0, far}, {0, 0, -far}}) {
    Dense<T>& A = matrices.emplace_back(random_dense<T>(n, n, 8));
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t i = 0; i < n; ++i) {
        const int exponent = (i % 2 == 0 ? rows : 0) + (j % 3 == 0 ? columns : 0) + all;
        A(i, j) = std::ldexp(A(i, j), exponent);
      }
    }
  }
  Dense<T> zero_row = random_dense<T>(n, n, 9);
  Dense<T> zero_column = random_dense<T>(n, n, 9);
  for (std::int64_t k = 0; k < n; ++k) zero_row(n / 2, k) = zero_column(k, n / 2) = 0;
  matrices.push_back(std::move(zero_row));
  matrices.push_back(std::move(zero_column));
  return matrices;
}

template <class B, class T>
void expect_scaling_in_steps(const Device& device) {
  B backend(device);
  for (const std::int64_t n : {1, 33, 400}) {
    std::size_t number = 0;
    for (const Dense<T>& matrix : matrices_of_scaling<T>(n)) {
      SCOPED_TRACE(testing::Message() << "order " << n << ", matrix " << number++);
      for (const bool equilibrated : {false, true}) {
        Dense<T> A = matrix.to(device);
        Dense<T> native = A;
        Scales<T> scales;
        Scales<T> native_scales;
        const lu::ScaledNorms expected = lu::scale<T>(backend, native.view(), equilibrated, native_scales);
        const lu::ScaledNorms norms =
            lu::scale_in_steps(backend, A.view(), equilibrated, magnitudes::LineLoops<B, T>{backend}, scales);
        backend.synchronize();
        EXPECT_EQ(A.to_vector(), native.to_vector());
        EXPECT_EQ(scales.rows.to_vector(), native_scales.rows.to_vector());
        EXPECT_EQ(scales.columns.to_vector(), native_scales.columns.to_vector());
        EXPECT_EQ(norms.zero_row, expected.zero_row);
        if (norms.zero_row < 0) {
          EXPECT_EQ(norms.zero_column, expected.zero_column);
        }
        EXPECT_EQ(norms.largest, expected.largest);
        const double rounding = static_cast<double>(n) * std::numeric_limits<double>::epsilon();
        EXPECT_NEAR(norms.one, expected.one, rounding * expected.one);
      }
    }
  }
}

/// Inspects A natively and by products; the products of the latter are vectors of T.
template <class B, class T>
void expect_inspection_by_products(const Device& device) {
  B backend(device);
  for (const std::int64_t n : {1, 33, 300}) {
    for (const bool spoilt : {false, true}) {
      SCOPED_TRACE(n);
      Dense<T> matrix = random_dense<T>(n, n, 12);
      if (spoilt) matrix(n - 1, n / 2) = std::numeric_limits<T>::quiet_NaN();
      const Dense<T> A = matrix.to(device);
      const DenseView<const T> view = A.view();
      const Array<EliminationState> state = array_on(device, std::vector{EliminationState{.rank = n}});
      Array<EliminationState> copies(device, 2);
      Array<MatrixInspection> found(device, 2);
      Array<double> sums(device, 2 * n);
      Dense<T> products(device, n, 4);
      const auto vectors = [&](std::int64_t first) {
        return InspectionVectors<T>{.right_product = products.view().column(first),
                                    .left_product = products.view().column(first + 1)};
      };
      inspect<T>(backend, view, vectors(0), sums.data(), found.data(), state.data(), copies.data());
      inspect_by_products<B, T>(backend, view, vectors(2), sums.data() + n, found.data() + 1, state.data(),
                                copies.data() + 1);
      backend.synchronize();
      EXPECT_EQ(copies.to_vector()[1].rank, n);
      const std::vector<MatrixInspection> inspections = found.to_vector();
      EXPECT_EQ(inspections[1].scan.row, inspections[0].scan.row);
      EXPECT_EQ(inspections[1].scan.column, inspections[0].scan.column);
      if (spoilt) continue;
      EXPECT_EQ(inspections[1].scan.largest, inspections[0].scan.largest);
      const double rounding = 4 * static_cast<double>(n) * std::numeric_limits<T>::epsilon();
      const Dense<T> on_host = products.to(Device::serial());
      for (std::int64_t i = 0; i < n; ++i) {
        EXPECT_NEAR(on_host(i, 2), on_host(i, 0), rounding);
        EXPECT_NEAR(on_host(i, 3), on_host(i, 1), rounding);
      }
      const Distances& native = inspections[0].distances;
      const Distances& distances = inspections[1].distances;
      EXPECT_NEAR(distances.from_right.largest.value, native.from_right.largest.value, rounding);
      EXPECT_NEAR(distances.from_left.squares, native.from_left.squares, rounding * native.from_left.squares);
    }
  }
}

}  // namespace echelon::test
