// SPDX-License-Identifier: BSD-3-Clause
/// Faults inside the library: `faults allocations SECONDS [NAME]...` lets every k-th allocation of each
/// method and entry point fail, with a stride that fits the time; `faults parsers FOLDER...` reads every file
/// there in every format, with little memory; `faults repetitions [METHOD]...` counts the allocations of
/// vectors in repeated updates and solves. Each case runs in a process of its own.
#include "faults/case.hpp"
#include "faults/failing_allocation.hpp"
#include "support/problems.hpp"

#include <echelon/echelon.hpp>

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace echelon::faults {

namespace {

/// A system whose solution is 1 in every row.
struct System {
  Csr<double> A;
  Dense<double> b;

  explicit System(Csr<double> matrix) : A(std::move(matrix)), b(Device(), A.rows(), 1) {
    const Dense<double> ones(std::vector<double>(static_cast<std::size_t>(A.rows()), 1.0));
    multiply<double>(1, A, ones, 0, b);
  }
};

End solve_by(const std::string& method, const Options& options, const System& system) {
  Dense<double> x(Device(), system.A.rows(), 1);
  Solver<double> solver = make_solver<double>(method, Device::openmp(2), options);
  if (solver.setup(system.A).status == Status::out_of_memory) return End::out_of_memory;
  const Report report = solver.solve(system.b, x);
  if (report.status == Status::out_of_memory) return End::out_of_memory;
  const bool right = report.solved() && test::assess(system.A, x, system.b).relative_residual < 1e-6;
  if (!right)
    std::printf("  %s: %s\n", std::string(to_string(report.status)).c_str(), report.message.c_str());
  return right ? End::right : End::wrong;
}

Options with_option(const std::string& name, const std::string& value) {
  Options options;
  options.set(name, value);
  return options;
}

Case method_case(std::string name, const std::string& method, const Options& options, Csr<double> A) {
  return {std::move(name),
          [method, options, system = System(std::move(A))] { return solve_by(method, options, system); }};
}

/// Entries of a matrix, row by row or in random order.
std::vector<Triplet<double>> triplets_of(const Csr<double>& A, bool shuffled) {
  std::vector<Triplet<double>> triplets;
  for (std::int32_t i = 0; i < A.rows(); ++i) {
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
      triplets.push_back({i, A.column_indices()[k], A.values()[k]});
    }
  }
  std::mt19937 random(5);
  if (shuffled) std::shuffle(triplets.begin(), triplets.end(), random);
  return triplets;
}

/// Conversions of a symmetric matrix.
Case conversion_case(const std::string& name, const Csr<double>& A, bool shuffled) {
  return {name, [triplets = triplets_of(A, shuffled), A] {
            const Csr<double> B = Csr<double>::from_triplets(A.rows(), A.columns(), triplets);
            const Csr<double> C = transpose(symmetrize(transpose(to_csr(to_coo(B)))));
            const auto same = [](const auto& one, const auto& other) {
              return std::equal(one.data(), one.data() + one.size(), other.data(),
                                other.data() + other.size());
            };
            return same(A.values(), C.values()) && same(A.column_indices(), C.column_indices()) ? End::right
                                                                                                : End::wrong;
          }};
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const Method& method : methods()) {
    if (!method.openmp || method.kind == MethodKind::preconditioner) continue;
    const std::int64_t n = method.sparse ? 300 : 100;
    all.push_back(method_case(method.name, method.name, {}, test::system_for(method, n, 4, 5).csr<double>()));
  }
  const Csr<double> grid = test::poisson(50);
  all.push_back(method_case("cg-ic0", "cg", with_option("preconditioner", "ic0"), grid));
  all.push_back(method_case("gmres-ilu0", "gmres", with_option("preconditioner", "ilu0"), grid));
  all.push_back(method_case("amg-grid", "amg", {}, grid));
  all.push_back(method_case("bddc-grid", "bddc", {}, grid));
  all.push_back(method_case("banded-lu-grid", "banded-lu", {}, grid));
  all.push_back(method_case("sparse-lu-grid", "sparse-lu", {}, grid));
  all.push_back(method_case("metis", "sparse-cholesky", with_option("ordering", "metis"), grid));
  const Csr<double> large = test::poisson(100);  // of more entries than one thread converts
  all.push_back(conversion_case("conversions", large, false));
  all.push_back(conversion_case("conversions-shuffled", large, true));
  for (Case& c : entry_point_cases()) all.push_back(std::move(c));
  return all;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Lets allocation k of a case fail.
End run_with_failure(const Case& c, long k, long& allocations) {
  End end = End::wrong;
  fail_allocation(k);
  try {
    end = c.run();
  } catch (const OutOfMemory&) {
    end = End::out_of_memory;
  }
  allocations = stop_failing();
  return end;
}

/// Runs a case with failures; in the process of its own. `progress`: the allocation that fails.
int sweep(const Case& c, double seconds, long& progress) {
  long allocations = 0;
  progress = -1;
  if (c.run() != End::right) return 1;  // starts threads, and fills tables that stay
  const auto start = std::chrono::steady_clock::now();
  if (run_with_failure(c, -1, allocations) != End::right) return 1;
  const double each = seconds_since(start);
  const long stride = std::max(1L, static_cast<long>(static_cast<double>(allocations) * each / seconds));
  long tried = 0;
  long exhausted = 0;
  for (long k = 0; k < allocations && seconds_since(start) < 2 * seconds; k += stride) {
    progress = k;
    long ignored = 0;
    const End end = run_with_failure(c, k, ignored);
    if (end == End::wrong) return 1;
    exhausted += end == End::out_of_memory ? 1 : 0;
    ++tried;
  }
  std::printf("%-24s %6ld allocations, %5ld failed: %5ld out of memory, %5ld right\n", c.name.c_str(),
              allocations, tried, exhausted, tried - exhausted);
  return 0;
}

/// Calls f(progress) in a process of its own. Returns whether it returned 0; says at which progress it did
/// not.
bool in_own_process(const std::string& name, const std::function<int(long&)>& f) {
  void* const memory = mmap(nullptr, sizeof(long), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto& progress = *static_cast<long*>(memory);
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    alarm(120);
    int status = 1;
    try {
      status = f(progress);
    } catch (const std::exception& error) {
      std::printf("  exception: %s\n", error.what());
    }
    std::fflush(stdout);
    _exit(status);
  }
  int status = 0;
  waitpid(child, &status, 0);
  const bool passed = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  if (!passed) {
    std::printf("%s FAILED at %ld: %s %d\n", name.c_str(), progress,
                WIFSIGNALED(status) ? "signal" : "status",
                WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
  }
  munmap(memory, sizeof(long));
  return passed;
}

bool test_allocations(double seconds, const std::vector<std::string>& names) {
  std::vector<Case> all = cases();
  std::erase_if(all, [&](const Case& c) {
    return !names.empty() && std::find(names.begin(), names.end(), c.name) == names.end();
  });
  bool passed = !all.empty();
  for (const Case& c : all) {
    const double share = seconds / static_cast<double>(all.size());
    passed &= in_own_process(c.name, [&](long& progress) { return sweep(c, share, progress); });
  }
  return passed;
}

/// Reads a file in every format, with 1 GiB of address space more than the program has.
int parse(const std::filesystem::path& path, long& progress) {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t bytes = pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) + (rlim_t{1} << 30);
  const rlimit limit = {bytes, bytes};
  setrlimit(RLIMIT_AS, &limit);
  for (const std::string& name : file_format_names()) {
    ++progress;
    try {
      (void)read_matrix<double>(path.string(), parse_file_format(name));
    } catch (const Error&) {  // says what is wrong with the file, or that there is no memory
    }
  }
  return 0;
}

bool test_parsers(const std::vector<std::string>& folders) {
  long files = 0;
  bool passed = true;
  for (const std::string& folder : folders) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      if (!entry.is_regular_file()) continue;
      ++files;
      passed &= in_own_process(entry.path().string(),
                               [&](long& progress) { return parse(entry.path(), progress); });
    }
  }
  std::printf("%ld files in %zu formats\n", files, file_format_names().size());
  return passed && files > 0;
}

