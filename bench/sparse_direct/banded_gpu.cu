// SPDX-License-Identifier: BSD-3-Clause
// Times LU of band matrices with equal half-bandwidths on a GPU, factorisation and solution of one right-hand
// side: BandFactorization, and for tridiagonal matrices cuSPARSE's gtsv2, which pivots as well.
//
//   bench_banded_gpu [--float] [HALF-BANDWIDTH:ROWS]...
//
// prints a table in Markdown. Times are those of gpu_seconds, in ms, for four calls in a row. Each call
// replaces the right-hand side by the solution, which the next call takes: A alone decides which instructions
// are executed. "Copy" is the share of the bandwidth of copies that one reading of A and b and one writing of
// x in the time of both would be.
#include "backend/cuda/check.cuh"
#include "support/arguments.hpp"
#include "support/cusparse.cuh"
#include "support/measure.cuh"

#include <echelon/banded.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace {

using namespace echelon;

/// Uniformly distributed elements: most columns exchange rows.
template <class T>
struct Band {
  Band(std::int64_t n_, std::int64_t k_) : n(n_), k(k_), leading(2 * k + 1) {
    std::mt19937_64 random(7);
    std::uniform_real_distribution<T> value(-1, 1);
    elements.resize(static_cast<std::size_t>(leading * n));
    b.resize(static_cast<std::size_t>(n));
    for (T& element : elements) element = value(random);
    for (T& element : b) element = value(random);
  }
  [[nodiscard]] double at(std::int64_t i, std::int64_t j) const {
    return elements[static_cast<std::size_t>(j * leading + k + i - j)];
  }
  std::int64_t n, k, leading;
  std::vector<T> elements, b;
};

/// The normwise backward error max |b - A x| / (|A| max |x| + max |b|).
template <class T>
double backward_error(const Band<T>& band, const Array<T>& solution) {
  const Array<T> x = solution.to(Device());
  double residual = 0;
  double norm_a = 0;
  double norm_x = 0;
  double norm_b = 0;
  for (std::int64_t i = 0; i < band.n; ++i) {
    double r = band.b[static_cast<std::size_t>(i)];
    double sum = 0;
    norm_b = std::max(norm_b, std::abs(r));
    for (std::int64_t j = std::max<std::int64_t>(0, i - band.k); j <= std::min(band.n - 1, i + band.k); ++j) {
      r -= band.at(i, j) * x[j];
      sum += std::abs(band.at(i, j));
    }
    if (!(std::abs(r) <= residual)) residual = std::abs(r);
    norm_a = std::max(norm_a, sum);
    norm_x = std::max(norm_x, std::abs(static_cast<double>(x[i])));
  }
  return residual / (norm_a * norm_x + norm_b);
}

/// cuSPARSE's solver for one tridiagonal matrix, which does not keep its factors.
template <class T>
class Gtsv2 {
 public:
  explicit Gtsv2(const Band<T>& band) : n_(static_cast<int>(band.n)), x_(Device::cuda(), band.n) {
    check(cusparseCreate(&handle_));
    check(cusparseSetStream(handle_, stream()));
    const std::size_t n = band.b.size();
    std::vector<T> lower(n);
    std::vector<T> diagonal(n);
    std::vector<T> upper(n);
    for (std::size_t j = 0; j < n; ++j) {
      diagonal[j] = band.elements[3 * j + 1];
      if (j + 1 < n) lower[j + 1] = band.elements[3 * j + 2];
      if (j > 0) upper[j - 1] = band.elements[3 * j];
    }
    lower_ = Array<T>(Device::cuda(), std::span<const T>(lower));
    diagonal_ = Array<T>(Device::cuda(), std::span<const T>(diagonal));
    upper_ = Array<T>(Device::cuda(), std::span<const T>(upper));
    b_ = Array<T>(Device::cuda(), std::span<const T>(band.b));
    std::size_t bytes = 0;
    if constexpr (std::is_same_v<T, double>) {
      check(cusparseDgtsv2_bufferSizeExt(handle_, n_, 1, lower_.data(), diagonal_.data(), upper_.data(),
                                         x_.data(), n_, &bytes));
    } else {
      check(cusparseSgtsv2_bufferSizeExt(handle_, n_, 1, lower_.data(), diagonal_.data(), upper_.data(),
                                         x_.data(), n_, &bytes));
    }
    buffer_ = Array<unsigned char>(Device::cuda(), static_cast<std::int64_t>(bytes));
  }
  Gtsv2(const Gtsv2&) = delete;
  Gtsv2& operator=(const Gtsv2&) = delete;
  ~Gtsv2() { cusparseDestroy(handle_); }

