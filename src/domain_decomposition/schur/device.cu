// SPDX-License-Identifier: BSD-3-Clause
/// Schur complements of sparse matrices on a GPU: analysis on the host, factorisation and solves on the
/// device, where S stays.
#include "backend/cuda/cuda.cuh"
#include "domain_decomposition/schur/analysis.hpp"
#include "domain_decomposition/schur/blocks.hpp"
#include "domain_decomposition/schur/interior.hpp"
#include "domain_decomposition/schur/outcomes.hpp"
#include "linalg/condition.hpp"
#include "sparse_direct/matching/powers_of_two.hpp"
#include "sparse_direct/multifrontal/device_factorization.hpp"
#include "sparse_direct/multifrontal/outcomes.hpp"
#include "support/scalar.hpp"
#include "support/stopwatch.hpp"

#include <echelon/linalg.hpp>

#include <support/scalar_list.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace echelon::schur {

namespace {

using sparse_direct::DeviceFactorization;
using sparse_direct::DeviceFactorMemory;
using sparse_direct::Equilibrated;
using sparse_direct::FactorEnd;
using sparse_direct::FactorFacts;
using sparse_direct::FactorKind;
using sparse_direct::FactorResult;
using sparse_direct::Scaling;

/// Right-hand sides that are solved together.
constexpr std::int64_t columns_together = 8;

/// Divides element (i, j) of S by the factors of its row and its column; of the lower triangle alone if
/// `symmetric`.
template <class T>
struct RemoveScaling {
  std::int64_t size;
  const std::int32_t* interface;
  const Real<T>* row_scale;
  const Real<T>* column_scale;
  bool symmetric;
  T* S;
  __device__ void operator()(std::int64_t e) const {
    const std::int64_t i = e % size;
    const std::int64_t j = e / size;
    if (symmetric && i < j) return;
    S[e] = S[e] / (row_scale[interface[i]] * column_scale[interface[j]]);
  }
};

/// Adds the elements of A in row i of the interface and its columns to S; of the lower triangle alone if
/// `symmetric`.
template <class T>
struct AddInterfaceBlock {
  std::int64_t size;
  const std::int32_t* interface;
  const std::int32_t* number;  ///< InterfacePartition::number
  const std::int64_t* row_offsets;
  const std::int32_t* columns;
  const T* values;
  bool symmetric;
  T* S;
  __device__ void operator()(std::int64_t i) const {
    const std::int32_t row = interface[i];
    for (std::int64_t e = row_offsets[row]; e < row_offsets[row + 1]; ++e) {
      const std::int64_t j = -1 - std::int64_t{number[columns[e]]};
      if (j >= 0 && (!symmetric || j <= i)) S[i + j * size] += values[e];
    }
  }
};

/// Right-hand side of a solve that starts from given values in the interface: those divided by the factors of
/// their rows and columns there, and B or zeros in the interior.
template <class T>
struct PrepareRhs {
  std::int64_t n;
  const std::int32_t* number;
  DenseView<const T> B;    ///< without elements: zeros
  DenseView<const T> X_B;  ///< without elements: zeros
  const Real<T>* row_scale;
  const Real<T>* column_scale;
  T* rhs;
  __device__ T element(const DenseView<const T>& view, std::int64_t i, std::int64_t c) const {
    if (view.data() == nullptr) return T{};
    return view.layout() == Layout::column_major ? view.data()[i + c * view.leading()]
                                                 : view.data()[i * view.leading() + c];
  }
  __device__ void operator()(std::int64_t e) const {
    const std::int64_t i = e % n;
    const std::int64_t c = e / n;
    rhs[e] = number[i] >= 0
                 ? element(B, i, c)
                 : element(X_B, -1 - std::int64_t{number[i]}, c) / (row_scale[i] * column_scale[i]);
  }
};

/// full[interior[k]] = part[k], or the reverse.
template <class T>
struct CopyInterior {
  const std::int32_t* interior;
  T* full;
  T* part;
  bool to_full;
  __device__ void operator()(std::int64_t k) const {
    if (to_full) {
      full[interior[k]] = part[k];
    } else {
      part[k] = full[interior[k]];
    }
  }
};

/// A_BI of A or of its transpose, with all columns of A, on the host.
template <class T>
Csr<T> coupling(const Csr<T>& A, const InterfacePartition& partition, bool transposed) {
  std::vector<Triplet<T>> elements;
  for (std::int32_t i = 0; i < A.rows(); ++i) {
    for (std::int64_t e = A.row_offsets()[i]; e < A.row_offsets()[i + 1]; ++e) {
      const std::int32_t row = transposed ? A.column_indices()[e] : i;
      const std::int32_t column = transposed ? i : A.column_indices()[e];
      if (partition.is_interior(row) || !partition.is_interior(column)) continue;
      elements.push_back({-1 - partition.number[static_cast<std::size_t>(row)], column, A.values()[e]});
    }
  }
  return Csr<T>::from_triplets(std::ssize(partition.interface), A.columns(), elements);
}

template <class T>
class DeviceElimination final : public InteriorElimination<T> {
 public:
  DeviceElimination(const Csr<T>& A, const InterfacePartition& partition, const Device& device,
                    const SchurOptions& options)
      : A_(A),
        partition_(partition),
        device_(device),
        options_(options),
        number_(device, std::span<const std::int32_t>(partition.number)),
        interior_(device, std::span<const std::int32_t>(partition.interior)),
        interface_(device, std::span<const std::int32_t>(partition.interface)) {}

