// SPDX-License-Identifier: BSD-3-Clause
#include "multigrid/coarsening/aggregation/aggregation.hpp"

#include "multigrid/coarsening/aggregation/filter.hpp"
#include "multigrid/coarsening/aggregation/node_matrix.hpp"
#include "multigrid/coarsening/aggregation/tentative.hpp"
#include "multigrid/estimates/spectral_radius.hpp"

#include <echelon/linalg/sparse_product.hpp>
#include <echelon/matrix/transform.hpp>

#include <string>
#include <vector>

namespace echelon::multigrid {

namespace {

using namespace aggregation;

/// Overwrites row i of A^F by row i of I - omega D^-1 A^F, or of I if A^F has no diagonal element there.
template <class T>
struct FormSmoother {
  const std::int64_t* row_offsets;
  const std::int32_t* columns;
  const T* inverse;
  T omega;
  T* values;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    const T factor = -omega * inverse[i];
    for (std::int64_t k = row_offsets[i]; k < row_offsets[i + 1]; ++k) {
      values[k] = columns[k] == i ? T{1} - (inverse[i] == T{0} ? T{0} : omega) : factor * values[k];
    }
  }
};

template <class B, class T>
class AggregationCoarsening final : public Coarsening<T> {
 public:
  AggregationCoarsening(const Device& device, const AggregationOptions& options, const Dense<T>& vectors)
      : options_(options), backend_(device), vectors_(vectors) {}

  Csr<T> prolongation(const Csr<T>& A, int level, std::string& reason) override {
    const bool finest = level == 0;
    Level fresh;
    fresh.block = finest || vectors_.columns() == 0 ? options_.block : vectors_.columns();
    const double threshold = std::ldexp(options_.threshold, -level);
    const Csr<T> symmetrized = options_.symmetric ? Csr<T>() : symmetrize(A);
    const Csr<T>& symmetric = options_.symmetric ? A : symmetrized;
    fresh.graph = fresh.block == 1 ? strong_connections(backend_, symmetric, threshold)
                                   : strong_connections(
                                         backend_, node_matrix(backend_, symmetric, fresh.block), threshold);
    const bool fill_gaps = fresh.block > 1 || A.nonzeros() <= sparse_rows * A.rows();
    const Aggregates aggregates = aggregate(backend_, fresh.graph, fill_gaps);
    if (aggregates.count == 0) {
      reason = "no unknown is connected strongly to another";
      return {};
    }
    Tentative<T> tentative = tentative_prolongation(backend_, A.rows(), fresh.block, aggregates, vectors_);
    vectors_ = std::move(tentative.vectors);
    if (!options_.smoothed) return std::move(tentative.P);
    fresh.tentative = std::move(tentative.P);
    Csr<T> P = smoothed(symmetric, fresh);
    levels_.resize(static_cast<std::size_t>(level) + 1);
    levels_.back() = std::move(fresh);
    return P;
  }

  void update_values(const Csr<T>& A, int level, Csr<T>& P) override {
    if (!options_.smoothed) return;
    const Csr<T> symmetrized = options_.symmetric ? Csr<T>() : symmetrize(A);
    Csr<T> fresh = smoothed(options_.symmetric ? A : symmetrized, levels_[static_cast<std::size_t>(level)]);
    P.values().swap(fresh.values());
  }
  [[nodiscard]] bool updates_prolongations() const override { return options_.smoothed; }

 private:
  /// Mean number of elements per row of A up to which gaps between aggregates are filled by further ones.
  static constexpr std::int64_t sparse_rows = 6;
  /// P = (I - omega / lambda D^-1 A^F) P_0, the value of Vanek, Mandel and Brezina.
  static constexpr double omega = 4.0 / 3.0;

  struct Level {
    std::int64_t block = 1;
    NodeGraph graph;
    Csr<T> tentative;
  };

  Csr<T> smoothed(const Csr<T>& A, const Level& level) {
    Csr<T> S = filtered_matrix(backend_, A, level.block, level.graph);
    Array<T> inverse(backend_.device(), A.rows());
    const DiagonalFacts facts = invert_diagonal(backend_, S, inverse.data());
    const double radius = spectral_radius(backend_, S, inverse.data(), facts, true);
    backend_.for_each(A.rows(),
                      FormSmoother<T>{S.row_offsets().data(), S.column_indices().data(), inverse.data(),
                                      static_cast<T>(radius > 0 ? omega / radius : 0), S.values().data()});
    return multiply(S, level.tentative);
  }

  AggregationOptions options_;
  B backend_;
  Dense<T> vectors_;  // near-null-space vectors of the level to be coarsened next
  std::vector<Level> levels_;
};

}  // namespace

template <class Target, class T>
std::unique_ptr<Coarsening<T>> make_aggregation(const Device& device, const AggregationOptions& options,
                                                const Dense<T>& vectors) {
  static_assert(std::is_same_v<Target, ThisTarget>);
  return on_backend(device, [&]<class B>() -> std::unique_ptr<Coarsening<T>> {
    return std::make_unique<AggregationCoarsening<B, T>>(device, options, vectors);
  });
}

template std::unique_ptr<Coarsening<float>> make_aggregation<ThisTarget>(const Device&,
                                                                         const AggregationOptions&,
                                                                         const Dense<float>&);
template std::unique_ptr<Coarsening<double>> make_aggregation<ThisTarget>(const Device&,
                                                                          const AggregationOptions&,
                                                                          const Dense<double>&);

}  // namespace echelon::multigrid
