// SPDX-License-Identifier: BSD-3-Clause
// How do the published forms of Crout's method compare with each other and with LU: the times, the effect of
// pivoting, the effect of the tolerance, and iterative triangular solves compared with substitution?
//   bench_crout_study [--device serial|openmp|cuda] [--float] [--runs N] [--budget SECONDS] [--csv FILE]
//                     [--svg FILE] [--table times|pivoting|tolerance|triangular] [N | sN | FILE]...
// Matrices: N, uniform random numbers from -1000 to 1000; sN, the Schur complement of the surface of a cube
// of N points a direction; files. A form is omitted where it is expected to take longer than the budget. CMPP
// is `crout`, PCM `crout-parallel`, ICM `crout-iterative` without and ICMPP with pivoting, IS
// `triangular-iterative`. Times are those of the set-up, with the condition estimate that all forms have in
// common; errors are backward errors of x for b = A 1.
#include "dense/schur_complement.hpp"
#include "support/arguments.hpp"
#include "support/log_plot.hpp"
#include "support/measure.hpp"

#include <echelon/echelon.hpp>

#include <cblas.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace ec = echelon;

namespace {

struct Settings {
  ec::Device device;
  std::string device_name;
  int runs = 3;
  double budget = 10;
  std::string csv, svg;
};

struct Problem {
  std::string name;
  ec::Dense<double> A;
};

/// A method with options, on a device.
struct Form {
  std::string name;
  std::string method;
  ec::Options options = {};
  ec::Device device;
};

struct Measurement {
  double seconds = std::numeric_limits<double>::quiet_NaN();
  double error = std::numeric_limits<double>::quiet_NaN();
  std::string status = "omitted";
  double sweeps = 0;
};

ec::Dense<double> uniform(std::int64_t n) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> value(-1000, 1000);
  ec::Dense<double> A(ec::Device(), n, n);
  for (std::int64_t e = 0; e < n * n; ++e) A[e] = value(random);
  return A;
}

std::int64_t number_in(const std::string& word) {
  std::int64_t n = 0;
  const char* const end = word.data() + word.size();
  return std::from_chars(word.data(), end, n).ptr == end ? n : 0;
}

Problem make_problem(const std::string& word) {
  if (const std::int64_t n = number_in(word); n > 0) return {fmt::format("uniform {}", n), uniform(n)};
  if (word.front() == 's') {
    if (const std::int64_t side = number_in(word.substr(1)); side > 0) {
      ec::Dense<double> A = ec::bench::schur_complement(side);
      const std::string name = fmt::format("Schur complement {}", A.rows());
      return {name, std::move(A)};
    }
  }
  const ec::Matrix<double> matrix = ec::read_matrix<double>(word);
  const std::string file = word.substr(word.rfind('/') + 1);
  ec::Dense<double> A = ec::to_dense(ec::MatrixRef<double>(matrix));
  const std::string name = fmt::format("{} {}", file.substr(0, file.find('.')), A.rows());
  return {name, std::move(A)};
}

template <class T>
ec::Dense<T> converted(const ec::Dense<double>& A) {
  ec::Dense<T> result(ec::Device(), A.rows(), A.columns());
  for (std::int64_t e = 0; e < A.rows() * A.columns(); ++e) result[e] = static_cast<T>(A[e]);
  return result;
}

/// A times a vector of ones.
template <class T>
ec::Dense<T> row_sums(const ec::Dense<T>& A) {
  ec::Dense<T> b(ec::Device(), A.rows(), 1);
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    double sum = 0;
    for (std::int64_t j = 0; j < A.columns(); ++j) sum += static_cast<double>(A(i, j));
    b[i] = static_cast<T>(sum);
  }
  return b;
}

double integer(const ec::Report& report, const char* name) {
  const ec::Statistic* found = report.find_statistic(name);
  return found == nullptr ? 0 : static_cast<double>(std::get<std::int64_t>(found->value));
}

/// Runs forms, and omits those that would take longer than the budget: flops grow like n^3.
template <class T>
class Study {
 public:
  explicit Study(const Settings& settings) : settings_(settings) {}

  Measurement run(const std::string& table, const Problem& problem, const Form& form) {
    constexpr double long_time = 0.5;
    const std::int64_t n = problem.A.rows();
    Measurement result;
    const auto last = last_.find(form.name);
    if (last != last_.end()) {
      const double growth = static_cast<double>(n) / static_cast<double>(last->second.n);
      if (last->second.seconds * growth * growth * growth > settings_.budget) return result;
    }
    const ec::Dense<T> host = converted<T>(problem.A);
    const ec::Dense<T> A = host.to(form.device);
    const ec::Dense<T> b = row_sums(host).to(form.device);
    ec::Dense<T> x(form.device, n, 1);
    constexpr std::int64_t small_rows = 256;
    if (last == last_.end() && n <= small_rows)  // threads and tables of the first call
      static_cast<void>(ec::make_solver<T>(form.method, form.device, form.options).setup(A));
    std::vector<double> seconds;
    for (int run = 0; run < settings_.runs && (run == 0 || seconds.front() < long_time); ++run) {
      ec::Solver<T> solver = ec::make_solver<T>(form.method, form.device, form.options);
      const ec::Report setup = solver.setup(A);
      seconds.push_back(setup.setup_seconds);
      if (run > 0) continue;
      const ec::Report report = setup.ready() ? solver.solve(b, x) : setup;
      result.status = ec::to_string(report.status);
      if (setup.ready()) result.error = report.backward_error;
      const double sections = std::max(integer(setup, "sections"), 1.0);
      result.sweeps = integer(setup, "diagonal_sweeps") / sections;
    }
    result.seconds = ec::bench::median(seconds);
    last_[form.name] = {n, result.seconds};
    record(table, problem, form.name, result);
    return result;
  }

  void record(const std::string& table, const Problem& problem, const std::string& form,
              const Measurement& result) {
    csv_ += fmt::format("{},{},{},{},{},{},{:.6g},{:.3g},{},{:.1f}\n", table, problem.name, problem.A.rows(),
                        sizeof(T) == 8 ? "double" : "float", settings_.device_name, form, result.seconds,
                        result.error, result.status, result.sweeps);
  }
  [[nodiscard]] const std::string& csv() const { return csv_; }

 private:
  struct Last {
    std::int64_t n;
    double seconds;
  };
  const Settings& settings_;
  std::map<std::string, Last> last_;
  std::string csv_;
};

std::string milliseconds(const Measurement& found) {
  return std::isnan(found.seconds) ? "" : fmt::format("{:.3g}", 1e3 * found.seconds);
}
std::string error_of(const Measurement& found) {
  if (std::isnan(found.seconds)) return "";
  const bool solved = found.status == "direct" || found.status == "converged";
  return solved ? fmt::format("{:.0e}", found.error) : found.status;
}

void print_heading(const std::string& title, const std::vector<std::string>& columns) {
  fmt::print("\n### {}\n\n| matrix |", title);
  for (const std::string& column : columns) fmt::print(" {} |", column);
  fmt::print("\n| --- |");
  for (std::size_t c = 0; c < columns.size(); ++c) fmt::print(" ---: |");
  fmt::print("\n");
}

/// All methods; the first is the vendor's LU, to which the others are multiples.
std::vector<Form> all_forms(const ec::Device& device) {
  const char* const vendor = device.on_host() ? "lapack-lu" : "cusolver-lu";
  std::vector<Form> forms = {{vendor, vendor, {}, device},
                             {"lu", "lu", {}, device},
                             {"crout-blocked", "crout-blocked", {}, device},
                             {"crout-blocked, iterated", "crout-blocked", {{"section", "iterated"}}, device}};
  if (device.on_host()) {
    forms.push_back({"CMPP", "crout", {}, device});
    for (const int threads : {8, 16, 32}) {
      forms.push_back(
          {fmt::format("PCM, {} threads", threads), "crout-parallel", {}, ec::Device::openmp(threads)});
    }
  } else {
    forms.push_back({"PCM", "crout-parallel", {}, device});
  }
  forms.push_back({"ICM", "crout-iterative", {{"pivoting", false}}, device});
  forms.push_back({"ICMPP", "crout-iterative", {}, device});
  for (const int size : {32, 128}) {
    forms.push_back(
        {fmt::format("ICMPP, sections of {}", size), "crout-iterative", {{"section_size", size}}, device});
  }
  return forms;
}

/// Prints a row of the table of times.
void print_times(const Problem& problem, const std::vector<Form>& forms,
                 const std::vector<Measurement>& found) {
  fmt::print("| {} | {} |", problem.name, milliseconds(found.front()));
  for (std::size_t f = 1; f < forms.size(); ++f) {
    if (std::isnan(found[f].seconds)) {
      fmt::print(" |");
    } else if (found[f].status != "direct") {
      fmt::print(" {} |", found[f].status);
    } else {
      fmt::print(" {:.3g} |", found[f].seconds / found.front().seconds);
    }
  }
  const auto icmpp = static_cast<std::size_t>(
      std::find_if(forms.begin(), forms.end(), [](const Form& f) { return f.name == "ICMPP"; }) -
      forms.begin());
  fmt::print(" {} |\n", std::isnan(found[icmpp].seconds) ? "" : fmt::format("{:.0f}", found[icmpp].sweeps));
  std::fflush(stdout);
}