  Outcome eliminate(SchurFactorization factorization) override {
    const Stopwatch watch;
    const Csr<T> host = A_.to(Device::serial());
    if (partition_.interior.empty()) return on_host("there is nothing to eliminate", factorization);
    Analysis analysis = analyze_interior(host, partition_, factorization, options_.ordering,
                                         {.threads = Device().threads(), .for_gpu = true});
    if (!analysis.outcome.ok()) return std::move(analysis.outcome);
    kind_ = analysis.kind;
    if (options_.cancel.stop_requested()) return cancelled_factorization();
    factorization_.emplace(device_, kind_, std::move(analysis.symbolic), analysis.row_permutation);
    const DeviceFactorMemory needed = factorization_->memory(host.nonzeros());
    const std::size_t S_bytes = static_cast<std::size_t>(border() * border()) * sizeof(T);
    if (needed.total() + S_bytes > memory(device_).available)
      return on_host("the factors take " + byte_count(needed.factor) + ", and the GPU has less left",
                     factorization);
    statistics_ = factorization_->statistics(host.nonzeros());
    set_scale(host, analysis.scaling);
    factorization_->allocate(host.row_offsets().span(), host.column_indices().span(), row_factors_,
                             column_factors_);
    statistics_.push_back({"analysis_seconds", watch.seconds()});
    return factor(host, factorization);
  }

  [[nodiscard]] const Dense<T>& complement() const override {
    return host_ ? host_->complement() : complement_;
  }
  [[nodiscard]] std::optional<Inertia> inertia() const override {
    return host_ ? host_->inertia() : inertia_;
  }
  [[nodiscard]] std::size_t bytes() const override {
    if (host_) return host_->bytes();
    return complement_.bytes() + number_.bytes() + interior_.bytes() + interface_.bytes() +
           coupling_.bytes() + transposed_coupling_.bytes() + (factorization_ ? factorization_->bytes() : 0);
  }

  /// G = B_B - A_BI X_I with X_I = A_II^-1 B_I.
  void reduce(Equations equations, DenseView<const T> B, DenseView<T> G) const override {
    if (host_) return host_->reduce(equations, B, G);
    const bool transposed = is_transposed(equations);
    Dense<T> X(device_, B.rows(), B.columns());
    substitute(transposed, B, {}, X.view());
    Dense<T> R(device_, border(), B.columns());
    gather_on<CudaTarget, T>(B, interface_.data(), nullptr, R.view());
    multiply<T>(T{-1}, transposed ? transposed_coupling_ : coupling_, X.view(), T{1}, R.view());
    add<T>(T{1}, R.view(), T{0}, R.view(), G);
  }

  void expand(Equations equations, DenseView<const T> X_B, DenseView<const T> B,
              DenseView<T> X) const override {
    if (host_) return host_->expand(equations, X_B, B, X);
    Dense<T> result(device_, X.rows(), X.columns());
    substitute(is_transposed(equations), B, X_B, result.view());
    add<T>(T{1}, result.view(), T{0}, result.view(), X);
    scatter_rows_on<CudaTarget, T>(X_B, interface_.data(), X);
  }

 private:
  [[nodiscard]] std::int64_t border() const { return interface_.size(); }
  [[nodiscard]] bool symmetric() const { return is_symmetric(kind_); }
  /// Whether A^T differs from A.
  [[nodiscard]] bool has_own_transpose() const {
    return !symmetric() || (is_complex<T> && is_hermitian(kind_));
  }
  [[nodiscard]] bool is_transposed(Equations equations) const {
    return equations == Equations::transposed && has_own_transpose();
  }

