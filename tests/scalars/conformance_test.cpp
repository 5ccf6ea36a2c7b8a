// SPDX-License-Identifier: BSD-3-Clause
/// Every method that takes complex matrices, on all devices and in both forms, and every preconditioner
/// among them. The registry is the list: a new method is tested by being registered.
#include "scalars/complex_systems.hpp"

namespace echelon::test {
namespace {

template <class T>
class ComplexConformance : public ComplexSystems<T> {
 protected:
  /// The devices on which the method takes the numbers, a GPU if there is one.
  [[nodiscard]] std::vector<Device> devices_of(const Method& method) const {
    std::vector<Device> list;
    for (const Device& device : this->devices) {
      if (method.takes_complex_on(device)) list.push_back(device);
    }
    const bool is_double = std::is_same_v<Real<T>, double>;
    if (is_double && cuda_device_count() > 0 && method.takes_complex_on(Device::cuda()))
      list.push_back(Device::cuda());
    return list;
  }
};
TYPED_TEST_SUITE(ComplexConformance, ComplexTypes);

/// Systems that suit the needs of a method.
std::vector<Entries> systems_for(const Method& method) {
  const std::vector<Entries> definite = {random_hermitian(1, 0, 111), random_hermitian(33, 6, 112),
                                         magnetic_laplacian(9, 0.4)};
  std::vector<Entries> symmetric;
  for (const std::int64_t side : {1, 6, 9}) symmetric.push_back(damped_helmholtz(side, 0.8, 0.5));
  if (method.name == "cocg" || method.name == "cocr") return symmetric;
  std::vector<Entries> list = definite;
  const bool takes_others = method.needs == MethodNeeds::square || method.needs == MethodNeeds::any_shape ||
                            method.needs == MethodNeeds::one_sided_spectrum;
  if (takes_others) list.insert(list.end(), symmetric.begin(), symmetric.end());
  if (method.kind == MethodKind::direct && method.needs == MethodNeeds::square)
    list.push_back(random_sparse(40, 4, 113));
  return list;
}

template <class T>
void check(Solver<T>& solver, const Entries& entries, bool as_sparse, double rtol, double largest_error) {
  const Device& device = solver.device();
  const Csr<T> csr = sparse<T>(entries).to(device);
  const Dense<T> full = dense<T>(entries).to(device);
  ASSERT_TRUE(solver.setup(as_sparse ? MatrixRef<T>(csr) : MatrixRef<T>(full.view())).ready());
  std::vector<Operation> operations = {Operation::none, Operation::none};
  if (entries.rows <= 40) operations.insert(operations.end(), {Operation::transpose, Operation::adjoint});
  for (std::size_t repetition = 0; repetition < operations.size(); ++repetition) {
    const Operation operation = operations[repetition];
    SCOPED_TRACE(static_cast<int>(operation));
    Dense<T> X(device, entries.rows, 2);
    const std::vector<Vector> b = random_vectors(entries.rows, 2, static_cast<unsigned>(20 * repetition));
    const Report report = solver.solve(matrix_of<T>(b).to(device), X, {.operation = operation, .rtol = rtol});
    ASSERT_TRUE(report.solved()) << to_string(report.status) << ": " << report.message;
    const Dense<T> found = X.to(Device());
    for (std::int64_t c = 0; c < 2; ++c) {
      const Vector exact = solution(operate(operation, entries), b[static_cast<std::size_t>(c)]);
      EXPECT_LT(relative_error(found.view().column(c), exact), largest_error);
    }
  }
}

TYPED_TEST(ComplexConformance, Methods_SolveWhatSuitsThem) {
  using T = TypeParam;
  for (const Method& method : methods()) {
    if (!method.complex || method.kind == MethodKind::preconditioner) continue;
    for (const Device& device : this->devices_of(method)) {
      for (const bool as_sparse : {true, false}) {
        for (const Entries& entries : systems_for(method)) {
          SCOPED_TRACE(method.name + " on " + device.name() + (as_sparse ? ", sparse, " : ", dense, ") +
                       std::to_string(entries.rows));
          Solver<T> solver = this->make(method.name, device);
          check(solver, entries, as_sparse, this->rtol, this->largest_error);
        }
      }
    }
  }
}

TYPED_TEST(ComplexConformance, Preconditioners_SuitTheirMethods) {
  using T = TypeParam;
  for (const Method& method : methods()) {
    if (!method.complex || !method.usable_as_preconditioner) continue;
    const bool definite = method.needs == MethodNeeds::symmetric_positive_definite;
    for (const Device& device : this->devices_of(method)) {
      for (const char* outer : {"gmres", "bicgstab", "cg", "cr"}) {
        for (const bool as_sparse : {true, false}) {
          if (as_sparse ? !method.sparse : !method.dense) continue;
          SCOPED_TRACE(std::string(outer) + " with " + method.name + " on " + device.name());
          const bool symmetric = outer == std::string("cg") || outer == std::string("cr");
          if (symmetric && !definite && method.name != "jacobi") continue;
          Solver<T> solver = this->make(outer, device, {{"preconditioner", method.name}});
          check(solver, magnetic_laplacian(9, 0.4), as_sparse, this->rtol, this->largest_error);
        }
      }
    }
  }
}

}  // namespace
}  // namespace echelon::test
