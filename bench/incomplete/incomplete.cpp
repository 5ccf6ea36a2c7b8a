// SPDX-License-Identifier: BSD-3-Clause
// Conjugate gradients with IC(0), ILU(0) and Jacobi on one core.
//   bench_incomplete FILE...
// prints a Markdown table: for each matrix and preconditioner the iterations until ||b - A x|| <= 1e-8 ||b||
// with b = A 1 (or the status, if that is not reached), and the milliseconds of set-up and solve; for IC(0)
// also shift and attempts. Milliseconds are processor time, medians of 5.
#include "support/arguments.hpp"
#include "support/measure.hpp"

#include <echelon/echelon.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

namespace ec = echelon;

namespace {

using ec::bench::Clock;

struct Measured {
  ec::Report report;
  double milliseconds = 0;
};

Measured solve(const ec::Csr<double>& A, const char* preconditioner) {
  const std::int64_t n = A.rows();
  ec::Dense<double> b(ec::Device(), n, 1);
  ec::Dense<double> x(ec::Device(), n, 1);
  std::fill_n(x.data(), n, 1.0);
  ec::multiply<double>(1, A, x, 0, b);
  ec::Cg<double> cg(ec::Device::serial(), {.preconditioner = preconditioner});
  Measured measured;
  std::vector<double> times;
  for (int run = 0; run < 5; ++run) {
    const double start = ec::bench::milliseconds(Clock::thread);
    measured.report = cg.setup(A);
    if (measured.report.ready()) measured.report = cg.solve(b, x);
    times.push_back(ec::bench::milliseconds(Clock::thread) - start);
  }
  measured.milliseconds = ec::bench::median(std::move(times));
  return measured;
}

std::string value_of(const ec::Report& report, const char* name) {
  const ec::Statistic* statistic = report.find_statistic(name);
  if (statistic == nullptr) return "";
  const std::string text = to_string(*statistic);
  return text.substr(text.rfind(' ') + 1);
}

void print_row(const std::filesystem::path& file) {
  const auto A = ec::to_csr<double>(ec::read_matrix<double>(file.string()));
  std::string name = file.filename().string();
  name = name.substr(0, name.find('.'));
  std::printf("| %s | %lld | %lld |", name.c_str(), static_cast<long long>(A.rows()),
              static_cast<long long>(A.nonzeros()));
  for (const char* preconditioner : {"ic0", "ilu0", "jacobi"}) {
    const Measured measured = solve(A, preconditioner);
    const ec::Report& report = measured.report;
    const std::string outcome = report.status == ec::Status::converged
                                    ? std::to_string(report.iterations)
                                    : std::string(to_string(report.status));
    std::printf(" %s | %.1f |", outcome.c_str(), measured.milliseconds);
    if (std::string(preconditioner) != "ic0") continue;
    std::printf(" %s | %s |", value_of(report, "preconditioner.shift").c_str(),
                value_of(report, "preconditioner.attempts").c_str());
  }
  std::printf("\n");
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  ec::bench::Arguments arguments(argc, argv, "FILE...");
  const std::vector<std::string> files = arguments.positionals("matrix");
  arguments.finish();
  std::printf(
      "| matrix | rows | nonzeros | ic0 iterations | ms | shift | attempts | ilu0 iterations | ms | jacobi "
      "iterations | ms |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n");
  for (const std::string& file : files) print_row(file);
}
