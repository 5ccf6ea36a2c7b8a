// SPDX-License-Identifier: BSD-3-Clause
/// Every method on every backend in both precisions and both forms, on every problem that it claims.
/// The registry is the list: a new method is tested by being registered.
#include "support/matrix/sparse_arrays.hpp"
#include "support/problems.hpp"

#include <echelon/matrix/sparse_view.hpp>
#include <echelon/matrix/transform.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <span>
#include <vector>

namespace echelon::test {
namespace {

std::vector<Problem> problems() {
  std::vector<Problem> list;
  for (const std::int64_t n : {1, 2, 31, 32, 33}) list.push_back(diagonal(n));
  for (const std::int32_t side : {1, 3, 17, 33}) list.push_back(convection_diffusion(side, 0));
  for (const std::int32_t side : {3, 17}) list.push_back(convection_diffusion(side, 0.4));
  for (const std::int64_t n : {2, 31, 33, 257, 1025}) {
    list.push_back(random_dominant(n, 5, true, 1));
    list.push_back(random_dominant(n, 5, false, 2));
  }
  for (const std::int64_t n : {2, 33, 257}) {
    list.push_back(random_triangular(n, 5, true, 3));
    list.push_back(random_triangular(n, 5, false, 4));
  }
  for (const std::int64_t n : {2, 3, 33}) list.push_back(shifted_cycle(n));
  for (const std::int64_t n : {2, 32}) list.push_back(path(n));
  return list;
}

/// Methods for Laplacians and other symmetric diagonally dominant matrices.
bool is_laplacian_method(const std::string& name) {
  return name == "approximate-cholesky" || name == "bddc" || name == "lamg";
}

bool suits(const Method& method, const Problem& problem) {
  if (is_laplacian_method(method.name) && !problem.traits.symmetric) return false;
  switch (method.needs) {
    case MethodNeeds::any_shape:
    case MethodNeeds::square:
      return true;
    case MethodNeeds::nonzero_diagonal:
      return problem.traits.nonzero_diagonal;
    case MethodNeeds::one_sided_spectrum:
      return problem.traits.one_sided_spectrum;
    case MethodNeeds::symmetric:
      return problem.traits.symmetric;
    case MethodNeeds::symmetric_positive_definite:
      return problem.traits.spd;
    case MethodNeeds::diagonally_dominant:
      return problem.traits.strictly_dominant;
    case MethodNeeds::triangular:
      return problem.traits.triangular;
  }
  return false;
}

/// A method, perhaps preconditioned, on a device and a form of A; each meets every problem that suits it.
struct Case {
  std::string method;
  Options options;
  Device device;
  bool sparse;
  std::string suited_to;  ///< the method whose needs choose the problems
};

/// Assesses the x of A x = b in extended precision.
template <class T>
void expect_solved(const Case& c, const Report& report, const Csr<T>& A, const Dense<T>& x,
                   const Dense<T>& b) {
  ASSERT_TRUE(report.solved()) << to_string(report.status) << ": " << report.message;
  const MethodKind kind = find_method(c.method).kind;
  const bool direct =
      kind == MethodKind::direct || (kind == MethodKind::automatic && report.status == Status::direct);
  EXPECT_EQ(report.status, direct ? Status::direct : Status::converged);
  ASSERT_EQ(report.columns.size(), static_cast<std::size_t>(b.columns()));
  for (std::int64_t j = 0; j < b.columns(); ++j) {
    const Assessment assessment = assess(A, x, b, j);
    if (direct) {
      EXPECT_LT(assessment.scaled_residual, 30);
    } else {
      const double rtol = std::is_same_v<T, double> ? 1e-8 : 1e-5;
      const double rounding = 100 * std::numeric_limits<T>::epsilon();
      EXPECT_LE(assessment.relative_residual, rtol + rounding);
    }
  }
}

/// Solves for two right-hand sides at once, twice with one set-up.
template <class T>
void check(const Case& c, const Problem& problem) {
  SCOPED_TRACE(problem.name);
  const Csr<T> csr = problem.csr<T>();
  const Matrix<T> host = c.sparse ? Matrix<T>(csr) : Matrix<T>(problem.dense<T>());
  const Matrix<T> A = std::visit([&](const auto& m) { return Matrix<T>(m.to(c.device)); }, host);
  const Dense<T> b = random_dense<T>(problem.n, 2, 7);
  const Dense<T> B = b.to(c.device);
  Solver<T> solver = make_solver<T>(c.method, c.device, c.options);
  ASSERT_TRUE(solver.setup(A).ready()) << solver.describe();
  for (int repetition = 0; repetition < 2; ++repetition) {
    Dense<T> X = random_dense<T>(problem.n, 2, 8).to(c.device);
    const Report report = solver.solve(B, X);
    expect_solved(c, report, csr, X.to(Device()), b);
  }
}

/// Solves op(A) X = B for two right-hand sides, whose elements are in rows of three numbers.
template <class T>
void check_operation(const Case& c, const Solver<T>& solver, const Csr<T>& A, Operation operation) {
  SCOPED_TRACE(static_cast<int>(operation));
  constexpr std::int64_t leading = 3;
  const std::int64_t n = A.rows();
  const Dense<T> b = random_dense<T>(n, 2, 7);
  std::vector<T> rows(static_cast<std::size_t>(n * leading), T{9});
  const DenseView<T> view(rows.data(), n, 2, leading, Device(), Layout::row_major);
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < 2; ++j) view(i, j) = b(i, j);
  }
  const Array<T> B(c.device, std::span<const T>(rows));
  Array<T> X(c.device, std::span<const T>(rows));
  const Report report = solver.solve(DenseView<const T>(B.data(), n, 2, leading, c.device, Layout::row_major),
                                     DenseView<T>(X.data(), n, 2, leading, c.device, Layout::row_major),
                                     {.operation = operation});
  const std::vector<T> result = X.to_vector();
  Dense<T> x(Device(), n, 2);
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < 2; ++j) x(i, j) = result[static_cast<std::size_t>(i * leading + j)];
    EXPECT_EQ(result[static_cast<std::size_t>(i * leading + 2)], T{9}) << "not a part of X";
  }
  expect_solved(c, report, operation == Operation::none ? A : transpose(A), x, b);
}

template <class T>
void check_operations(const Case& c, const Solver<T>& solver, const Csr<T>& A) {
  for (const Operation operation : {Operation::none, Operation::transpose, Operation::adjoint})
    check_operation(c, solver, A, operation);
}

template <class T>
Csr<T> doubled(Csr<T> A) {
  for (std::int64_t k = 0; k < A.nonzeros(); ++k) A.values()[k] *= 2;
  return A;
}

/// Solves with A and its transpose for a view of arrays in some form, and for new values in these arrays.
template <class I, class T>
void check_view(const Case& c, const Problem& problem, const ArrayForm& form) {
  SCOPED_TRACE(problem.name);
  const Csr<T> A = problem.csr<T>();
  const auto n = static_cast<std::int32_t>(problem.n);
  const SparseArrays<I, T> arrays = arrays_of<I>(elements_of(A, form.stored), n, n, form, 5);
  const Array<I> first(c.device, std::span<const I>(arrays.offsets_or_rows));
  const Array<I> second(c.device, std::span<const I>(arrays.indices));
  const Array<T> values(c.device, std::span<const T>(arrays.values));
  SparsePattern pattern = pattern_of(arrays, n, n, form);
  pattern.offsets_or_rows = first.data();
  pattern.indices = second.data();
  const SparseView<T> view(c.device, pattern, values.data());
  Solver<T> solver = make_solver<T>(c.method, c.device, c.options);
  ASSERT_TRUE(solver.setup(view).ready()) << solver.describe();
  check_operations(c, solver, A);

  std::vector<T> twice = arrays.values;
  for (T& value : twice) value *= 2;
  const Array<T> later(c.device, std::span<const T>(twice));
  const auto count = static_cast<std::size_t>(later.size());
  ASSERT_TRUE(solver.update_values(std::span<const T>(later.data(), count)).ready()) << solver.describe();
  check_operations(c, solver, doubled(A));
}

/// Solves with A and its transpose for a dense matrix that is stored by rows.
template <class T>
void check_rows(const Case& c, const Problem& problem) {
  SCOPED_TRACE(problem.name);
  const Csr<T> A = problem.csr<T>();
  const Dense<T> columns = to_dense<T>(transpose(A)).to(c.device);
  Solver<T> solver = make_solver<T>(c.method, c.device, c.options);
  ASSERT_TRUE(solver.setup(transposed(columns.view())).ready()) << solver.describe();
  check_operations(c, solver, A);
}

/// Each problem's form of the arrays; a half is stored of every other symmetric matrix.
ArrayForm form_of(const Problem& problem, std::size_t number) {
  constexpr SparseLayout layouts[] = {SparseLayout::csc, SparseLayout::coo, SparseLayout::csr};
  constexpr StoredElements halves[] = {StoredElements::lower, StoredElements::upper};
  ArrayForm form;
  form.layout = layouts[number % 3];
  form.base = static_cast<std::int32_t>(number / 2 % 2);
  form.shuffled = form.layout == SparseLayout::coo;
  if (problem.traits.symmetric && number % 2 == 0) form.stored = halves[number / 2 % 2];
  return form;
}

