// SPDX-License-Identifier: BSD-3-Clause
// lamg, alone and inside conjugate gradients, compared with conjugate gradients with Jacobi, on graphs of
// five classes.
//   bench_lamg [--device NAME] [--class NAME] [--data FOLDER] [--runs N] [--levels] [--columns N,...]
//   [--method [DEVICE/]NAME[:KEY=VALUE]...,...] [FAMILY:KEY=VALUE...]...
// Classes are grids, meshes, roads, social and chimera; without --class all of them, with FAMILYs these
// alone, or large-grid-3d:n=N, made by all threads. Meshes, roads and most social graphs are files in the
// folder of test data; weights are 1. Methods are lamg, approximate-cholesky, and preconditioners of cg, with
// their options and on devices of their own where these are named: serial/lamg,openmp:16/lamg:parallel=true.
// The right-hand side is L x for a random x, the tolerance 1e-8. Prints a Markdown table: for each graph its
// edges, microseconds per edge of set-up and solve (processor time of the thread on serial, elapsed time
// elsewhere; medians of N runs, 3) and cycles. --levels prints the levels of lamg first, --columns solves for
// N right-hand sides at once. The last lines have the medians of each class over graphs of 10,000 edges or
// more.
#include "support/arguments.hpp"
#include "support/measure.hpp"

#include <echelon/echelon.hpp>
#include <echelon/methods/multigrid/hierarchy.hpp>

#include <cstdio>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace ec = echelon;

namespace {

struct Problem {
  std::string group;
  std::string name;  ///< FAMILY:KEY=VALUE..., or a file in the folder of test data
};

std::vector<Problem> problems() {
  std::vector<Problem> list = {
      {"grids", "grid-2d:nx=1000:ny=1000"},
      {"grids", "grid-2d:nx=1000:ny=1000:weight_y=1e-4"},
      {"grids", "grid-2d:nx=1000:ny=1000:weights=log-uniform"},
      {"grids", "grid-3d:nx=100:ny=100:nz=100"},
      {"grids", "grid-3d:nx=100:ny=100:nz=100:weight_y=1e-4:weight_z=1e-4"},
      {"grids", "grid-3d:nx=100:ny=100:nz=100:weights=log-uniform"},
      {"grids", "spe10-like:nx=100:ny=100:nz=100"},
      {"social", "barabasi-albert:n=500000"},
      {"social", "rmat:scale=18:edge_factor=8"},
  };
  for (const std::string file :
       {"blckhole.mtx.gz", "delaunay_n16.mtx.gz", "walshaw_3elt.graph.gz", "walshaw_4elt.graph.gz",
        "walshaw_bcsstk33.graph.gz", "walshaw_crack.graph.gz", "walshaw_cs4.graph.gz",
        "walshaw_data.graph.gz", "walshaw_fe_body.graph.gz", "walshaw_fe_sphere.graph.gz",
        "walshaw_finan512.graph.gz", "walshaw_wing.graph.gz"}) {
    list.push_back({"meshes", "graph_mesh/" + file});
  }
  for (const std::string file : {"luxembourg_osm.mtx.gz", "osm_isle_of_man.mtx.gz"}) {
    list.push_back({"roads", "graph_road/" + file});
  }
  for (const std::string file :
       {"dimacs10_PGPgiantcompo.graph.gz", "dimacs10_polblogs.graph.gz", "musae_twitch_DE.mtx.gz",
        "snap_ca_CondMat.mtx.gz", "snap_cit_HepPh.mtx.gz", "snap_email_Enron.mtx.gz",
        "snap_facebook_combined.mtx.gz", "snap_soc_Slashdot0902_u.mtx.gz"}) {
    list.push_back({"social", "graph_social/" + file});
  }
  for (const std::string weights : {"unit", "chimera"}) {
    for (const std::string form : {"laplacian", "sddm"}) {
      for (const std::string seed : {"1", "2", "3", "4", "5"}) {
        list.push_back(
            {"chimera", "chimera:n=200000:weights=" + weights + ":form=" + form + ":seed=" + seed});
      }
    }
  }
  return list;
}

/// The Laplacian with weights 1 of the pattern of a matrix.
ec::Csr<double> unit_laplacian(const ec::Csr<double>& A) {
  std::vector<ec::Triplet<double>> triplets;
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
      const auto row = static_cast<std::int32_t>(i);
      const std::int32_t column = A.column_indices()[k];
      if (column != row) triplets.push_back({row, column, 1});
      if (column != row) triplets.push_back({column, row, 1});
    }
  }
  ec::Csr<double> sum = ec::Csr<double>::from_triplets(A.rows(), A.rows(), triplets);
  triplets.clear();
  for (std::int64_t i = 0; i < sum.rows(); ++i) {
    const auto row = static_cast<std::int32_t>(i);
    const std::int64_t begin = sum.row_offsets()[i];
    const std::int64_t end = sum.row_offsets()[i + 1];
    for (std::int64_t k = begin; k < end; ++k) triplets.push_back({row, sum.column_indices()[k], -1});
    triplets.push_back({row, row, static_cast<double>(end - begin)});
  }
  return ec::Csr<double>::from_triplets(A.rows(), A.rows(), triplets);
}

