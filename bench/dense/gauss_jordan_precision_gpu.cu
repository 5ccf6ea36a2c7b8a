// SPDX-License-Identifier: BSD-3-Clause
// What do lower precisions of the elimination bring on a GPU?
//   bench_gauss_jordan_precision_gpu [--up-to N]
// Solves and inverses with every factor_precision, compared with the working precision, from n = 4096 on.
#include "dense_gpu.cuh"

#include <echelon/echelon.hpp>
#include <echelon/enum_words.hpp>

#include <cmath>
#include <cstdio>
#include <string>

namespace ec = echelon;
using namespace echelon::bench;

namespace {

/// A measured run with one factor_precision.
struct PrecisionRun {
  double seconds = 0;
  ec::Report report;
};

std::string used_precision(const ec::Report& report) {
  if (!report.factor_precision) return "working";
  const ec::FactorPrecision& precision = *report.factor_precision;
  const std::string used(to_string(precision.used));
  return precision.used == precision.asked ? used : used + ": " + precision.why;
}

void print(const char* type, const char* matrix, std::int64_t n, const char* task, const char* asked,
           const PrecisionRun& run, double working) {
  std::printf("| %s | %s | %lld | %s | %s | %.3f | %.2f | %lld | %.1e | %s |\n", type, matrix,
              static_cast<long long>(n), task, asked, 1e3 * run.seconds, working / run.seconds,
              static_cast<long long>(run.report.iterations), run.report.backward_error,
              used_precision(run.report).c_str());
  std::fflush(stdout);
}

template <class T>
void measure(const Sizes& sizes, const char* matrix, double diagonal) {
  for (std::int64_t n = 4096; n <= sizes.largest; n *= 2) {
    ec::Dense<T> a = uniform<T>(n, n, 1);
    ec::Cuda(a.device()).for_each(n, AddToDiagonal<T>{a, static_cast<T>(diagonal * std::sqrt(n))});
    const ec::Dense<T> b = uniform<T>(n, 1, 2);
    ec::Dense<T> copy = a;
    double solve_working = 0;
    double inverse_working = 0;
    for (const char* asked : {"working", "single", "tf32x3", "tf32"}) {
      const int runs = n <= 8192 ? 3 : 2;
      const ec::RowReduction<T> method(a.device(),
                                       {.factor_precision = *ec::from_word<ec::Precision>(asked)});
      PrecisionRun solve;
      solve.seconds = seconds(
          runs, [] {}, [&] { solve.report = method.solve(a, b).report; });
      insist_on_answer(solve.report, "a solution");
      if (solve_working == 0) solve_working = solve.seconds;
      print(type_name<T>, matrix, n, "solve", asked, solve, solve_working);
      const ec::RowReduction<T> rough(
          a.device(), {.factor_precision = *ec::from_word<ec::Precision>(asked), .accuracy = 1e-4});
      PrecisionRun inverse;
      inverse.seconds = seconds(
          runs, [&] { restore(a, copy); }, [&] { inverse.report = rough.invert(copy); });
      insist_on_answer(inverse.report, "an inverse");
      if (inverse_working == 0) inverse_working = inverse.seconds;
      print(type_name<T>, matrix, n, "inverse", asked, inverse, inverse_working);
    }
  }
}

/// The condition of uniform random matrices grows with n; a shift of the diagonal by as many times sqrt(n)
/// makes it small.
void measure(const Sizes& sizes) {
  std::printf(
      "\n### Lower precisions\n\n| type | matrix | n | task | asked for | ms | working / this | steps | "
      "backward error | used |\n|---|---|---|---|---|---|---|---|---|---|\n");
  constexpr double well_conditioned = 2;
  measure<double>(sizes, "uniform", 0);
  measure<double>(sizes, "shifted", well_conditioned);
  measure<float>(sizes, "uniform", 0);
  measure<float>(sizes, "shifted", well_conditioned);
}

}  // namespace

int main(int argc, char** argv) {
  const Sizes sizes = parse_sizes(argc, argv);
  std::printf("%s\n", hardware(ec::Device::cuda()).c_str());
  measure(sizes);
}
