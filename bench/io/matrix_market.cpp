// SPDX-License-Identifier: BSD-3-Clause
// Speed and memory of reading Matrix Market files, compared with SciPy's reader.
//   bench_matrix_market [FOLDER] [RUNS]
// makes files of more than 100 MB of text each in FOLDER (default: /tmp) and prints a table in Markdown. All
// rates are in MB of uncompressed text. Every file is read in a new process. SciPy is
// run by $PYTHON (default: python3) with matrix_market_scipy.py, which is in the folder of this file.
#include "support/arguments.hpp"

#include <echelon/io/matrix_market.hpp>

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

namespace ec = echelon;

namespace {

struct Sample {
  double seconds = 0;
  double cpu_seconds = 0;
  double peak_bytes = 0;  ///< growth of the resident set, text and result included
};

double megabytes(const std::string& path) {
  return static_cast<double>(std::filesystem::file_size(path)) / 1e6;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

Sample median(const std::vector<Sample>& samples) {
  const auto of = [&](double Sample::*member) {
    std::vector<double> values;
    for (const Sample& sample : samples) values.push_back(sample.*member);
    return median(values);
  };
  return {of(&Sample::seconds), of(&Sample::cpu_seconds), of(&Sample::peak_bytes)};
}

/// A line of /proc/self/status, in bytes.
double status_bytes(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    double kilobytes = 0;
    if (word == key && status >> kilobytes) return kilobytes * 1024;
  }
  return 0;
}

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// Implements --read: reads a file and prints time and memory, as the script for SciPy does.
void read_and_print(const std::string& path, int threads) {
  const double resident = status_bytes("VmRSS:");
  const double cpu = cpu_seconds();
  const auto start = std::chrono::steady_clock::now();
  const auto file = ec::read_matrix_market_file<double>(path, threads);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  fmt::print("{} {} {}\n", elapsed.count(), cpu_seconds() - cpu, status_bytes("VmHWM:") - resident);
}

/// 7-point stencil on an n^3 grid with random coefficients, rows in order.
ec::Csr<double> stencil(std::int32_t n) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  std::vector<ec::Triplet<double>> triplets;
  const std::int32_t size = n * n * n;
  for (std::int32_t row = 0; row < size; ++row) {
    for (const std::int32_t offset : {-n * n, -n, -1, 0, 1, n, n * n}) {
      if (row + offset >= 0 && row + offset < size) triplets.push_back({row, row + offset, normal(random)});
    }
  }
  return ec::Csr<double>::from_triplets(size, size, triplets);
}

/// The elements of `matrix` as lines of text; of the lower triangle only if `lower`.
std::vector<std::string> lines_of(const ec::Csr<double>& matrix, bool lower, bool values) {
  std::vector<std::string> lines;
  for (std::int64_t i = 0; i < matrix.rows(); ++i) {
    for (std::int64_t k = matrix.row_offsets()[i]; k < matrix.row_offsets()[i + 1]; ++k) {
      const std::int32_t j = matrix.column_indices()[k];
      if (lower && j > i) continue;
      lines.push_back(values ? fmt::format("{} {} {}\n", i + 1, j + 1, matrix.values()[k])
                             : fmt::format("{} {}\n", i + 1, j + 1));
    }
  }
  return lines;
}

void write_lines(const std::string& path, const std::string& kind, std::int64_t size,
                 const std::vector<std::string>& lines) {
  std::ofstream file(path);
  file << fmt::format("%%MatrixMarket matrix {}\n{} {} {}\n", kind, size, size, lines.size());
  for (const std::string& line : lines) file << line;
}

struct Case {
  std::string name, path;
  double text_megabytes = 0;  ///< uncompressed
  double csr_bytes = 0;
};

