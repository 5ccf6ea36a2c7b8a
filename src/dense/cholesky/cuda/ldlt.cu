// SPDX-License-Identifier: BSD-3-Clause
// Dense L D L^T and L D L^H factorisation on a GPU as a Solver.
#include "backend/cuda/cuda.cuh"
#include "backend/store.hpp"
#include "dense/cholesky/cuda/asymmetry.cuh"
#include "dense/cholesky/cuda/indefinite_matrix.cuh"
#include "dense/factorization/magnitudes.cuh"
#include "dense/factorization/scaling_steps.hpp"
#include "linalg/vector/functors.hpp"
#include "solver/direct/direct_method.hpp"
#include "solver/factor_status.hpp"
#include "solver/hermitian.hpp"
#include "solver/instantiate.hpp"
#include "support/scalar.hpp"
#include "support/triangle_mirror.hpp"

#include <echelon/methods/dense/ldlt.hpp>

#include <support/scalar_list.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

namespace echelon {

namespace {

using dense_symmetric::IndefiniteMatrix;
using dense_symmetric::IndefiniteVectors;
using dense_symmetric::Spread;
using tiles::IndefiniteFacts;

/// Magnitude of an element of S A S; without `scale`, S is the identity.
template <class T>
struct ScaledMagnitude {
  DenseView<const T> A;
  const Real<T>* scale;
  ECHELON_ANYWHERE Largest operator()(std::int64_t i, std::int64_t j) const {
    const T value = A.data()[i + j * A.leading()];
    return {magnitude(scale == nullptr ? value : scale[i] * value * scale[j])};
  }
};

/// Divides each scale by the square root of its row's largest magnitude, to a power of two.
template <class R>
struct ImproveScale {
  const double* sizes;
  bool first;
  R* scale;
  ECHELON_ANYWHERE magnitudes::LineRange operator()(std::int64_t i) const {
    if (sizes[i] == 0) return {{i}, 0, 0};
    const R factor = static_cast<R>(ldexp(1.0, -ilogb(sizes[i]) / 2));
    scale[i] = first ? factor : scale[i] * factor;
    return {{}, sizes[i], sizes[i]};
  }
};

/// The lower triangle of the spread S A S, continued by the identity, and the sums and the largest of the
/// magnitudes of its columns, a block to a column. Without `scale`, S is the identity.
template <class T>
__global__ void __launch_bounds__(cuda_kernels::block_size)
    copy_spread_columns(DenseView<const T> A, const Real<T>* scale, Spread spread, DenseView<T> to,
                        double* sums, double* maxima) {
  for (std::int64_t j = blockIdx.x; j < to.rows(); j += gridDim.x) {
    Sum sum;
    Largest largest;
    const std::int64_t column = j < A.rows() ? spread(j) : j;
    for (std::int64_t i = threadIdx.x; i < to.rows(); i += cuda_kernels::block_size) {
      T value = i == j ? T{1} : T{};
      if (i < A.rows() && j < A.rows()) {
        const std::int64_t row = spread(i);
        value = A.data()[row + column * A.leading()];
        if (scale != nullptr) value = value * (scale[row] * scale[column]);
        const double size = magnitude(value);
        sum = combine(sum, {size});
        largest = combine(largest, {size});
      }
      if (i >= j) to.data()[i + j * to.leading()] = value;
    }
    sum = cuda_kernels::combine_block(sum);
    if (threadIdx.x == 0) sums[j] = sum.value;
    __syncthreads();  // combine_block's storage is free again
    largest = cuda_kernels::combine_block(largest);
    if (threadIdx.x == 0) maxima[j] = largest.value;
    __syncthreads();
  }
}

/// The number with these bits.
double float_of(unsigned bits) {
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return static_cast<double>(value);
}

/// A = S^-1 L D L^T S^-1 for a diagonal S of powers of two, or with L^H for a Hermitian A.
template <class B, class T>
class GpuLdltFactorization {
  using Space = IndefiniteVectors<T>;
  /// Least number of right-hand sides for which substitution uses matrix products.
  static constexpr std::int64_t many_columns = is_complex<T> ? 1 : 8;

 public:
  using HostMethod = Ldlt<T>;

  GpuLdltFactorization(const Device& device, const LdltOptions& options)
      : device_(device), equilibrate_(options.equilibrate) {}

  static Dense<T> host_copy(const MatrixRef<T>& A) { return to_dense(A).to(Device()); }

  /// Releases the factors, which the host's replace.
  void clear() {
    matrix_ = IndefiniteMatrix<T>();
    scale_ = Array<Real<T>>();
  }

  direct::Factored factor(const direct::FactorContext<B, T>& context) {
    Norms norms;
    if (Outcome copied = copy_scaled(context, norms); !copied.ok()) return copied;
    norm_ = norms.one;
    const IndefiniteFacts facts = matrix_.factor(context.backend, context.control);
    if (context.control.stop_requested()) return cancelled_factorization();
    if (facts.crowded_column != IndefiniteFacts::none) {
      return direct::Factored::on_host("too many columns have no pivot in their blocks of 64 columns");
    }
    if (facts.zero_column != IndefiniteFacts::none) return zero_pivot(facts.zero_column);
    const double growth = float_of(facts.largest_pivot) / norms.largest;
    if (!(growth <= acceptable_growth<T>(context.A.rows()))) {
      return direct::Factored::on_host("elements grew " + short_number(growth) + " times");
    }
    Outcome outcome;
    outcome.statistics = pivot_statistics(context.A.rows(), facts, growth);
    return outcome;
  }

  [[nodiscard]] Space make_workspace(B& /*backend*/) const { return Space(device_, matrix_.padded_rows()); }

  /// Computes X = S (L D L^T)^-1 S V = A^-1 V, or without S for the scaled matrix. The transpose of a
  /// Hermitian A is its conjugate.
  void substitute(direct::Operation operation, direct::SystemForm form, B& backend, Space& space,
                  DenseView<const T> V, DenseView<T> X) const {
    const Real<T>* const scale = form == direct::SystemForm::original ? this->scale() : nullptr;
    const bool conjugated = mirror_.conjugates && operation == direct::Operation::transpose;
    if (V.columns() >= many_columns) return matrix_.solve(backend, scale, conjugated, V, X, space);
    if constexpr (!is_complex<T>) {
      for (std::int64_t j = 0; j < V.columns(); ++j)
        matrix_.solve(backend, scale, V.column(j), X.column(j), space);
    }
  }

  [[nodiscard]] double norm() const { return norm_; }
  [[nodiscard]] std::size_t bytes() const { return matrix_.bytes() + scale_.bytes(); }

 private:
  /// Norms of the scaled A.
  struct Norms {
    double one = 0;
    double largest = 0;
  };

  /// Copies the scaled A to `matrix_`.
  Outcome copy_scaled(const direct::FactorContext<B, T>& context, Norms& norms) {
    const MatrixRef<T>& matrix = context.A;
    const Dense<T> converted = matrix.is_sparse() ? to_dense(matrix) : Dense<T>();
    const DenseView<const T> A = matrix.is_sparse() ? converted.view() : matrix.dense();
    if (equilibrate_) {
      if (Outcome scaled = choose_scale(context.backend, A); !scaled.ok()) return scaled;
    }
    if (Outcome symmetry = find_symmetry(context.backend, A); !symmetry.ok()) return symmetry;
    if (context.control.stop_requested()) return cancelled_factorization();
    matrix_ = IndefiniteMatrix<T>(device_, A.rows(), mirror_);
    const DenseView<T> to = matrix_.view();
    Array<double> sums(device_, to.rows());
    Array<double> maxima(device_, to.rows());
    constexpr std::int64_t most_blocks = 65536;
    const CurrentDevice current(device_.id());
    copy_spread_columns<T>
        <<<static_cast<unsigned>(std::min(to.rows(), most_blocks)), cuda_kernels::block_size, 0, stream()>>>(
            A, scale(), matrix_.spread(), to, sums.data(), maxima.data());
    check(cudaGetLastError());
    norms = {maximum(context.backend, A.rows(), sums), maximum(context.backend, A.rows(), maxima)};
    return {};
  }