  void reset() {
    check(cudaMemcpyAsync(x_.data(), b_.data(), static_cast<std::size_t>(n_) * sizeof(T),
                          cudaMemcpyDeviceToDevice, stream()));
  }
  /// Replaces x by A^-1 x.
  void solve() {
    if constexpr (std::is_same_v<T, double>) {
      check(cusparseDgtsv2(handle_, n_, 1, lower_.data(), diagonal_.data(), upper_.data(), x_.data(), n_,
                           buffer_.data()));
    } else {
      check(cusparseSgtsv2(handle_, n_, 1, lower_.data(), diagonal_.data(), upper_.data(), x_.data(), n_,
                           buffer_.data()));
    }
  }
  [[nodiscard]] const Array<T>& x() const { return x_; }

 private:
  cusparseHandle_t handle_ = nullptr;
  int n_;
  Array<T> x_, lower_, diagonal_, upper_, b_;
  Array<unsigned char> buffer_;
};

/// Seconds of a call of f, in a row of several, so that the GPU does not wait for the host.
template <class F>
double seconds_of_call(F f) {
  constexpr int calls = 4;
  return bench::gpu_seconds([&] {
           for (int call = 0; call < calls; ++call) f();
         }) /
         calls;
}

template <class T>
void measure(std::int64_t n, std::int64_t k, double bandwidth) {
  const Band<T> band(n, k);
  const Array<T> elements(Device::cuda(), std::span<const T>(band.elements));
  const Array<T> b(Device::cuda(), std::span<const T>(band.b));
  Array<T> x(Device::cuda(), n);
  BandFactorization<T> factorization(Device::cuda());
  const auto factor = [&] {
    (void)factorization.factor({elements.data(), n, k, k, band.leading, Device::cuda()});
  };
  const auto reset = [&] {
    check(cudaMemcpyAsync(x.data(), b.data(), static_cast<std::size_t>(n) * sizeof(T),
                          cudaMemcpyDeviceToDevice, stream()));
  };
  const auto solve = [&] { factorization.solve({x.data(), n, 1, 1, Device::cuda()}); };
  reset();
  const double factored = seconds_of_call(factor);
  const double solved = seconds_of_call(solve);
  const double sum = seconds_of_call([&] {
    (void)solve_band<T>({elements.data(), n, k, k, band.leading, Device::cuda()},
                        {x.data(), n, 1, 1, Device::cuda()});
  });
  reset();
  solve();
  const double bytes =
      static_cast<double>(sizeof(T)) * static_cast<double>(n) * static_cast<double>(2 * k + 1 + 2);
  std::printf("| %lld | %lld | %s | %.3f | %.3f | %.3f | %.0f %% | %.0f | %.0e |", static_cast<long long>(k),
              static_cast<long long>(n), sizeof(T) == 8 ? "double" : "float", 1e3 * factored, 1e3 * solved,
              1e3 * sum, 100 * bytes / sum / bandwidth,
              static_cast<double>(factorization.bytes()) / static_cast<double>(n), backward_error(band, x));
  if (k == 1) {
    Gtsv2<T> peer(band);
    peer.reset();
    const double seconds = seconds_of_call([&] { peer.solve(); });
    peer.reset();
    peer.solve();
    std::printf(" %.3f | %.2f | %.0e |\n", 1e3 * seconds, seconds / sum, backward_error(band, peer.x()));
  } else {
    std::printf(" | | |\n");
  }
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  bench::Arguments arguments(argc, argv, "[--float] [HALF-BANDWIDTH:ROWS]...");
  const bool single = arguments.flag("--float");
  std::vector<std::string> shapes = arguments.positionals<std::string>("HALF-BANDWIDTH:ROWS");
  if (shapes.empty())
    shapes = {"1:1000000", "2:1000000", "8:1000000", "32:1000000", "128:100000", "1:32000000"};
  const double bandwidth = bench::copy_bandwidth();
  std::printf("%s, copies at %.0f GB/s\n\n", hardware(Device::cuda()).c_str(), bandwidth / 1e9);
  std::printf(
      "| half-bandwidth | rows | type | factor ms | solve ms | both at once ms | copy | bytes an unknown | "
      "backward "
      "error "
      "| gtsv2 ms | gtsv2 / both | its backward error "
      "|\n|---|---|---|---|---|---|---|---|---|---|---|---|\n");
  for (const std::string& shape : shapes) {
    const std::size_t colon = shape.find(':');
    const std::int64_t k = std::stoll(shape);
    const std::int64_t n = colon == std::string::npos ? 1'000'000 : std::stoll(shape.substr(colon + 1));
    if (single) {
      measure<float>(n, k, bandwidth);
    } else {
      measure<double>(n, k, bandwidth);
    }
  }
}
