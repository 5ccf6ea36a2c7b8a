// SPDX-License-Identifier: BSD-3-Clause
// New values in a kept pattern: sparse-lu on one core compared with KLU.
//   bench_new_values [--runs N] [--estimates] FILE...
// prints a table in Markdown: for each square matrix the milliseconds of processor time of the set-up, of
// update_values(), and of a solve of one right-hand side with the report, with and without a measurement of
// the error of x; of KLU's analysis with the first factorisation, klu_refactor and klu_tsolve; the ratio of
// update and solve to KLU's, with and without that measurement; and the largest backward error of both. In
// each of RUNS (30) steps, which both take by turns, every element changes by at most a thousandth; times are
// the shortest. --estimates: the condition number is estimated in every update. KLU takes the rows of A as
// columns, which saves a transposition.
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
  Shortest unmeasured_solve;  ///< without a measurement of the error of x
  double backward_error = 0;
  [[nodiscard]] double step() const { return update.milliseconds_of_run() + solve.milliseconds_of_run(); }
  [[nodiscard]] double unmeasured_step() const {
    return update.milliseconds_of_run() + unmeasured_solve.milliseconds_of_run();
  }
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

/// One solver's part of a step, by turns with the other's, so that both meet the same load of the machine.
class EchelonSteps {
 public:
  EchelonSteps(const ec::Csr<double>& A, bool estimates)
      : solver_(ec::make_solver<double>("sparse-lu", ec::Device::serial(),
                                        {{"condition_of_updates", estimates}})),
        ones_(static_cast<std::size_t>(A.rows()), 1.0),
        x_(ec::Device(), A.rows(), 1) {
    times.first.measure([&] { static_cast<void>(solver_.setup(A)); });
  }
  void step(const ec::Csr<double>& next) {
    const ec::DenseView<const double> b(ones_.data(), next.rows(), 1, next.rows(), ec::Device());
    times.update.measure([&] { static_cast<void>(solver_.update_values(next)); });
    times.solve.measure([&] { static_cast<void>(solver_.solve(b, x_.view())); });
    times.unmeasured_solve.measure(
        [&] { static_cast<void>(solver_.solve(b, x_.view(), {.measure_error = false})); });
    times.backward_error = std::max(times.backward_error, ec::bench::backward_error(next, x_.data()));
  }
  Times times;

 private:
  ec::Solver<double> solver_;
  std::vector<double> ones_;
  ec::Dense<double> x_;
};

class KluSteps {
 public:
  explicit KluSteps([[maybe_unused]] const ec::Csr<double>& A) {
#ifdef ECHELON_BENCH_WITH_KLU
    times.first.measure([&] { klu_.factor(A); });
#endif
  }
  void step([[maybe_unused]] const ec::Csr<double>& next) {
#ifdef ECHELON_BENCH_WITH_KLU
    std::vector<double> x(static_cast<std::size_t>(next.rows()), 1.0);
    times.update.measure([&] { klu_.refactor(next); });
    times.solve.measure([&] { klu_.solve(x); });
    times.backward_error = std::max(times.backward_error, ec::bench::backward_error(next, x.data()));
#endif
  }
  Times times;

#ifdef ECHELON_BENCH_WITH_KLU
 private:
  ec::bench::Klu klu_;
#endif
};

}  // namespace

int main(int argc, char** argv) {
  ec::bench::Arguments arguments(argc, argv, "[--runs N] [--estimates] FILE...");
  const auto runs = arguments.option<std::int64_t>("--runs", 30);
  const bool estimates = arguments.flag("--estimates");
  const std::vector<std::string> files = arguments.positionals("file");
  arguments.finish();
  std::printf(
      "| matrix | n | nonzeros | set-up ms | update ms | solve ms | unmeasured ms | KLU first ms | refactor "
      "ms | "
      "solve ms | ratio | unmeasured | backward error | of KLU |\n"
      "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n");
  double logarithms = 0;
  double unmeasured_logarithms = 0;
  for (const std::string& file : files) {
    const ec::Csr<double> A = ec::to_csr<double>(ec::read_matrix<double>(file));
    EchelonSteps own(A, estimates);
    KluSteps klu(A);
    Sequence sequence(A);
    for (std::int64_t run = 0; run < runs; ++run) {
      const ec::Csr<double>& next = sequence.next();
      own.step(next);
      klu.step(next);
    }
    const double ratio = own.times.step() / klu.times.step();
    const double unmeasured = own.times.unmeasured_step() / klu.times.step();
    logarithms += std::log(ratio);
    unmeasured_logarithms += std::log(unmeasured);
    std::printf(
        "| %s | %lld | %lld | %.2f | %.4f | %.4f | %.4f | %.2f | %.4f | %.4f | %.2f | %.2f | %.1e | %.1e |\n",
        file.substr(file.rfind('/') + 1).c_str(), static_cast<long long>(A.rows()),
        static_cast<long long>(A.nonzeros()), own.times.first.milliseconds_of_run(),
        own.times.update.milliseconds_of_run(), own.times.solve.milliseconds_of_run(),
        own.times.unmeasured_solve.milliseconds_of_run(), klu.times.first.milliseconds_of_run(),
        klu.times.update.milliseconds_of_run(), klu.times.solve.milliseconds_of_run(), ratio, unmeasured,
        own.times.backward_error, klu.times.backward_error);
    std::fflush(stdout);
  }
  const auto count = static_cast<double>(std::max<std::size_t>(files.size(), 1));
  std::printf("\nGeometric mean of the ratios: %.2f, unmeasured %.2f\n", std::exp(logarithms / count),
              std::exp(unmeasured_logarithms / count));
}
