// SPDX-License-Identifier: BSD-3-Clause
// How fast are the LU factorisation of a dense matrix on a GPU and a solve with it, compared with cuSOLVER?
//   bench_lu_gpu [--from N] [--up-to N]
// Uniform random matrices, one right-hand side, without the scaling, condition estimate and refinement of the
// method `lu`.
#include "dense/lu/factorization.hpp"
#include "dense/lu/workspace.cuh"
#include "dense_gpu.cuh"

namespace ec = echelon;
using namespace echelon::bench;

namespace {

template <class T>
void measure(const Sizes& sizes) {
  std::printf(
      "\n### %s\n\n| n | factor ms | solve ms | getrf ms | getrs ms | ratio |\n|---|---|---|---|---|---|\n",
      type_name<T>);
  for (std::int64_t n = sizes.smallest; n <= sizes.largest; n *= 2) {
    const ec::Dense<T> a = uniform<T>(n, n, 1);
    const ec::Dense<T> b = uniform<T>(n, 1, 2);
    ec::Cuda backend(a.device());
    ec::lu::FactorWorkspace<ec::Cuda, T> workspace(a.device());
    ec::Array<std::int64_t> pivots(a.device(), n);
    ec::Dense<T> copy = a;
    ec::Dense<T> x = b;
    const double factor = seconds(
        runs_for(n), [&] { restore(a, copy); },
        [&] {
          insist(ec::lu::factor<T>(backend, workspace, copy.view(), pivots.data(), {}).zero_pivot < 0, "lu");
        });
    const double solve = seconds(
        runs_for(n), [&] { restore(b, x); },
        [&] { ec::lu::substitute<T>(backend, workspace, false, copy.view(), pivots.data(), x.view()); });
    Lu<T> getrf(n);
    const double their_factor = seconds(
        runs_for(n), [&] { restore(a, copy); }, [&] { getrf.factor(copy); });
    const double their_solve = seconds(
        runs_for(n), [&] { restore(b, x); }, [&] { getrf.substitute(copy, x); });
    std::printf("| %lld | %.3f | %.3f | %.3f | %.3f | %.2f |\n", static_cast<long long>(n), 1e3 * factor,
                1e3 * solve, 1e3 * their_factor, 1e3 * their_solve,
                (their_factor + their_solve) / (factor + solve));
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const Sizes sizes = parse_sizes(argc, argv);
  std::printf("%s\n", hardware(ec::Device::cuda()).c_str());
  measure<double>(sizes);
  measure<float>(sizes);
}
