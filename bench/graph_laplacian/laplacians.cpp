// SPDX-License-Identifier: BSD-3-Clause
// Methods for graph Laplacians, in processor time on one core for each edge, or in time on several threads.
//   bench_laplacians [--runs N] [--methods NAME,NAME...] [--write DIR] [--part NAME] [--threads N,N...]
//                    [FILE...]
// Takes the files, adjacency matrices or Laplacians of any format, and generated graphs whose name contains
// --part (all). Prints for each graph and method microseconds for each edge of set-up and solve to 1e-8, best
// of N runs (2), and the iterations; for `auto` the whole call of solve(), analysis included. The methods are
// auto, approximate-cholesky, approximate-cholesky:split=2 and so on, cg:preconditioner=jacobi. --write
// stores matrix and right-hand side for bench/graph_laplacian/peers.py. With --threads each method runs on
// each number of threads, wall-clock times are measured, and the graphs have more than a million edges.
#include "right_hand_side.hpp"
#include "support/arguments.hpp"

#include <echelon/echelon.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace ec = echelon;

namespace {

using ec::bench::split;

struct Graph {
  std::string name;
  std::string generator;
  ec::Options options;
};

/// Graphs of more than a million edges.
std::vector<Graph> large() {
  return {{"large-grid-2d", "grid-2d", {{"nx", 1000}, {"ny", 1000}}},
          {"large-grid-2d-contrast",
           "grid-2d",
           {{"nx", 1000}, {"ny", 1000}, {"weights", "log-uniform"}, {"decades", 6}}},
          {"large-grid-3d", "grid-3d", {{"nx", 100}, {"ny", 100}, {"nz", 100}}},
          {"large-chimera", "chimera", {{"n", 500000}, {"seed", 4}}},
          {"large-barabasi-albert", "barabasi-albert", {{"n", 500000}, {"k", 3}}}};
}

std::vector<Graph> generated() {
  std::vector<Graph> graphs = {
      {"grid-2d", "grid-2d", {{"nx", 600}, {"ny", 600}}},
      {"grid-2d-contrast", "grid-2d", {{"nx", 600}, {"ny", 600}, {"weights", "log-uniform"}, {"decades", 6}}},
      {"grid-2d-anisotropic", "grid-2d", {{"nx", 600}, {"ny", 600}, {"weight_y", 1e-4}}},
      {"grid-3d", "grid-3d", {{"nx", 60}, {"ny", 60}, {"nz", 60}}},
      {"social-barabasi-albert", "barabasi-albert", {{"n", 150000}, {"k", 3}}},
      {"social-rmat", "rmat", {{"scale", 16}}},
      {"star-sachdeva", "sachdeva-star", {}},
  };
  for (std::int64_t seed = 1; seed <= 5; ++seed) {
    graphs.push_back({"chimera-" + std::to_string(seed), "chimera", {{"n", 50000}, {"seed", seed}}});
  }
  graphs.push_back({"chimera-weighted", "chimera", {{"n", 50000}, {"seed", 1}, {"weights", "chimera"}}});
  for (std::size_t k = 0, laplacians = graphs.size(); k < laplacians; ++k) {
    Graph sddm = graphs[k];
    sddm.name += "-sddm";
    sddm.options.set("form", "sddm");
    graphs.push_back(sddm);
  }
  return graphs;
}

double seconds(const ec::Device& device) {
  std::timespec time{};
  clock_gettime(device == ec::Device::serial() ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

ec::Csr<double> read_laplacian(const std::string& path) {
  const auto matrix = std::get<ec::Csr<double>>(ec::read_matrix<double>(path));
  return ec::laplacian(ec::adjacency(matrix), {.symmetrise = true});
}

/// int64 rows and nonzeros, int32 offsets and columns, double values and right-hand side.
void write(const std::string& path, const ec::Csr<double>& A, const std::vector<double>& b) {
  std::ofstream file(path, std::ios::binary);
  const auto put = [&](const auto* data, std::int64_t count) {
    file.write(reinterpret_cast<const char*>(data),
               static_cast<std::streamsize>(sizeof(*data) * static_cast<std::size_t>(count)));
  };
  const std::int64_t sizes[2] = {A.rows(), A.nonzeros()};
  put(sizes, 2);
  const std::vector<std::int32_t> offsets(A.row_offsets().data(), A.row_offsets().data() + A.rows() + 1);
  put(offsets.data(), A.rows() + 1);
  put(A.column_indices().data(), A.nonzeros());
  put(A.values().data(), A.nonzeros());
  put(b.data(), A.rows());
}

struct Result {
  double setup = 1e30;
  double solve = 1e30;
  ec::Report report;
};

Result measure(const std::string& text, const ec::Device& device, const ec::Csr<double>& A,
               const std::vector<double>& b) {
  const std::vector<std::string> parts = split(text, ':');
  Result result;
  const double start = seconds(device);
  if (parts[0] == "auto") {
    result.report = ec::solve(A, b, {.device = device}).report;
    result.setup = 0;
    result.solve = seconds(device) - start;
    return result;
  }
  ec::Options options;
  for (std::size_t k = 1; k < parts.size(); ++k) {
    const std::size_t equal = parts[k].find('=');
    options.set(parts[k].substr(0, equal), parts[k].substr(equal + 1));
  }
  auto solver = ec::make_solver<double>(parts[0], device, options);
  result.report = solver.setup(A);
  result.setup = seconds(device) - start;
  if (!result.report.ready()) return result;
  std::vector<double> x(b.size());
  result.report = solver.solve(b, x);
  result.solve = seconds(device) - start - result.setup;
  return result;
}

struct Plan {
  std::vector<std::string> methods;
  std::vector<ec::Device> devices;
  int runs;
  std::string folder;
};

void run(const std::string& name, const ec::Csr<double>& A, const Plan& plan) {
  const std::vector<double> b = ec::bench::consistent_right_hand_side(A);
  if (!plan.folder.empty()) write(plan.folder + "/" + name + ".bin", A, b);
  const double edges = static_cast<double>(A.nonzeros() - A.rows()) / 2;
  for (const std::string& method : plan.methods) {
    for (const ec::Device& device : plan.devices) {
      Result best;
      for (int k = 0; k < plan.runs; ++k) {
        const Result next = measure(method, device, A, b);
        if (next.setup + next.solve < best.setup + best.solve) best = next;
      }
      std::printf("| %s | %.0f | %s | %d | %.3f | %.3f | %.3f | %lld | %s |\n", name.c_str(), edges,
                  method.c_str(), device.threads(), 1e6 * best.setup / edges, 1e6 * best.solve / edges,
                  1e6 * (best.setup + best.solve) / edges, static_cast<long long>(best.report.iterations),
                  std::string(to_string(best.report.status)).c_str());
      std::fflush(stdout);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  ec::bench::Arguments arguments(argc, argv,
                                 "[--runs N] [--methods NAME,...] [--write DIR] [--part NAME] "
                                 "[--threads N,...] [FILE]...");
  Plan plan;
  plan.runs = arguments.option("--runs", 2);
  plan.methods = split(arguments.option("--methods", std::string("auto,approximate-cholesky")), ',');
  plan.folder = arguments.option("--write", std::string());
  const auto part = arguments.option("--part", std::string());
  const auto threads = arguments.option("--threads", std::string());
  const auto files = arguments.positionals("FILE");
  if (threads.empty()) {
    plan.devices = {ec::Device::serial()};
  } else {
    for (const std::string& count : split(threads, ',')) {
      plan.devices.push_back(ec::Device::openmp(std::stoi(count)));
    }
  }
  std::printf("| graph | edges | method | threads | set-up, us/edge | solve | sum | iterations | status |\n");
  std::printf("| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: | --- |\n");
  for (const Graph& graph : threads.empty() ? generated() : large()) {
    if (graph.name.find(part) == std::string::npos) continue;
    run(graph.name, std::get<ec::Csr<double>>(ec::make_matrix<double>(graph.generator, graph.options)), plan);
  }
  for (const std::string& path : files) {
    std::string name = path.substr(path.rfind('/') + 1);
    name = name.substr(0, name.find('.'));
    run(name, read_laplacian(path), plan);
  }
  return 0;
}
