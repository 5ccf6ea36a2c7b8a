// SPDX-License-Identifier: BSD-3-Clause
// Dense L D L^T factorisation on a GPU as a Solver.
#include "backend/cuda/cuda.cuh"
#include "backend/store.hpp"
#include "dense/cholesky/cuda/asymmetry.cuh"
#include "dense/cholesky/cuda/indefinite_matrix.cuh"
#include "dense/factorization/magnitudes.cuh"
#include "linalg/condition.hpp"
#include "linalg/refinement.hpp"
#include "linalg/spmv/multiply.hpp"
#include "solver/factor_status.hpp"
#include "solver/host_fallback.hpp"
#include "solver/instantiate.hpp"

#include <echelon/methods/dense/ldlt.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <utility>
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
  const T* scale;
  ECHELON_ANYWHERE Largest operator()(std::int64_t i, std::int64_t j) const {
    const T value = A.data()[i + j * A.leading()];
    return {std::fabs(static_cast<double>(scale == nullptr ? value : scale[i] * value * scale[j]))};
  }
};

/// Divides each scale by the square root of its row's largest magnitude, to a power of two.
template <class T>
struct ImproveScale {
  const double* sizes;
  bool first;
  T* scale;
  ECHELON_ANYWHERE magnitudes::Lines operator()(std::int64_t i) const {
    if (sizes[i] == 0) return {{i}, 0, 0};
    const T factor = static_cast<T>(ldexp(1.0, -ilogb(sizes[i]) / 2));
    scale[i] = first ? factor : scale[i] * factor;
    return {{}, sizes[i], sizes[i]};
  }
};