/// Allocations of half a vector or more in the third of three updates, and of three solves, of a method.
struct Repetition {
  long update = 0;
  long solve = 0;
};

/// A system in which methods take a few milliseconds.
constexpr std::int64_t repeated_rows = 1025;

Repetition repeat(const Method& method, const MatrixRef<double>& A) {
  constexpr std::size_t half_a_vector = repeated_rows * sizeof(double) / 2;
  const Dense<double> b(std::vector<double>(static_cast<std::size_t>(A.rows()), 1.0));
  Dense<double> x(Device(), A.rows(), 1);
  Options options;
  if (method.kind == MethodKind::iterative) options.set("rtol", 1e-6);
  Solver<double> solver = make_solver<double>(method.name, Device::openmp(2), options);
  solver.setup(A);
  Repetition counts;
  for (int k = 0; k < 3; ++k) {
    count_allocations(half_a_vector);
    solver.update_values(A);
    counts.update = stop_failing();
  }
  for (int k = 0; k < 3; ++k) {
    count_allocations(half_a_vector);
    const Report report = solver.solve(b, x, {.measure_error = false});
    counts.solve = stop_failing();
    if (!report.solved()) std::printf("  %s\n", report.message.c_str());
  }
  return counts;
}

/// Methods whose solves still allocate work arrays, such as those of LAPACK's getrs and ormqr.
bool needs_work_arrays(const Method& method) {
  return method.name == "banded-lu" || method.name == "lu" || method.name == "qr";
}

bool test_repetitions(const std::vector<std::string>& names) {
  bool passed = true;
  for (const Method& method : methods()) {
    if (!method.openmp || method.kind == MethodKind::preconditioner || method.kind == MethodKind::automatic)
      continue;
    if (!names.empty() && std::find(names.begin(), names.end(), method.name) == names.end()) continue;
    const test::Problem problem = test::system_for(method, repeated_rows, 6, 1);
    const Csr<double> sparse = problem.csr<double>();
    const Dense<double> dense = method.sparse ? Dense<double>() : problem.dense<double>();
    passed &= in_own_process(method.name, [&](long& progress) {
      const Repetition counts =
          repeat(method, method.sparse ? MatrixRef<double>(sparse) : MatrixRef<double>(dense));
      std::printf("%-24s update %3ld, solve %3ld\n", method.name.c_str(), counts.update, counts.solve);
      progress = counts.update + counts.solve;
      return counts.solve == 0 || needs_work_arrays(method) ? 0 : 1;
    });
  }
  return passed;
}

}  // namespace

}  // namespace echelon::faults

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.empty()) return 2;
  if (arguments.front() == "repetitions")
    return echelon::faults::test_repetitions({arguments.begin() + 1, arguments.end()}) ? 0 : 1;
  if (arguments.size() < 2) return 2;
  const std::vector<std::string> rest(arguments.begin() + 1, arguments.end());
  if (arguments.front() == "parsers") return echelon::faults::test_parsers(rest) ? 0 : 1;
  return echelon::faults::test_allocations(std::atof(rest.front().c_str()), {rest.begin() + 1, rest.end()})
             ? 0
             : 1;
}
