// SPDX-License-Identifier: BSD-3-Clause
// amg on one core, on systems in files that other libraries' benchmarks read as well.
//   bench_amg_files --generate FILE PROBLEM:ROWS[:KEY=VALUE]...
//   bench_amg_files --convert FILE MATRIX.mtx
//   bench_amg_files [--method NAME] [--device NAME] [--runs N] [--options A=B,C=D...] FILE
// The first two write a system, PROBLEM a generator's name; the third solves it.
// A file has, in binary, the 64-bit rows n and nonzeros, 32-bit row offsets and columns, the values and b in
// double; b is random. Prints one line of JSON: seconds and processor seconds of set-up, solve and
// update_values to a relative residual of 1e-8, minima of N runs (3); iterations, the true residual, the
// operator complexity, and the largest memory of the process.
#include "support/arguments.hpp"
#include "support/measure.hpp"

#include <echelon/echelon.hpp>

#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace ec = echelon;

namespace {

using ec::bench::split;

template <class T>
void write(std::ofstream& file, const std::vector<T>& elements) {
  file.write(reinterpret_cast<const char*>(elements.data()),
             static_cast<std::streamsize>(elements.size() * sizeof(T)));
}
template <class T>
std::vector<T> read(std::ifstream& file, std::int64_t count) {
  std::vector<T> elements(static_cast<std::size_t>(count));
  file.read(reinterpret_cast<char*>(elements.data()),
            static_cast<std::streamsize>(elements.size() * sizeof(T)));
  return elements;
}

ec::Csr<double> make_problem(const std::string& text) {
  const std::vector<std::string> parts = split(text, ':');
  const ec::Generator& generator = ec::find_generator(parts[0]);
  ec::Options options = generator.for_rows(std::stoll(parts.at(1)));
  for (std::size_t p = 2; p < parts.size(); ++p) {
    const std::size_t equal = parts[p].find('=');
    options.set(parts[p].substr(0, equal), parts[p].substr(equal + 1));
  }
  return std::get<ec::Csr<double>>(ec::make_matrix<double>(generator.name, options));
}

void write_system(const std::string& name, const ec::Csr<double>& A) {
  std::ofstream file(name, std::ios::binary);
  const std::vector<std::int64_t> offsets = A.row_offsets().to_vector();
  std::mt19937_64 random(1);
  std::vector<double> b(static_cast<std::size_t>(A.rows()));
  for (double& value : b) value = std::uniform_real_distribution<double>(-1, 1)(random);
  write(file, std::vector<std::int64_t>{A.rows(), A.nonzeros()});
  write(file, std::vector<std::int32_t>(offsets.begin(), offsets.end()));
  write(file, A.column_indices().to_vector());
  write(file, A.values().to_vector());
  write(file, b);
}

struct System {
  ec::Csr<double> A;
  std::vector<double> b;
};

System read_system(const std::string& name) {
  std::ifstream file(name, std::ios::binary);
  const std::vector<std::int64_t> sizes = read<std::int64_t>(file, 2);
  const std::vector<std::int32_t> narrow = read<std::int32_t>(file, sizes[0] + 1);
  const std::vector<std::int64_t> offsets(narrow.begin(), narrow.end());
  const std::vector<std::int32_t> columns = read<std::int32_t>(file, sizes[1]);
  const std::vector<double> values = read<double>(file, sizes[1]);
  const ec::Device host;
  return {ec::Csr<double>(sizes[0], sizes[0],
                          ec::Array<std::int64_t>(host, std::span<const std::int64_t>(offsets)),
                          ec::Array<std::int32_t>(host, std::span<const std::int32_t>(columns)),
                          ec::Array<double>(host, std::span<const double>(values))),
          read<double>(file, sizes[0])};
}

double seconds(clockid_t clock) {
  std::timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Smallest elapsed and processor seconds of several calls.
struct Least {
  double elapsed = std::numeric_limits<double>::infinity();
  double processor = std::numeric_limits<double>::infinity();
  template <class F>
  void measure(F f) {
    const double start = seconds(CLOCK_MONOTONIC);
    const double processor_start = seconds(CLOCK_PROCESS_CPUTIME_ID);
    f();
    elapsed = std::min(elapsed, seconds(CLOCK_MONOTONIC) - start);
    processor = std::min(processor, seconds(CLOCK_PROCESS_CPUTIME_ID) - processor_start);
  }
};

void solve(const System& system, const std::string& method, const ec::Device& device, std::int64_t runs,
           const std::string& set) {
  ec::Options options{{"preconditioner", "amg"}};
  for (const std::string& pair : split(set, ',')) {
    const std::size_t equal = pair.find('=');
    if (equal != std::string::npos)
      options.set("preconditioner." + pair.substr(0, equal), pair.substr(equal + 1));
  }
  ec::Solver<double> solver = ec::make_solver<double>(method, device, options);
  const ec::Csr<double> A = system.A.to(device);
  std::vector<double> x(system.b.size());
  Least setup;
  Least solution;
  Least update;
  ec::Report report;
  ec::Report prepared;
  for (std::int64_t run = 0; run < runs; ++run) {
    setup.measure([&] { prepared = solver.setup(A); });
    solution.measure([&] { report = solver.solve(system.b, x); });
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  for (std::int64_t run = 0; run < runs; ++run) update.measure([&] { prepared = solver.update_values(A); });
  const ec::Statistic* complexity = prepared.find_statistic("preconditioner.operator_complexity");
  const double operator_complexity = complexity != nullptr ? std::get<double>(complexity->value) : 0;
  std::printf(
      "{\"setup\":%g,\"setup_cpu\":%g,\"solve\":%g,\"solve_cpu\":%g,\"update_cpu\":%g,\"iters\":%lld,\"rel\":"
      "%g,"
      "\"oc\":%g,\"peak_mb\":%.0f}\n",
      setup.elapsed, setup.processor, solution.elapsed, solution.processor, update.processor,
      static_cast<long long>(report.iterations), report.relative_residual, operator_complexity,
      static_cast<double>(usage.ru_maxrss) / 1024);
}

}  // namespace

int main(int argc, char** argv) {
  ec::bench::Arguments arguments(
      argc, argv,
      "[--generate FILE | --convert FILE] [--method NAME] [--device NAME] [--runs N] "
      "[--options SET] PROBLEM|MATRIX|FILE");
  const auto generated = arguments.option<std::string>("--generate", "");
  const auto converted = arguments.option<std::string>("--convert", "");
  const auto method = arguments.option<std::string>("--method", "cg");
  const auto device = ec::Device::parse(arguments.option<std::string>("--device", "serial"));
  const auto runs = arguments.option<std::int64_t>("--runs", 3);
  const auto set = arguments.option<std::string>("--options", "");
  const std::vector<std::string> inputs = arguments.positionals("input");
  arguments.finish();
  for (const std::string& input : inputs) {
    if (!generated.empty()) {
      write_system(generated, make_problem(input));
    } else if (!converted.empty()) {
      write_system(converted, ec::read_matrix_market<double>(input));
    } else {
      solve(read_system(input), method, device, runs, set);
    }
  }
}
