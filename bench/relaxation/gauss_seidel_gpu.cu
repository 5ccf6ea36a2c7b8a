// SPDX-License-Identifier: BSD-3-Clause
// Exact Gauss-Seidel sweeps on the GPU, compared with one core (the textbook loop and Echelon's), with
// cuSPARSE's triangular solve (a part of a sweep, after an analysis of the matrix) and with the published
// relaunch scheme.
//   bench_gauss_seidel_gpu [--rows N] [--small] [--shapes | --launches] [--only] [--grids] [MATRIX]...
// prints a Markdown table for a matrix with the published statistics (N rows; 51,813,503 by default) in float
// and in double, three grids, and the given matrices. --small uses small grids, --grids only the grids,
// --only none of these, --shapes compares chunk plans instead, and --launches threads of a block and passes
// over a row of the relaunch scheme. GPU times are medians of 15 measurements
// (3 with --shapes), each the mean of enough calls to last a millisecond; one core's is the median of 3. The
// floor is the bytes of a forward sweep at the speed of a copy.
#include "backend/cuda/cuda.cuh"
#include "backend/cuda/owned.cuh"
#include "backend/host/host.hpp"
#include "plain_sweep.hpp"
#include "relaxation/gauss_seidel/sweep.hpp"
#include "studies/gauss_seidel_relaunch/relaunch.hpp"
#include "support/arguments.hpp"
#include "support/cusparse.cuh"
#include "support/measure.cuh"

#include <echelon/echelon.hpp>

#include <cuda_runtime.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

namespace ec = echelon;

namespace {

struct Settings {
  std::int64_t rows = 51'813'503;
  bool small = false;
  bool shapes = false;
  bool launches = false;
  bool only = false;
  bool grids = false;
  std::vector<std::string> files;
};

/// cuSPARSE's solve with the lower triangle.
template <class T>
class LowerSolve {
  using Handle = ec::Owned<cusparseHandle_t, cusparseDestroy>;
  using Matrix = ec::Owned<cusparseSpMatDescr_t, cusparseDestroySpMat>;
  using Vector = ec::Owned<cusparseDnVecDescr_t, cusparseDestroyDnVec>;
  using Plan = ec::Owned<cusparseSpSVDescr_t, cusparseSpSV_destroyDescr>;

 public:
  LowerSolve(const ec::Csr<T>& host, const ec::Csr<T>& A, const T* b, T* x)
      : handle_(ec::make_owned<Handle>(cusparseCreate)) {
    const auto offsets = host.row_offsets().span();
    const std::vector<std::int32_t> narrow(offsets.begin(), offsets.end());
    offsets_ = ec::Array<std::int32_t>(A.device(), std::span<const std::int32_t>(narrow));
    ec::check(cusparseSetStream(handle_.get(), ec::stream()));
    // cuSPARSE only reads these arrays.
    matrix_ = ec::make_owned<Matrix>(cusparseCreateCsr, A.rows(), A.columns(), A.nonzeros(), offsets_.data(),
                                     const_cast<std::int32_t*>(A.column_indices().data()),
                                     const_cast<T*>(A.values().data()), CUSPARSE_INDEX_32I,
                                     CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, type);
    b_ = ec::make_owned<Vector>(cusparseCreateDnVec, A.rows(), const_cast<T*>(b), type);
    x_ = ec::make_owned<Vector>(cusparseCreateDnVec, A.rows(), x, type);
    cusparseFillMode_t lower = CUSPARSE_FILL_MODE_LOWER;
    cusparseDiagType_t stored = CUSPARSE_DIAG_TYPE_NON_UNIT;
    ec::check(cusparseSpMatSetAttribute(matrix_.get(), CUSPARSE_SPMAT_FILL_MODE, &lower, sizeof lower));
    ec::check(cusparseSpMatSetAttribute(matrix_.get(), CUSPARSE_SPMAT_DIAG_TYPE, &stored, sizeof stored));
  }

