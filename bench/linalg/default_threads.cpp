// SPDX-License-Identifier: BSD-3-Clause
// Is the default device of the host, openmp with all cores, ever slower than serial?
//   bench_default_threads [--load PROCESSES] [--up-to ROWS] [--runs N]
// prints a table in Markdown for small and large 5-point Laplacians: median times of operations and solves on
// both devices, measured in turn, and their ratio. --load starts as many processes that keep a core busy each
// while the table is measured. Solves take 20 iterations without a set-up.
#include "support/arguments.hpp"
#include "support/measure.hpp"

#include <echelon/echelon.hpp>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace ec = echelon;

namespace {

/// Processes that compute until the object is destroyed.
class Load {
 public:
  explicit Load(int processes) {
    for (int p = 0; p < processes; ++p) {
      const pid_t child = fork();
      if (child == 0) {
        const pid_t parent = getppid();
        volatile double x = 1;
        while (getppid() == parent) {
          for (int k = 0; k < 1'000'000; ++k) x = x * 1.0000001;
        }
        _exit(0);
      }
      children_.push_back(child);
    }
  }
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;
  ~Load() {
    for (const pid_t child : children_) kill(child, SIGKILL), waitpid(child, nullptr, 0);
  }

 private:
  std::vector<pid_t> children_;
};

/// An operation by name, on the device of the operands that it holds.
using Operations = std::map<std::string, std::function<void()>>;

/// Operands on one device, with what operations keep from call to call.
struct Operands {
  Operands(const ec::Device& device, const ec::Csr<double>& matrix)
      : A(&matrix),
        context(device),
        sweeper(device),
        X(device, matrix.rows(), 4),
        Y(device, matrix.rows(), 4),
        dense(device, dense_rows(matrix), dense_rows(matrix)) {
    for (std::int64_t e = 0; e < X.rows() * 4; ++e) X[e] = Y[e] = std::sin(static_cast<double>(e));
    for (std::int64_t e = 0; e < dense.rows() * dense.columns(); ++e)
      dense[e] = 1 / static_cast<double>(e + 1);
    for (const auto& [name, method, options] : solves()) {
      ec::Options all = options;
      all.set("max_iterations", std::int64_t{20});
      all.set("rtol", 1e-15);
      solvers.emplace(name, ec::make_solver<double>(method, device, all)).first->second.setup(*A);
    }
  }

  /// As many rows as make the dense matrix as large as the sparse one.
  static std::int64_t dense_rows(const ec::Csr<double>& matrix) {
    return static_cast<std::int64_t>(std::sqrt(static_cast<double>(matrix.nonzeros())));
  }
  struct Solve {
    std::string name, method;
    ec::Options options;
  };
  static std::vector<Solve> solves() {
    return {{"cg", "cg", {}},
            {"cg, ssor", "cg", {{"preconditioner", "ssor"}}},
            {"cg, ilu0", "cg", {{"preconditioner", "ilu0"}}},
            {"gmres", "gmres", {}},
            {"gauss-seidel", "gauss-seidel", {}}};
  }

  [[nodiscard]] ec::DenseView<const double> source(std::int64_t rows, std::int64_t columns) const {
    return {X.data(), rows, columns, X.leading(), X.device()};
  }
  ec::DenseView<double> target(std::int64_t rows, std::int64_t columns) {
    return {Y.data(), rows, columns, Y.leading(), Y.device()};
  }

  Operations operations() {
    const std::int64_t n = A->rows();
    const std::int64_t m = dense.rows();
    const ec::MatrixRef<double> D(dense);
    Operations list = {
        {"y += a x", [=, this] { ec::axpy<double>(context, 0.5, source(n, 1), target(n, 1)); }},
        {"(x, y)", [=, this] { (void)ec::dot<double>(context, source(n, 1), target(n, 1)); }},
        {"A x", [=, this] { ec::multiply<double>(context, 1, *A, source(n, 1), 0, target(n, 1)); }},
        {"A X, 4 columns",
         [=, this] { ec::multiply<double>(context, 1, *A, source(n, 4), 0, target(n, 4)); }},
        {"A^T x",
         [=, this] { ec::multiply_transposed<double>(context, 1, *A, source(n, 1), 0, target(n, 1)); }},
        {"dense A x", [=, this] { ec::multiply<double>(context, 1, D, source(m, 1), 0, target(m, 1)); }},
        {"dense A^T x",
         [=, this] { ec::multiply_transposed<double>(context, 1, D, source(m, 1), 0, target(m, 1)); }},
        {"sweep", [=, this] { sweeper.sweep(*A, source(n, 1), target(n, 1)); }},
    };
    for (auto& [name, solver] : solvers) {
      list["20 iterations of " + name] = [&solver = solver, n, this] {
        (void)solver.solve(source(n, 1), target(n, 1));
      };
    }
    return list;
  }

  const ec::Csr<double>* A;
  ec::Context context;
  ec::GaussSeidelSweep<double> sweeper;
  ec::Dense<double> X, Y, dense;
  std::map<std::string, ec::Solver<double>> solvers;
};

struct Times {
  double serial = 0;
  double openmp = 0;
};

/// Medians of `runs` measurements in turn, each the mean over as many calls as take 5 ms.
Times measure(const std::function<void()>& serial, const std::function<void()>& openmp, int runs) {
  const auto seconds = [](const std::function<void()>& f, int calls) {
    const auto start = std::chrono::steady_clock::now();
    for (int k = 0; k < calls; ++k) f();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / calls;
  };
  openmp();
  const double once = std::min({seconds(serial, 3), seconds(serial, 3), seconds(serial, 3)});
  const int calls = std::clamp(static_cast<int>(5e-3 / once), 1, 100'000);
  std::vector<double> in_serial;
  std::vector<double> in_openmp;
  for (int run = 0; run < runs; ++run) {
    in_serial.push_back(seconds(serial, calls));
    in_openmp.push_back(seconds(openmp, calls));
  }
  return {ec::bench::median(in_serial), ec::bench::median(in_openmp)};
}

}  // namespace

int main(int argc, char** argv) {
  ec::bench::Arguments arguments(argc, argv, "[--load PROCESSES] [--up-to ROWS] [--runs N]");
  const int processes = arguments.option("--load", 0);
  const auto largest = arguments.option("--up-to", std::int64_t{1'000'000});
  const int runs = arguments.option("--runs", 15);
  arguments.finish();
  const Load load(processes);
  std::printf(
      "%s; %d other processes\n\n| operation | rows | serial us | openmp us | openmp / serial |\n"
      "|---|---|---|---|---|\n",
      hardware(ec::Device::openmp()).c_str(), processes);
  for (const std::int64_t side : {10, 32, 100, 316, 1000}) {
    if (side * side > largest) continue;
    const auto A = ec::generate::poisson_2d<double>(side, side);
    Operands on_one(ec::Device::serial(), A);
    Operands on_all(ec::Device::openmp(), A);
    const Operations serial = on_one.operations();
    for (const auto& [name, openmp] : on_all.operations()) {
      const Times times = measure(serial.at(name), openmp, runs);
      std::printf("| %s | %lld | %.2f | %.2f | %.2f |\n", name.c_str(), static_cast<long long>(side * side),
                  1e6 * times.serial, 1e6 * times.openmp, times.openmp / times.serial);
      std::fflush(stdout);
    }
  }
}
