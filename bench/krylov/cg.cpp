// SPDX-License-Identifier: BSD-3-Clause
// What does an iteration of conjugate gradients with Jacobi cost, compared with the time that its bytes take?
//   bench_cg [DEVICE] [SIDE]
// DEVICE: serial, openmp or cuda (default: a GPU if there is one); SIDE: the 7-point Laplacian on SIDE^3
// points (default: 256). Solves of 64 and of 192 iterations are timed, 7 of each; the difference of their
// medians has neither set-up nor the final check of the answer in it. The bandwidth is that of a copy on a
// GPU, of STREAM's triad on the host.
#include "support/arguments.hpp"
#include "support/measure.hpp"

#include <echelon/echelon.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace ec = echelon;

namespace {

/// How often an iteration passes over a vector, from memory or to it: A p 2; (p, q) 2; x and r 6;
/// z = D^-1 r 3; (r, z) 2; p 3.
constexpr int vector_passes = 18;

double copy_bandwidth(const ec::Device& device) {
  constexpr std::int64_t size = std::int64_t{4} << 30;
  const ec::Array<unsigned char> source(device, size);
  ec::Array<unsigned char> target(device, size);
  return 2.0 * size / ec::bench::median_seconds(7, [&] {
           ec::memory_detail::copy(device, target.data(), device, source.data(), source.bytes());
         });
}

template <class T>
double solve_seconds(const ec::Csr<T>& A, std::int64_t iterations, std::int64_t check_every) {
  ec::CgOptions options;
  options.preconditioner = "jacobi";
  options.stop.rtol = 0;  // never reached
  options.stop.max_iterations = iterations;
  options.stop.check_every = check_every;
  ec::Cg<T> cg(A.device(), options);
  cg.setup(A);
  const std::vector<T> ones(static_cast<std::size_t>(A.rows()), T{1});
  const ec::Dense<T> b(A.device(), std::span<const T>(ones));
  ec::Dense<T> x(A.device(), A.rows(), 1);
  return ec::bench::median_seconds(7, [&] {
    const ec::Report report = cg.solve(b, x);
    if (report.iterations == iterations) return;
    std::printf("the solve ended after %lld iterations: %s\n", static_cast<long long>(report.iterations),
                report.message.c_str());
    std::exit(1);
  });
}

template <class T>
void measure(const ec::Csr<T>& host, const ec::Device& device, double bandwidth) {
  const ec::Csr<T> A = host.to(device);
  const double matrix =
      static_cast<double>(A.nonzeros()) * (4 + sizeof(T)) + 8.0 * static_cast<double>(A.rows());
  const double bytes = matrix + vector_passes * sizeof(T) * static_cast<double>(A.rows());
  const double floor = bytes / bandwidth;
  for (const std::int64_t check_every : {1, 16, 64}) {
    const double seconds = (solve_seconds(A, 192, check_every) - solve_seconds(A, 64, check_every)) / 128;
    std::printf("| %s | %lld | %.3f | %.3f | %.3f | %.0f %% |\n", sizeof(T) == 8 ? "double" : "float",
                static_cast<long long>(check_every), bytes / 1e9, 1e3 * floor, 1e3 * seconds,
                100 * floor / seconds);
    std::fflush(stdout);
  }
}

ec::Device find_device(ec::bench::Arguments& arguments, const std::string& fallback) {
  try {
    return ec::Device::parse(arguments.positional("DEVICE", fallback));
  } catch (const ec::Error& error) {
    arguments.refuse(error.what());
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bool has_gpu = ec::cuda_device_count() > 0;
  ec::bench::Arguments arguments(argc, argv, "[DEVICE] [SIDE]");
  const ec::Device device = find_device(arguments, has_gpu ? "cuda" : "openmp");
  const auto side = arguments.positional("SIDE", std::int64_t{256});
  arguments.finish();
  const double bandwidth =
      device.on_host() ? ec::bench::triad_bandwidth(device.threads()) : copy_bandwidth(device);
  std::printf("%s (%s), 7-point Laplacian on %lld^3 points, %.0f GB/s\n\n", device.name().c_str(),
              hardware(device).c_str(), static_cast<long long>(side), bandwidth / 1e9);
  std::printf(
      "| type | check every | GB an iteration | floor ms | ms an iteration | floor / measured |\n"
      "|---|---|---|---|---|---|\n");
  measure(ec::bench::poisson_3d<double>(side), device, bandwidth);
  measure(ec::bench::poisson_3d<float>(side), device, bandwidth);
}