  /// Seconds of a first analysis. Its buffer is allocated before.
  double analyze() {
    plan_ = ec::make_owned<Plan>(cusparseSpSV_createDescr);
    std::size_t bytes = 0;
    ec::check(cusparseSpSV_bufferSize(handle_.get(), operation, &one, matrix_.get(), b_.get(), x_.get(), type,
                                      CUSPARSE_SPSV_ALG_DEFAULT, plan_.get(), &bytes));
    buffer_ = ec::Array<unsigned char>(offsets_.device(), static_cast<std::int64_t>(bytes) + 1);
    ec::check(cudaStreamSynchronize(ec::stream()));
    const auto start = std::chrono::steady_clock::now();
    ec::check(cusparseSpSV_analysis(handle_.get(), operation, &one, matrix_.get(), b_.get(), x_.get(), type,
                                    CUSPARSE_SPSV_ALG_DEFAULT, plan_.get(), buffer_.data()));
    ec::check(cudaStreamSynchronize(ec::stream()));
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  void operator()() {
    ec::check(cusparseSpSV_solve(handle_.get(), operation, &one, matrix_.get(), b_.get(), x_.get(), type,
                                 CUSPARSE_SPSV_ALG_DEFAULT, plan_.get()));
  }

 private:
  static constexpr cudaDataType type = sizeof(T) == 8 ? CUDA_R_64F : CUDA_R_32F;
  static constexpr auto operation = CUSPARSE_OPERATION_NON_TRANSPOSE;
  static constexpr T one = 1;
  Handle handle_;
  ec::Array<std::int32_t> offsets_;
  ec::Array<unsigned char> buffer_;  // outlives the plan that points into it
  Matrix matrix_;
  Vector b_;
  Vector x_;
  Plan plan_;
};

/// A system on the host and on the GPU.
template <class T>
struct Problem {
  Problem(std::string its_name, ec::Csr<T> matrix)
      : name(std::move(its_name)),
        host(std::move(matrix)),
        A(host.to(gpu)),
        b_host(ec::Device(), host.rows(), 1),
        start(ec::Device(), host.rows(), 1),
        b(gpu, host.rows(), 1),
        x(gpu, host.rows(), 1) {
    for (std::int64_t i = 0; i < host.rows(); ++i) {
      b_host.data()[i] = static_cast<T>(1 + i % 17) / T{17};
      start.data()[i] = static_cast<T>(1 + i % 5) / T{5};
    }
    b = b_host.to(gpu);
  }
  [[nodiscard]] ec::gauss_seidel::Sweeps<T> sweeps(bool on_gpu, T* target, ec::SweepKind kind,
                                                   std::int64_t count) const {
    return {.A = on_gpu ? &A : &host,
            .right_hand_sides = 1,
            .b = on_gpu ? b.data() : b_host.data(),
            .leading_b = host.rows(),
            .x = target,
            .leading_x = host.rows(),
            .kind = kind,
            .sweeps = count,
            .omega = 1};
  }
  /// Bytes of a sweep: offsets, elements, b, and both vectors once.
  [[nodiscard]] double bytes() const {
    return static_cast<double>(host.nonzeros()) * (4 + sizeof(T)) +
           static_cast<double>(host.rows()) * (8 + 3 * sizeof(T));
  }

  ec::Device gpu = ec::Device::cuda();
  std::string name;
  ec::Csr<T> host;
  ec::Csr<T> A;
  ec::Dense<T> b_host;
  ec::Dense<T> start;
  ec::Dense<T> b;
  ec::Dense<T> x;
};

/// Sweeps on the GPU over a problem.
template <class T>
class GpuSweeps {
 public:
  explicit GpuSweeps(Problem<T>& problem) : problem_(problem), backend_(problem.gpu), scratch_(problem.gpu) {}

