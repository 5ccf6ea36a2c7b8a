// SPDX-License-Identifier: BSD-3-Clause
// LU of complex band matrices on a GPU: the host numbers and scales the band, the nodes of its plan are
// eliminated by the GPU.
#include "backend/cuda/cuda.cuh"
#include "solver/direct/direct_method.hpp"
#include "solver/factor_status.hpp"
#include "solver/instantiate.hpp"
#include "sparse_direct/banded/complex_band.hpp"
#include "sparse_direct/banded/factorization.hpp"

#include <echelon/methods/banded_lu.hpp>

#include <support/scalar_list.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace echelon {

namespace banded {

/// Computes y(i, j) = x(order[i], j), or the reverse, for element i + j n.
template <class T>
struct ReorderRows {
  std::int64_t n;
  const std::int32_t* order;
  bool back;
  T* x;
  std::int64_t leading;
  T* y;
  __device__ void operator()(std::int64_t e) const {
    T& given = x[order[e % n] + e / n * leading];
    if (back) {
      given = y[e];
    } else {
      y[e] = given;
    }
  }
};

/// P R A C P^T = L U with row exchanges, for the scales and the numbering P of ComplexBand. Bands whose
/// elements grow too much are factored on the host.
template <class B, class T>
class DeviceComplexBandFactorization {
  using Operation = direct::Operation;
  /// Right-hand sides that are solved together.
  static constexpr std::int64_t columns_together = 8;

  struct Space {
    [[nodiscard]] std::size_t bytes() const { return ordered.bytes() + plain.bytes() + transposed.bytes(); }
    Array<T> ordered;  // right-hand sides in the numbering of the band
    SubstitutionWorkspace<T> plain, transposed;
  };

 public:
  using HostMethod = BandedLu<T>;
  static constexpr bool takes_csr = true;

  DeviceComplexBandFactorization(const Device& device, const BandedLuOptions& options)
      : device_(device), ordering_(options.ordering), factorization_(device) {}

  [[nodiscard]] static Csr<T> host_copy(const MatrixRef<T>& A) { return A.csr()->to(Device()); }

  direct::Factored factor(const direct::FactorContext<B, T>& context) {
    const Csr<T> A = host_copy(context.A);
    if (Outcome zero = band_.take(A, ordering_); !zero.ok()) return zero;
    const BandShape shape{A.rows(), band_.lower(), band_.upper(), 1};
    const std::size_t needed =
        factorization_.bytes_for(shape, 0) + static_cast<std::size_t>(A.rows() * band_.height()) * sizeof(T);
    Outcome outcome = band_.check_memory(A.rows(), needed, device_);
    if (outcome.status == Status::out_of_memory) return direct::Factored::on_host(outcome.message);
    if (!outcome.ok()) return outcome;
    band_.assemble(A, device_, context.scales);
    order_ = Array<std::int32_t>(device_, std::span<const std::int32_t>(band_.order().host_order));
    if (context.control.stop_requested()) return cancelled_factorization();
    const BandFacts facts = eliminate(context, shape);
    if (context.control.stop_requested()) return cancelled_factorization();
    if (facts.zero_column.value != FirstIndex::none)
      return zero_pivot(band_.order().original(facts.zero_column.value));
    const double growth = facts.largest / band_.largest();
    if (!(growth <= acceptable_growth<T>(A.rows())))
      return direct::Factored::on_host("elements grew " + short_number(growth) + " times");
    outcome.statistics = band_.statistics(facts.largest);
    outcome.statistics.push_back({"partitions", factorization_.plan().partitions});
    return outcome;
  }

  [[nodiscard]] Space make_workspace(B& /*backend*/) const { return {}; }

  void substitute(Operation operation, B& backend, Space& space, DenseView<T> X) const {
    for (std::int64_t first = 0; first < X.columns(); first += columns_together) {
      const std::int64_t count = std::min(columns_together, X.columns() - first);
      T* const x = X.column(first);
      if (order_.size() == 0) {
        solve(operation, backend, space, x, X.leading(), count);
        continue;
      }
      const std::int64_t n = X.rows();
      if (space.ordered.size() < n * count) space.ordered = Array<T>(device_, n * count);
      T* const y = space.ordered.data();
      backend.for_each(n * count, ReorderRows<T>{n, order_.data(), false, x, X.leading(), y});
      solve(operation, backend, space, y, n, count);
      backend.for_each(n * count, ReorderRows<T>{n, order_.data(), true, x, X.leading(), y});
    }
  }

  [[nodiscard]] DeterminantProduct determinant(B& /*backend*/) const { return factorization_.determinant(); }
  [[nodiscard]] double norm() const { return band_.norm_one(); }
  [[nodiscard]] std::size_t bytes() const { return factorization_.bytes() + band_.bytes() + order_.bytes(); }

 private:
  /// Factors the assembled band, which is released. Waits.
  BandFacts eliminate(const direct::FactorContext<B, T>& context, const BandShape& shape) {
    const Array<T> elements = band_.elements().to(device_);
    band_.elements() = Array<T>();
    factorization_.prepare(shape, 0);
    const T* const diagonal = elements.data() + shape.lower + shape.upper;
    factorization_.factor(context.backend, {{diagonal, 1, band_.height() - 1, shape.lower, shape.upper}, 0},
                          context.control);
    return context.backend.read(factorization_.facts());
  }

  /// Solves in place for at most columns_together right-hand sides of the band. Queued.
  void solve(Operation operation, B& backend, Space& space, T* x, std::int64_t leading,
             std::int64_t columns) const {
    if (operation == Operation::transpose) {
      if (space.transposed.columns == 0) space.transposed = factorization_.make_workspace(1, true);
      for (std::int64_t j = 0; j < columns; ++j)
        factorization_.solve_transposed(backend, space.transposed, x + j * leading);
      return;
    }
    if (space.plain.columns < columns) space.plain = factorization_.make_workspace(columns, false);
    RhsBatch<T> rhs;
    rhs.b = rhs.x = x;
    rhs.b_leading = rhs.x_leading = leading;
    rhs.columns = columns;
    factorization_.solve(backend, space.plain, rhs);
  }

  Device device_;
  BandOrdering ordering_;
  ComplexBand<T> band_;  // without its elements after a set-up
  Array<std::int32_t> order_;
  BandFactorizationOn<B, T> factorization_;
};

}  // namespace banded

#define ECHELON_INSTANTIATE(T)                                                                               \
  template <>                                                                                                \
  std::unique_ptr<SolverImplementation<T>> make_implementation<CudaTarget>(const Device& device,             \
                                                                           const BandedLuOptions& options) { \
    return std::make_unique<DirectMethod<Cuda, T, banded::DeviceComplexBandFactorization<Cuda, T>>>(         \
        device, options);                                                                                    \
  }
ECHELON_FOR_EACH_COMPLEX(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon
