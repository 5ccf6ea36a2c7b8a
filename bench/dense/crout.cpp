// SPDX-License-Identifier: BSD-3-Clause
// How long do the forms of Crout's method take, compared with LAPACK's LU, and how many sweeps does the
// iteration need?
//   bench_crout [--threads N] [--runs N] [--iterative-up-to N] [N | FILE]...
// Matrices of N rows in double: uniform random ones, diagonally dominant ones, and Schur complements of a
// Poisson cube, which are symmetric positive definite. Set-up times with the estimate of the condition
// number, which all forms have in common; each the median of several runs in turn.
#include "dense/schur_complement.hpp"
#include "support/arguments.hpp"
#include "support/measure.hpp"

#include <echelon/echelon.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace ec = echelon;

namespace {

struct Problem {
  std::string name;
  ec::Dense<double> A;
};

ec::Dense<double> uniform(std::int64_t n, double diagonal) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> value(-1, 1);
  ec::Dense<double> A(ec::Device(), n, n);
  for (std::int64_t e = 0; e < n * n; ++e) A[e] = value(random);
  for (std::int64_t i = 0; i < n; ++i) A(i, i) += diagonal;
  return A;
}

std::vector<Problem> problems(const std::vector<std::string>& words) {
  std::vector<Problem> result;
  for (const std::string& word : words) {
    std::int64_t n = 0;
    const char* const end = word.data() + word.size();
    if (const auto parsed = std::from_chars(word.data(), end, n); parsed.ptr != end || n < 1) {
      const ec::Matrix<double> matrix = ec::read_matrix<double>(word);
      result.push_back({word.substr(word.rfind('/') + 1), ec::to_dense(ec::MatrixRef<double>(matrix))});
      continue;
    }
    result.push_back({fmt::format("uniform {}", n), uniform(n, 0)});
    result.push_back({fmt::format("dominant {}", n), uniform(n, static_cast<double>(n))});
    const auto side = static_cast<std::int64_t>(std::lround(std::sqrt(static_cast<double>(n) / 6) + 1));
    if (side <= 20) {
      ec::Dense<double> schur = ec::bench::schur_complement(side);
      const std::string name = fmt::format("Schur complement {}", schur.rows());
      result.push_back({name, std::move(schur)});
    }
  }
  return result;
}

struct Form {
  const char* method;
  ec::Options options;
  std::vector<double> seconds = {};
  ec::Report report = {};
};

double integer(const ec::Report& report, const char* name) {
  const ec::Statistic* found = report.find_statistic(name);
  return found == nullptr ? 0 : static_cast<double>(std::get<std::int64_t>(found->value));
}

void measure(const Problem& problem, const ec::Device& device, int runs, std::int64_t iterative_up_to) {
  std::vector<Form> forms = {{"lapack-lu", {}},
                             {"crout", {}},
                             {"crout-blocked", {}},
                             {"crout-blocked", {{"section", "iterated"}, {"section_size", 16}}},
                             {"crout-blocked", {{"section", "iterated"}}}};
  if (problem.A.rows() <= iterative_up_to) forms.push_back({"crout-iterative", {}});
  for (int run = 0; run < runs; ++run) {
    for (Form& form : forms) {
      if (run > 0 && form.seconds.front() > 10) continue;
      auto solver = ec::make_solver<double>(form.method, device, form.options);
      form.report = solver.setup(problem.A);
      form.seconds.push_back(form.report.setup_seconds);
    }
  }
  const double reference = ec::bench::median(forms.front().seconds);
  fmt::print("| {} | {:.3g} |", problem.name, 1e3 * reference);
  for (std::size_t f = 1; f < forms.size(); ++f) {
    fmt::print(" {:.2f} |", ec::bench::median(forms[f].seconds) / reference);
  }
  if (forms.size() < 6) fmt::print(" |");
  for (std::size_t f = 4; f < 6; ++f) {
    if (f >= forms.size()) {
      fmt::print(" |");
      continue;
    }
    const ec::Report& report = forms[f].report;
    fmt::print(" {:.0f} + {:.0f} |", integer(report, "diagonal_sweeps") / integer(report, "sections"),
               integer(report, "row_exchanges") / integer(report, "sections"));
  }
  fmt::print("\n");
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  ec::bench::Arguments arguments(argc, argv, "[--threads N] [--runs N] [--iterative-up-to N] [N | FILE]...");
  const int threads = arguments.option("--threads", 1);
  const int runs = arguments.option("--runs", 5);
  const std::int64_t iterative_up_to = arguments.option("--iterative-up-to", std::int64_t{600});
  std::vector<std::string> words = arguments.positionals("a size or a file");
  arguments.finish();
  if (words.empty()) words = {"250", "500", "1000", "2000"};
  fmt::print(
      "| matrix | lapack-lu ms | crout | crout-blocked | iterated, 16 | iterated, 32 | crout-iterative | "
      "sweeps + "
      "exchanges a section, iterated 32 | crout-iterative |\n"
      "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n");
  const ec::Device device = threads == 1 ? ec::Device::serial() : ec::Device::openmp(threads);
  for (const Problem& problem : problems(words)) measure(problem, device, runs, iterative_up_to);
}
