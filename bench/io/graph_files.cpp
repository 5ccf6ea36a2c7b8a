// SPDX-License-Identifier: BSD-3-Clause
// Speed of reading graphs and binary matrices, compared with a plain parser that checks nothing.
//   bench_graph_files [FOLDER] [EDGES] [RUNS]
// makes files of a random graph in FOLDER (default: /tmp) and prints a table in Markdown. Rates are MB of the
// file by CPU second, which a busy machine disturbs less than wall time, and with two threads by second of
// wall time.
#include "support/arguments.hpp"
#include "support/measure.hpp"

#include <echelon/io/edge_list.hpp>
#include <echelon/io/metis.hpp>
#include <echelon/io/npy.hpp>
#include <echelon/io/petsc.hpp>

#include <fmt/format.h>

#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace ec = echelon;

namespace {

double now(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Median seconds of `clock` that `work` takes.
double median_on(clockid_t clock, int runs, const std::function<void()>& work) {
  std::vector<double> seconds;
  for (int run = 0; run < runs; ++run) {
    const double start = now(clock);
    work();
    seconds.push_back(now(clock) - start);
  }
  return ec::bench::median(std::move(seconds));
}

/// Makes a random graph without loops and multiple edges. Edge lists name vertex i by `stride` i.
ec::Csr<double> random_graph(std::int32_t vertices, std::int64_t edges) {
  std::mt19937_64 random(1);
  std::vector<ec::Triplet<double>> triplets;
  for (std::int64_t k = 0; k < edges; ++k) {
    const auto u = static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(vertices));
    const auto v = static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(vertices));
    if (u == v) continue;
    triplets.push_back({u, v, 1});
    triplets.push_back({v, u, 1});
  }
  auto graph = ec::Csr<double>::from_triplets(vertices, vertices, triplets);
  for (std::int64_t k = 0; k < graph.nonzeros(); ++k) graph.values()[k] = 1;
  return graph;
}

std::string content_of(const std::string& path) {
  std::string text(std::filesystem::file_size(path), '\0');
  std::ifstream(path, std::ios::binary).read(text.data(), static_cast<std::streamsize>(text.size()));
  return text;
}

/// Calls `number` for each run of digits and `line_end` at the end of each line.
template <class Number, class LineEnd>
void plain_numbers(const std::string& text, Number number, LineEnd line_end) {
  const char* at = text.c_str();
  for (;;) {
    while (*at == ' ' || *at == '\t') ++at;
    if (*at == '\n') {
      line_end();
      ++at;
    } else if (*at == '#') {
      while (*at != '\n') ++at;
    } else if (*at == '\0') {
      return;
    } else {
      std::int64_t value = 0;
      for (; *at >= '0' && *at <= '9'; ++at) value = 10 * value + (*at - '0');
      number(value);
    }
  }
}

/// Neighbours and offsets of a METIS file in which nothing is wrong; returns something that depends on all.
std::int64_t plain_metis(const std::string& path) {
  const std::string text = content_of(path);
  std::vector<std::int64_t> offsets;
  std::vector<std::int32_t> neighbours;
  std::vector<double> weights;
  std::int64_t header = 2;
  plain_numbers(
      text,
      [&](std::int64_t value) {
        if (header-- > 0) return;
        neighbours.push_back(static_cast<std::int32_t>(value - 1));
        weights.push_back(1);
      },
      [&] { offsets.push_back(static_cast<std::int64_t>(neighbours.size())); });
  return offsets.back() + neighbours.back();
}

/// A symmetric CSR from a list whose vertices are rows already, each edge given once.
std::int64_t plain_edge_list(const std::string& path) {
  const std::string text = content_of(path);
  std::vector<std::int64_t> ends;
  plain_numbers(
      text, [&](std::int64_t value) { ends.push_back(value); }, [] {});
  const std::int64_t vertices = *std::max_element(ends.begin(), ends.end()) + 1;
  std::vector<std::int64_t> next(static_cast<std::size_t>(vertices + 1));
  for (const std::int64_t end : ends) ++next[static_cast<std::size_t>(end)];
  std::exclusive_scan(next.begin(), next.end(), next.begin(), std::int64_t{0});
  std::vector<std::int32_t> columns(ends.size());
  std::vector<double> values(ends.size(), 1);
  for (std::size_t k = 0; k < ends.size(); k += 2) {
    columns[static_cast<std::size_t>(next[static_cast<std::size_t>(ends[k])]++)] =
        static_cast<std::int32_t>(ends[k + 1]);
    columns[static_cast<std::size_t>(next[static_cast<std::size_t>(ends[k + 1])]++)] =
        static_cast<std::int32_t>(ends[k]);
  }
  return columns.back();
}

struct Case {
  std::string name;
  std::string path;
  std::function<void(int threads)> read;
  std::function<void()> plain;  ///< the plain parser
};

