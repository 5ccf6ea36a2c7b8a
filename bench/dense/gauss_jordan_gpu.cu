// SPDX-License-Identifier: BSD-3-Clause
// How fast are the inverse, a solve and the reduced form on a GPU, compared with cuSOLVER's LU?
//   bench_gauss_jordan_gpu [--from N] [--up-to N]
// Uniform random matrices in [-1, 1]; medians, each run on a fresh copy of the matrix that is not timed.
#include "dense_gpu.cuh"

#include <echelon/echelon.hpp>

#include <cstdio>
#include <memory>
#include <utility>

namespace ec = echelon;
using namespace echelon::bench;

namespace {

template <class T>
struct SetIdentity {
  ec::DenseView<T> a;
  ECHELON_ANYWHERE void operator()(std::int64_t e) const {
    a.data()[e] = e / a.rows() == e % a.rows() ? T{1} : T{0};
  }
};

template <class T>
double inverse_seconds(const ec::Dense<T>& a, double& backward_error) {
  ec::Dense<T> copy = a;
  const ec::RowReduction<T> method(a.device());
  return seconds(
      runs_for(a.rows()), [&] { restore(a, copy); },
      [&] {
        const ec::Report report = method.invert(copy);
        insist_on_answer(report, "the inverse");
        backward_error = report.backward_error;
      });
}

template <class T>
double solve_seconds(const ec::Dense<T>& a, const ec::Dense<T>& b) {
  const ec::RowReduction<T> method(a.device(), {.refine = 0});
  return seconds(
      runs_for(a.rows()), [] {}, [&] { insist_on_answer(method.solve(a, b).report, "the solution"); });
}

template <class T>
double reduce_seconds(const ec::Dense<T>& a, std::int64_t rank) {
  const ec::RowReduction<T> method(a.device());
  std::unique_ptr<ec::Dense<T>> copy;
  return seconds(
      runs_for(a.rows()), [&] { copy = std::make_unique<ec::Dense<T>>(a); },
      [&] {
        const auto form = method.reduce(std::move(*copy));
        insist(sizeof(T) == 4 || form.facts.rank == rank, "the rank");
      });
}

template <class T>
void compare(const Sizes& sizes) {
  std::printf(
      "\n### Compared with cuSOLVER, %s\n\n| n | inverse ms | backward error | elimination alone | getrf + "
      "getrs(I) "
      "| "
      "ratio | solve ms | getrf + getrs(b) | ratio | RREF of rank n/2 | to inverse | gemm n n n |\n"
      "|---|---|---|---|---|---|---|---|---|---|---|---|\n",
      type_name<T>);
  ec::LookaheadStream lookahead(ec::Device::cuda());
  for (std::int64_t n = sizes.smallest; n <= sizes.largest; n *= 2) {
    const ec::Dense<T> a = uniform<T>(n, n, 1);
    const ec::Dense<T> b = uniform<T>(n, 1, 2);
    ec::Dense<T> copy = a;
    ec::Cuda backend(a.device());
    const int runs = runs_for(n);
    double error = 0;
    const double inverse = inverse_seconds(a, error);
    const std::int64_t block = ec::select_panel_width<T>(backend, n, n);
    auto bare = std::make_unique<BareElimination<T>>(n, block);
    const double alone = seconds(
        runs, [&] { bare->prepare(), restore(a, copy); },
        [&] { bare->run(copy, true, {}, n > block ? &lookahead : nullptr); });
    bare.reset();
    const double solve = solve_seconds(a, b);
    ec::Dense<T> right(a.device(), n, n);
    Lu<T> lu(n);
    const double lu_inverse = seconds(
        runs,
        [&] {
          restore(a, copy);
          backend.for_each(n * n, SetIdentity<T>{right});
        },
        [&] { lu.factor(copy), lu.substitute(copy, right); });
    ec::Dense<T> one = b;
    const double lu_solve = seconds(
        runs, [&] { restore(a, copy), restore(b, one); }, [&] { lu.factor(copy), lu.substitute(copy, one); });
    const ec::Dense<T> left = uniform<T>(n, n / 2, 3);
    const ec::Dense<T> top = uniform<T>(n / 2, n, 4);
    ec::Context context(a.device());
    ec::multiply<T>(context, T{1}, ec::MatrixRef<T>(left), top, T{0}, copy);
    const double reduce = reduce_seconds(copy, n / 2);
    const double product = seconds(
        runs, [] {}, [&] { ec::multiply<T>(context, T{1}, ec::MatrixRef<T>(a), right, T{0}, copy); });
    std::printf("| %lld | %.3f | %.1e | %.3f | %.3f | %.2f | %.3f | %.3f | %.2f | %.3f | %.2f | %.3f |\n",
                static_cast<long long>(n), 1e3 * inverse, error, 1e3 * alone, 1e3 * lu_inverse,
                lu_inverse / inverse, 1e3 * solve, 1e3 * lu_solve, lu_solve / solve, 1e3 * reduce,
                reduce / inverse, 1e3 * product);
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const Sizes sizes = parse_sizes(argc, argv);
  std::printf("%s\n", hardware(ec::Device::cuda()).c_str());
  compare<double>(sizes);
  compare<float>(sizes);
}
