// SPDX-License-Identifier: BSD-3-Clause
// Devices side by side: serial, openmp and the OpenCL devices of this machine.
//   bench_opencl [SIDE [N]]
// prints a table in Markdown: seconds of a product of the five-point Laplacian on SIDE x SIDE points
// (default: 500) with a vector, of cg and amg to a relative residual of 1e-8, and of a product of dense
// matrices with N rows (default: 1000), also by three plain loops; the first call of each, which compiles
// programs, apart from the median of the others.
#include "support/measure.hpp"

#include <echelon/echelon.hpp>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

namespace ec = echelon;

namespace {

constexpr int runs = 5;

double seconds_of(const std::function<void()>& f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void print_row(const std::string& work, const ec::Device& device, const std::function<void()>& f) {
  const double first = seconds_of(f);
  std::printf("| %s | %s | %.4f | %.6f |\n", work.c_str(), device.name().c_str(), first,
              ec::bench::median_seconds(runs, f));
}

void measure_product(const ec::Device& device, const ec::Csr<double>& host) {
  const ec::Csr<double> A = host.to(device);
  const std::vector<double> ones(static_cast<std::size_t>(A.rows()), 1.0);
  const ec::Dense<double> x(device, std::span<const double>(ones));
  ec::Dense<double> y(device, std::span<const double>(ones));
  ec::Context context(device);
  constexpr int repetitions = 20;
  print_row("20 products A x", device, [&] {
    for (int k = 0; k < repetitions; ++k) {
      ec::multiply<double>(context, 1.0, ec::MatrixRef<double>(A), x.view(), 0.0, y.view());
    }
    static_cast<void>(y.to_vector());
  });
}

void measure_solve(const std::string& method, const ec::Device& device, const ec::Csr<double>& host) {
  const ec::Csr<double> A = host.to(device);
  const std::vector<double> ones(static_cast<std::size_t>(A.rows()), 1.0);
  const ec::Dense<double> b(device, std::span<const double>(ones));
  ec::Dense<double> x(device, A.rows(), 1);
  print_row(method + ", set-up and solve", device, [&] {
    ec::Solver<double> solver = ec::make_solver<double>(method, device);
    static_cast<void>(solver.setup(A));
    const ec::Report report = solver.solve(b, x);
    if (!report.solved()) std::printf("%s: %s\n", method.c_str(), report.message.c_str());
  });
}

void measure_dense(const ec::Device& device, std::int64_t n) {
  const std::vector<double> numbers(static_cast<std::size_t>(n * n), 0.5);
  const ec::Dense<double> A(n, n, ec::Array<double>(device, std::span<const double>(numbers)));
  ec::Dense<double> C(device, n, n);
  ec::Context context(device);
  print_row("dense A A", device, [&] {
    ec::multiply<double>(context, 1.0, ec::MatrixRef<double>(A), A.view(), 0.0, C.view());
    static_cast<void>(C.to_vector());
  });
}

void measure_plain(std::int64_t n) {
  const std::vector<double> a(static_cast<std::size_t>(n * n), 0.5);
  std::vector<double> c(a.size());
  print_row("dense A A, three plain loops", ec::Device::serial(), [&] {
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (std::int64_t k = 0; k < n; ++k)
          sum += a[static_cast<std::size_t>(i + k * n)] * a[static_cast<std::size_t>(k + j * n)];
        c[static_cast<std::size_t>(i + j * n)] = sum;
      }
    }
  });
}

}  // namespace

int main(int argc, char** argv) {
  const std::int64_t side = argc > 1 ? std::atoll(argv[1]) : 500;
  const std::int64_t n = argc > 2 ? std::atoll(argv[2]) : 1000;
  std::vector<ec::Device> devices = {ec::Device::serial(), ec::Device::openmp()};
  for (int id = 0; id < ec::opencl_device_count(); ++id) devices.push_back(ec::Device::opencl(id));
  for (const ec::Device& device : devices) {
    std::printf("%s: %s\n", device.name().c_str(), ec::hardware(device).c_str());
  }
  std::printf("\n| work | device | first, s | median, s |\n| --- | --- | ---: | ---: |\n");
  const ec::Csr<double> A = ec::generate::poisson_2d<double>(side, side);
  for (const ec::Device& device : devices) measure_product(device, A);
  for (const char* method : {"cg", "amg"}) {
    for (const ec::Device& device : devices) measure_solve(method, device, A);
  }
  for (const ec::Device& device : devices) measure_dense(device, n);
  measure_plain(n);
}
