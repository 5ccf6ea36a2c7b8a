// SPDX-License-Identifier: BSD-3-Clause
// Products and sums of sparse matrices on the host, compared with Eigen.
//   bench_spgemm [SIDE]
// prints a table in Markdown for the 7-point Laplacian A on SIDE^3 points (default: 126, 2 million rows), the
// prolongation P from aggregates of 8 points, and S = (I - 2/3 D^-1 A) P. Columns: the whole
// operation on one core and on all of OpenMP's, the values alone for a known pattern (all cores), and Eigen,
// which has one thread and 32-bit offsets. Medians of 5. A peak is the growth of the process's memory in MB.
#include <cstdio>

#ifndef ECHELON_BENCH_WITH_EIGEN
int main() {
  std::puts("bench_spgemm compares with Eigen, which was not found when it was built");
  return 1;
}
#else

#include "galerkin.hpp"
#include "support/arguments.hpp"
#include "support/measure.hpp"

#include <Eigen/SparseCore>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <string>
#include <tuple>
#include <vector>

namespace ec = echelon;

namespace {

constexpr int runs = 5;

template <class T>
using EigenMatrix = Eigen::SparseMatrix<T, Eigen::RowMajor, int>;

/// The operands.
template <class Matrix>
struct Operands {
  Matrix A, A2, P, S, P_transposed, S_transposed;

  /// With every matrix converted by f.
  template <class F>
  [[nodiscard]] auto map(F f) const {
    return Operands<decltype(f(A))>{f(A), f(A2), f(P), f(S), f(P_transposed), f(S_transposed)};
  }
};

template <class T>
Operands<ec::Csr<T>> operands(std::int64_t side) {
  Operands<ec::Csr<T>> result;
  result.A = ec::bench::poisson_3d<T>(side);
  result.A2 = ec::multiply(result.A, result.A);
  result.P = ec::bench::aggregation<T>(side);
  result.S = ec::bench::smoothed(result.A, result.P);
  result.P_transposed = ec::bench::transposed(result.P);
  result.S_transposed = ec::bench::transposed(result.S);
  return result;
}

template <class T>
EigenMatrix<T> to_eigen(const ec::Csr<T>& A) {
  const std::vector<int> offsets(A.row_offsets().span().begin(), A.row_offsets().span().end());
  return Eigen::Map<const EigenMatrix<T>>(A.rows(), A.columns(), A.nonzeros(), offsets.data(),
                                          A.column_indices().data(), A.values().data());
}

template <class T>
bool is_same(const ec::Csr<T>& ours, const EigenMatrix<T>& theirs) {
  bool same = ours.nonzeros() == theirs.nonZeros();
  for (std::int64_t k = 0; same && k < ours.nonzeros(); ++k) {
    same = ours.column_indices()[k] == theirs.innerIndexPtr()[k] &&
           std::abs(ours.values()[k] - theirs.valuePtr()[k]) <= T{1e-3};
  }
  return same;
}

/// An entry of /proc/self/status in MB.
double status_mb(const std::string& key) {
  std::ifstream status("/proc/self/status");
  std::string word;
  double kib = 0;
  while (status >> word) {
    if (word == key && status >> kib) return kib * 1024 / 1e6;
  }
  return 0;
}

template <class F>
double peak_mb(F f) {
  std::ofstream("/proc/self/clear_refs") << "5";
  const double before = status_mb("VmRSS:");
  f();
  return status_mb("VmHWM:") - before;
}

template <class T>
class Comparison {
 public:
  explicit Comparison(std::int64_t side)
      : all_(operands<T>(side)),
        one_(all_.map([](const auto& M) { return M.to(ec::Device::serial()); })),
        eigen_(all_.map([](const auto& M) { return to_eigen(M); })) {}

