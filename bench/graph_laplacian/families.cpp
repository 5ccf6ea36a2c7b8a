// SPDX-License-Identifier: BSD-3-Clause
// Iterations, or cycles, and failures of methods for graph Laplacians on families of hard graphs.
//   bench_families [--methods NAME,NAME...] [--vertices N] [--seeds N] [--part NAME]
// Each family has one graph, or one for each of --seeds seeds (20) with about --vertices vertices (10,000).
// Prints for each family and method (lamg, approximate-cholesky, auto) the number of graphs, the median and
// largest count of iterations to 1e-8, the number of failures, and the median and largest processor time in
// microseconds for each edge of set-up and solve on one core.
#include "right_hand_side.hpp"
#include "support/arguments.hpp"
#include "support/measure.hpp"

#include <echelon/echelon.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace ec = echelon;

namespace {

struct Family {
  std::string name;
  bool random;                                          ///< one graph for each seed
  std::function<ec::Csr<double>(std::int64_t)> matrix;  ///< of a seed
};

ec::Csr<double> made(const std::string& generator, const ec::Options& options) {
  return std::get<ec::Csr<double>>(ec::make_matrix<double>(generator, options));
}

/// Adds an edge of weight w.
void join(std::vector<ec::Triplet<double>>& triplets, std::int64_t i, std::int64_t j, double w) {
  const auto a = static_cast<std::int32_t>(i);
  const auto b = static_cast<std::int32_t>(j);
  triplets.insert(triplets.end(), {{a, b, -w}, {b, a, -w}, {a, a, w}, {b, b, w}});
}

/// Cliques of `clique` vertices, each joined to the next by an edge.
ec::Csr<double> path_of_cliques(std::int64_t cliques, std::int64_t clique) {
  std::vector<ec::Triplet<double>> triplets;
  for (std::int64_t c = 0; c < cliques; ++c) {
    const std::int64_t first = c * clique;
    for (std::int64_t i = 0; i < clique; ++i) {
      for (std::int64_t j = i + 1; j < clique; ++j) join(triplets, first + i, first + j, 1);
    }
    if (c > 0) join(triplets, first - 1, first, 1);
  }
  return ec::Csr<double>::from_triplets(cliques * clique, cliques * clique, triplets);
}

/// A star of which pairs of leaves are joined, with weights of both kinds of edges.
ec::Csr<double> star_with_leaf_edges(std::int64_t leaves, double spoke, double rim) {
  std::vector<ec::Triplet<double>> triplets;
  for (std::int64_t i = 1; i <= leaves; ++i) {
    join(triplets, 0, i, spoke);
    if (i % 2 == 0) join(triplets, i - 1, i, rim);
  }
  return ec::Csr<double>::from_triplets(leaves + 1, leaves + 1, triplets);
}

/// Flow through layered rock, closed at its faces: a singular SPE10-like problem.
ec::Csr<double> layered_rock(std::int64_t seed) {
  return made("spe10-like", {{"nx", 60}, {"ny", 60}, {"nz", 25}, {"seed", seed}});
}

std::vector<Family> families(std::int64_t n) {
  const auto chimera = [n](const char* form, const char* weights) {
    return [=](std::int64_t seed) {
      return made("chimera", {{"n", n}, {"seed", seed}, {"form", form}, {"weights", weights}});
    };
  };
  const auto one = [](const char* generator, const ec::Options& options) {
    return [=](std::int64_t) { return made(generator, options); };
  };
  return {
      {"chimera", true, chimera("laplacian", "unit")},
      {"chimera-weighted", true, chimera("laplacian", "chimera")},
      {"chimera-sddm", true, chimera("sddm", "unit")},
      {"chimera-weighted-sddm", true, chimera("sddm", "chimera")},
      {"sachdeva-star", false, one("sachdeva-star", {})},
      {"grid-2d", false, one("grid-2d", {{"nx", 300}, {"ny", 300}})},
      {"grid-2d-anisotropic-1e-6", false, one("grid-2d", {{"nx", 300}, {"ny", 300}, {"weight_y", 1e-6}})},
      {"grid-2d-contrast-1e6", true,
       [](std::int64_t seed) {
         return made("grid-2d",
                     {{"nx", 200}, {"ny", 200}, {"weights", "log-uniform"}, {"decades", 6}, {"seed", seed}});
       }},
      {"grid-3d", false, one("grid-3d", {{"nx", 45}, {"ny", 45}, {"nz", 45}})},
      {"grid-3d-contrast-1e6", true,
       [](std::int64_t seed) {
         return made("grid-3d", {{"nx", 30},
                                 {"ny", 30},
                                 {"nz", 30},
                                 {"weights", "log-uniform"},
                                 {"decades", 6},
                                 {"seed", seed}});
       }},
      {"spe10-like", true, layered_rock},
      {"barbell", false, one("barbell", {{"clique", 300}, {"path", 10000}})},
      {"path-of-cliques", false, [](std::int64_t) { return path_of_cliques(2000, 8); }},
      {"star-with-leaf-edges", false, [](std::int64_t) { return star_with_leaf_edges(20000, 1, 1); }},
      {"star-with-heavy-leaf-edges", false, [](std::int64_t) { return star_with_leaf_edges(20000, 1, 1e6); }},
      {"star-with-light-leaf-edges", false,
       [](std::int64_t) { return star_with_leaf_edges(20000, 1, 1e-6); }},
      {"random-tree", true,
       [n](std::int64_t seed) {
         return made("random-tree", {{"n", n}, {"seed", seed}, {"weights", "log-uniform"}, {"decades", 6}});
       }},
      {"complete-binary-tree", false, one("complete-binary-tree", {{"n", 32767}})},
      {"path", false, one("path", {{"n", 30000}, {"weights", "log-uniform"}, {"decades", 6}})},
      {"star", false, one("star", {{"n", 30000}})},
  };
}

double processor_seconds() {
  std::timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

struct Counts {
  std::vector<double> iterations;
  std::vector<double> times;
  int failures = 0;
};

void add(const ec::Csr<double>& A, const std::string& method, Counts& counts) {
  const std::vector<double> b = ec::bench::consistent_right_hand_side(A);
  ec::SolveOptions options;
  options.method = method;
  options.device = ec::Device::serial();
  const double start = processor_seconds();
  const ec::Report report = ec::solve(A, b, options).report;
  const double edges = std::max(1.0, static_cast<double>(A.nonzeros() - A.rows()) / 2);
  counts.times.push_back(1e6 * (processor_seconds() - start) / edges);
  counts.iterations.push_back(static_cast<double>(report.iterations));
  if (!report.solved()) {
    ++counts.failures;
    std::fprintf(stderr, "%s: %s\n", method.c_str(), report.message.c_str());
  }
}

void run(const Family& family, const std::vector<std::string>& methods, std::int64_t seeds) {
  for (const std::string& method : methods) {
    Counts counts;
    for (std::int64_t seed = 1; seed <= (family.random ? seeds : 1); ++seed) {
      add(family.matrix(seed), method, counts);
    }
    const auto worst = [](const std::vector<double>& values) {
      return *std::max_element(values.begin(), values.end());
    };
    std::printf("| %s | %zu | %s | %.0f | %.0f | %d | %.2f | %.2f |\n", family.name.c_str(),
                counts.iterations.size(), method.c_str(), ec::bench::median(counts.iterations),
                worst(counts.iterations), counts.failures, ec::bench::median(counts.times),
                worst(counts.times));
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  ec::bench::Arguments arguments(argc, argv, "[--methods NAME,...] [--vertices N] [--seeds N] [--part NAME]");
  const auto methods =
      ec::bench::split(arguments.option("--methods", std::string("lamg,approximate-cholesky,auto")), ',');
  const auto vertices = arguments.option("--vertices", std::int64_t{10000});
  const auto seeds = arguments.option("--seeds", std::int64_t{20});
  const auto part = arguments.option("--part", std::string());
  arguments.finish();
  std::printf("| family | graphs | method | median | worst | failures | us/edge, median | worst |\n");
  std::printf("| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: |\n");
  for (const Family& family : families(vertices)) {
    if (family.name.find(part) != std::string::npos) run(family, methods, seeds);
  }
  return 0;
}
