// SPDX-License-Identifier: BSD-3-Clause
// Times the elimination of band matrices to mapped echelon form in slices on a GPU: in rounds over the rows
// of all slices, which lie in global memory, and with slices in the shared memory of a multiprocessor each.
//
//   bench_mapped_echelon_gpu [HALF-BANDWIDTH:ROWS]...
//
// prints a table in Markdown. Times are medians of wall times, in ms; "equal" compares the maps and the
// records of the reductions of both.
#include "mapped_echelon/system.hpp"
#include "support/arguments.hpp"
#include "support/measure.cuh"

#include <echelon/echelon.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace echelon;
using Field = mapped::RealField<double>;

/// A band of random numbers, with a diagonal that is dominant in about half of the rows.
Csr<double> random_band(std::int64_t n, std::int64_t k) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> value(-1, 1);
  std::vector<std::int64_t> offsets = {0};
  std::vector<std::int32_t> columns;
  std::vector<double> values;
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = std::max<std::int64_t>(0, i - k); j <= std::min(n - 1, i + k); ++j) {
      columns.push_back(static_cast<std::int32_t>(j));
      values.push_back(i == j ? static_cast<double>(k) * value(random) : value(random));
    }
    offsets.push_back(static_cast<std::int64_t>(columns.size()));
  }
  return Csr<double>(n, n, Array<std::int64_t>(Device(), std::span<const std::int64_t>(offsets)),
                     Array<std::int32_t>(Device(), std::span<const std::int32_t>(columns)),
                     Array<double>(Device(), std::span<const double>(values)));
}

/// An elimination in slices.
class Run {
 public:
  Run(Cuda& backend, const Csr<double>& A, bool in_teams)
      : elimination_(backend, {mapped::default_tolerance<double>}, ClaimRule::largest, UnknownOrder::slices,
                     A.rows(), A.columns()) {
    if (!in_teams) elimination_.disable_teams();
    elimination_.run(A, {});
    backend.synchronize();
  }
  mapped::MappedElimination<Cuda, Field>& elimination() { return elimination_; }

 private:
  mapped::MappedElimination<Cuda, Field> elimination_;
};

bool are_equal(mapped::MappedElimination<Cuda, Field>& a, mapped::MappedElimination<Cuda, Field>& b) {
  const auto first = a.record().to_host();
  const auto second = b.record().to_host();
  const auto size = static_cast<std::ptrdiff_t>(a.record().size());
  const auto same = [size](const auto& x, const auto& y) {
    return std::equal(x.begin(), x.begin() + size, y.begin());
  };
  return a.record().ends() == b.record().ends() && a.owner().to_vector() == b.owner().to_vector() &&
         same(first.row, second.row) && same(first.pivot, second.pivot) &&
         same(first.multiplier, second.multiplier);
}

void measure(std::int64_t n, std::int64_t k) {
  const Csr<double> A = random_band(n, k).to(Device::cuda());
  Cuda backend(Device::cuda());
  const auto time = [&](bool in_teams) {
    constexpr int runs = 3;
    return bench::median_seconds(runs, [&] { const Run run(backend, A, in_teams); });
  };
  Run rounds(backend, A, false);
  Run teams(backend, A, true);
  const double in_rounds = time(false);
  const double in_teams = time(true);
  std::printf("| %lld | %lld | %lld | %lld | %lld | %.2f | %.2f | %.2f | %s |\n", static_cast<long long>(k),
              static_cast<long long>(n), static_cast<long long>(teams.elimination().levels()),
              static_cast<long long>(teams.elimination().rounds()),
              static_cast<long long>(teams.elimination().slices_of_teams()), 1e3 * in_rounds, 1e3 * in_teams,
              in_rounds / in_teams, are_equal(rounds.elimination(), teams.elimination()) ? "yes" : "NO");
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  bench::Arguments arguments(argc, argv, "[HALF-BANDWIDTH:ROWS]...");
  std::vector<std::string> shapes = arguments.positionals<std::string>("HALF-BANDWIDTH:ROWS");
  if (shapes.empty()) shapes = {"1:1000000", "2:1000000", "4:1000000", "8:200000", "16:100000", "32:50000"};
  std::printf("%s\n\n", hardware(Device::cuda()).c_str());
  std::printf(
      "| half-bandwidth | rows | levels | rounds | slices in shared memory | rounds over all rows, ms | "
      "slices "
      "in shared memory, ms | ratio | equal |\n|---|---|---|---|---|---|---|---|---|\n");
  for (const std::string& shape : shapes) {
    const std::size_t colon = shape.find(':');
    measure(colon == std::string::npos ? 1'000'000 : std::stoll(shape.substr(colon + 1)), std::stoll(shape));
  }
}