  /// A line of the table. ours(operands) makes C anew; after `plan(operands)`, again(plan, operands, C)
  /// computes its values; theirs(Eigen's operands) is the competitor.
  template <class Ours, class Plan, class Again, class Theirs>
  void line(const char* name, Ours ours, Plan plan, Again again, Theirs theirs) const {
    const double one = ec::bench::median_seconds(runs, [&] { ours(one_); });
    const double all = ec::bench::median_seconds(runs, [&] { ours(all_); });
    const double eigen = ec::bench::median_seconds(runs, [&] { theirs(eigen_); });
    const double peak = peak_mb([&] { ours(all_); });
    const double eigen_peak = peak_mb([&] { theirs(eigen_); });
    ec::Csr<T> C = ours(all_);
    if (!is_same<T>(C, theirs(eigen_))) {
      std::printf("| %s | the results differ |\n", name);
      std::exit(1);
    }
    auto prepared = plan(all_);
    const double numeric = ec::bench::median_seconds(runs, [&] { again(prepared, all_, C); });
    std::printf("| %s | %s | %.1f M | %.0f | %.0f | %.0f | %.0f | %.2f | %.2f | %.0f | %.0f | %.0f |\n", name,
                sizeof(T) == 8 ? "double" : "float", static_cast<double>(C.nonzeros()) / 1e6, 1e3 * one,
                1e3 * all, 1e3 * numeric, 1e3 * eigen, eigen / one, eigen / all,
                static_cast<double>(C.bytes()) / 1e6, peak, eigen_peak);
    std::fflush(stdout);
  }

  /// pick(operands) are the factors.
  template <class Plan, class Pick, class Theirs>
  void product(const char* name, Pick pick, Theirs theirs) const {
    line(
        name,
        [&](const auto& o) {
          return std::apply([](const auto&... factors) { return ec::multiply(factors...); }, pick(o));
        },
        [&](const auto& o) { return std::make_from_tuple<Plan>(pick(o)); },
        [&](Plan& plan, const auto& o, ec::Csr<T>& C) {
          std::apply([&](const auto&... factors) { plan.update(factors..., C); }, pick(o));
        },
        [&](const auto& o) { return std::apply(theirs, pick(o)); });
  }

  void sum(const char* name) const {
    line(
        name, [](const auto& o) { return ec::add<T>(2, o.A, -3, o.A2); },
        [](const auto& o) { return ec::SparseSum<T>(o.A, o.A2); },
        [](auto& plan, const auto& o, ec::Csr<T>& C) { plan.update(2, o.A, -3, o.A2, C); },
        [](const auto& o) { return EigenMatrix<T>(T{2} * o.A - T{3} * o.A2); });
  }

 private:
  Operands<ec::Csr<T>> all_;
  Operands<ec::Csr<T>> one_;
  Operands<EigenMatrix<T>> eigen_;
};

template <class T>
void compare_all(std::int64_t side) {
  const Comparison<T> compare(side);
  const auto times = [](const auto& a, const auto& b) { return EigenMatrix<T>(a * b); };
  const auto left_first = [](const auto& a, const auto& b, const auto& c) {
    return EigenMatrix<T>(EigenMatrix<T>(a * b) * c);
  };
  const auto right_first = [](const auto& a, const auto& b, const auto& c) {
    return EigenMatrix<T>(a * EigenMatrix<T>(b * c));
  };
  using Pair = ec::SparseProduct<T>;
  using Triple = ec::TripleProduct<T>;
  compare.template product<Pair>(
      "A A", [](const auto& o) { return std::tie(o.A, o.A); }, times);
  compare.template product<Pair>(
      "A P", [](const auto& o) { return std::tie(o.A, o.P); }, times);
  compare.template product<Pair>(
      "A S", [](const auto& o) { return std::tie(o.A, o.S); }, times);
  const auto plain = [](const auto& o) { return std::tie(o.P_transposed, o.A, o.P); };
  const auto smoothed = [](const auto& o) { return std::tie(o.S_transposed, o.A, o.S); };
  compare.template product<Triple>("P^T A P, Eigen (P^T A) P", plain, left_first);
  compare.template product<Triple>("P^T A P, Eigen P^T (A P)", plain, right_first);
  compare.template product<Triple>("S^T A S, Eigen (S^T A) S", smoothed, left_first);
  compare.template product<Triple>("S^T A S, Eigen S^T (A S)", smoothed, right_first);
  compare.sum("2 A - 3 A^2");
}

}  // namespace

int main(int argc, char** argv) {
  ec::bench::Arguments arguments(argc, argv, "[SIDE]");
  const auto side = arguments.positional("SIDE", std::int64_t{126});
  arguments.finish();
  std::printf("7-point Laplacian on %lld^3 points, aggregates of 2^3; %d cores\n\n",
              static_cast<long long>(side), omp_get_max_threads());
  std::printf(
      "| C | type | nonzeros | 1 core ms | all cores ms | values alone, all cores ms | Eigen ms | Eigen / 1 "
      "core | "
      "Eigen / all cores | C MB | peak MB | Eigen peak MB "
      "|\n|---|---|---|---|---|---|---|---|---|---|---|---|\n");
  compare_all<double>(side);
  compare_all<float>(side);
}
#endif
