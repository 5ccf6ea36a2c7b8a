// SPDX-License-Identifier: BSD-3-Clause
// How fast are the LU factorisation of a dense matrix on a GPU and a solve with it, compared with cuSOLVER?
//   bench_lu_gpu [--from N] [--up-to N] [--panels | --complex]
// Uniform random matrices, one right-hand side, without the scaling, condition estimate and refinement of the
// method `lu`. --panels: the factorisation alone, with panels of several widths. --complex: the method `lu`
// for complex matrices, without these, compared with zgetrf and zgetrs.
#include "dense/lu/factorization.hpp"
#include "dense/lu/workspace.cuh"
#include "dense_gpu.cuh"

#include <echelon/methods/dense/lu.hpp>

#include <algorithm>
#include <complex>
#include <cstddef>
#include <iterator>

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

/// Milliseconds of the method lu for complex matrices, checks of its arguments and the residual included.
void measure_complex(const Sizes& sizes) {
  using Complex = std::complex<double>;
  std::printf(
      "\n### complex double\n\n| n | set-up ms | solve ms | zgetrf ms | zgetrs ms | ratio |\n"
      "|---|---|---|---|---|---|\n");
  for (std::int64_t n = sizes.smallest; n <= sizes.largest; n *= 2) {
    const ec::Dense<Complex> a = uniform<Complex>(n, n, 1);
    const ec::Dense<Complex> b = uniform<Complex>(n, 1, 2);
    ec::Dense<Complex> x = b;
    ec::Lu<Complex> lu(a.device(), {.equilibrate = false, .refine = 0});
    const double set_up = seconds(
        runs_for(n), [] {}, [&] { insist(lu.setup(a).ready(), "set-up"); });
    const double solve = seconds(
        runs_for(n), [] {}, [&] { insist(lu.solve(b, x, {.measure_error = false}).solved(), "solve"); });
    Lu<Complex> getrf(n);
    ec::Dense<Complex> copy = a;
    const double their_factor = seconds(
        runs_for(n), [&] { restore(a, copy); }, [&] { getrf.factor(copy); });
    const double their_solve = seconds(
        runs_for(n), [&] { restore(b, x); }, [&] { getrf.substitute(copy, x); });
    std::printf("| %lld | %.3f | %.3f | %.3f | %.3f | %.2f |\n", static_cast<long long>(n), 1e3 * set_up,
                1e3 * solve, 1e3 * their_factor, 1e3 * their_solve,
                (their_factor + their_solve) / (set_up + solve));
    std::fflush(stdout);
  }
}

/// Seconds of the products that update the columns on the right of the panels, without the panels. A small
/// factor keeps the elements finite.
template <class T>
double seconds_of_products(const ec::Dense<T>& a, ec::Dense<T>& copy, std::int64_t width) {
  const std::int64_t n = a.rows();
  const auto block = [&copy, n](std::int64_t i, std::int64_t j, std::int64_t rows, std::int64_t columns) {
    return ec::DenseView<T>{copy.data() + i + j * n, rows, columns, n, copy.device()};
  };
  ec::Context context(a.device());
  return seconds(
      runs_for(n), [&] { restore(a, copy); },
      [&] {
        for (std::int64_t begin = 0; begin + width < n; begin += width) {
          const std::int64_t end = begin + width;
          ec::gemm<T>(context, T{1e-4F}, block(end, begin, n - end, width), block(begin, end, width, n - end),
                      T{1}, block(end, end, n - end, n - end));
        }
      });
}

/// Milliseconds of the factorisation with panels of each width, with the rows on the left of a panel
/// exchanged after each panel and after the last one; and of its products alone.
template <class T>
void measure_panels(const Sizes& sizes) {
  constexpr std::int64_t widths[] = {64, 96, 128, 160, 192, 256, 384, 512};
  std::printf("\n### %s\n\n| n | rows on the left |", type_name<T>);
  for (const std::int64_t width : widths) std::printf(" %lld |", static_cast<long long>(width));
  std::printf("\n|---|---|");
  for (std::size_t i = 0; i < std::size(widths); ++i) std::printf("---|");
  std::printf("\n");
  for (std::int64_t n = sizes.smallest; n <= sizes.largest; n *= 2) {
    const ec::Dense<T> a = uniform<T>(n, n, 1);
    ec::Cuda backend(a.device());
    ec::lu::FactorWorkspace<ec::Cuda, T> workspace(a.device());
    ec::Array<std::int64_t> pivots(a.device(), n);
    ec::Dense<T> copy = a;
    for (const bool left_last : {false, true}) {
      std::printf("| %lld | %s |", static_cast<long long>(n), left_last ? "at the end" : "by panel");
      for (const std::int64_t width : widths) {
        workspace.tuning = {
            .panel_columns = std::min(width, n), .panels_first = n <= 8192, .left_last = left_last};
        const double factor = seconds(
            runs_for(n), [&] { restore(a, copy); },
            [&] { ec::lu::factor<T>(backend, workspace, copy.view(), pivots.data(), {}); });
        std::printf(" %.3f |", 1e3 * factor);
      }
      std::printf("\n");
      std::fflush(stdout);
    }
    std::printf("| %lld | products alone |", static_cast<long long>(n));
    for (const std::int64_t width : widths) {
      std::printf(" %.3f |", 1e3 * seconds_of_products(a, copy, std::min(width, n)));
    }
    std::printf("\n");
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments(argc, argv, "[--from N] [--up-to N] [--panels | --complex]");
  const bool panels = arguments.flag("--panels");
  const bool complex = arguments.flag("--complex");
  const Sizes sizes = parse_sizes(arguments);
  std::printf("%s\n", hardware(ec::Device::cuda()).c_str());
  if (complex) {
    measure_complex(sizes);
    return 0;
  }
  if (panels) {
    measure_panels<double>(sizes);
    measure_panels<float>(sizes);
    return 0;
  }
  measure<double>(sizes);
  measure<float>(sizes);
}
