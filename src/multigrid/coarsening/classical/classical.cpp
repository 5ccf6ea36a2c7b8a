// SPDX-License-Identifier: BSD-3-Clause
#include "multigrid/coarsening/classical/classical.hpp"

#include "backend/target.hpp"
#include "multigrid/coarsening/classical/interpolation.hpp"

#include <string>
#include <utility>
#include <vector>

namespace echelon::multigrid::classical {

namespace {

Extension extension_of(InterpolationFormula interpolation) {
  switch (interpolation) {
    case InterpolationFormula::extended_i:
      return Extension::element;
    case InterpolationFormula::extended_e:
      return Extension::mean;
    default:
      return Extension::none;
  }
}

/// Coarse points of a level, and with aggressive coarsening those of them that stay coarse.
struct LevelSplitting {
  Splitting first;
  Array<std::int32_t> coarse_points;  ///< coarse points of `first`; empty unless `is_aggressive`
  Splitting second;
  bool is_aggressive = false;
  [[nodiscard]] const Splitting& last() const { return is_aggressive ? second : first; }
};

template <class B, class T>
class ClassicalCoarsening final : public Coarsening<T> {
 public:
  ClassicalCoarsening(const Device& device, const CoarseningOptions& options)
      : backend_(device), options_(options) {}

  Csr<T> prolongation(const Csr<T>& A, int level, std::string& reason) override {
    Strength strength = find_strength(backend_, A, options_.threshold, options_.max_row_sum);
    splittings_.resize(static_cast<std::size_t>(level));
    if (strength.dependences == 0) {
      reason = "no row depends strongly on another";
      return without_columns(A.rows());
    }
    splittings_.push_back(split(A, strength, level));
    const std::int64_t coarse = splittings_.back().last().coarse;
    if (coarse == 0) {
      reason = "all rows that others depend on strongly depend on none";
      return without_columns(A.rows());
    }
    return collect_rows(backend_, weights(A, strength, splittings_.back()), coarse);
  }

  /// Keeps the splitting and recomputes the strength of connection. Weights outside the pattern of P are
  /// dropped, and the others of their row are rescaled so that the sum of the row is unchanged.
  void update_values(const Csr<T>& A, int level, Csr<T>& P) override {
    const Strength strength = mark_strength(backend_, A, options_.threshold, options_.max_row_sum);
    PaddedRows<T> rows = weights(A, strength, splittings_[static_cast<std::size_t>(level)]);
    backend_.for_each(A.rows(), WriteKnown<T>{rows.view(), P.row_offsets().data(), P.column_indices().data(),
                                              P.values().data()});
  }
  [[nodiscard]] bool updates_prolongations() const override { return true; }

 private:
  /// Number of two-step paths per element of A above which a level is not coarsened aggressively.
  static constexpr std::int64_t max_paths_per_element = 32;

  /// An n by 0 prolongation, which tells the caller that A cannot be coarsened.
  Csr<T> without_columns(std::int64_t n) {
    PaddedRows<T> rows(backend_.device(), n, 0);
    backend_.fill(n, std::int64_t{0}, rows.counts.data());
    return collect_rows(backend_, std::move(rows), 0);
  }

  [[nodiscard]] bool has_many_dependences(const Strength& strength) const {
    return static_cast<double>(strength.dependences) >=
           options_.min_dependences * static_cast<double>(strength.dependent_rows);
  }

  /// Splits the points of a level. Overwrites strength.influences.
  LevelSplitting split(const Csr<T>& A, Strength& strength, int level) {
    const DependenceView graph = strength.view(A);
    split_points(backend_, graph, A.rows(), strength.is_isolated.data(), false, strength.influences.data());
    LevelSplitting result{number_coarse(backend_, std::move(strength.influences)), {}, {}};
    if (level >= options_.aggressive_levels || !has_many_dependences(strength)) return result;
    Array<std::int32_t> points = list_coarse(backend_, result.first);
    const PathVisitor visitor{graph, result.first.coarse_index.data(), points.data()};
    const std::int64_t max_paths = max_paths_per_element * A.nonzeros();
    if (!are_paths_few(backend_, visitor, A.rows(), result.first.coarse, max_paths)) return result;
    result.second = split_coarse(backend_, visitor, result.first).of_points;
    result.coarse_points = std::move(points);
    result.is_aggressive = true;
    return result;
  }

