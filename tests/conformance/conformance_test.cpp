// SPDX-License-Identifier: BSD-3-Clause
/// Every method on every backend in both precisions and both forms, on every problem that it claims.
/// The registry is the list: a new method is tested by being registered.
#include "support/problems.hpp"

#include <gtest/gtest.h>

#include <ostream>

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

/// Solves for two right-hand sides at once, twice with one set-up, and assesses them in extended precision.
template <class T>
void check(const Case& c, const Problem& problem) {
  SCOPED_TRACE(problem.name);
  const MethodKind kind = find_method(c.method).kind;
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
    ASSERT_TRUE(report.solved()) << to_string(report.status) << ": " << report.message;
    const bool direct =
        kind == MethodKind::direct || (kind == MethodKind::automatic && report.status == Status::direct);
    EXPECT_EQ(report.status, direct ? Status::direct : Status::converged);
    ASSERT_EQ(report.columns.size(), 2U);
    const Dense<T> x = X.to(Device());
    for (std::int64_t j = 0; j < 2; ++j) {
      const Assessment assessment = assess(csr, x, b, j);
      if (direct) {
        EXPECT_LT(assessment.scaled_residual, 30);
      } else {
        const double rtol = std::is_same_v<T, double> ? 1e-8 : 1e-5;
        const double rounding = 100 * std::numeric_limits<T>::epsilon();
        EXPECT_LE(assessment.relative_residual, rtol + rounding);
      }
    }
  }
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
