// SPDX-License-Identifier: BSD-3-Clause
// New values in a kept pattern: sparse-lu on one core compared with KLU.
//   bench_new_values [--runs N] FILE...
// prints a table in Markdown: for each square matrix the milliseconds of processor time of the set-up, of
// update_values() and of a solve of one right-hand side with the report, and of KLU's analysis with the first
// factorisation, klu_refactor and klu_tsolve; the ratio of update and solve to KLU's; and the largest
// backward error of both. Each of RUNS (30) steps changes every element by at most a thousandth; times are
// the shortest. KLU takes the rows of A as columns, which saves a transposition.
#include "sparse_direct/backward_error.hpp"
#include "support/arguments.hpp"
#include "support/measure.hpp"

#include <echelon/io/files.hpp>
#include <echelon/solver.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#ifdef ECHELON_BENCH_WITH_KLU
#include "sparse_direct/klu.hpp"
#endif

namespace ec = echelon;

namespace {

using ec::bench::Clock;
using ec::bench::milliseconds;

/// The shortest of several times.
class Shortest {
 public:
  template <class F>
  void measure(F f) {
    const double start = milliseconds(Clock::thread);
    f();
    const double time = milliseconds(Clock::thread) - start;
    shortest_ = measured_ ? std::min(shortest_, time) : time;
    measured_ = true;
  }
  [[nodiscard]] double milliseconds_of_run() const { return shortest_; }

 private:
  double shortest_ = 0;
  bool measured_ = false;
};

struct Times {
  Shortest first, update, solve;
  double backward_error = 0;
  [[nodiscard]] double step() const { return update.milliseconds_of_run() + solve.milliseconds_of_run(); }
};

/// The matrices of a sequence, which differ in their values.
class Sequence {
 public:
  explicit Sequence(const ec::Csr<double>& A) : A_(A), current_(A) {}
  const ec::Csr<double>& next() {
    std::uniform_real_distribution<double> change(-1e-3, 1e-3);
    for (std::int64_t k = 0; k < A_.nonzeros(); ++k)
      current_.values()[k] = A_.values()[k] * (1 + change(random_));
    return current_;
  }

 private:
  const ec::Csr<double>& A_;
  ec::Csr<double> current_;
  std::mt19937_64 random_{1};
};

Times measure_echelon(const ec::Csr<double>& A, std::int64_t runs) {
  Times times;
  auto solver = ec::make_solver<double>("sparse-lu", ec::Device::serial());
  const std::vector<double> ones(static_cast<std::size_t>(A.rows()), 1.0);
  ec::Dense<double> x(ec::Device(), A.rows(), 1);
  const ec::DenseView<const double> b(ones.data(), A.rows(), 1, A.rows(), ec::Device());
  times.first.measure([&] { static_cast<void>(solver.setup(A)); });
  Sequence sequence(A);
  for (std::int64_t run = 0; run < runs; ++run) {
    const ec::Csr<double>& next = sequence.next();
    times.update.measure([&] { static_cast<void>(solver.update_values(next)); });
    times.solve.measure([&] { static_cast<void>(solver.solve(b, x.view())); });
    times.backward_error = std::max(times.backward_error, ec::bench::backward_error(next, x.data()));
  }
  return times;
}

#ifdef ECHELON_BENCH_WITH_KLU
Times measure_klu(const ec::Csr<double>& A, std::int64_t runs) {
  Times times;
  ec::bench::Klu klu;
  times.first.measure([&] { klu.factor(A); });
  Sequence sequence(A);
  for (std::int64_t run = 0; run < runs; ++run) {
    const ec::Csr<double>& next = sequence.next();
    std::vector<double> x(static_cast<std::size_t>(A.rows()), 1.0);
    times.update.measure([&] { klu.refactor(next); });
    times.solve.measure([&] { klu.solve(x); });
    times.backward_error = std::max(times.backward_error, ec::bench::backward_error(next, x.data()));
  }
  return times;
}
#else
Times measure_klu(const ec::Csr<double>& /*A*/, std::int64_t /*runs*/) {
  return {};
}
#endif

}  // namespace

int main(int argc, char** argv) {
  ec::bench::Arguments arguments(argc, argv, "[--runs N] FILE...");
  const auto runs = arguments.option<std::int64_t>("--runs", 30);
  const std::vector<std::string> files = arguments.positionals("file");
  arguments.finish();
  std::printf(
      "| matrix | n | nonzeros | set-up ms | update ms | solve ms | KLU first ms | refactor ms | solve ms | "
      "ratio | backward error | of KLU |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | "
      "---: | ---: | ---: |\n");
  double logarithms = 0;
  for (const std::string& file : files) {
    const ec::Csr<double> A = ec::to_csr<double>(ec::read_matrix<double>(file));
    const Times own = measure_echelon(A, runs);
    const Times klu = measure_klu(A, runs);
    const double ratio = own.step() / klu.step();
    logarithms += std::log(ratio);
    std::printf("| %s | %lld | %lld | %.2f | %.3f | %.3f | %.2f | %.3f | %.3f | %.2f | %.1e | %.1e |\n",
                file.substr(file.rfind('/') + 1).c_str(), static_cast<long long>(A.rows()),
                static_cast<long long>(A.nonzeros()), own.first.milliseconds_of_run(),
                own.update.milliseconds_of_run(), own.solve.milliseconds_of_run(),
                klu.first.milliseconds_of_run(), klu.update.milliseconds_of_run(),
                klu.solve.milliseconds_of_run(), ratio, own.backward_error, klu.backward_error);
    std::fflush(stdout);
  }
  std::printf("\nGeometric mean of the ratios: %.2f\n",
              std::exp(logarithms / static_cast<double>(std::max<std::size_t>(files.size(), 1))));
}