std::vector<Case> make_files(const std::string& folder) {
  const auto path = [&](const char* name) { return folder + "/echelon_bench_" + name; };
  const auto small = stencil(90);
  const auto large = stencil(110);
  const auto bytes = [](const auto& matrix) { return static_cast<double>(matrix.bytes()); };
  std::vector<Case> cases = {{"real general, by rows", path("rows.mtx"), 0, bytes(small)},
                             {"real general, shuffled", path("shuffled.mtx"), 0, bytes(small)},
                             {"real symmetric", path("symmetric.mtx"), 0, bytes(large)},
                             {"pattern general, shuffled", path("pattern.mtx"), 0, bytes(large)},
                             {"real general, by rows, gzip", path("rows.mtx.gz"), 0, bytes(small)}};
  std::mt19937_64 random(2);
  ec::write_matrix_market<double>(cases[0].path, small);
  auto lines = lines_of(small, false, true);
  std::shuffle(lines.begin(), lines.end(), random);
  write_lines(cases[1].path, "coordinate real general", small.rows(), lines);
  write_lines(cases[2].path, "coordinate real symmetric", large.rows(), lines_of(large, true, true));
  lines = lines_of(large, false, false);
  std::shuffle(lines.begin(), lines.end(), random);
  write_lines(cases[3].path, "coordinate pattern general", large.rows(), lines);
  ec::write_matrix_market<double>(cases[4].path, small);
  for (Case& file : cases) file.text_megabytes = megabytes(file.path);
  cases[4].text_megabytes = cases[0].text_megabytes;
  return cases;
}

/// Output of a program that reads a file in a new process, whose memory no earlier work has grown. All zero
/// if it cannot be run.
Sample printed_by(const std::string& command) {
  Sample sample;
  if (std::FILE* const output = popen(command.c_str(), "r")) {
    if (std::fscanf(output, "%lf %lf %lf", &sample.seconds, &sample.cpu_seconds, &sample.peak_bytes) != 3) {
      sample = {};
    }
    pclose(output);
  }
  return sample;
}

Sample read_with_echelon(const std::string& path, int threads) {
  const auto self = std::filesystem::read_symlink("/proc/self/exe").string();
  return printed_by(fmt::format("{} --read {} {}", self, path, threads));
}

Sample read_with_scipy(const std::string& path) {
  const char* const python = std::getenv("PYTHON");
  const auto script = std::filesystem::path(__FILE__).parent_path() / "matrix_market_scipy.py";
  return printed_by(fmt::format("{} {} {}", python != nullptr ? python : "python3", script.string(), path));
}

void compare(const Case& file, int runs) {
  constexpr std::array threads = {1, 2};
  std::array<std::vector<Sample>, threads.size()> ours;
  std::vector<Sample> scipy;
  for (int run = 0; run < runs; ++run) {
    for (std::size_t t = 0; t < threads.size(); ++t) {
      ours[t].push_back(read_with_echelon(file.path, threads[t]));
    }
    if (run < 3) scipy.push_back(read_with_scipy(file.path));
  }
  const double size = file.text_megabytes;
  const Sample one = median(ours[0]);
  const Sample two = median(ours[1]);
  const Sample peer = median(scipy);
  fmt::print(
      "| {} | {:.0f} | {:.0f} | {:.0f} | {:.0f} | {:.2f} | {:.2f} | {:.2f} | {:.1f} | {:.2f} | {:.0f} |\n",
      file.name, size, size / one.seconds, size / one.cpu_seconds, size / two.seconds,
      one.seconds / two.seconds, one.peak_bytes / file.csr_bytes, two.peak_bytes / file.csr_bytes,
      size / peer.seconds, peer.peak_bytes / file.csr_bytes, peer.seconds / one.seconds);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  ec::bench::Arguments arguments(argc, argv, "[FOLDER] [RUNS]");
  const auto file_to_read = arguments.option("--read", std::string());
  if (!file_to_read.empty()) {
    const int threads = arguments.positional("THREADS", 1);
    arguments.finish();
    read_and_print(file_to_read, threads);
    return 0;
  }
  const auto folder = arguments.positional("FOLDER", std::string("/tmp"));
  const int runs = arguments.positional("RUNS", 5);
  arguments.finish();
  const auto files = make_files(folder);
  fmt::print(
      "| file | MB | 1 thread, MB/s | per CPU second | 2 threads, MB/s | ratio | peak/CSR, 1 thread | "
      "2 threads | SciPy, MB/s | SciPy peak/CSR | time of SciPy / 1 thread |\n"
      "|---|---|---|---|---|---|---|---|---|---|---|\n");
  for (const Case& file : files) {
    compare(file, runs);
    std::filesystem::remove(file.path);
  }
}
