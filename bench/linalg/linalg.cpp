// SPDX-License-Identifier: BSD-3-Clause
// Reproduces a published comparison of linear algebra on a CPU and a GPU, from small sizes to large ones:
// Kumar, "GPU implementation of the lean algebraic multi-grid (LAMG) solver for large-scale graph problems",
// bachelor project, Università della Svizzera italiana 2018, figures 2.2, 2.4, 2.6, 3.3, 3.5, 3.7 and
// chapter 4.
//   bench_linalg [PICTURES [LIMIT [FIGURE]]]
// prints a table in Markdown for each figure, in float (as there) and double, and from which size a GPU wins;
// writes a picture of each into the directory PICTURES. Sizes whose time is expected to exceed LIMIT
// seconds (default: 1), by extrapolation from the size before, are left out. FIGURE is part of a picture's
// name, such as "gemm": only such figures are drawn.
//
// "plain" is the report's serial loop. The other columns are this library on one core, on two, and on all of
// OpenMP's; on a GPU with operands there (mean over as many calls as take a millisecond); and on a GPU
// including allocation and the transfers of operands and result. Without CUDA, a device of OpenCL takes the
// place of the GPU.
#include "support/arguments.hpp"
#include "support/log_plot.hpp"
#include "support/measure.hpp"

#include <echelon/echelon.hpp>

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace ec = echelon;

namespace {

constexpr double not_measured = std::numeric_limits<double>::quiet_NaN();

template <class T>
std::vector<T> random_numbers(std::int64_t count) {
  std::minstd_rand random(7);
  std::vector<T> numbers(static_cast<std::size_t>(count));
  for (T& number : numbers) number = static_cast<T>(random() % 1000 + 1) / T{1000};
  return numbers;
}

template <class T>
ec::Dense<T> random_matrix(std::int64_t rows, std::int64_t columns) {
  const std::vector<T> numbers = random_numbers<T>(rows * columns);
  return {rows, columns, ec::Array<T>(ec::Device(), std::span<const T>(numbers))};
}

/// n by n with `per_row` elements in each row, one in each of as many stretches of columns.
template <class T>
ec::Csr<T> random_sparse(std::int64_t n, std::int64_t per_row, unsigned seed) {
  const ec::Device host;
  std::minstd_rand random(seed);
  ec::Array<std::int64_t> offsets(host, n + 1);
  ec::Array<std::int32_t> columns(host, n * per_row);
  ec::Array<T> values(host, n * per_row);
  for (std::int64_t i = 0; i <= n; ++i) offsets[i] = i * per_row;
  for (std::int64_t k = 0; k < n * per_row; ++k) {
    const std::int64_t stretch = k % per_row;
    const std::int64_t begin = stretch * n / per_row;
    const std::int64_t length = (stretch + 1) * n / per_row - begin;
    columns[k] = static_cast<std::int32_t>(begin + static_cast<std::int64_t>(random()) % length);
    values[k] = static_cast<T>(random() % 1000 + 1) / T{1000};
  }
  return {n, n, std::move(offsets), std::move(columns), std::move(values)};
}

/// Row-major view of the same memory, the layout of the report.
template <class T, class Matrix>
ec::DenseView<T> by_rows(Matrix& A) {
  return {A.data(), A.rows(), A.columns(), A.columns(), A.device(), ec::Layout::row_major};
}

template <class T>
double total(const std::vector<T>& values) {
  double sum = 0;
  for (const T value : values) sum += static_cast<double>(value);
  return sum;
}

/// A sparse matrix as the report's coordinate lists, sorted by row.
template <class T>
struct Coordinates {
  std::vector<int> rows;
  std::vector<int> columns;
  std::vector<T> values;
  explicit Coordinates(const ec::Csr<T>& A)
      : columns(A.column_indices().to_vector()), values(A.values().to_vector()) {
    for (std::int64_t i = 0; i < A.rows(); ++i) {
      for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
        rows.push_back(static_cast<int>(i));
      }
    }
  }
};

// An operation: operands of size n; the largest number of terms in an element of the result; the report's
// serial loop, which returns the sum of the result's elements; and the library's function, on the operands'
// device.

