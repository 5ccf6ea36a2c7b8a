// SPDX-License-Identifier: BSD-3-Clause
// Prediction of the cost of banded-lu from the pattern of A.
#include "backend/host/host.hpp"
#include "solver/band_prediction.hpp"
#include "sparse_direct/banded/cost.hpp"
#include "sparse_direct/banded/order.hpp"
#include "sparse_direct/ordering/bandwidth_bound.hpp"
#include "sparse_direct/pattern/pattern.hpp"

namespace echelon {

namespace {

using namespace banded;

/// Largest lower bound of the half-bandwidth up to which A is renumbered for a GPU. Wider bands pay as well
/// (0.01 s in place of 0.04 for a mesh of 100 by 300 points), but the bound would exclude fewer meshes.
constexpr std::int64_t widest_hidden_on_gpu = 64;

double seconds_on(const Device& device, std::int64_t n, Bandwidths widths, std::size_t element_size) {
  return device.on_host() ? predicted_seconds(n, widths, element_size) : predicted_gpu_seconds(n, widths);
}

template <class T>
BandPrediction prediction_for(const Csr<T>& A, const BandOrder& order, const Device& device) {
  Host backend{Device()};
  const Bandwidths widths = find_bandwidths(backend, A.rows(), ordered(A, order));
  BandPrediction prediction = predict_band(A.rows(), widths.lower, widths.upper, sizeof(T), device);
  prediction.renumbered = !order.natural();
  return prediction;
}

/// The largest half-bandwidth worth a renumbering, below and above the diagonal, for which banded-lu takes at
/// most `seconds`.
template <class T>
std::int64_t widest_band(std::int64_t n, const Device& device, double seconds) {
  const std::int64_t limit = device.on_host() ? n : widest_hidden_on_gpu;
  std::int64_t widest = 0;
  for (std::int64_t step = limit; step > 0; step /= 2) {
    const std::int64_t next = widest + step;
    if (next <= limit && seconds_on(device, n, {next, next}, sizeof(T)) <= seconds) widest = next;
  }
  return widest;
}

}  // namespace

BandPrediction predict_band(std::int64_t rows, std::int64_t lower, std::int64_t upper,
                            std::size_t element_size, const Device& device) {
  const Bandwidths widths{lower, upper};
  return {lower, upper, false, seconds_on(device, rows, widths, element_size),
          predicted_bytes(rows, widths, element_size)};
}

template <class T>
BandPrediction predict_band(const Csr<T>& A, const BandPrediction& natural, const Device& device) {
  const double entries = static_cast<double>(A.rows() + A.nonzeros());
  // The method computes the numbering a second time.
  const double numbering =
      2 * (device.on_host() ? ordering_seconds(entries) : ordering_seconds_beside_gpu(entries));
  const double most = least_sparse_seconds(entries, device, true) - numbering;
  const std::int64_t widest = widest_band<T>(A.rows(), device, most);
  if (natural.seconds <= most || widest == 0) return natural;
  if (sparse_direct::half_bandwidth_bound(sparse_direct::pattern_of(A), widest) > widest) return natural;
  BandPrediction renumbered = prediction_for(A, BandOrder::reverse_cuthill_mckee(A, Device()), device);
  renumbered.seconds += numbering;
  return renumbered.seconds < natural.seconds ? renumbered : natural;
}

template BandPrediction predict_band(const Csr<float>&, const BandPrediction&, const Device&);
template BandPrediction predict_band(const Csr<double>&, const BandPrediction&, const Device&);

}  // namespace echelon