/// The lower triangle of the spread S A S, continued by the identity, and the sums and the largest of the
/// magnitudes of its columns, a block to a column. Without `scale`, S is the identity.
template <class T>
__global__ void __launch_bounds__(cuda_kernels::block_size)
    copy_spread_columns(DenseView<const T> A, const T* scale, Spread spread, DenseView<T> to, double* sums,
                        double* maxima) {
  for (std::int64_t j = blockIdx.x; j < to.rows(); j += gridDim.x) {
    Sum sum;
    Largest largest;
    const std::int64_t column = j < A.rows() ? spread(j) : j;
    for (std::int64_t i = threadIdx.x; i < to.rows(); i += cuda_kernels::block_size) {
      T value = i == j ? T{1} : T{0};
      if (i < A.rows() && j < A.rows()) {
        const std::int64_t row = spread(i);
        value = A.data()[row + column * A.leading()];
        if (scale != nullptr) value *= scale[row] * scale[column];
        const double magnitude = fabs(static_cast<double>(value));
        sum = combine(sum, {magnitude});
        largest = combine(largest, {magnitude});
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

template <class T>
class GpuLdlt final : public SolverImplementation<T> {
  struct SolveWorkspace : Workspace {
    SolveWorkspace(const Device& device, std::int64_t n, std::int64_t padded)
        : backend(device), vectors(device, padded), refinement(device, n) {}
    [[nodiscard]] std::size_t bytes() const override { return vectors.bytes() + refinement.bytes(); }
    Cuda backend;
    IndefiniteVectors<T> vectors;
    RefinementArrays<T> refinement;
  };
  /// Least number of right-hand sides for which substitution uses matrix products.
  static constexpr std::int64_t many_columns = 8;

 public:
  GpuLdlt(const Device& device, const LdltOptions& options)
      : SolverImplementation<T>(device), host_(Ldlt<T>(Device(), options)), options_(options) {}

  Outcome setup(const MatrixRef<T>& A) override {
    A_ = A;
    n_ = A.rows();
    matrix_ = IndefiniteMatrix<T>();  // releases the old factors before the new ones are allocated
    scale_ = Array<T>();
    host_.deactivate();
    if (n_ == 0) return {};
    Cuda backend(this->device());
    Norms norms;
    if (Outcome copied = copy_scaled(backend, norms); !copied.ok()) return copied;
    const IndefiniteFacts facts = matrix_.factor(backend, this->cancel());
    if (this->cancel().stop_requested()) return cancelled_factorization();
    if (facts.crowded_column != IndefiniteFacts::none) {
      return factor_on_host("too many columns have no pivot in their blocks of 64 columns");
    }
    if (facts.zero_column != IndefiniteFacts::none) return zero_pivot(facts.zero_column);
    const double growth = float_of(facts.largest_pivot) / norms.largest;
    if (!(growth <= acceptable_growth<T>(n_))) {
      return factor_on_host("elements grew " + short_number(growth) + " times");
    }
    SolveWorkspace space(this->device(), n_, matrix_.padded_rows());
    Outcome outcome = assess_condition<T>(estimate_reciprocal_condition<T>(
        backend, n_, norms.one,
        [&](bool /*transposed*/, T* v) { matrix_.solve(backend, nullptr, v, v, space.vectors); }));
    report_pivots(facts, growth, outcome);
    return outcome;
  }

  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const override {
    if (host_.active()) return host_.make_workspace();
    return std::make_unique<SolveWorkspace>(this->device(), n_, matrix_.padded_rows());
  }
  [[nodiscard]] std::size_t bytes() const override {
    return matrix_.bytes() + scale_.bytes() + host_.bytes();
  }

  /// Queues the whole solve, including the decision on each refinement step.
  void solve(Workspace& workspace, DenseView<const T> B, DenseView<T> X,
             std::vector<Job>& jobs) const override {
    if (B.rows() == 0 || B.columns() == 0) return;
    if (host_.active()) return host_.solve(this->device(), workspace, B, X, jobs);
    auto& space = static_cast<SolveWorkspace&>(workspace);
    if (B.columns() < many_columns) {
      for (std::int64_t j = 0; j < B.columns(); ++j) substitute(space, B.column(j), X.column(j));
    } else {
      matrix_.solve(space.backend, scale(), B, X, space.vectors);
    }
    for (std::int64_t j = 0; j < B.columns() && options_.refine > 0; ++j) {
      refine_column(space, B.column(j), X.column(j));
    }
  }

  /// Substitution without refinement.
  void apply(Workspace& workspace, const MultiVector<const T>& r, const MultiVector<T>& z,
             Operation /*operation*/) const override {
    if (n_ == 0) return;
    if (host_.active()) return host_.apply(this->device(), workspace, r, z);
    for (int c = 0; c < r.columns(); ++c) substitute(static_cast<SolveWorkspace&>(workspace), r[c], z[c]);
  }

 private:
  /// Norms of the scaled A.
  struct Norms {
    double one = 0;
    double largest = 0;
  };

  /// Copies the scaled A to `matrix_`.
  Outcome copy_scaled(Cuda& backend, Norms& norms) {
    const Dense<T> converted = A_.is_sparse() ? to_dense(A_) : Dense<T>();
    const DenseView<const T> A = A_.is_sparse() ? converted.view() : A_.dense();
    if (options_.equilibrate) {
      if (Outcome scaled = choose_scale(backend, A); !scaled.ok()) return scaled;
    }
    if (const auto place = dense_symmetric::first_asymmetry(backend, A)) {
      return not_symmetric(place->first, place->second, Status::breakdown);
    }
    if (this->cancel().stop_requested()) return cancelled_factorization();
    matrix_ = IndefiniteMatrix<T>(this->device(), n_);
    const DenseView<T> to = matrix_.view();
    Array<double> sums(this->device(), to.rows());
    Array<double> maxima(this->device(), to.rows());
    constexpr std::int64_t most_blocks = 65536;
    const CurrentDevice current(this->device().id());
    copy_spread_columns<T>
        <<<static_cast<unsigned>(std::min(to.rows(), most_blocks)), cuda_kernels::block_size, 0, stream()>>>(
            A, scale(), matrix_.spread(), to, sums.data(), maxima.data());
    check(cudaGetLastError());
    norms = {maximum(backend, sums), maximum(backend, maxima)};
    return {};
  }

  double maximum(Cuda& backend, const Array<double>& values) const {
    Array<Largest> result(this->device(), 1);
    backend.reduce(n_, magnitudes::ElementMagnitude<double>{values.data()}, Store<Largest>{result.data()});
    return backend.read(result.data()).value;
  }

  /// Scales the largest magnitudes of the rows to about 1, if they differ by more than a factor of ten or are
  /// extreme. Each pass halves the differences of their exponents; remaining differences cause rejected
  /// pivots, since pivots are compared with rows of other blocks.
  Outcome choose_scale(Cuda& backend, DenseView<const T> A) {
    constexpr int most_passes = 12;
    constexpr double small = std::numeric_limits<T>::min() / std::numeric_limits<T>::epsilon();
    Array<double> sizes(this->device(), n_);
    Array<T> improved(this->device(), n_);
    Array<magnitudes::Lines> lines(this->device(), 1);
    for (int pass = 0; pass < most_passes; ++pass) {
      magnitudes::for_columns<Largest>(this->device(), n_, ScaledMagnitude<T>{A, scale()}, sizes.data());
      backend.reduce(n_, ImproveScale<T>{sizes.data(), pass == 0, improved.data()},
                     Store<magnitudes::Lines>{lines.data()});
      const magnitudes::Lines range = backend.read(lines.data());
      if (range.zero.value != FirstIndex::none) return zero_line("row", range.zero.value);
      if (!range.uneven() && range.smallest >= small && range.largest <= 1 / small) break;
      if (pass == 0) scale_ = Array<T>(this->device(), n_);
      backend.copy(n_, improved.data(), scale_.data());
    }
    return {};
  }

  void report_pivots(const IndefiniteFacts& facts, double growth, Outcome& outcome) const {
    outcome.statistics = {{"positive_eigenvalues", n_ - facts.negative},
                          {"negative_eigenvalues", static_cast<std::int64_t>(facts.negative)},
                          {"two_by_two_pivots", static_cast<std::int64_t>(facts.pairs)},
                          {"pivot_growth", growth},
                          {"largest_multiplier", std::max(1.0, float_of(facts.largest_multiplier))},
                          {"delayed_pivots", static_cast<std::int64_t>(facts.delayed)}};
  }

  [[nodiscard]] const T* scale() const { return scale_.size() > 0 ? scale_.data() : nullptr; }

  void substitute(SolveWorkspace& space, const T* b, T* x) const {
    matrix_.solve(space.backend, scale(), b, x, space.vectors);
  }

  void refine_column(SolveWorkspace& space, const T* b, T* x) const {
    refine(
        space.backend, n_, options_.refine, x, space.refinement,
        [&](const T* iterate, T* r) {
          space.backend.copy(n_, b, r);
          multiply(space.backend, T{-1}, A_, iterate, T{1}, r);
        },
        [&](const T* r, T* z) { substitute(space, r, z); });
  }

  /// Factors on the host, by rook pivoting.
  Outcome factor_on_host(const std::string& reason) {
    matrix_ = IndefiniteMatrix<T>();
    scale_ = Array<T>();
    return host_.setup(to_dense(A_).to(Device()), this->cancel(), reason);
  }

  HostFallback<T> host_;
  LdltOptions options_;
  MatrixRef<T> A_;
  std::int64_t n_ = 0;
  IndefiniteMatrix<T> matrix_;  // the factors of S A S
  Array<T> scale_;              // empty: not scaled
};

}  // namespace

template <>
struct MethodWith<LdltOptions> {
  template <class B, class T>
  using Type = GpuLdlt<T>;
};

template std::unique_ptr<SolverImplementation<float>> make_implementation<CudaTarget>(const Device&,
                                                                                      const LdltOptions&);
template std::unique_ptr<SolverImplementation<double>> make_implementation<CudaTarget>(const Device&,
                                                                                       const LdltOptions&);

}  // namespace echelon