/// Listing 2.1.
template <class T>
struct DenseTimesVector {
  static constexpr const char* name = "dense matrix times vector (figure 2.2)";
  static constexpr const char* picture = "linalg-gemv";
  static constexpr double growth = 2;
  static double terms(double n) { return n; }
  static std::vector<std::int64_t> sizes() {
    return {50, 100, 200, 500, 1000, 1500, 2000, 2500, 5000, 10000};
  }
  ec::Dense<T> A, x, y;
  explicit DenseTimesVector(std::int64_t n)
      : A(random_matrix<T>(n, n)), x(random_matrix<T>(n, 1)), y(ec::Device(), n, 1) {}
  DenseTimesVector(const DenseTimesVector& host, const ec::Device& device)
      : A(host.A.to(device)), x(host.x.to(device)), y(device, host.y.rows(), 1) {}
  double plain() {
    const std::int64_t n = A.rows();
    std::vector<T> result(static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < n; ++j) result[static_cast<std::size_t>(i)] += A[i * n + j] * x[j];
    }
    return total(result);
  }
  void run(ec::Context& context) { ec::multiply<T>(context, 1, by_rows<const T>(A), x, 0, y); }
  std::vector<T> fetch() { return y.to_vector(); }
};

/// Listing 2.3.
template <class T>
struct DenseTimesDense {
  static constexpr const char* name = "dense matrix times matrix (figure 2.4)";
  static constexpr const char* picture = "linalg-gemm";
  static constexpr double growth = 3;
  static double terms(double n) { return n; }
  static std::vector<std::int64_t> sizes() {
    return {50, 100, 200, 500, 1000, 1500, 2000, 2500, 5000, 10000};
  }
  ec::Dense<T> A, B, C;
  explicit DenseTimesDense(std::int64_t n)
      : A(random_matrix<T>(n, n)), B(random_matrix<T>(n, n)), C(ec::Device(), n, n) {}
  DenseTimesDense(const DenseTimesDense& host, const ec::Device& device)
      : A(host.A.to(device)), B(host.B.to(device)), C(device, host.C.rows(), host.C.columns()) {}
  double plain() {
    const std::int64_t n = A.rows();
    std::vector<T> result(static_cast<std::size_t>(n * n));
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        for (std::int64_t k = 0; k < n; ++k) {
          result[static_cast<std::size_t>(i * n + j)] += A[i * n + k] * B[k * n + j];
        }
      }
    }
    return total(result);
  }
  void run(ec::Context& context) {
    ec::gemm<T>(context, 1, by_rows<const T>(A), by_rows<const T>(B), 0, by_rows<T>(C));
  }
  std::vector<T> fetch() { return C.to_vector(); }
};

/// Listing 2.5.
template <class T>
struct DensePlusDense {
  static constexpr const char* name = "dense matrix plus matrix (figure 2.6)";
  static constexpr const char* picture = "linalg-add";
  static constexpr double growth = 2;
  static double terms(double /*n*/) { return 2; }
  static std::vector<std::int64_t> sizes() {
    return {50, 100, 200, 500, 1000, 1500, 2000, 2500, 5000, 10000};
  }
  ec::Dense<T> A, B, C;
  explicit DensePlusDense(std::int64_t n)
      : A(random_matrix<T>(n, n)), B(random_matrix<T>(n, n)), C(ec::Device(), n, n) {}
  DensePlusDense(const DensePlusDense& host, const ec::Device& device)
      : A(host.A.to(device)), B(host.B.to(device)), C(device, host.C.rows(), host.C.columns()) {}
  double plain() {
    const std::int64_t n = A.rows();
    constexpr T operation = 1;
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < n; ++j) C[i * n + j] = A[i * n + j] + operation * B[i * n + j];
    }
    return static_cast<double>(C[0]) + static_cast<double>(C[n * n - 1]);
  }
  void run(ec::Context& context) { ec::add<T>(context, 1, A, 1, B, C); }
  std::vector<T> fetch() {
    const std::vector<T> all = C.to_vector();
    return {all.front(), all.back()};
  }
};

/// Listing 3.1; one element in twenty.
template <class T>
struct SparseTimesVector {
  static constexpr const char* name = "sparse matrix times vector, 5 % full (figure 3.3)";
  static constexpr const char* picture = "linalg-spmv";
  static constexpr double growth = 2;
  static double terms(double n) { return n / 20; }
  static std::vector<std::int64_t> sizes() {
    return {100, 200, 500, 1000, 2000, 4000, 6000, 8000, 10500, 20000, 40000};
  }
  ec::Csr<T> A;
  ec::Dense<T> x, y;
  std::vector<int> rows;
  explicit SparseTimesVector(std::int64_t n)
      : A(random_sparse<T>(n, n / 20, 1)),
        x(random_matrix<T>(n, 1)),
        y(ec::Device(), n, 1),
        rows(Coordinates<T>(A).rows) {}
  SparseTimesVector(const SparseTimesVector& host, const ec::Device& device)
      : A(host.A.to(device)), x(host.x.to(device)), y(device, host.y.rows(), 1) {}
  double plain() {
    std::vector<T> result(static_cast<std::size_t>(A.rows()));
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto k = static_cast<std::int64_t>(i);
      result[static_cast<std::size_t>(rows[i])] += A.values()[k] * x[A.column_indices()[k]];
    }
    return total(result);
  }
  void run(ec::Context& context) { ec::multiply<T>(context, 1, A, x, 0, y); }
  std::vector<T> fetch() { return y.to_vector(); }
};

constexpr std::int64_t few = 5;

/// Listing 3.3; five elements a row.
template <class T>
struct SparseTimesSparse {
  static constexpr const char* name = "sparse matrix times matrix, 5 elements a row (figure 3.5)";
  static constexpr const char* picture = "linalg-spgemm";
  static constexpr double growth = 2;
  static double terms(double /*n*/) { return few * few; }
  static std::vector<std::int64_t> sizes() {
    return {100, 500, 1000, 2000, 4000, 6000, 10000, 14000, 50000, 200000, 1000000};
  }
  ec::Csr<T> A, B, C;
  explicit SparseTimesSparse(std::int64_t n)
      : A(random_sparse<T>(n, few, 1)), B(random_sparse<T>(n, few, 2)) {}
  SparseTimesSparse(const SparseTimesSparse& host, const ec::Device& device)
      : A(host.A.to(device)), B(host.B.to(device)) {}
  double plain() {
    const Coordinates<T> a(A);
    const Coordinates<T> b(B);
    std::vector<T> result;
    std::vector<std::int64_t> position;
    for (std::size_t j = 0; j < a.rows.size(); ++j) {
      for (std::size_t k = 0; k < b.rows.size(); ++k) {
        if (a.columns[j] != b.rows[k]) continue;
        const std::int64_t place = a.rows[j] * B.columns() + b.columns[k];
        const auto found = std::find(position.begin(), position.end(), place);
        if (found != position.end()) {
          result[static_cast<std::size_t>(found - position.begin())] += a.values[j] * b.values[k];
        } else {
          result.push_back(a.values[j] * b.values[k]);
          position.push_back(place);
        }
      }
    }
    return total(result);
  }
  void run(ec::Context& context) {
    // The device of a sparse product is that of its first factor.
    if (A.device() != context.device()) A = A.to(context.device());
    C = ec::multiply(A, B);
  }
  std::vector<T> fetch() {
    (void)C.row_offsets().to_vector();
    (void)C.column_indices().to_vector();
    return C.values().to_vector();
  }
};

/// Listing 3.5; five elements a row.
template <class T>
struct SparsePlusSparse {
  static constexpr const char* name = "sparse matrix plus matrix, 5 elements a row (figure 3.7)";
  static constexpr const char* picture = "linalg-spadd";
  static constexpr double growth = 2;
  static double terms(double /*n*/) { return 2; }
  static std::vector<std::int64_t> sizes() {
    return {100, 500, 1000, 1500, 2000, 2500, 10000, 50000, 200000, 1000000, 4000000};
  }
  ec::Csr<T> A, B, C;
  explicit SparsePlusSparse(std::int64_t n)
      : A(random_sparse<T>(n, few, 1)), B(random_sparse<T>(n, few, 2)) {}
  SparsePlusSparse(const SparsePlusSparse& host, const ec::Device& device)
      : A(host.A.to(device)), B(host.B.to(device)) {}
  double plain() {
    const Coordinates<T> a(A);
    const Coordinates<T> b(B);
    std::vector<T> result(a.values);
    result.insert(result.end(), b.values.begin(), b.values.end());
    std::vector<std::int64_t> position;
    for (const Coordinates<T>* m : {&a, &b}) {
      for (std::size_t k = 0; k < m->rows.size(); ++k) {
        position.push_back(m->rows[k] * A.columns() + m->columns[k] + 1);  // 0: taken
      }
    }
    for (std::size_t i = 0; i + 1 < position.size(); ++i) {
      for (std::size_t j = i + 1; j < position.size(); ++j) {
        if (position[i] != position[j] || position[j] == 0) continue;
        result[i] += result[j];
        result[j] = 0;
        position[j] = 0;
      }
    }
    return total(result);
  }
  void run(ec::Context& context) {
    if (A.device() != context.device()) A = A.to(context.device());
    C = ec::add<T>(1, A, 1, B);
  }
  std::vector<T> fetch() {
    (void)C.row_offsets().to_vector();
    (void)C.column_indices().to_vector();
    return C.values().to_vector();
  }
};

