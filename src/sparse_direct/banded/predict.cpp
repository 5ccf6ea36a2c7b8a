// SPDX-License-Identifier: BSD-3-Clause
// Prediction of the cost of banded-lu from the pattern of A.
#include "backend/serial/serial.hpp"
#include "solver/band_prediction.hpp"
#include "sparse_direct/banded/cost.hpp"
#include "sparse_direct/banded/order.hpp"
#include "sparse_direct/ordering/bandwidth_bound.hpp"
#include "sparse_direct/ordering/pattern.hpp"

namespace echelon {

namespace {

using namespace banded;

template <class T>
BandPrediction prediction_for(const Csr<T>& A, const BandOrder& order, const Device& device) {
  Serial backend{Device::serial()};
  const Bandwidths widths = find_bandwidths(backend, A.rows(), ordered(A, order));
  const double seconds = device.on_host() ? predicted_seconds(A.rows(), widths, sizeof(T))
                                          : predicted_gpu_seconds(A.rows(), widths);
  return {widths.lower, widths.upper, !order.natural(), seconds,
          predicted_bytes(A.rows(), widths, sizeof(T))};
}

/// The largest half-bandwidth, below and above the diagonal, for which banded-lu takes at most `seconds`.
template <class T>
std::int64_t widest_band(std::int64_t n, double seconds) {
  std::int64_t widest = 0;
  for (std::int64_t step = n; step > 0; step /= 2) {
    const std::int64_t next = widest + step;
    if (predicted_seconds(n, {next, next}, sizeof(T)) <= seconds) widest = next;
  }
  return widest;
}

}  // namespace

template <class T>
BandPrediction predict_band(const Csr<T>& A, const Device& device) {
  const double entries = static_cast<double>(A.rows() + A.nonzeros());
  const BandPrediction natural = prediction_for(A, BandOrder(), device);
  // The method computes the numbering a second time.
  const double numbering = 2 * ordering_seconds(entries);
  const double most = least_sparse_seconds(entries, device) - numbering;
  if (natural.seconds <= most || !device.on_host()) return natural;
  const std::int64_t widest = widest_band<T>(A.rows(), most);
  if (sparse_direct::half_bandwidth_bound(sparse_direct::pattern_of(A), widest) > widest) return natural;
  BandPrediction renumbered = prediction_for(A, BandOrder::reverse_cuthill_mckee(A, Device()), device);
  renumbered.seconds += numbering;
  return renumbered.seconds < natural.seconds ? renumbered : natural;
}

template BandPrediction predict_band(const Csr<float>&, const Device&);
template BandPrediction predict_band(const Csr<double>&, const Device&);

}  // namespace echelon