  /// Takes the scaling of the analysis; that of a Cholesky factorisation makes the diagonal about 1.
  void set_scale(const Csr<T>& host, const Scaling& scaling) {
    const std::vector<double> unit =
        kind_ == FactorKind::cholesky ? unit_diagonal_scale(host) : std::vector<double>{};
    row_factors_ = sparse_direct::powers_of_two<Real<T>>(kind_ == FactorKind::cholesky ? unit : scaling.rows);
    column_factors_ =
        sparse_direct::powers_of_two<Real<T>>(kind_ == FactorKind::cholesky ? unit : scaling.columns);
    row_scale_ = Array<Real<T>>(device_, std::span<const Real<T>>(row_factors_));
    column_scale_ = Array<Real<T>>(device_, std::span<const Real<T>>(column_factors_));
  }

  Outcome factor(const Csr<T>& host, SchurFactorization factorization) {
    complement_ = Dense<T>(device_, border(), border());
    const FactorResult result =
        factorization_->partial({A_.row_offsets().data(), A_.column_indices().data(), A_.values().data()},
                                complement_.data(), options_.cancel);
    if (result.end == FactorEnd::cancelled) return cancelled_factorization();
    if (result.end == FactorEnd::no_pivot) {
      const std::int64_t column = result.failed->column;
      if (kind_ == FactorKind::cholesky) return interior_not_positive(column, "not positive");
      return on_host("column " + std::to_string(column) + " (from 0) has no pivot in its front",
                     factorization);
    }
    const FactorFacts& facts = factorization_->facts();
    finish_complement();
    if (kind_ != FactorKind::cholesky && !(test_error(host) <= acceptable_test_error))
      return on_host("the factors of the GPU are not accurate enough; multipliers are as large as " +
                         short_number(facts.largest_multiplier),
                     factorization);
    Outcome outcome = options_.condition ? assess_interior<T>(reciprocal_condition(host)) : Outcome{};
    if (!outcome.ok() && kind_ != FactorKind::cholesky)
      return on_host("A_II is nearly singular", factorization);
    if (!outcome.ok()) return outcome;
    if (sparse_direct::has_inertia_of<T>(kind_)) inertia_ = Inertia{facts.positive, facts.negative, 0};
    set_couplings(host);
    outcome.rank = interior_.size();
    outcome.statistics = statistics_;
    if (kind_ != FactorKind::cholesky)
      outcome.statistics.push_back({"largest_multiplier", facts.largest_multiplier});
    return outcome;
  }

  void set_couplings(const Csr<T>& host) {
    coupling_ = coupling(host, partition_, false).to(device_);
    if (has_own_transpose()) transposed_coupling_ = coupling(host, partition_, true).to(device_);
  }

  /// Removes the scaling from the Schur complement, adds A_BB, and completes both triangles.
  void finish_complement() {
    Cuda backend(device_);
    T* const S = complement_.data();
    backend.for_each(border() * border(), RemoveScaling<T>{border(), interface_.data(), row_scale_.data(),
                                                           column_scale_.data(), symmetric(), S});
    backend.for_each(
        border(), AddInterfaceBlock<T>{border(), interface_.data(), number_.data(), A_.row_offsets().data(),
                                       A_.column_indices().data(), A_.values().data(), symmetric(), S});
    if (symmetric()) mirror_on<CudaTarget, T>(complement_.view(), is_hermitian(kind_));
  }

  /// X from B or zeros, and X_B or zeros.
  void substitute(bool transposed, DenseView<const T> B, DenseView<const T> X_B, DenseView<T> X) const {
    Cuda backend(device_);
    const std::int64_t n = X.rows();
    Dense<T> rhs(device_, n, X.columns());
    backend.for_each(n * X.columns(), PrepareRhs<T>{n, number_.data(), B, X_B, row_scale_.data(),
                                                    column_scale_.data(), rhs.data()});
    Array<T> workspace;
    for (std::int64_t first = 0; first < X.columns(); first += columns_together) {
      const std::int64_t count = std::min(columns_together, X.columns() - first);
      if (workspace.size() == 0) workspace = Array<T>(device_, factorization_->workspace_size(count));
      factorization_->solve(transposed, count, rhs.data() + first * n, n, X.column(first), X.leading(),
                            workspace.data());
    }
  }

  static constexpr double acceptable_test_error =
      100 * static_cast<double>(std::numeric_limits<Real<T>>::epsilon());

  /// Normwise backward error of A_II x = 1, solved without refinement.
  [[nodiscard]] double test_error(const Csr<T>& host) const {
    const Dense<T> ones = host_ones();
    Dense<T> x(device_, A_.rows(), 1);
    substitute(false, ones.view(), {}, x.view());
    const std::vector<T> solution = x.to_vector();
    double residual = 0;
    double norm = 0;
    double largest = 0;
    for (const std::int32_t i : partition_.interior) {
      Dot<T> sum = 1;
      double row = 0;
      for (std::int64_t e = host.row_offsets()[i]; e < host.row_offsets()[i + 1]; ++e) {
        const std::int32_t j = host.column_indices()[e];
        if (!partition_.is_interior(j)) continue;
        const auto value = static_cast<Dot<T>>(host.values()[e]);
        sum -= value * static_cast<Dot<T>>(solution[static_cast<std::size_t>(j)]);
        row += magnitude(value);
      }
      if (!(magnitude(sum) <= residual)) residual = magnitude(sum);  // a NaN stays
      norm = std::max(norm, row);
      largest = std::max(largest, magnitude(solution[static_cast<std::size_t>(i)]));
    }
    return residual / (norm * largest + 1);
  }
  [[nodiscard]] Dense<T> host_ones() const {
    const std::vector<T> ones(static_cast<std::size_t>(A_.rows()), T{1});
    return Dense<T>(device_, std::span<const T>(ones));
  }

  /// Reciprocal condition number of the scaled A_II, estimated by at most 12 solves.
  [[nodiscard]] double reciprocal_condition(const Csr<T>& host) const {
    Cuda backend(device_);
    const std::int64_t n = A_.rows();
    const std::vector<double> rows(row_factors_.begin(), row_factors_.end());
    const std::vector<double> columns(column_factors_.begin(), column_factors_.end());
    Array<T> workspace(device_, factorization_->workspace_size(1));
    Array<T> full(device_, n);
    return estimate_reciprocal_condition<T>(
        backend, interior_.size(), interior_norm_one(host, partition_, rows, columns),
        [&](bool transposed, T* v) {
          backend.fill(n, T{}, full.data());
          backend.for_each(interior_.size(), CopyInterior<T>{interior_.data(), full.data(), v, true});
          factorization_->solve(transposed, 1, full.data(), n, full.data(), n, workspace.data(),
                                Equilibrated::yes);
          backend.for_each(interior_.size(), CopyInterior<T>{interior_.data(), full.data(), v, false});
        });
  }

  /// Eliminates on the host, which has more memory, delays pivots and determines ranks.
  Outcome on_host(const std::string& reason, SchurFactorization factorization) {
    factorization_.reset();
    complement_ = {};
    host_ = sparse_elimination_on_host(A_, partition_, device_, options_);
    Outcome outcome = host_->eliminate(factorization);
    outcome.warnings.push_back("eliminated on the host: " + reason);
    return outcome;
  }

  const Csr<T>& A_;
  const InterfacePartition& partition_;
  Device device_;
  const SchurOptions& options_;
  FactorKind kind_ = FactorKind::lu;
  Array<std::int32_t> number_, interior_, interface_;
  std::vector<Real<T>> row_factors_, column_factors_;
  Array<Real<T>> row_scale_, column_scale_;
  Csr<T> coupling_;             ///< A_BI, with the columns of A
  Csr<T> transposed_coupling_;  ///< that of A^T, if it differs from A
  std::optional<DeviceFactorization<T>> factorization_;
  Dense<T> complement_;
  std::optional<Inertia> inertia_;
  std::vector<Statistic> statistics_;
  std::unique_ptr<InteriorElimination<T>> host_;  ///< in place of the factorisation
};

}  // namespace

template <class Target, class T>
std::unique_ptr<InteriorElimination<T>> sparse_elimination_on(const Csr<T>& A,
                                                              const InterfacePartition& partition,
                                                              const Device& device,
                                                              const SchurOptions& options) {
  return std::make_unique<DeviceElimination<T>>(A, partition, device, options);
}

#define ECHELON_INSTANTIATE(T)                                                        \
  template std::unique_ptr<InteriorElimination<T>> sparse_elimination_on<CudaTarget>( \
      const Csr<T>&, const InterfacePartition&, const Device&, const SchurOptions&);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon::schur
