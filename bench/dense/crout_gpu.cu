// SPDX-License-Identifier: BSD-3-Clause
// How long do the forms of Crout's method take on a GPU, compared with cuSOLVER's LU and the library's, and
// how many sweeps does the iteration need?
//   bench_crout_gpu [--runs N] [--slow-up-to N] [--blocks] [N | sN]...
// Matrices of N rows in double: uniform random ones and diagonally dominant ones; sN: the Schur complement of
// the surface of a cube of N points a direction with the 7-point Laplacian. Times of the factorisation alone,
// each the median of several runs; those that take more than half a second run once. Each answer is checked.
// --blocks compares sizes of thread blocks instead: crout-parallel with blocks of 32 to 512 threads (PCM x),
// crout-iterative with tiles of 8, 16 and 32 rows and columns (ICM x).
#include "dense/dense_gpu.cuh"
#include "studies/crout/cuda/blocked.cuh"
#include "studies/crout/cuda/columns.cuh"
#include "studies/crout/cuda/iteration.cuh"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace ec = echelon;

namespace {

/// Counts of sweeps and row exchanges; `sections` is zero if they are not counted.
struct Counts {
  std::int64_t sections = 0, sweeps = 0, exchanges = 0, upper_sweeps = 0;
};

enum class Form { lu, parallel, direct, iterated, iterative };

/// Memory that a form keeps between factorisations.
struct Workspaces {
  ec::lu::FactorWorkspace<ec::Cuda, double> lu{ec::Device::cuda()};
  ec::crout::BlockedWorkspace<double> blocked{ec::Device::cuda()};
};

/// Sizes of thread blocks.
struct Blocks {
  std::int64_t threads = 512;  ///< of crout-parallel
  std::int64_t tile = 32;      ///< of crout-iterative
};

/// Factors A in place and returns the counts. Exits if the factorisation fails.
Counts factor(ec::Cuda& backend, Workspaces& workspaces, ec::Dense<double>& A, std::int64_t* pivots,
              Form form, const Blocks& blocks) {
  const std::int64_t n = A.rows();
  switch (form) {
    case Form::lu:
      ec::bench::insist(ec::lu::factor<double>(backend, workspaces.lu, A.view(), pivots, {}).zero_pivot < 0,
                        "lu");
      return {};
    case Form::parallel: {
      ec::crout::ColumnWorkspace<double> workspace(A.device(), n, blocks.threads);
      ec::crout::eliminate_columns<double>(backend, A.view(), 0, n, pivots, workspace);
      ec::bench::insist(backend.read(workspace.zero_pivot.data()).value == ec::FirstIndex::none,
                        "crout-parallel");
      return {};
    }
    case Form::direct:
    case Form::iterated: {
      const bool iterated = form == Form::iterated;
      const auto result = ec::crout::factor_blocked<double>(backend, A.view(), {.iterated = iterated}, pivots,
                                                            workspaces.blocked, {});
      ec::bench::insist(result.zero_pivot < 0, "crout-blocked");
      if (!iterated) return {};
      const ec::SectionCounts counts = backend.read(workspaces.blocked.counts.data());
      return {counts.sections, counts.sweeps, counts.exchanges};
    }
    case Form::iterative: {
      ec::crout::CudaIteration<double> iteration(
          backend, A.view(), pivots,
          {.section_size = ec::crout::default_section_size(n), .block_size = blocks.tile});
      const auto result = iteration.factor({});
      ec::bench::insist(result.converged && result.zero_pivot < 0, "crout-iterative");
      const auto& counts = iteration.counts();
      return {counts.sections, counts.diagonal_sweeps, counts.exchanges, counts.upper_sweeps};
    }
  }
  return {};
}

struct Measurement {
  double seconds = 0;
  Counts counts;
};

Measurement measure(ec::Cuda& backend, const ec::Dense<double>& A, Form form, int runs,
                    const Blocks& blocks = {}) {
  constexpr double long_time = 0.5;
  ec::Dense<double> copy(A.device(), A.rows(), A.columns());
  ec::Array<std::int64_t> pivots(A.device(), A.rows());
  Workspaces workspaces;
  Measurement result;
  std::vector<double> all;
  for (int run = 0; run <= runs; ++run) {
    ec::bench::restore(A, copy);
    backend.synchronize();
    const auto start = std::chrono::steady_clock::now();
    result.counts = factor(backend, workspaces, copy, pivots.data(), form, blocks);
    backend.synchronize();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (run > 0 || seconds > long_time) all.push_back(seconds);
    if (seconds > long_time) break;
  }
  result.seconds = ec::bench::median(all);
  return result;
}

double cusolver_seconds(const ec::Dense<double>& A, int runs) {
  ec::bench::Lu<double> lu(A.rows());
  ec::Dense<double> copy(A.device(), A.rows(), A.columns());
  return ec::bench::seconds(
      runs, [&] { ec::bench::restore(A, copy); }, [&] { lu.factor(copy); });
}

void print_row(ec::Cuda& backend, const std::string& name, const ec::Dense<double>& A, int runs,
               std::int64_t slow_up_to) {
  const double reference = cusolver_seconds(A, runs);
  std::printf("| %s | %.2f |", name.c_str(), 1e3 * reference);
  std::string sweeps;
  for (const Form form : {Form::lu, Form::direct, Form::iterated, Form::parallel, Form::iterative}) {
    const bool is_slow = form == Form::parallel || form == Form::iterative;
    if (is_slow && A.rows() > slow_up_to) {
      std::printf(" |");
      continue;
    }
    const Measurement found = measure(backend, A, form, runs);
    std::printf(" %.2f |", 1e3 * found.seconds);
    std::fflush(stdout);
    if (found.counts.sections == 0) continue;
    const auto append_mean = [&](const char* before, std::int64_t count) {
      sweeps.append(before).append(std::to_string(count / found.counts.sections));
    };
    append_mean(" ", found.counts.sweeps);
    append_mean(" + ", found.counts.exchanges);
    if (form == Form::iterative) append_mean(" + ", found.counts.upper_sweeps);
    sweeps.append(" |");
  }
  std::printf("%s\n", sweeps.c_str());
  std::fflush(stdout);
}

void print_blocks(ec::Cuda& backend, const std::string& name, const ec::Dense<double>& A, int runs) {
  std::printf("| %s |", name.c_str());
  for (const std::int64_t threads : {32, 64, 128, 256, 512})
    std::printf(" %.2f |", 1e3 * measure(backend, A, Form::parallel, runs, {.threads = threads}).seconds);
  for (const std::int64_t tile : {8, 16, 32})
    std::printf(" %.2f |", 1e3 * measure(backend, A, Form::iterative, runs, {.tile = tile}).seconds);
  std::printf("\n");
  std::fflush(stdout);
}

/// Rows and columns of the Laplacian of a cube, divided into the points of its surface and those inside.
struct Cube {
  explicit Cube(std::int64_t side) {
    const ec::Csr<double> laplacian = ec::generate::poisson_3d<double>(side, side, side);
    std::vector<std::int64_t> number(static_cast<std::size_t>(laplacian.rows()));
    const auto on_surface = [&](std::int64_t p) {
      const auto ends = [&](std::int64_t c) { return c == 0 || c == side - 1; };
      return ends(p % side) || ends(p / side % side) || ends(p / side / side);
    };
    for (std::int64_t p = 0; p < laplacian.rows(); ++p) {
      number[static_cast<std::size_t>(p)] = on_surface(p) ? surface++ : inside++;
    }
    for (std::int64_t p = 0; p < laplacian.rows(); ++p) {
      for (std::int64_t k = laplacian.row_offsets()[p]; k < laplacian.row_offsets()[p + 1]; ++k) {
        const std::int64_t q = laplacian.column_indices()[k];
        const ec::Triplet<double> element{static_cast<std::int32_t>(number[static_cast<std::size_t>(p)]),
                                          static_cast<std::int32_t>(number[static_cast<std::size_t>(q)]),
                                          laplacian.values()[k]};
        if (on_surface(p) && on_surface(q)) outer.push_back(element);
        if (!on_surface(p) && !on_surface(q)) inner.push_back(element);
        if (!on_surface(p) && on_surface(q)) coupling.push_back(element);
      }
    }
  }
  std::int64_t surface = 0, inside = 0;
  std::vector<ec::Triplet<double>> outer, inner, coupling;
};

ec::Dense<double> on_gpu(std::int64_t rows, std::int64_t columns,
                         const std::vector<ec::Triplet<double>>& elements) {
  const ec::Csr<double> csr = ec::Csr<double>::from_triplets(rows, columns, elements).to(ec::Device::cuda());
  return ec::to_dense(ec::MatrixRef<double>(csr));
}

ec::Dense<double> schur_complement(std::int64_t side) {
  const Cube cube(side);
  ec::Dense<double> complement = on_gpu(cube.surface, cube.surface, cube.outer);
  const ec::Dense<double> coupling = on_gpu(cube.inside, cube.surface, cube.coupling);
  ec::Dense<double> solution = coupling;
  ec::Dense<double> inner = on_gpu(cube.inside, cube.inside, cube.inner);
  ec::bench::Lu<double> lu(cube.inside);
  lu.factor(inner);
  lu.substitute(inner, solution);
  ec::multiply_transposed<double>(-1, coupling, solution, 1, complement);
  return complement;
}

}  // namespace

