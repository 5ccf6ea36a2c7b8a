// SPDX-License-Identifier: BSD-3-Clause
// Transposition and conversion of COO to CSR on the host, compared with Eigen, SciPy and the time of the
// memory traffic.
//   bench_convert [MILLIONS] [MATRIX.mtx[.gz] ...]
// prints two tables in Markdown for about MILLIONS million entries (default: 50) and for the matrices given,
// with one core and with all of OpenMP's. The floor is the input read once and the result written
// once, at the bandwidth of STREAM's triad on the same cores. Eigen transposes a row-major matrix
// with 32-bit offsets; SciPy's tocsr, run by $PYTHON (default: python3) with convert_scipy.py in this
// folder, has 32-bit offsets as well. Both use one core. Medians of 5 (SciPy: 3) runs.
#include "coo_matrices.hpp"
#include "support/arguments.hpp"
#include "support/measure.hpp"

#include <echelon/echelon.hpp>

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#ifdef ECHELON_BENCH_WITH_EIGEN
#include <Eigen/SparseCore>
#endif

namespace ec = echelon;

namespace {

constexpr int runs = 5;

template <class T>
const char* type_name() {
  return sizeof(T) == 8 ? "double" : "float";
}

struct Peer {
  double seconds = 0;  ///< 0 if there is none
  std::int64_t nonzeros = 0;
};

Peer scipy_tocsr(const char* kind, std::int64_t entries, const char* type) {
  const char* python = std::getenv("PYTHON");
  const auto script = std::filesystem::path(__FILE__).parent_path() / "convert_scipy.py";
  const std::string command = fmt::format("{} {} {} {} {}", python == nullptr ? "python3" : python,
                                          script.string(), kind, entries, type);
  Peer peer;
  if (std::FILE* const output = popen(command.c_str(), "r")) {
    long long nonzeros = 0;
    if (std::fscanf(output, "%lf %lld", &peer.seconds, &nonzeros) != 2) peer.seconds = 0;
    peer.nonzeros = nonzeros;
    pclose(output);
  }
  return peer;
}

void print_row(const std::string& name, const char* type, std::int64_t entries, int cores, double floor,
               double ours, double theirs) {
  fmt::print("| {} | {} | {:.1f} M | {} | {:.0f} | {:.0f} | {:.1f} | {:.0f} | {:.2f} |\n", name, type,
             static_cast<double>(entries) / 1e6, cores, 1e3 * floor, 1e3 * ours, ours / floor, 1e3 * theirs,
             theirs / ours);
  std::fflush(stdout);
}

/// Bandwidth of the triad, measured once for each number of cores.
double bandwidth(int cores) {
  static std::map<int, double> measured;
  const auto [place, is_new] = measured.try_emplace(cores, 0);
  if (is_new) place->second = ec::bench::triad_bandwidth(cores);
  return place->second;
}

std::vector<ec::Device> devices() {
  std::vector<ec::Device> result = {ec::Device::openmp(1)};
  if (omp_get_max_threads() > 1) result.push_back(ec::Device::openmp(omp_get_max_threads()));
  return result;
}

template <class T>
double eigen_transpose_seconds([[maybe_unused]] const ec::Csr<T>& A,
                               [[maybe_unused]] const ec::Csr<T>& expected) {
#ifdef ECHELON_BENCH_WITH_EIGEN
  const std::vector<int> offsets(A.row_offsets().span().begin(), A.row_offsets().span().end());
  const Eigen::Map<const Eigen::SparseMatrix<T, Eigen::RowMajor, int>> matrix(
      A.rows(), A.columns(), A.nonzeros(), offsets.data(), A.column_indices().data(), A.values().data());
  Eigen::SparseMatrix<T, Eigen::RowMajor, int> transpose;
  const double seconds = ec::bench::median_seconds(runs, [&] { transpose = matrix.transpose(); });
  const auto indices = expected.column_indices().span();
  if (!std::equal(indices.begin(), indices.end(), transpose.innerIndexPtr())) {
    fmt::print("the transposes differ\n");
    std::exit(1);
  }
  return seconds;
#else
  return 0;
#endif
}

template <class T>
void compare_transpose(const std::string& name, const ec::Csr<T>& A) {
  const double theirs = eigen_transpose_seconds(A, ec::transpose(A));
  for (const ec::Device& device : devices()) {
    const ec::Csr<T> a = A.to(device);
    const double bytes =
        ec::bench::csr_bytes<T>(A.rows(), A.nonzeros()) + ec::bench::csr_bytes<T>(A.columns(), A.nonzeros());
    const double floor = bytes / bandwidth(device.threads());
    const double ours = ec::bench::median_seconds(runs, [&] { static_cast<void>(ec::transpose(a)); });
    print_row(name, type_name<T>(), A.nonzeros(), device.threads(), floor, ours, theirs);
  }
}

template <class T>
void compare_tocsr(const char* kind, const ec::Coo<T>& A) {
  const Peer peer = scipy_tocsr(kind, A.entries(), type_name<T>());
  for (const ec::Device& device : devices()) {
    const ec::Coo<T> a = A.to(device);
    const std::int64_t nonzeros = ec::to_csr(a).nonzeros();
    // SciPy's random numbers differ, and so may, slightly, the number of repeated positions.
    if (peer.seconds > 0 &&
        std::abs(static_cast<double>(nonzeros - peer.nonzeros)) > 1e-4 * static_cast<double>(nonzeros)) {
      fmt::print("{} and {} nonzeros\n", nonzeros, peer.nonzeros);
      std::exit(1);
    }
    const double bytes = ec::bench::coo_bytes<T>(A.entries()) + ec::bench::csr_bytes<T>(A.rows(), nonzeros);
    const double floor = bytes / bandwidth(device.threads());
    const double ours = ec::bench::median_seconds(runs, [&] { static_cast<void>(ec::to_csr(a)); });
    print_row(kind, type_name<T>(), A.entries(), device.threads(), floor, ours, peer.seconds);
  }
}

template <class T>
void compare_transposes(std::int64_t entries, const std::vector<std::string>& files) {
  const auto side = static_cast<std::int64_t>(std::cbrt(static_cast<double>(entries) / 7));
  compare_transpose(fmt::format("Poisson 7-point {}^3", side), ec::bench::poisson_3d<T>(side));
  compare_transpose("scattered", ec::to_csr(ec::bench::scattered<T>(entries)));
  for (const std::string& file : files) {
    compare_transpose(std::filesystem::path(file).filename().string(), ec::read_matrix_market<T>(file));
  }
}

}  // namespace