/// Listing 4.1.
template <class T>
struct DotProduct {
  static constexpr const char* name = "dot product (chapter 4)";
  static constexpr const char* picture = "linalg-dot";
  static constexpr double growth = 1;
  static double terms(double n) { return n; }
  static std::vector<std::int64_t> sizes() {
    return {100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
  }
  ec::Dense<T> x, y;
  ec::Array<double> result;
  explicit DotProduct(std::int64_t n)
      : x(random_matrix<T>(n, 1)), y(random_matrix<T>(n, 1)), result(ec::Device(), 1) {}
  DotProduct(const DotProduct& host, const ec::Device& device)
      : x(host.x.to(device)), y(host.y.to(device)), result(device, 1) {}
  double plain() {
    T sum = 0;
    for (std::int64_t i = 0; i < x.rows(); ++i) sum += x[i] * y[i];
    return static_cast<double>(sum);
  }
  void run(ec::Context& context) { ec::dot<T>(context, x, y, result.data()); }
  std::vector<double> fetch() { return result.to_vector(); }
};

/// Seconds of a call: at least three, and as many as fit into a twentieth of a second.
template <class F>
double seconds(F f) {
  const auto once = [&] {
    const auto start = std::chrono::steady_clock::now();
    f();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  const double first = once();
  if (first > 0.3) return first;
  std::vector<double> all;
  double sum = 0;
  while (all.size() < 3 || (sum < 0.05 && all.size() < 1000)) {
    all.push_back(once());
    sum += all.back();
  }
  return ec::bench::median(std::move(all));
}

/// Waits for the work queued on the device.
void wait(const ec::Array<char>& anything) {
  (void)anything.to(ec::Device::serial());
}

enum Column { plain, one_core, two_cores, all_cores, gpu, gpu_and_transfers, columns };

/// The device of the columns `gpu` and `gpu_and_transfers`, if there is one.
std::optional<ec::Device> accelerator() {
  if (ec::cuda_device_count() > 0) return ec::Device::cuda();
  if (ec::opencl_device_count() > 0) return ec::Device::opencl();
  return std::nullopt;
}
std::string accelerator_name() {
  return accelerator()->kind() == ec::DeviceKind::cuda ? "GPU" : "OpenCL";
}

std::string column_name(int column) {
  switch (column) {
    case plain:
      return "plain loop";
    case one_core:
      return "1 core";
    case two_cores:
      return "2 cores";
    case all_cores:
      return fmt::format("all {} {}", omp_get_max_threads(), omp_get_max_threads() == 1 ? "core" : "cores");
    case gpu:
      return accelerator_name();
    default:
      return accelerator_name() + " and transfers";
  }
}

struct Results {
  std::vector<double> sizes;
  std::vector<double> seconds[columns];
};

/// True if the sums of two results agree, given the number of terms of each element. All numbers are
/// positive: rounding changes a sum of n terms by at most n eps / 2 of its value. Sums of more than 1 / eps
/// terms cannot be checked: the report's dot product in float stops growing at 2^24.
template <class V>
void require_same(const std::vector<V>& result, double expected, double terms, double eps) {
  const double ours = total(result);
  const double rounding =
      (terms + 1) * eps + static_cast<double>(result.size()) * std::numeric_limits<double>::epsilon();
  if (std::abs(ours - expected) <= rounding * std::abs(expected)) return;
  std::printf("the results differ: %.9g and %.9g\n", ours, expected);
  std::exit(1);
}

/// True if the time of the next size is expected to be below the limit.
bool affordable(const Results& results, int column, double n, double growth, double limit) {
  const std::vector<double>& before = results.seconds[column];
  if (before.empty()) return true;
  return before.back() * std::pow(n / results.sizes[before.size() - 1], growth) < limit;
}

template <class Operation>
double gpu_seconds(Operation& there, ec::Context& context) {
  const ec::Array<char> anything(context.device(), 1);
  const auto repeat = [&](int times) {
    return seconds([&] {
             for (int k = 0; k < times; ++k) there.run(context);
             wait(anything);
           }) /
           times;
  };
  const double once = repeat(1);
  return once > 1e-3 ? once : repeat(static_cast<int>(1e-3 / once) + 1);
}

template <template <class> class Operation, class T>
Results measure(double limit) {
  constexpr double eps = std::numeric_limits<T>::epsilon();
  Results results;
  using Op = Operation<T>;
  const std::optional<ec::Device> device = accelerator();
  for (const std::int64_t n : Op::sizes()) {
    const auto size = static_cast<double>(n);
    Op host(n);
    double expected = not_measured;
    const auto record = [&](int column, auto f) {
      const bool measured = affordable(results, column, size, Op::growth, limit);
      results.seconds[column].push_back(measured ? f() : not_measured);
    };
    record(plain, [&] { return seconds([&] { expected = host.plain(); }); });
    const ec::Device devices[] = {ec::Device::serial(), ec::Device::openmp(2), ec::Device::openmp()};
    for (int d = 0; d < 3; ++d) {
      record(one_core + d, [&] {
        ec::Context context(devices[d]);
        const double time = seconds([&] { host.run(context); });
        if (expected == expected) require_same(host.fetch(), expected, Op::terms(size), eps);
        return time;
      });
    }
    if (device) {
      ec::Context context(*device);
      record(gpu, [&] {
        Op there(host, *device);
        const double time = gpu_seconds(there, context);
        if (expected == expected) require_same(there.fetch(), expected, Op::terms(size), eps);
        return time;
      });
      record(gpu_and_transfers, [&] {
        return seconds([&] {
          Op there(host, *device);
          there.run(context);
          (void)there.fetch();
        });
      });
    }
    results.sizes.push_back(size);
  }
  return results;
}

std::string in_units(double time) {
  if (!(time > 0)) return "-";
  if (time < 1e-3) return fmt::format("{:.1f} us", 1e6 * time);
  return time < 1 ? fmt::format("{:.2f} ms", 1e3 * time) : fmt::format("{:.2f} s", time);
}

/// First size from which on `fast` takes less time than `slow`, or `slow` was left out. Sizes where both were
/// left out do not count.
std::string wins_from(const Results& results, int fast, int slow) {
  std::size_t first = results.sizes.size();
  for (std::size_t k = results.sizes.size(); k-- > 0;) {
    const double ours = results.seconds[fast][k];
    const double theirs = results.seconds[slow][k];
    if (std::isnan(ours) && std::isnan(theirs)) continue;
    if (!(ours > 0) || theirs <= ours) break;
    first = k;
  }
  return first < results.sizes.size() ? fmt::format("{:.0f}", results.sizes[first]) : "never";
}

bool has_column(const Results& results, int column) {
  return !results.seconds[column].empty() && !(column == two_cores && omp_get_max_threads() == 2);
}

void print_table(const char* name, const char* type, const Results& results) {
  fmt::print("\n### {}, {}\n\n| n |", name, type);
  for (int c = 0; c < columns; ++c) {
    if (has_column(results, c)) fmt::print(" {} |", column_name(c));
  }
  fmt::print("\n|---|");
  for (int c = 0; c < columns; ++c) {
    if (has_column(results, c)) fmt::print("---|");
  }
  fmt::print("\n");
  for (std::size_t k = 0; k < results.sizes.size(); ++k) {
    fmt::print("| {:.0f} |", results.sizes[k]);
    for (int c = 0; c < columns; ++c) {
      if (has_column(results, c)) fmt::print(" {} |", in_units(results.seconds[c][k]));
    }
    fmt::print("\n");
  }
  std::fflush(stdout);
}

ec::bench::Panel panel_of(const char* type, const Results& results) {
  ec::bench::Panel panel{type, results.sizes, {}};
  for (int c = 0; c < columns; ++c) {
    if (has_column(results, c)) panel.curves.push_back({column_name(c), results.seconds[c]});
  }
  return panel;
}

struct Wanted {
  std::string pictures;
  double limit = 1;
  std::string figure;
};

/// Measures both types of one operation. Returns two rows of the final table.
template <template <class> class Operation>
std::string compare(const Wanted& wanted) {
  using Op = Operation<float>;
  if (std::string(Op::picture).find(wanted.figure) == std::string::npos) return {};

  const Results in_float = measure<Operation, float>(wanted.limit);
  const Results in_double = measure<Operation, double>(wanted.limit);
  print_table(Op::name, "float", in_float);
  print_table(Op::name, "double", in_double);
  if (!wanted.pictures.empty()) {
    ec::bench::LogPlot plot(Op::name, "n", "seconds");
    plot.add(panel_of("float", in_float));
    plot.add(panel_of("double", in_double));
    std::ofstream(wanted.pictures + "/" + Op::picture + ".svg") << plot.svg();
  }
  std::string rows;
  for (const Results* results : {&in_float, &in_double}) {
    if (!has_column(*results, gpu)) continue;
    rows += fmt::format("| {} | {} |", Op::name, results == &in_float ? "float" : "double");
    for (const int ours : {gpu, gpu_and_transfers}) {
      for (const int theirs : {plain, two_cores, all_cores})
        rows += fmt::format(" {} |", wins_from(*results, ours, theirs));
    }
    rows += "\n";
  }
  return rows;
}

}  // namespace

int main(int argc, char** argv) {
  ec::bench::Arguments arguments(argc, argv, "[PICTURES [LIMIT [FIGURE]]]");
  Wanted wanted;
  wanted.pictures = arguments.positional("PICTURES", std::string());
  wanted.limit = arguments.positional("LIMIT", 1.0);
  wanted.figure = arguments.positional("FIGURE", std::string());
  arguments.finish();
  const std::optional<ec::Device> device = accelerator();
  fmt::print("{}; {}\n", hardware(ec::Device::openmp()), device ? hardware(*device) : "no GPU");
  std::string rows;
  rows += compare<DenseTimesVector>(wanted);
  rows += compare<DenseTimesDense>(wanted);
  rows += compare<DensePlusDense>(wanted);
  rows += compare<SparseTimesVector>(wanted);
  rows += compare<SparseTimesSparse>(wanted);
  rows += compare<SparsePlusSparse>(wanted);
  rows += compare<DotProduct>(wanted);
  if (!device) return 0;
  fmt::print(
      "\n### From which size {2} wins\n\n| operation | type | over the plain loop | over 2 cores | over "
      "{0} | "
      "and transfers: over the plain loop | over 2 cores | over {0} "
      "|\n|---|---|---|---|---|---|---|---|\n{1}",
      column_name(all_cores), rows, accelerator_name());
}