  /// Finds the kind of symmetry, or the place where A has none. A complex A is copied to the host.
  Outcome find_symmetry(B& backend, DenseView<const T> A) {
    if constexpr (is_complex<T>) {
      const HostCopy<T> copy{MatrixRef<T>(A)};
      const MirrorComparison found = compare_with_mirror(copy.matrix());
      mirror_ = {.conjugates = !found.not_hermitian};
      if (found.not_hermitian && found.not_symmetric) return neither_symmetric_nor_hermitian(found, "lu");
    } else if (const auto place = dense_symmetric::first_asymmetry(backend, A)) {
      return not_symmetric(place->first, place->second, Status::breakdown);
    }
    return {};
  }

  double maximum(B& backend, std::int64_t n, const Array<double>& values) const {
    Array<Largest> result(device_, 1);
    backend.reduce(n, LargestMagnitude<const double*>{values.data()}, Store<Largest>{result.data()});
    return backend.read(result.data()).value;
  }

  /// Scales the largest magnitudes of the rows to about 1, if they differ by more than a factor of ten or are
  /// extreme. Each pass halves the differences of their exponents; remaining differences cause rejected
  /// pivots, since pivots are compared with rows of other blocks.
  Outcome choose_scale(B& backend, DenseView<const T> A) {
    constexpr int most_passes = 12;
    constexpr double small = std::numeric_limits<Real<T>>::min() / std::numeric_limits<Real<T>>::epsilon();
    const std::int64_t n = A.rows();
    Array<double> sizes(device_, n);
    Array<Real<T>> improved(device_, n);
    Array<magnitudes::LineRange> lines(device_, 1);
    for (int pass = 0; pass < most_passes; ++pass) {
      magnitudes::for_columns<Largest>(device_, n, ScaledMagnitude<T>{A, scale()}, sizes.data());
      backend.reduce(n, ImproveScale<Real<T>>{sizes.data(), pass == 0, improved.data()},
                     Store<magnitudes::LineRange>{lines.data()});
      const magnitudes::LineRange range = backend.read(lines.data());
      if (range.zero.value != FirstIndex::none) return zero_line("row", range.zero.value);
      if (!range.uneven() && range.smallest >= small && range.largest <= 1 / small) break;
      if (pass == 0) scale_ = Array<Real<T>>(device_, n);
      backend.copy(n, improved.data(), scale_.data());
    }
    return {};
  }

  [[nodiscard]] std::vector<Statistic> pivot_statistics(std::int64_t n, const IndefiniteFacts& facts,
                                                        double growth) const {
    std::vector<Statistic> statistics;
    if (!is_complex<T> || mirror_.conjugates) {
      statistics = {{"positive_eigenvalues", n - facts.negative},
                    {"negative_eigenvalues", static_cast<std::int64_t>(facts.negative)}};
    }
    statistics.insert(statistics.end(),
                      {{"two_by_two_pivots", static_cast<std::int64_t>(facts.pairs)},
                       {"pivot_growth", growth},
                       {"largest_multiplier", std::max(1.0, float_of(facts.largest_multiplier))},
                       {"delayed_pivots", static_cast<std::int64_t>(facts.delayed)}});
    return statistics;
  }

  [[nodiscard]] const Real<T>* scale() const { return scale_.size() > 0 ? scale_.data() : nullptr; }

  Device device_;
  bool equilibrate_;
  TriangleMirror mirror_;
  IndefiniteMatrix<T> matrix_;  // the factors of S A S
  Array<Real<T>> scale_;        // empty: not scaled
  double norm_ = 0;             // ||S A S||_1
};

}  // namespace

template <>
struct MethodWith<LdltOptions> {
  template <class B, class T>
  using Type = DirectMethod<B, T, GpuLdltFactorization<B, T>>;
};

#define ECHELON_INSTANTIATE(T)                                                                     \
  template std::unique_ptr<SolverImplementation<T>> make_implementation<CudaTarget>(const Device&, \
                                                                                    const LdltOptions&);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon
