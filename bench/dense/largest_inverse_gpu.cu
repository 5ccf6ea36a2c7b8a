// SPDX-License-Identifier: BSD-3-Clause
// How long does one large inverse take on a GPU?
//   bench_largest_inverse_gpu [--up-to N]
// One inverse of N by N doubles.
#include "dense_gpu.cuh"

#include <echelon/echelon.hpp>

#include <cmath>
#include <cstdio>

namespace ec = echelon;
using namespace echelon::bench;

namespace {

void measure(std::int64_t n) {
  ec::Dense<double> a = uniform<double>(n, n, 1);
  const ec::RowReduction<double> method(a.device());
  ec::Report report;
  Event start;
  Event end;
  start.record();
  report = method.invert(a);
  end.record();
  insist_on_answer(report, "the largest inverse");
  const double time = end.seconds_since(start);
  const auto size = static_cast<double>(n);
  std::printf(
      "\n### One inverse of %lld by %lld doubles\n\n| GB | and beside them | s | Tflop/s | backward error "
      "| reciprocal condition |\n|---|---|---|---|---|---|\n| %.1f | %.2f | %.2f | %.1f | %.1e | %.1e |\n",
      static_cast<long long>(n), static_cast<long long>(n), 1e-9 * static_cast<double>(a.bytes()),
      1e-9 * static_cast<double>(report.bytes), time, 2e-12 * size * size * size / time,
      report.backward_error, report.reciprocal_condition.value_or(NAN));
}

}  // namespace

int main(int argc, char** argv) {
  const Sizes sizes = parse_sizes(argc, argv);
  std::printf("%s\n", hardware(ec::Device::cuda()).c_str());
  measure(sizes.largest);
}