std::vector<Device> devices() {
  std::vector<Device> list = {Device::serial(), Device::openmp(1), Device::openmp(3)};
  if (cuda_device_count() > 0) list.push_back(Device::cuda());
  if (opencl_device_count() > 0) list.push_back(Device::opencl());
  return list;
}

/// Every method as a solver, and every preconditioner inside the Krylov methods.
std::vector<Case> cases() {
  std::vector<Case> list;
  for (const Method& method : methods()) {
    for (const Device& device : devices()) {
      if (!method.runs_on(device)) continue;
      for (const bool sparse : {true, false}) {
        if (method.kind != MethodKind::preconditioner) {
          list.push_back({method.name, {}, device, sparse, method.name});
        }
        if (!method.usable_as_preconditioner || (sparse ? !method.sparse : !method.dense)) continue;
        for (const std::string outer : {"gmres", "bicgstab", "cg", "minres"}) {
          // Every problem with a nonzero diagonal here has a one-sided spectrum too. A preconditioner of
          // MINRES is positive definite only for such an A.
          const bool spd = (outer == "cg" || outer == "minres") && !is_laplacian_method(method.name);
          const std::string needs = spd ? "cg" : method.name;
          list.push_back({outer, {{"preconditioner", method.name}}, device, sparse, needs});
        }
      }
    }
  }
  return list;
}

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.method << " on " << c.device.name();
}

/// Whether a problem takes long: as a dense matrix, or by a method that makes it one. In sparse form and with
/// three threads such methods meet one of the large problems.
bool takes_long(const Case& c, const Problem& problem) {
  constexpr std::int64_t largest_dense = 300;
  if (problem.n <= largest_dense) return false;
  if (!c.sparse) return true;
  if (find_method(c.suited_to).sparse && find_method(c.method).sparse) return false;
  return !(c.device == Device::openmp(3) && problem.n == 1025 && problem.traits.spd);
}

class Conformance : public testing::TestWithParam<Case> {
 protected:
  template <class T>
  void check_all() {
    int checked = 0;
    for (const Problem& problem : problems()) {
      if (!suits(find_method(GetParam().suited_to), problem) || takes_long(GetParam(), problem)) continue;
      check<T>(GetParam(), problem);
      ++checked;
    }
    EXPECT_GT(checked, 0);
  }
};

/// Problems of about 32 rows: each method meets all forms of arrays and both types of indices. Those of 33
/// rows suffice for OpenCL, where each launch takes long.
TEST_P(Conformance, TransposesAndViews) {
  const std::int64_t least = GetParam().device.kind() == DeviceKind::opencl ? 33 : 30;
  std::size_t number = 0;
  for (const Problem& problem : problems()) {
    if (problem.n < least || problem.n > 33 || !suits(find_method(GetParam().suited_to), problem)) continue;
    const ArrayForm form = form_of(problem, number++);
    if (!GetParam().sparse) {
      check_rows<double>(GetParam(), problem);
    } else if (number % 2 == 0) {
      check_view<std::int64_t, double>(GetParam(), problem, form);
    } else {
      check_view<std::int32_t, float>(GetParam(), problem, form);
    }
  }
  EXPECT_GT(number, 0U);
}
TEST_P(Conformance, Float) {
  check_all<float>();
}
TEST_P(Conformance, Double) {
  check_all<double>();
}

std::string name_of(const testing::TestParamInfo<Case>& info) {
  const Case& c = info.param;
  std::string name = c.method + "_";
  for (const auto& [key, value] : c.options.entries()) {
    name += std::get<std::string>(value.get()) + "_";
  }
  name += c.device.name() + (c.sparse ? "_sparse" : "_dense");
  std::replace_if(
      name.begin(), name.end(), [](char ch) { return std::isalnum(ch) == 0; }, '_');
  return name;
}

std::vector<Case> cases_on(DeviceKind kind) {
  std::vector<Case> list = cases();
  std::erase_if(list, [&](const Case& c) { return c.device.kind() != kind; });
  return list;
}

INSTANTIATE_TEST_SUITE_P(Serial, Conformance, testing::ValuesIn(cases_on(DeviceKind::serial)), name_of);
INSTANTIATE_TEST_SUITE_P(OpenMp, Conformance, testing::ValuesIn(cases_on(DeviceKind::openmp)), name_of);
INSTANTIATE_TEST_SUITE_P(Cuda, Conformance, testing::ValuesIn(cases_on(DeviceKind::cuda)), name_of);
INSTANTIATE_TEST_SUITE_P(OpenCl, Conformance, testing::ValuesIn(cases_on(DeviceKind::opencl)), name_of);

}  // namespace
}  // namespace echelon::test