int main(int argc, char** argv) {
  ec::bench::Arguments arguments(argc, argv, "[MILLIONS] [MATRIX.mtx[.gz]]...");
  const std::int64_t entries = arguments.positional("MILLIONS", std::int64_t{50}) * 1'000'000;
  const std::vector<std::string> files = arguments.positionals("MATRIX");
  fmt::print("triad {:.1f} GB/s with one core, {:.1f} GB/s with {}\n\n", bandwidth(1) / 1e9,
             bandwidth(omp_get_max_threads()) / 1e9, omp_get_max_threads());
  const char* head =
      "| {} | type | entries | cores | floor ms | echelon ms | echelon / floor | {} ms | {} / echelon |\n"
      "|---|---|---|---|---|---|---|---|---|\n";
  fmt::print(fmt::runtime(head), "transpose", "Eigen", "Eigen");
  compare_transposes<double>(entries, files);
  compare_transposes<float>(entries, files);
  fmt::print("\n");
  fmt::print(fmt::runtime(head), "COO to CSR", "SciPy", "SciPy");
  compare_tocsr("scattered", ec::bench::scattered<double>(entries));
  compare_tocsr("scattered", ec::bench::scattered<float>(entries));
  compare_tocsr("elements", ec::bench::elements<double>(entries));
  compare_tocsr("elements", ec::bench::elements<float>(entries));
}
