// SPDX-License-Identifier: BSD-3-Clause
// Schur complement of a 7-point Laplacian on SIDE^3 points on the unknowns of its middle plane: time of this
// library and, where it was found at configuration, of MUMPS (ICNTL(19) = 1), once with its own ordering,
// which is minimum degree for this purpose, and once with METIS's ordering of the interior.
//   OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 bench_schur [--side N] [--runs N] [--factorization NAME]
//     [DEVICE]...
// prints a table in Markdown. SIDE: default 64; NAME: cholesky (default), ldlt or lu; DEVICE: serial
// (default), openmp, openmp:THREADS or cuda. The competitors run in turn, and times are medians of RUNS
// (default 3), after one run on a GPU that does not count: seconds of the processor for serial and MUMPS,
// which other processes disturb less, else wall time. `ratio` is that to the faster of MUMPS's, or else to
// the first device; `difference` is the largest of elements of S to the first one, relative to its largest.
#include "support/arguments.hpp"
#include "support/measure.hpp"

#include <echelon/domain_decomposition/schur_complement.hpp>
#include <echelon/enum_words.hpp>
#include <echelon/matrix/csr.hpp>
#include <echelon/sparse_direct.hpp>

#ifdef ECHELON_BENCH_WITH_MUMPS
#include <dmumps_c.h>
#endif

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace ec = echelon;

