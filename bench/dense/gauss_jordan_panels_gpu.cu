// SPDX-License-Identifier: BSD-3-Clause
// Which division into panels and leaves is fastest on a GPU?
//   bench_gauss_jordan_panels_gpu [--from N] [--up-to N]
// The elimination for the inverse, without a report: ms, and microseconds a column.
#include "dense/panels/leaf.cuh"
#include "dense_gpu.cuh"

#include <echelon/echelon.hpp>

#include <cstdio>

namespace ec = echelon;
using namespace echelon::bench;

namespace {

template <class T>
void tune(const Sizes& sizes) {
  ec::LookaheadStream lookahead(ec::Device::cuda());
  const ec::Cuda backend(ec::Device::cuda());
  std::printf(
      "\n### Ways to cut panels, %s\n\n| n | panel | leaf | ahead | inverse ms | us a column | "
      "reduced form ms |\n|---|---|---|---|---|---|---|\n",
      type_name<T>);
  for (std::int64_t n = sizes.smallest; n <= sizes.largest; n *= 2) {
    const ec::Dense<T> a = uniform<T>(n, n, 1);
    ec::Dense<T> copy = a;
    for (const std::int64_t block : {64, 96, 128, 256, 512}) {
      if (block > n) continue;
      BareElimination<T> bare(n, block);
      for (const int leaf : {16, 32, 48, 64, 96, 128, 256}) {
        const ec::PanelTuning tuning{leaf, 0};
        const int widest = ec::plan_leaves<T>(backend, n, block, {}).width;
        const bool narrow = 2 * leaf < widest && leaf < 64;  // never the fastest if wider leaves fit
        if (leaf > block || narrow || ec::plan_leaves<T>(backend, n, block, tuning).width < leaf) continue;
        for (const bool ahead : {false, true}) {
          if (ahead ? block == n : n > 1024) continue;
          double times[2];
          for (const bool inverse : {true, false}) {
            times[inverse ? 0 : 1] = seconds(
                n > 2048 ? 2 : 5, [&] { bare.prepare(), restore(a, copy); },
                [&] { bare.run(copy, inverse, tuning, ahead ? &lookahead : nullptr); });
            insist(bare.rank() == n, "a regular matrix has full rank");
          }
          std::printf("| %lld | %lld | %d | %s | %.3f | %.3f | %.3f |\n", static_cast<long long>(n),
                      static_cast<long long>(block), leaf, ahead ? "yes" : "no", 1e3 * times[0],
                      1e6 * times[0] / static_cast<double>(n), 1e3 * times[1]);
          std::fflush(stdout);
        }
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const Sizes sizes = parse_sizes(argc, argv);
  std::printf("%s\n", hardware(ec::Device::cuda()).c_str());
  tune<double>(sizes);
  tune<float>(sizes);
}