template <class T>
void times(const Settings& settings, const std::vector<Problem>& problems, Study<T>& study) {
  const std::vector<Form> forms = all_forms(settings.device);
  std::vector<std::string> columns = {forms.front().name + " ms"};
  for (std::size_t f = 1; f < forms.size(); ++f) columns.push_back(forms[f].name);
  columns.emplace_back("sweeps a section of ICMPP");
  print_heading("Times as multiples of " + forms.front().name, columns);
  ec::bench::Panel panel{sizeof(T) == 8 ? "double" : "float", {}, {}};
  for (const Form& form : forms) panel.curves.push_back({form.name, {}});
  for (const Problem& problem : problems) {
    std::vector<Measurement> found;
    found.reserve(forms.size());
    for (const Form& form : forms) found.push_back(study.run("times", problem, form));
    print_times(problem, forms, found);
    panel.x.push_back(static_cast<double>(problem.A.rows()));
    for (std::size_t f = 0; f < forms.size(); ++f) panel.curves[f].values.push_back(found[f].seconds);
  }
  if (settings.svg.empty()) return;
  ec::bench::LogPlot plot("Forms of Crout's method", "n", "seconds");
  plot.add(std::move(panel));
  std::ofstream(settings.svg) << plot.svg();
}

/// ICM, ICMPP that exchanges rows only for pivots ten times as large, and ICMPP; without refinement.
template <class T>
void pivoting(const Settings& settings, const std::vector<Problem>& problems, Study<T>& study) {
  const std::vector<Form> forms = {
      {"no pivoting", "crout-iterative", {{"pivoting", false}, {"refine", 0}}, settings.device},
      {"threshold 0.1", "crout-iterative", {{"pivot_threshold", 0.1}, {"refine", 0}}, settings.device},
      {"pivoting", "crout-iterative", {{"refine", 0}}, settings.device}};
  std::vector<std::string> columns;
  for (const Form& form : forms) {
    columns.push_back(form.name + " ms");
    columns.emplace_back("error");
  }
  print_heading("Effect of pivoting, without refinement", columns);
  for (const Problem& problem : problems) {
    fmt::print("| {} |", problem.name);
    for (const Form& form : forms) {
      const Measurement found = study.run("pivoting", problem, form);
      fmt::print(" {} | {} |", milliseconds(found), error_of(found));
    }
    fmt::print("\n");
    std::fflush(stdout);
  }
}

/// ICMPP with looser tolerances, without refinement.
template <class T>
void tolerance(const Settings& settings, const std::vector<Problem>& problems, Study<T>& study) {
  const std::vector<double> tolerances = {0, 1e-10, 1e-5, 1e-2, 0.1, 1};
  std::vector<std::string> columns;
  for (const double each : tolerances) {
    columns.push_back(fmt::format("{:g}: ms", each));
    columns.emplace_back("sweeps");
    columns.emplace_back("error");
  }
  print_heading("Effect of the tolerance of ICMPP, without refinement", columns);
  for (const Problem& problem : problems) {
    fmt::print("| {} |", problem.name);
    for (const double each : tolerances) {
      const Form form{fmt::format("tolerance {:g}", each),
                      "crout-iterative",
                      {{"tolerance", each}, {"refine", 0}},
                      settings.device};
      const Measurement found = study.run("tolerance", problem, form);
      fmt::print(" {} | {} | {} |", milliseconds(found),
                 std::isnan(found.seconds) ? "" : fmt::format("{:.0f}", found.sweeps), error_of(found));
    }
    fmt::print("\n");
    std::fflush(stdout);
  }
}

void substitute(const ec::Dense<double>& L, double* x) {
  const int n = static_cast<int>(L.rows());
  cblas_dtrsv(CblasColMajor, CblasLower, CblasNoTrans, CblasNonUnit, n, L.data(), n, x, 1);
}
void substitute(const ec::Dense<float>& L, float* x) {
  const int n = static_cast<int>(L.rows());
  cblas_strsv(CblasColMajor, CblasLower, CblasNoTrans, CblasNonUnit, n, L.data(), n, x, 1);
}

/// ||b - L x||_inf / (||L||_inf ||x||_inf + ||b||_inf) for a lower triangular L; NaN if x has one.
template <class T>
double triangular_backward_error(const ec::Dense<T>& L, const ec::Dense<T>& b, const ec::Dense<T>& x) {
  double worst = 0;
  double norm = 0;
  double size = 0;
  double right = 0;
  for (std::int64_t i = 0; i < L.rows(); ++i) {
    double residual = static_cast<double>(b[i]);
    double sum = 0;
    for (std::int64_t j = 0; j <= i; ++j) {
      residual -= static_cast<double>(L(i, j)) * static_cast<double>(x[j]);
      sum += std::abs(static_cast<double>(L(i, j)));
    }
    if (std::isnan(residual)) return residual;
    worst = std::max(worst, std::abs(residual));
    norm = std::max(norm, sum);
    size = std::max(size, std::abs(static_cast<double>(x[i])));
    right = std::max(right, std::abs(static_cast<double>(b[i])));
  }
  return worst / (norm * size + right);
}