/// Laplacian of an n by n by n grid with weights 1, by all threads: for sizes at which the generators take
/// minutes.
ec::Csr<double> large_grid(std::int64_t n) {
  const std::int64_t rows = n * n * n;
  const std::int64_t steps[] = {n * n, n, 1};
  ec::Array<std::int64_t> offsets(ec::Device(), rows + 1);
  const auto place = [=](std::int64_t i, int d) { return i / steps[d] % n; };
  offsets[0] = 0;
  for (std::int64_t i = 0; i < rows; ++i) {
    std::int64_t length = 1;
    for (int d = 0; d < 3; ++d) length += (place(i, d) > 0 ? 1 : 0) + (place(i, d) < n - 1 ? 1 : 0);
    offsets[i + 1] = offsets[i] + length;
  }
  ec::Array<std::int32_t> columns(ec::Device(), offsets[rows]);
  ec::Array<double> values(ec::Device(), offsets[rows]);
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < rows; ++i) {
    std::int64_t k = offsets[i];
    const auto put = [&](std::int64_t column, double value) {
      columns[k] = static_cast<std::int32_t>(column);
      values[k++] = value;
    };
    for (int d = 0; d < 3; ++d) {
      if (place(i, d) > 0) put(i - steps[d], -1);
    }
    put(i, static_cast<double>(offsets[i + 1] - offsets[i] - 1));
    for (int d = 2; d >= 0; --d) {
      if (place(i, d) < n - 1) put(i + steps[d], -1);
    }
  }
  return {rows, rows, std::move(offsets), std::move(columns), std::move(values)};
}

ec::Csr<double> make_problem(const std::string& name, const std::string& data) {
  if (name.find('/') != std::string::npos) {
    return unit_laplacian(std::get<ec::Csr<double>>(ec::read_matrix<double>(data + "/" + name)));
  }
  const std::string large = "large-grid-3d:n=";
  if (name.starts_with(large)) return large_grid(std::stoll(name.substr(large.size())));
  ec::Options options;
  std::size_t begin = name.find(':');
  const std::string family = name.substr(0, begin);
  while (begin != std::string::npos) {
    const std::size_t end = name.find(':', begin + 1);
    const std::string pair = name.substr(begin + 1, end == std::string::npos ? end : end - begin - 1);
    options.set(pair.substr(0, pair.find('=')), pair.substr(pair.find('=') + 1));
    begin = end;
  }
  return std::get<ec::Csr<double>>(ec::make_matrix<double>(family, options));
}

struct Times {
  double setup = 0;
  double solve = 0;
  std::string iterations;
  double bytes = 0;  ///< of the set-up, and of vectors
};

/// A method on a device.
struct Candidate {
  std::string text;
  ec::Device device;
  std::string method;
  ec::Options options;
};

Candidate parse_candidate(const std::string& text, const std::string& device) {
  const std::size_t slash = text.find('/');
  const bool has_device = slash != std::string::npos;
  const std::vector<std::string> parts = ec::bench::split(has_device ? text.substr(slash + 1) : text, ':');
  Candidate candidate{text, ec::Device::parse(has_device ? text.substr(0, slash) : device), parts[0], {}};
  if (parts[0] != "lamg" && parts[0] != "approximate-cholesky") {
    candidate.method = "cg";
    candidate.options = {{"preconditioner", parts[0]}, {"max_iterations", 5000}};
  }
  for (std::size_t k = 1; k < parts.size(); ++k) {
    const std::size_t equal = parts[k].find('=');
    candidate.options.set(parts[k].substr(0, equal), parts[k].substr(equal + 1));
  }
  return candidate;
}

struct Wanted {
  bool levels = false;
  std::int64_t runs = 3;
  std::vector<std::int64_t> columns;
};

void print_levels(const ec::Solver<double>& solver) {
  const ec::HierarchyDescription hierarchy = ec::describe_hierarchy(solver);
  for (const ec::LevelDescription& level : hierarchy.levels) {
    std::printf("  %10lld rows %11lld nonzeros  %-18s %8.3f ms\n", static_cast<long long>(level.rows),
                static_cast<long long>(level.nonzeros), level.method.c_str(), 1e3 * level.seconds);
  }
}