namespace {

double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
double processor_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

struct Problem {
  ec::Csr<double> A;
  std::vector<std::int32_t> interface;
  ec::SchurFactorization factorization = ec::SchurFactorization::cholesky;
};

Problem problem_of(std::int32_t side) {
  Problem problem{ec::bench::poisson_3d<double>(side), {}};
  problem.interface.resize(static_cast<std::size_t>(side) * static_cast<std::size_t>(side));
  std::iota(problem.interface.begin(), problem.interface.end(), side / 2 * side * side);
  return problem;
}

/// Times of one competitor, and its last S.
struct Measured {
  std::string name;
  std::vector<double> analysis, factor;
  double entries = 0;
  double flops = 0;
  std::vector<double> S;
};

double number(const ec::Report& report, const char* name) {
  const ec::Statistic* found = report.find_statistic(name);
  if (found == nullptr) return 0;
  if (const auto* count = std::get_if<std::int64_t>(&found->value)) return static_cast<double>(*count);
  const auto* value = std::get_if<double>(&found->value);
  return value == nullptr ? 0 : *value;
}

/// A run on a device; false if there is no result.
bool run(const Problem& problem, const ec::Device& device, const ec::Csr<double>& A, Measured& measured) {
  const bool serial = device.kind() == ec::DeviceKind::serial;
  const auto clock = serial ? processor_seconds : wall_seconds;
  const double start = clock();
  const ec::SchurComplement<double> schur = ec::schur_complement(
      A, problem.interface, {.factorization = problem.factorization, .condition = false, .device = device});
  const double total = clock() - start;
  const ec::Report& report = schur.report();
  if (!schur.ready()) {
    std::fprintf(stderr, "%s: %s\n", device.name().c_str(), report.message.c_str());
    return false;
  }
  for (const std::string& warning : report.warnings) std::fprintf(stderr, "%s\n", warning.c_str());
  const double analysis = number(report, "analysis_seconds");
  measured.analysis.push_back(analysis);
  measured.factor.push_back(total - analysis);
  measured.entries = number(report, "factor_entries");
  measured.flops = number(report, "factor_flops");
  measured.S = schur.matrix().to_vector();
  return true;
}

#ifdef ECHELON_BENCH_WITH_MUMPS
/// Position of each unknown in an order of elimination, from 1: the interior as METIS orders it, and then the
/// interface.
std::vector<MUMPS_INT> metis_positions(const Problem& problem) {
  std::vector<bool> is_interface(static_cast<std::size_t>(problem.A.rows()), false);
  for (const std::int32_t row : problem.interface) is_interface[static_cast<std::size_t>(row)] = true;
  std::vector<std::int32_t> interior;
  std::vector<std::int32_t> number(is_interface.size(), -1);
  for (std::int32_t i = 0; i < problem.A.rows(); ++i) {
    if (is_interface[static_cast<std::size_t>(i)]) continue;
    number[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(interior.size());
    interior.push_back(i);
  }
  std::vector<ec::Triplet<double>> elements;
  for (const std::int32_t i : interior) {
    for (std::int64_t k = problem.A.row_offsets()[i]; k < problem.A.row_offsets()[i + 1]; ++k) {
      const std::int32_t j = number[static_cast<std::size_t>(problem.A.column_indices()[k])];
      if (j >= 0) elements.push_back({number[static_cast<std::size_t>(i)], j, problem.A.values()[k]});
    }
  }
  const auto size = static_cast<std::int64_t>(interior.size());
  const ec::Array<std::int32_t> order =
      ec::fill_reducing_ordering(ec::Csr<double>::from_triplets(size, size, elements), ec::Ordering::metis);
  std::vector<MUMPS_INT> positions(is_interface.size());
  for (std::int64_t k = 0; k < size; ++k)
    positions[static_cast<std::size_t>(interior[static_cast<std::size_t>(order[k])])] =
        static_cast<MUMPS_INT>(k + 1);
  for (std::size_t k = 0; k < problem.interface.size(); ++k)
    positions[static_cast<std::size_t>(problem.interface[k])] =
        static_cast<MUMPS_INT>(interior.size() + k + 1);
  return positions;
}

/// Elements as MUMPS reads them, with rows and columns from 1; of a symmetric matrix the lower triangle.
struct Coordinates {
  Coordinates(const ec::Csr<double>& A, bool lower) {
    for (std::int32_t i = 0; i < A.rows(); ++i) {
      for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
        if (lower && A.column_indices()[k] > i) continue;
        rows.push_back(i + 1);
        columns.push_back(A.column_indices()[k] + 1);
        values.push_back(A.values()[k]);
      }
    }
  }
  std::vector<MUMPS_INT> rows, columns;
  std::vector<double> values;
};

/// A run of MUMPS on one core; false if it fails.
bool run_mumps(const Problem& problem, bool with_metis, Measured& measured) {
  constexpr int use_comm_world = -987654;
  const bool lu = problem.factorization == ec::SchurFactorization::lu;
  DMUMPS_STRUC_C mumps{};
  mumps.comm_fortran = use_comm_world;
  mumps.par = 1;
  mumps.sym = lu ? 0 : problem.factorization == ec::SchurFactorization::cholesky ? 1 : 2;
  mumps.job = -1;
  dmumps_c(&mumps);
  Coordinates elements(problem.A, !lu);
  std::vector<MUMPS_INT> interface;
  for (const std::int32_t row : problem.interface) interface.push_back(row + 1);
  const std::size_t size = interface.size();
  measured.S.assign(size * size, 0);
  mumps.n = static_cast<MUMPS_INT>(problem.A.rows());
  mumps.nnz = static_cast<MUMPS_INT8>(elements.values.size());
  mumps.irn = elements.rows.data();
  mumps.jcn = elements.columns.data();
  mumps.a = elements.values.data();
  mumps.size_schur = static_cast<MUMPS_INT>(size);
  mumps.listvar_schur = interface.data();
  mumps.schur = measured.S.data();
  const auto icntl = [&](int k) -> MUMPS_INT& { return mumps.icntl[k - 1]; };
  icntl(1) = icntl(2) = icntl(3) = -1;
  icntl(4) = 0;
  icntl(19) = 1;
  const double start = processor_seconds();
  std::vector<MUMPS_INT> positions;
  if (with_metis) {
    positions = metis_positions(problem);
    mumps.perm_in = positions.data();
    icntl(7) = 1;
  }
  mumps.job = 1;
  dmumps_c(&mumps);
  const double analysed = processor_seconds();
  mumps.job = 2;
  dmumps_c(&mumps);
  const double factored = processor_seconds();
  // S is stored by rows, and of a symmetric one the lower triangle.
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = 0; j < i; ++j) std::swap(measured.S[i * size + j], measured.S[j * size + i]);
  }
  const bool good = mumps.infog[0] == 0;
  if (!good) std::fprintf(stderr, "MUMPS: error %d\n", mumps.infog[0]);
  measured.analysis.push_back(analysed - start);
  measured.factor.push_back(factored - analysed);
  measured.entries = mumps.infog[28] >= 0 ? mumps.infog[28] : -1e6 * mumps.infog[28];
  measured.flops = mumps.rinfog[2];
  mumps.job = -2;
  dmumps_c(&mumps);
  return good;
}
#endif

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