int main(int argc, char** argv) {
  ec::bench::Arguments arguments(argc, argv, "[--runs N] [--slow-up-to N] [--blocks] [N | sN]...");
  const int runs = arguments.option("--runs", 5);
  const std::int64_t slow_up_to = arguments.option("--slow-up-to", std::int64_t{5000});
  const bool compares_blocks = arguments.flag("--blocks");
  std::vector<std::string> words = arguments.positionals("a size");
  arguments.finish();
  if (words.empty()) words = {"512", "1000", "2000", "s24", "4096"};
  std::printf(
      "%s",
      compares_blocks
          ? "| matrix | PCM 32 ms | PCM 64 | PCM 128 | PCM 256 | PCM 512 | ICM 8 | ICM 16 | ICM 32 |\n"
            "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n"
          : "| matrix | cuSOLVER ms | lu | direct | iterated | crout-parallel | crout-iterative | sweeps + "
            "exchanges "
            "a section, iterated | crout-iterative, with sweeps to the right |\n"
            "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n");
  ec::Cuda backend(ec::Device::cuda());
  const auto print = [&](const std::string& name, const ec::Dense<double>& A) {
    if (compares_blocks) return print_blocks(backend, name, A, runs);
    print_row(backend, name, A, runs, slow_up_to);
  };
  for (const std::string& word : words) {
    if (word.front() == 's') {
      const ec::Dense<double> A = schur_complement(std::atoll(word.c_str() + 1));
      print("Schur complement " + std::to_string(A.rows()), A);
      continue;
    }
    const std::int64_t n = std::atoll(word.c_str());
    ec::Dense<double> A = ec::bench::uniform<double>(n, n, 1);
    print("uniform " + word, A);
    backend.for_each(n, ec::bench::AddToDiagonal<double>{A.view(), static_cast<double>(n)});
    print("dominant " + word, A);
  }
}