Times measure(const Candidate& candidate, const Wanted& wanted, std::int64_t columns,
              const ec::Csr<double>& A) {
  const ec::Device& device = candidate.device;
  const ec::Csr<double> matrix = A.to(device);
  ec::Dense<double> exact(ec::Device(), A.rows(), columns);
  std::mt19937_64 random(1);
  for (std::int64_t j = 0; j < columns; ++j) {
    for (std::int64_t i = 0; i < A.rows(); ++i)
      exact(i, j) = std::uniform_real_distribution<double>(-1, 1)(random);
  }
  const ec::Dense<double> solution = exact.to(device);
  ec::Dense<double> b(device, A.rows(), columns);
  ec::Dense<double> x(device, A.rows(), columns);
  ec::multiply<double>(1, matrix, solution, 0, b);
  const ec::bench::Clock clock =
      device == ec::Device::serial() ? ec::bench::Clock::thread : ec::bench::Clock::wall;
  std::vector<double> setups;
  std::vector<double> solves;
  ec::Report report;
  for (std::int64_t run = 0; run < wanted.runs; ++run) {
    ec::Solver<double> solver = ec::make_solver<double>(candidate.method, device, candidate.options);
    double start = ec::bench::seconds(clock);
    const ec::Report setup = solver.setup(matrix);
    setups.push_back(ec::bench::seconds(clock) - start);
    if (!setup.ready()) return {0, 0, std::string(to_string(setup.status)), 0};
    start = ec::bench::seconds(clock);
    report = solver.solve(b, x);
    solves.push_back(ec::bench::seconds(clock) - start);
    if (wanted.levels && run + 1 == wanted.runs && candidate.method == "lamg") print_levels(solver);
  }
  return {ec::bench::median(setups), ec::bench::median(solves),
          report.solved() ? std::to_string(report.iterations) : std::string(to_string(report.status)),
          static_cast<double>(report.bytes)};
}

}  // namespace

int main(int argc, char** argv) {
  ec::bench::Arguments arguments(argc, argv,
                                 "[--device NAME] [--class NAME] [--data FOLDER] [--runs N] [--levels] "
                                 "[--columns N,...] [--method [DEVICE/]NAME[:KEY=VALUE]...,...] "
                                 "[FAMILY:KEY=VALUE...]...");
  const auto device = arguments.option<std::string>("--device", "serial");
  const auto group = arguments.option<std::string>("--class", "");
  const auto data = arguments.option<std::string>("--data", "");
  Wanted wanted{.levels = arguments.flag("--levels"),
                .runs = arguments.option<std::int64_t>("--runs", 3),
                .columns = {}};
  for (const std::string& count : ec::bench::split(arguments.option<std::string>("--columns", "1"), ',')) {
    wanted.columns.push_back(std::stoll(count));
  }
  std::vector<Candidate> candidates;
  for (const std::string& text :
       ec::bench::split(arguments.option<std::string>("--method", "lamg,jacobi"), ',')) {
    candidates.push_back(parse_candidate(text, device));
  }
  std::vector<Problem> chosen;
  for (const std::string& name : arguments.positionals("problem")) chosen.push_back({"given", name});
  arguments.finish();
  if (chosen.empty()) {
    for (const Problem& problem : problems()) {
      const bool file = problem.name.find('/') != std::string::npos;
      if ((group.empty() || group == problem.group) && !(file && data.empty())) chosen.push_back(problem);
    }
  }
  std::map<std::string, std::vector<double>> totals;
  std::printf(
      "| class | graph | edges | method | columns | set-up us/edge | solve us/edge | total | set-up ms | "
      "solve ms | iterations | bytes/edge |\n"
      "|---|---|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|\n");
  for (const Problem& problem : chosen) {
    const ec::Csr<double> A = make_problem(problem.name, data);
    const double edges = static_cast<double>(A.nonzeros() - A.rows()) / 2;
    for (const Candidate& candidate : candidates) {
      for (const std::int64_t columns : wanted.columns) {
        const Times times = measure(candidate, wanted, columns, A);
        const double total = 1e6 * (times.setup + times.solve) / edges;
        if (edges >= 10000) totals[problem.group + " | " + candidate.text].push_back(total);
        std::printf("| %s | %s | %.0f | %s | %lld | %.4f | %.4f | %.4f | %.2f | %.2f | %s | %.0f |\n",
                    problem.group.c_str(), problem.name.c_str(), edges, candidate.text.c_str(),
                    static_cast<long long>(columns), 1e6 * times.setup / edges, 1e6 * times.solve / edges,
                    total, 1e3 * times.setup, 1e3 * times.solve, times.iterations.c_str(),
                    times.bytes / edges);
        std::fflush(stdout);
      }
    }
  }
  std::printf("\n| class | method | graphs | median us/edge |\n|---|---|---:|---:|\n");
  for (const auto& [key, values] : totals) {
    std::printf("| %s | %zu | %.3f |\n", key.c_str(), values.size(), ec::bench::median(values));
  }
}