  void set(const ec::gauss_seidel::SweepTuning& tuning) { scratch_.tuning = tuning; }
  [[nodiscard]] std::size_t bytes() const { return scratch_.bytes(); }
  void queue(ec::SweepKind kind, std::int64_t count) {
    ec::gauss_seidel::sweep(backend_, problem_.sweeps(true, problem_.x.data(), kind, count), scratch_);
  }
  /// Seconds per sweep, with `count` sweeps in a call.
  double seconds(ec::SweepKind kind, std::int64_t count) {
    problem_.x = problem_.start.to(problem_.gpu);
    return ec::bench::gpu_seconds([&] { queue(kind, count); }) / static_cast<double>(count);
  }
  /// True if a sweep has the bits of the serial sweep.
  bool agrees(const ec::Dense<T>& expected) {
    problem_.x = problem_.start.to(problem_.gpu);
    queue(ec::SweepKind::forward, 1);
    const ec::Dense<T> x = problem_.x.to(ec::Device());
    return std::memcmp(x.data(), expected.data(), static_cast<std::size_t>(x.rows()) * sizeof(T)) == 0;
  }

 private:
  Problem<T>& problem_;
  ec::Cuda backend_;
  ec::gauss_seidel::SweepWorkspace<ec::Cuda, T> scratch_;
};

/// Median of 3 runs of f on x, which is reset for each run.
template <class T, class F>
double host_seconds(const Problem<T>& problem, ec::Dense<T>& x, F f) {
  std::vector<double> seconds;
  for (int run = 0; run < 3; ++run) {
    x = problem.start;
    const auto start = std::chrono::steady_clock::now();
    f();
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return ec::bench::median(std::move(seconds));
}

/// Seconds of a sweep on one core, whose result is left in x.
template <class T>
double core_seconds(const Problem<T>& problem, ec::Dense<T>& x) {
  ec::Host backend{ec::Device()};
  ec::gauss_seidel::SweepWorkspace<ec::Host, T> scratch{ec::Device()};
  return host_seconds(problem, x, [&] {
    ec::gauss_seidel::sweep(backend, problem.sweeps(false, x.data(), ec::SweepKind::forward, 1), scratch);
  });
}

struct Relaunched {
  double seconds;
  std::int64_t launches;
};

template <class T>
Relaunched relaunch(Problem<T>& problem, const ec::gauss_seidel::LaunchSettings& settings = {}) {
  ec::Cuda backend(problem.gpu);
  ec::gauss_seidel::RelaunchWorkspace<T> scratch(problem.gpu, problem.host.rows());
  std::vector<double> seconds;
  std::int64_t launches = 0;
  for (int run = 0; run < 4; ++run) {
    problem.x = problem.start.to(problem.gpu);
    const auto start = std::chrono::steady_clock::now();
    launches = ec::gauss_seidel::relaunch_sweep(backend, problem.A, nullptr, problem.b.data(),
                                                problem.x.data(), scratch, false, settings);
    backend.synchronize();
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  seconds.erase(seconds.begin());
  return {ec::bench::median(std::move(seconds)), launches};
}

void print_head() {
  std::printf(
      "| matrix | type | rows | nonzeros | levels | launches | plain ms | one core ms | relaunch ms | SpSV "
      "analysis ms "
      "| "
      "SpSV ms | sweep ms | of 8, ms | symmetric ms | floor ms | plain / sweep | core / sweep | relaunch / "
      "sweep | SpSV / "
      "sweep "
      "| SpSV / of 8 | symmetric / sweep | of floor | bytes a row | same bits |\n"
      "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
}

/// Prints a row of the table.
template <class T>
void compare(Problem<T>& problem, double bandwidth) {
  ec::Dense<T> expected(ec::Device(), problem.host.rows(), 1);
  const double plain = host_seconds(problem, expected, [&] {
    ec::bench::plain_sweep(problem.host, problem.b_host.data(), expected.data());
  });
  const double core = core_seconds(problem, expected);
  const std::int64_t levels = ec::analyze_dependencies<T>(problem.host).forward.levels;
  GpuSweeps<T> ours(problem);
  const bool same = ours.agrees(expected);
  const double sweep = ours.seconds(ec::SweepKind::forward, 1);
  const double of_8 = ours.seconds(ec::SweepKind::forward, 8);
  const double symmetric = ours.seconds(ec::SweepKind::symmetric, 1);
  // Memory of a forward sweep; a symmetric one stores half a vector more.
  const double bytes = static_cast<double>(ours.bytes()) / static_cast<double>(problem.host.rows());
  LowerSolve<T> solve(problem.host, problem.A, problem.b.data(), problem.x.data());
  const double analysis = solve.analyze();
  const double spsv = ec::bench::gpu_seconds([&] { solve(); });
  const Relaunched relaunched = relaunch(problem);
  const double floor = problem.bytes() / bandwidth;
  std::printf(
      "| %s | %s | %lld | %lld | %lld | %lld | %.1f | %.1f | %.2f | %.2f | %.3f | %.3f | %.3f | %.3f | %.3f "
      "| %.0f | %.0f "
      "| "
      "%.1f | %.2f | %.2f | %.2f | %.0f %% | %.0f | %s |\n",
      problem.name.c_str(), sizeof(T) == 8 ? "double" : "float", static_cast<long long>(problem.host.rows()),
      static_cast<long long>(problem.host.nonzeros()), static_cast<long long>(levels),
      static_cast<long long>(relaunched.launches), 1e3 * plain, 1e3 * core, 1e3 * relaunched.seconds,
      1e3 * analysis, 1e3 * spsv, 1e3 * sweep, 1e3 * of_8, 1e3 * symmetric, 1e3 * floor, plain / sweep,
      core / sweep, relaunched.seconds / sweep, spsv / sweep, spsv / of_8, symmetric / sweep,
      100 * floor / sweep, bytes, same ? "yes" : "NO");
  std::fflush(stdout);
}

/// Seconds of f, measured briefly: median of 3 after one warm-up.
template <class F>
double quick_seconds(F f) {
  f();
  std::vector<double> seconds;
  ec::bench::Event start;
  ec::bench::Event end;
  for (int run = 0; run < 3; ++run) {
    start.record();
    f();
    end.record();
    seconds.push_back(end.seconds_since(start));
  }
  return ec::bench::median(std::move(seconds));
}

/// Chunk plans that may be best for some matrix.
std::vector<ec::gauss_seidel::SweepTuning> shapes(bool short_rows) {
  std::vector<ec::gauss_seidel::SweepTuning> result;
  ec::gauss_seidel::SweepTuning tuning;
  for (const int rows_per_thread : {1, 2, 4}) {
    for (const int threads : {64, 128, 256, 512, 1024}) {
      if (rows_per_thread * threads < 128) continue;
      tuning = {.threads = threads,
                .rows_per_thread = rows_per_thread,
                .staged_per_row = 0,
                .long_rows_from = 1 << 20};
      result.push_back(tuning);
      tuning.staged_per_row = 1000;
      if (short_rows) result.push_back(tuning);
    }
  }
  tuning = {.rows_per_thread = 1, .long_rows_from = 0};
  result.push_back(tuning);
  return result;
}

/// Prints a line for each chunk plan.
template <class T>
void compare_shapes(Problem<T>& problem) {
  std::printf("\n%s, %s: ms of a forward, a backward and a symmetric sweep\n\n", problem.name.c_str(),
              sizeof(T) == 8 ? "double" : "float");
  std::printf(
      "| rows by | threads | rows per thread | staged | forward | backward | symmetric |\n"
      "|---|---|---|---|---|---|---|\n");
  GpuSweeps<T> ours(problem);
  problem.x = problem.start.to(problem.gpu);
  for (const auto& tuning : shapes(problem.host.nonzeros() <= 8 * problem.host.rows())) {
    ours.set(tuning);
    const auto milliseconds = [&](ec::SweepKind kind) {
      return 1e3 * quick_seconds([&] { ours.queue(kind, 1); });
    };
    const double forward = milliseconds(ec::SweepKind::forward);
    const double backward = milliseconds(ec::SweepKind::backward);
    const double symmetric = milliseconds(ec::SweepKind::symmetric);
    std::printf("| %s | %d | %d | %s | %.3f | %.3f | %.3f |\n",
                tuning.long_rows_from == 0 ? "warps" : "lanes", tuning.threads, tuning.rows_per_thread,
                tuning.staged_per_row > 0 ? "yes" : "no", forward, backward, symmetric);
    std::fflush(stdout);
  }
}

/// Prints a line for each number of threads of a block.
template <class T>
void compare_launches(Problem<T>& problem) {
  std::printf("\n%s, %s: ms of a forward sweep by launches over all rows\n\n", problem.name.c_str(),
              sizeof(T) == 8 ? "double" : "float");
  std::printf(
      "| threads of a block | two passes over a row | launches | one pass | launches |\n"
      "|---|---|---|---|---|\n");
  for (const std::int64_t threads : {32, 64, 128, 256, 512, 1024}) {
    const Relaunched two = relaunch(problem, {.threads_per_block = threads});
    const Relaunched one = relaunch(problem, {.one_pass = true, .threads_per_block = threads});
    std::printf("| %lld | %.2f | %lld | %.2f | %lld |\n", static_cast<long long>(threads), 1e3 * two.seconds,
                static_cast<long long>(two.launches), 1e3 * one.seconds,
                static_cast<long long>(one.launches));
    std::fflush(stdout);
  }
}

template <class T>
void run(const std::string& name, ec::Csr<T> A, const Settings& settings, double bandwidth) {
  Problem<T> problem(name, std::move(A));
  if (settings.shapes) {
    compare_shapes(problem);
  } else if (settings.launches) {
    compare_launches(problem);
  } else {
    compare(problem, bandwidth);
  }
}

Settings parse(int argc, char** argv) {
  ec::bench::Arguments arguments(argc, argv,
                                 "[--rows N] [--small] [--shapes | --launches] [--only] [--grids] "
                                 "[MATRIX.mtx[.gz]]...");
  Settings settings;
  settings.rows = arguments.option("--rows", settings.rows);
  settings.small = arguments.flag("--small");
  settings.shapes = arguments.flag("--shapes");
  settings.launches = arguments.flag("--launches");
  settings.only = arguments.flag("--only");
  settings.grids = arguments.flag("--grids");
  settings.files = arguments.positionals("MATRIX");
  return settings;
}

}  // namespace

int main(int argc, char** argv) {
  const Settings settings = parse(argc, argv);
  const double bandwidth = ec::bench::copy_bandwidth();
  std::printf("%s, copy %.0f GB/s\n\n", hardware(ec::Device::cuda()).c_str(), bandwidth / 1e9);
  if (!settings.shapes && !settings.launches) print_head();
  if (!settings.only && !settings.grids) {
    run("published statistics", ec::generate::published_triangle<float>(settings.rows), settings, bandwidth);
    run("published statistics", ec::generate::published_triangle<double>(settings.rows), settings, bandwidth);
  }
  if (!settings.only) {
    const std::int64_t plane = settings.small ? 256 : 2048;
    const std::int64_t cube = settings.small ? 64 : 256;
    const std::int64_t dense_cube = settings.small ? 48 : 192;
    run("5-point " + std::to_string(plane) + "^2", ec::generate::poisson_2d<double>(plane, plane), settings,
        bandwidth);
    run("7-point " + std::to_string(cube) + "^3", ec::generate::poisson_3d<double>(cube, cube, cube),
        settings, bandwidth);
    run("27-point " + std::to_string(dense_cube) + "^3",
        ec::generate::poisson_3d<double>(dense_cube, dense_cube, dense_cube, 27), settings, bandwidth);
  }
  for (const std::string& file : settings.files) {
    auto A = ec::read_matrix_market<double>(file);
    if (A.rows() != A.columns() || A.rows() == 0) continue;
    run(std::filesystem::path(file).filename().string(), std::move(A), settings, bandwidth);
  }
}