/// IS and BLAS's trsv for the lower triangle of A, on the host; zeros on the diagonal count as ones.
template <class T>
void triangular(const Settings& settings, const std::vector<Problem>& problems, Study<T>& study) {
  print_heading("Iterative solves with the lower triangle of A, on one core",
                {"trsv ms", "IS ms", "sweeps", "multiple", "error of trsv", "of IS"});
  for (const Problem& problem : problems) {
    ec::Dense<T> L = converted<T>(problem.A);
    const std::int64_t n = L.rows();
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t i = 0; i < j; ++i) L(i, j) = 0;
      if (L(j, j) == 0) L(j, j) = 1;
    }
    const ec::Dense<T> b = row_sums(L);
    ec::Dense<T> x = b;
    Measurement direct;
    direct.seconds = ec::bench::median_seconds(settings.runs, [&] {
      std::copy_n(b.data(), n, x.data());
      substitute(L, x.data());
    });
    direct.error = triangular_backward_error(L, b, x);
    direct.status = "direct";
    ec::Solver<T> solver = ec::make_solver<T>("triangular-iterative", ec::Device::serial(), {});
    static_cast<void>(solver.setup(L));
    ec::Dense<T> iterated(ec::Device(), n, 1);
    const ec::Report report = solver.solve(b, iterated);
    const Measurement found{report.solve_seconds, triangular_backward_error(L, b, iterated),
                            std::string(ec::to_string(report.status)),
                            static_cast<double>(report.iterations)};
    study.record("triangular", problem, "trsv", direct);
    study.record("triangular", problem, "IS", found);
    fmt::print("| {} | {} | {} | {:.0f} | {:.0f} | {} | {} |\n", problem.name, milliseconds(direct),
               milliseconds(found), found.sweeps, found.seconds / direct.seconds, error_of(direct),
               error_of(found));
    std::fflush(stdout);
  }
}

template <class T>
void run(const Settings& settings, const std::string& table, const std::vector<Problem>& problems) {
  Study<T> study(settings);
  const auto wanted = [&](const char* name) { return table.empty() || table == name; };
  if (wanted("times")) times(settings, problems, study);
  if (wanted("pivoting")) pivoting(settings, problems, study);
  if (wanted("tolerance")) tolerance(settings, problems, study);
  if (wanted("triangular")) triangular(settings, problems, study);
  if (settings.csv.empty()) return;
  std::ofstream(settings.csv) << "table,matrix,n,type,device,form,seconds,backward_error,status,sweeps\n"
                              << study.csv();
}

void study(int argc, char** argv) {
  ec::bench::Arguments arguments(argc, argv,
                                 "[--device serial|openmp|cuda] [--float] [--runs N] [--budget SECONDS] "
                                 "[--csv FILE] [--svg FILE] [--table times|pivoting|tolerance|triangular] "
                                 "[N | sN | FILE]...");
  Settings settings;
  settings.device_name = arguments.option("--device", std::string("serial"));
  settings.runs = arguments.option("--runs", settings.runs);
  settings.budget = arguments.option("--budget", settings.budget);
  settings.csv = arguments.option("--csv", std::string());
  settings.svg = arguments.option("--svg", std::string());
  const std::string table = arguments.option("--table", std::string());
  const bool in_float = arguments.flag("--float");
  std::vector<std::string> words = arguments.positionals("a size or a file");
  arguments.finish();
  const std::vector<std::string> tables = {"", "times", "pivoting", "tolerance", "triangular"};
  if (std::find(tables.begin(), tables.end(), table) == tables.end()) arguments.refuse("unknown table");
  settings.device = ec::Device::parse(settings.device_name);
  if (words.empty()) words = {"4", "32", "100", "s7", "s10", "558"};
  std::vector<Problem> problems;
  problems.reserve(words.size());
  for (const std::string& word : words) problems.push_back(make_problem(word));
  std::stable_sort(problems.begin(), problems.end(),
                   [](const Problem& a, const Problem& b) { return a.A.rows() < b.A.rows(); });
  in_float ? run<float>(settings, table, problems) : run<double>(settings, table, problems);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    study(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_crout_study: %s\n", error.what());
    return 1;
  }
}
