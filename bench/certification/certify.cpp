// SPDX-License-Identifier: BSD-3-Clause
// How much longer does a solve of a dense system take with a certificate than without?
//   bench_certify [--device NAME] [--runs N] [N]...
// Uniform random matrices in the memory of the device. `lu`: set-up and one solve by that method. `certify`:
// a bound on the error of its x. `refine`: the same with x refined to the last bits. Each time is the least
// of several runs in turn; the ratio is (lu + certify) / lu, the bounds are on max |x_i - x*_i| / max |x*_i|.
#include "support/arguments.hpp"

#include <echelon/certify.hpp>
#include <echelon/solver.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace ec = echelon;

namespace {

ec::Dense<double> uniform(std::int64_t rows, std::int64_t columns, unsigned seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> value(-1, 1);
  ec::Dense<double> A(ec::Device(), rows, columns);
  for (std::int64_t e = 0; e < rows * columns; ++e) A[e] = value(random);
  return A;
}

/// Seconds of f, which waits for its result, if that is less than `least`.
template <class F>
void measure(double& least, const F& f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  least = std::min(least, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
}

void measure(std::int64_t n, const ec::Device& device, int runs) {
  const ec::Dense<double> A = uniform(n, n, 1).to(device);
  const ec::Dense<double> b = uniform(n, 1, 2).to(device);
  ec::Dense<double> x(device, n, 1);
  constexpr double infinity = std::numeric_limits<double>::infinity();
  double plain = infinity;
  double certify = infinity;
  double refine = infinity;
  ec::ErrorCertificate certificate;
  ec::ErrorCertificate refined;
  const ec::CertifyOptions options = {.proof = ec::Proof::approximate_inverse};
  for (int run = 0; run < runs + 1; ++run) {
    if (run == 1) plain = certify = refine = infinity;  // the first run warmed up
    measure(plain, [&] {
      ec::Solver<double> solver = ec::make_solver<double>("lu", device);
      solver.setup(A);
      static_cast<void>(solver.solve(b, x));
    });
    measure(certify, [&] { certificate = ec::certify<double>(A, b, x, options); });
    measure(refine, [&] { refined = ec::refine_and_certify<double>(A, b, x, options); });
  }
  if (!certificate.proven()) fmt::print("{}\n", certificate.reason);
  fmt::print("{:6}  {:9.2f}  {:9.2f}  {:9.2f}  {:5.1f}  {:9.1e}  {:9.1e}\n", n, plain * 1e3, certify * 1e3,
             refine * 1e3, (plain + certify) / plain, certificate.relative_error_bound,
             refined.relative_error_bound);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  ec::bench::Arguments arguments(argc, argv, "[--device NAME] [--runs N] [N]...");
  const ec::Device device = ec::Device::parse(arguments.option("--device", std::string("openmp")));
  const int runs = arguments.option("--runs", 3);
  std::vector<std::int64_t> orders = arguments.positionals<std::int64_t>("N");
  if (orders.empty()) orders = {500, 1000, 2000, 4000};
  fmt::print("{:>6}  {:>9}  {:>9}  {:>9}  {:>5}  {:>9}  {:>9}\n", "n", "lu ms", "certify", "refine", "ratio",
             "bound", "refined");
  for (const std::int64_t n : orders) measure(n, device, runs);
}