  PaddedRows<T> weights(const Csr<T>& A, const Strength& strength, const LevelSplitting& splitting) {
    const std::int64_t n = A.rows();
    const SplitMatrix<T> matrix{SparseRows<T>(A), strength.strong.data(),
                                splitting.last().coarse_index.data()};
    const std::int64_t coarse = splitting.last().coarse;
    if (splitting.is_aggressive && options_.aggressive_interpolation == AggressiveInterpolation::two_stage) {
      return weights_in_two_stages(matrix, n, splitting, starts_with_few(backend_, n, A.nonzeros()));
    }
    PaddedRows<T> rows(backend_.device(), n, options_.max_elements);
    const RowMap all{nullptr};
    const bool has_few = starts_with_few(backend_, n, A.nonzeros());
    if (splitting.is_aggressive) {
      interpolate_in_passes(backend_, matrix, n, coarse, rows.view(), has_few);
    } else if (options_.interpolation == InterpolationFormula::direct) {
      interpolate_rows(backend_, DirectRow<T>{matrix}, matrix, all, n, coarse, rows.view(), has_few);
    } else {
      interpolate_extended(backend_, matrix, n, extension_of(options_.interpolation), all, n, coarse,
                           rows.view(), has_few);
    }
    return rows;
  }

  /// Two-stage interpolation: the product of the prolongation from the first splitting's coarse points to all
  /// points and of the one from the second splitting's coarse points to the first's.
  PaddedRows<T> weights_in_two_stages(const SplitMatrix<T>& matrix, std::int64_t n,
                                      const LevelSplitting& splitting, bool has_few) {
    const Device& device = backend_.device();
    const std::int64_t first_coarse = splitting.first.coarse;
    const std::int64_t coarse = splitting.second.coarse;
    const RowMap all{nullptr};
    SplitMatrix<T> first = matrix;
    first.coarse_index = splitting.first.coarse_index.data();
    PaddedRows<T> to_all(device, n, options_.max_elements);
    interpolate_extended(backend_, first, n, Extension::mean, all, n, first_coarse, to_all.view(), has_few);
    PaddedRows<T> to_coarse(device, first_coarse, options_.max_elements);
    interpolate_extended(backend_, matrix, n, Extension::mean, RowMap{splitting.coarse_points.data()},
                         first_coarse, coarse, to_coarse.view(), has_few);
    PaddedRows<T> product(device, n, options_.max_elements);
    interpolate_rows(backend_, ProductRow<T>{to_all.view(), to_coarse.view()}, matrix, all, n, coarse,
                     product.view(), has_few);
    return product;
  }

  B backend_;
  CoarseningOptions options_;
  std::vector<LevelSplitting> splittings_;
};

}  // namespace

template <class Target, class T>
std::unique_ptr<Coarsening<T>> make_coarsening(const Device& device, const CoarseningOptions& options) {
  return on_backend(device, [&]<class B>() -> std::unique_ptr<Coarsening<T>> {
    return std::make_unique<ClassicalCoarsening<B, T>>(device, options);
  });
}

template std::unique_ptr<Coarsening<float>> make_coarsening<ThisTarget, float>(const Device&,
                                                                               const CoarseningOptions&);
template std::unique_ptr<Coarsening<double>> make_coarsening<ThisTarget, double>(const Device&,
                                                                                 const CoarseningOptions&);

}  // namespace echelon::multigrid::classical