void print_row(const Case& file, int runs) {
  const double megabytes = static_cast<double>(std::filesystem::file_size(file.path)) / 1e6;
  const double cpu = median_on(CLOCK_PROCESS_CPUTIME_ID, runs, [&] { file.read(1); });
  const double wall = median_on(CLOCK_MONOTONIC, runs, [&] { file.read(2); });
  const double plain = median_on(CLOCK_PROCESS_CPUTIME_ID, runs, file.plain);
  fmt::print("| {} | {:.0f} | {:.0f} | {:.0f} | {:.0f} | {:.2f} |\n", file.name, megabytes, megabytes / cpu,
             megabytes / wall, megabytes / plain, plain / cpu);
  std::fflush(stdout);
}

/// Files of a folder that the program writes, measures and removes.
class BenchFiles {
 public:
  /// Writes a random graph in every format, and a dense array.
  BenchFiles(std::string folder, std::int64_t edges) : folder_(std::move(folder)) {
    const auto vertices = static_cast<std::int32_t>(edges / 8);
    const ec::Csr<double> graph = random_graph(vertices, edges);
    std::vector<std::int64_t> sparse_labels(static_cast<std::size_t>(vertices));
    for (std::size_t k = 0; k < sparse_labels.size(); ++k)
      sparse_labels[k] = static_cast<std::int64_t>(k) * 1000000007;
    ec::MetisGraph<double> metis;
    metis.adjacency = graph;
    ec::write_metis(path(".graph"), metis);
    ec::write_edge_list(path(".edges"), graph);
    ec::write_edge_list(path("-sparse.edges"), graph, false, sparse_labels);
    ec::write_petsc<double>(path(".petsc"), graph);
    const std::int64_t side = 4000;
    ec::Dense<double> dense(ec::Device(), side, side);
    for (std::int64_t k = 0; k < side * side; ++k) dense[k] = static_cast<double>(k);
    ec::write_npy<double>(path(".npy"), dense);
  }
  BenchFiles(const BenchFiles&) = delete;
  BenchFiles& operator=(const BenchFiles&) = delete;
  ~BenchFiles() {
    std::error_code ignored;
    for (const char* name : {".graph", ".edges", "-sparse.edges", ".petsc", ".npy"})
      std::filesystem::remove(path(name), ignored);
  }

  [[nodiscard]] std::string path(const char* name) const { return folder_ + "/echelon-bench" + name; }

 private:
  std::string folder_;
};

/// Prints a row for each format; returns a number that depends on all that was read.
std::int64_t measure(const BenchFiles& files, int runs) {
  std::int64_t sum = 0;
  const auto load = [&](const char* name) { sum += content_of(files.path(name)).back(); };
  const auto edge_list = [&](const char* name, bool directed, int threads) {
    const auto read =
        ec::read_edge_list<double>(files.path(name), {.directed = directed, .threads = threads});
    sum += read.adjacency.nonzeros();
  };
  const auto plain_edges = [&] { sum += plain_edge_list(files.path(".edges")); };
  const auto row = [&](const char* name, const char* file, const std::function<void(int)>& read,
                       const std::function<void()>& plain) {
    print_row({name, files.path(file), read, plain}, runs);
  };
  row(
      "METIS graph", ".graph",
      [&](int threads) { sum += ec::read_metis<double>(files.path(".graph"), threads).adjacency.nonzeros(); },
      [&] { sum += plain_metis(files.path(".graph")); });
  row(
      "edge list, numbers 0 to n - 1", ".edges", [&](int threads) { edge_list(".edges", false, threads); },
      plain_edges);
  row(
      "the same, directed", ".edges", [&](int threads) { edge_list(".edges", true, threads); }, plain_edges);
  row(
      "edge list, numbers up to 10^15", "-sparse.edges",
      [&](int threads) { edge_list("-sparse.edges", false, threads); }, [&] { load("-sparse.edges"); });
  row(
      "PETSc AIJ (and loading the bytes)", ".petsc",
      [&](int) {
        const auto file = ec::read_petsc<double>(files.path(".petsc"));
        sum += ec::MatrixRef<double>(file.matrix).nonzeros();
      },
      [&] { load(".petsc"); });
  row(
      ".npy (and loading the bytes)", ".npy",
      [&](int) { sum += ec::read_npy<double>(files.path(".npy")).rows(); }, [&] { load(".npy"); });
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  ec::bench::Arguments arguments(argc, argv, "[FOLDER] [EDGES] [RUNS]");
  const auto folder = arguments.positional("FOLDER", std::string("/tmp"));
  const auto edges = arguments.positional("EDGES", std::int64_t{8'000'000});
  const int runs = arguments.positional("RUNS", 3);
  arguments.finish();
  const BenchFiles files(folder, edges);
  fmt::print(
      "| file | MB | MB by CPU second, 1 thread | MB/s, 2 threads | plain parser, MB by CPU second | ratio "
      "|\n");
  fmt::print("|---|---|---|---|---|---|\n");
  return measure(files, runs) == 0 ? 1 : 0;
}