/// Largest difference of lower triangles, relative to the largest element.
double difference(const std::vector<double>& S, const std::vector<double>& reference) {
  const auto size = static_cast<std::size_t>(std::lround(std::sqrt(static_cast<double>(S.size()))));
  double largest = 0;
  double worst = 0;
  for (std::size_t j = 0; j < size; ++j) {
    for (std::size_t i = j; i < size; ++i) {
      largest = std::max(largest, std::abs(reference[i + j * size]));
      worst = std::max(worst, std::abs(S[i + j * size] - reference[i + j * size]));
    }
  }
  return worst / largest;
}

void print(const std::vector<Measured>& all, std::size_t references) {
  std::printf(
      "| | analysis s | factorisation s | sum s | ratio | factor entries, millions | Gflop | difference |\n"
      "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n");
  const auto sum = [](const Measured& m) { return median(m.analysis) + median(m.factor); };
  double reference = sum(all.front());
  for (std::size_t m = 1; m < references; ++m) reference = std::min(reference, sum(all[m]));
  for (const Measured& m : all) {
    std::printf("| %s | %.3f | %.3f | %.3f | %.2f | %.1f | %.1f | %.0e |\n", m.name.c_str(),
                median(m.analysis), median(m.factor), sum(m), sum(m) / reference, m.entries / 1e6,
                m.flops / 1e9, difference(m.S, all.front().S));
  }
}

}  // namespace

int main(int argc, char** argv) {
  ec::bench::Arguments arguments(argc, argv, "[--side N] [--runs N] [--factorization NAME] [DEVICE]...");
  const int side = arguments.option("--side", 64);
  const int runs = arguments.option("--runs", 3);
  const std::string name = arguments.option<std::string>("--factorization", "cholesky");
  std::vector<std::string> devices = arguments.positionals("device");
  arguments.finish();
  if (devices.empty()) devices = {"serial"};
  Problem problem = problem_of(side);
  const auto factorization = ec::from_word<ec::SchurFactorization>(name);
  if (!factorization) arguments.refuse("there is no factorisation '" + name + "'");
  problem.factorization = *factorization;
  std::vector<Measured> all;
#ifdef ECHELON_BENCH_WITH_MUMPS
  all.push_back({"MUMPS", {}, {}, 0, 0, {}});
  all.push_back({"MUMPS, given METIS's order", {}, {}, 0, 0, {}});
#endif
  const std::size_t first = all.size();
  std::vector<ec::Csr<double>> matrices;
  for (const std::string& text : devices) {
    const ec::Device device = ec::Device::parse(text);
    all.push_back({"echelon, " + device.name(), {}, {}, 0, 0, {}});
    matrices.push_back(problem.A.to(device));
    Measured warm_up;
    if (!device.on_host() && !run(problem, device, matrices.back(), warm_up)) return 1;
  }
  for (int r = 0; r < runs; ++r) {
#ifdef ECHELON_BENCH_WITH_MUMPS
    for (std::size_t m = 0; m < first; ++m) {
      if (!run_mumps(problem, m == 1, all[m])) return 1;
    }
#endif
    for (std::size_t d = 0; d < devices.size(); ++d) {
      if (!run(problem, ec::Device::parse(devices[d]), matrices[d], all[first + d])) return 1;
    }
  }
  print(all, first);
}
