// SPDX-License-Identifier: BSD-3-Clause
#include "multigrid/coarsening/classical/classical.hpp"

#include "backend/target.hpp"
#include "multigrid/coarsening/classical/interpolation.hpp"

#include <string>
#include <utility>

namespace echelon::multigrid::classical {

namespace {

Extension extension_of(Interpolation interpolation) {
  switch (interpolation) {
    case Interpolation::extended_i:
      return Extension::element;
    case Interpolation::extended_e:
      return Extension::mean;
    default:
      return Extension::none;
  }
}

template <class B, class T>
class ClassicalCoarsening final : public Coarsening<T> {
 public:
  ClassicalCoarsening(const Device& device, const CoarseningOptions& options)
      : backend_(device), options_(options) {}

  Csr<T> prolongation(const Csr<T>& A, int level, std::string& reason) override {
    const std::int64_t n = A.rows();
    Strength strength = find_strength(backend_, A, options_.threshold, options_.max_row_sum);
    if (strength.dependences == 0) {
      reason = "no row depends strongly on another";
      return without_columns(n);
    }
    const DependenceView graph = strength.view(A);
    split_points(backend_, graph, n, strength.is_isolated.data(), false, strength.influences.data());
    const Splitting splitting = number_coarse(backend_, std::move(strength.influences));
    if (splitting.coarse == 0) {
      reason = "all rows that others depend on strongly depend on none";
      return without_columns(n);
    }
    const SplitMatrix<T> matrix{SparseRows<T>(A), strength.strong.data(), splitting.coarse_index.data()};
    if (level < options_.aggressive_levels && has_many_dependences(strength)) {
      const Array<std::int32_t> points = list_coarse(backend_, splitting);
      const PathVisitor visitor{graph, splitting.coarse_index.data(), points.data()};
      if (are_paths_few(backend_, visitor, splitting.coarse, max_paths_per_element * A.nonzeros())) {
        return interpolate_aggressively(matrix, n, splitting, visitor);
      }
    }
    PaddedRows<T> rows(backend_.device(), n, options_.max_elements);
    interpolate(matrix, n, splitting.coarse, rows.view());
    return collect_rows(backend_, std::move(rows), splitting.coarse);
  }

 private:
  /// Paths of two steps per element of A above which a level is not coarsened aggressively.
  static constexpr std::int64_t max_paths_per_element = 32;

  /// n by 0.
  Csr<T> without_columns(std::int64_t n) {
    PaddedRows<T> rows(backend_.device(), n, 0);
    backend_.fill(n, std::int64_t{0}, rows.counts.data());
    return collect_rows(backend_, std::move(rows), 0);
  }

  [[nodiscard]] bool has_many_dependences(const Strength& strength) const {
    return static_cast<double>(strength.dependences) >=
           options_.min_dependences * static_cast<double>(strength.dependent_rows);
  }

  void interpolate(const SplitMatrix<T>& matrix, std::int64_t n, std::int64_t coarse,
                   const PaddedView<T>& rows) {
    const RowMap all{nullptr};
    if (options_.interpolation == Interpolation::direct) {
      interpolate_rows(backend_, DirectRow<T>{matrix}, matrix, all, n, coarse, rows);
    } else {
      interpolate_extended(backend_, matrix, n, extension_of(options_.interpolation), all, n, coarse, rows);
    }
  }

  Csr<T> interpolate_aggressively(const SplitMatrix<T>& matrix, std::int64_t n, const Splitting& first,
                                  const PathVisitor& visitor) {
    const SecondSplitting second = split_coarse(backend_, visitor, first);
    const std::int64_t coarse = second.of_points.coarse;
    SplitMatrix<T> final_matrix = matrix;
    final_matrix.coarse_index = second.of_points.coarse_index.data();
    const Device& device = backend_.device();
    PaddedRows<T> rows(device, n, options_.max_elements);
    if (options_.aggressive_interpolation == AggressiveInterpolation::multipass) {
      interpolate_in_passes(backend_, final_matrix, n, coarse, rows.view());
      return collect_rows(backend_, std::move(rows), coarse);
    }
    interpolate_extended(backend_, matrix, n, Extension::mean, RowMap{nullptr}, n, first.coarse, rows.view());
    PaddedRows<T> among_coarse(device, first.coarse, options_.max_elements);
    interpolate_extended(backend_, final_matrix, n, Extension::mean, RowMap{visitor.points}, first.coarse,
                         coarse, among_coarse.view());
    PaddedRows<T> product(device, n, options_.max_elements);
    interpolate_rows(backend_, ProductRow<T>{rows.view(), among_coarse.view()}, final_matrix, RowMap{nullptr},
                     n, coarse, product.view());
    return collect_rows(backend_, std::move(product), coarse);
  }

  B backend_;
  CoarseningOptions options_;
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
