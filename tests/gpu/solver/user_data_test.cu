// SPDX-License-Identifier: BSD-3-Clause
// Data and kernels of the caller on a GPU: CSR arrays in place, a matrix-free operator, a preconditioner.
// Answers are compared with those of the same objects on the host.
#include "gpu/gpu_fixture.hpp"
#include "support/problems.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace echelon {
namespace {

using test::assess;
using test::GpuTest;
using test::random_dense;

constexpr unsigned block_threads = 128;
unsigned blocks_for(std::int64_t n) {
  return static_cast<unsigned>((n + block_threads - 1) / block_threads);
}

/// Memory from cudaMalloc, which the library does not know.
template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(const std::vector<T>& values) : size_(values.size()) {
    EXPECT_EQ(cudaMalloc(&data_, size_ * sizeof(T) + 1), cudaSuccess);
    assign(values);
  }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  ~DeviceArray() { cudaFree(data_); }
  [[nodiscard]] T* data() const { return static_cast<T*>(data_); }
  void assign(const std::vector<T>& values) {
    EXPECT_EQ(cudaMemcpy(data_, values.data(), size_ * sizeof(T), cudaMemcpyDefault), cudaSuccess);
  }

 private:
  std::size_t size_;
  void* data_ = nullptr;
};

/// y = A x for the 5-point convection-diffusion matrix of test::convection_diffusion, without its elements.
template <class T>
__global__ void apply_stencil(int side, T wind, const T* x, T* y) {
  const int row = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (row >= side * side) return;
  const int i = row % side;
  const int j = row / side;
  T sum = 4 * x[row];
  if (i > 0) sum += (-1 - wind) * x[row - 1];
  if (i + 1 < side) sum += (-1 + wind) * x[row + 1];
  if (j > 0) sum += (-1 - wind) * x[row - side];
  if (j + 1 < side) sum += (-1 + wind) * x[row + side];
  y[row] = sum;
}

/// z = D^-1 r.
template <class T>
__global__ void apply_inverse_diagonal(std::int64_t n, const T* scale, const T* r, T* z) {
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) z[i] = scale[i] * r[i];
}

template <class T>
std::vector<T> inverse_diagonal(const Csr<T>& A) {
  std::vector<T> result(static_cast<std::size_t>(A.rows()));
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
      if (A.column_indices()[k] == i) result[static_cast<std::size_t>(i)] = 1 / A.values()[k];
    }
  }
  return result;
}

/// ||x - y||_inf / ||y||_inf.
template <class T>
double distance(const std::vector<T>& x, const std::vector<T>& y) {
  double difference = 0;
  double norm = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    difference = std::max(difference, std::abs(static_cast<double>(x[i]) - static_cast<double>(y[i])));
    norm = std::max(norm, std::abs(static_cast<double>(y[i])));
  }
  return difference / norm;
}

/// Condition numbers here are at most 500: answers with relative residuals of 1e-10 agree to 1e-7 (float:
/// 1e-5 and 1e-2).
template <class T>
constexpr double tight_rtol = sizeof(T) == 8 ? 1e-10 : 1e-5;
template <class T>
constexpr double same_answer = sizeof(T) == 8 ? 1e-7 : 1e-2;

class GpuUserData : public GpuTest {
 protected:
  /// Solves with `A`, which is on the GPU, and compares the answer with the host's for the same matrix.
  template <class T>
  void expect_host_answer(Solver<T>& solver, const MatrixRef<T>& A, Solver<T>& host_solver,
                          const MatrixRef<T>& host_A, const Csr<T>& elements) const {
    const Dense<T> b = random_dense<T>(elements.rows(), 2, 31);
    Dense<T> x(gpu, elements.rows(), 2);
    Dense<T> expected(Device(), elements.rows(), 2);
    ASSERT_TRUE(solver.setup(A).ready());
    ASSERT_TRUE(host_solver.setup(host_A).ready());
    const Report report = solver.solve(b.to(gpu), x);
    const Report host_report = host_solver.solve(b, expected);
    ASSERT_TRUE(report.solved()) << report.message;
    ASSERT_TRUE(host_report.solved()) << host_report.message;
    const Dense<T> found = x.to(Device());
    for (std::int64_t c = 0; c < 2; ++c) {
      EXPECT_LE(assess(elements, found, b, c).relative_residual, 1.1 * tight_rtol<T>);
    }
    EXPECT_LE(distance(found.to_vector(), expected.to_vector()), same_answer<T>);
  }

  template <class T>
  void expect_operators_are_solved() const {
    const int side = 33;
    for (const char* method : {"cg", "minres", "bicgstab", "gmres"}) {
      const bool symmetric = std::string(method) == "cg" || std::string(method) == "minres";
      const double wind = symmetric ? 0 : 0.4;
      const Csr<T> elements = test::convection_diffusion(side, wind).csr<T>();
      SCOPED_TRACE(method);
      std::int64_t calls = 0;
      const LinearOperator<T> op(
          elements.rows(), elements.columns(),
          [&](const T* x, T* y) {
            ++calls;
            apply_stencil<<<blocks_for(elements.rows()), block_threads, 0, cudaStreamPerThread>>>(
                side, static_cast<T>(wind), x, y);
          },
          gpu);
      const LinearOperator<T> host_op(elements.rows(), elements.columns(), [&](const T* x, T* y) {
        multiply<T>(1, elements, DenseView<const T>(x, elements.rows(), 1, elements.rows()), 0,
                    DenseView<T>(y, elements.rows(), 1, elements.rows()));
      });
      const Options options = {{"rtol", tight_rtol<T>}};
      Solver<T> solver = make_solver<T>(method, gpu, options);
      Solver<T> host_solver = make_solver<T>(method, Device::serial(), options);
      expect_host_answer<T>(solver, op, host_solver, host_op, elements);
      EXPECT_GT(calls, 0);
    }
  }
};

TEST_F(GpuUserData, Operator_KrylovMethods_SolveAsOnTheHost) {
  expect_operators_are_solved<double>();
  expect_operators_are_solved<float>();
}

TEST_F(GpuUserData, PreconditionerCallable_KrylovMethods_GiveTheBitsOfTheNamedOne) {
  const Csr<double> elements = test::random_dominant(1025, 6, true, 3).csr<double>();
  const std::int64_t n = elements.rows();
  const Csr<double> A = elements.to(gpu);
  const std::vector<double> host_scale = inverse_diagonal(elements);
  const DeviceArray<double> scale(host_scale);
  std::int64_t calls = 0;
  const Preconditioner<double> callable(
      [&](const double* r, double* z) {
        ++calls;
        apply_inverse_diagonal<<<blocks_for(n), block_threads, 0, cudaStreamPerThread>>>(n, scale.data(), r,
                                                                                         z);
      },
      gpu);
  const Preconditioner<double> on_host([&](const double* r, double* z) {
    for (std::size_t i = 0; i < host_scale.size(); ++i) z[i] = host_scale[i] * r[i];
  });
  const Options options = {{"rtol", tight_rtol<double>}};
  Options named_options = options;
  named_options.set("preconditioner", "jacobi");
  const Dense<double> b = random_dense<double>(n, 2, 31);
  for (const char* method : {"cg", "minres", "bicgstab", "gmres"}) {
    SCOPED_TRACE(method);
    Solver<double> solver = make_solver<double>(method, gpu, options);
    Solver<double> host_solver = make_solver<double>(method, Device::serial(), options);
    solver.set_preconditioner(callable);
    host_solver.set_preconditioner(on_host);
    calls = 0;
    expect_host_answer<double>(solver, A, host_solver, elements, elements);
    EXPECT_GT(calls, 0);

    Solver<double> named = make_solver<double>(method, gpu, named_options);
    named.setup(A);
    Dense<double> x(gpu, n, 2);
    Dense<double> expected(gpu, n, 2);
    const Report report = solver.solve(b.to(gpu), x);
    const Report named_report = named.solve(b.to(gpu), expected);
    EXPECT_EQ(report.iterations, named_report.iterations);
    EXPECT_EQ(x.to_vector(), expected.to_vector());
  }
}

TEST_F(GpuUserData, OperatorWithPreconditionerCallable_IsSolvedAsOnTheHost) {
  const int side = 33;
  const Csr<double> elements = test::convection_diffusion(side, 0).csr<double>();
  const std::int64_t n = elements.rows();
  const DeviceArray<double> scale(inverse_diagonal(elements));
  const LinearOperator<double> op(
      n, n,
      [&](const double* x, double* y) {
        apply_stencil<<<blocks_for(n), block_threads, 0, cudaStreamPerThread>>>(side, 0.0, x, y);
      },
      gpu);
  const Preconditioner<double> callable(
      [&](const double* r, double* z) {
        apply_inverse_diagonal<<<blocks_for(n), block_threads, 0, cudaStreamPerThread>>>(n, scale.data(), r,
                                                                                         z);
      },
      gpu);
  Cg<double> solver(gpu, {.stop = {.rtol = tight_rtol<double>}});
  solver.set_preconditioner(callable);
  Cg<double> host_solver(Device::serial(),
                         {.stop = {.rtol = tight_rtol<double>}, .preconditioner = "jacobi"});
  expect_host_answer<double>(solver, op, host_solver, elements, elements);
}

TEST_F(GpuUserData, CallablesOfTheHost_AreRefusedWithBothDevicesNamed) {
  const Csr<double> A = test::convection_diffusion(5, 0).csr<double>().to(gpu);
  const LinearOperator<double> host_op(25, 25, [](const double*, double*) { FAIL() << "was called"; });
  Cg<double> cg(gpu);
  EXPECT_THROW(cg.setup(host_op), DeviceMismatch);
  const Preconditioner<double> on_host([](const double*, double*) { FAIL() << "was called"; });
  EXPECT_THROW(cg.set_preconditioner(on_host), DeviceMismatch);
  EXPECT_TRUE(cg.setup(A).ready());
}

/// CSR arrays in the memory of cudaMalloc, with offsets of 32 or 64 bits.
template <class Offset>
struct DeviceCsr {
  explicit DeviceCsr(const Csr<double>& A)
      : row_offsets(converted(A)),
        column_indices({A.column_indices().data(), A.column_indices().data() + A.nonzeros()}),
        values({A.values().data(), A.values().data() + A.nonzeros()}) {}
  static std::vector<Offset> converted(const Csr<double>& A) {
    std::vector<Offset> result;
    for (std::int64_t i = 0; i <= A.rows(); ++i) {
      result.push_back(static_cast<Offset>(A.row_offsets()[i]));
    }
    return result;
  }
  [[nodiscard]] CsrView<double> view(const Csr<double>& A) const {
    return {Device::cuda(),        A.rows(),     A.columns(), A.nonzeros(), row_offsets.data(),
            column_indices.data(), values.data()};
  }
  DeviceArray<Offset> row_offsets;
  DeviceArray<std::int32_t> column_indices;
  DeviceArray<double> values;
};

/// Every method that works on sparse matrices of a GPU, on the caller's arrays and on a copy of them.
TEST_F(GpuUserData, CsrView_EveryMethod_GivesTheBitsOfACopyAndTheAnswerOfTheHost) {
  const Dense<double> b = random_dense<double>(1025, 1, 33);
  for (const Method& method : methods()) {
    if (!method.cuda || method.kind == MethodKind::preconditioner) continue;
    SCOPED_TRACE(method.name);
    const Csr<double> elements = test::system_for(method, b.rows(), 6, 5).csr<double>();
    const Csr<double> copy = elements.to(gpu);
    const DeviceCsr<std::int32_t> narrow(elements);
    const DeviceCsr<std::int64_t> wide(elements);
    const CsrView<double> narrow_view = narrow.view(elements);
    const CsrView<double> wide_view = wide.view(elements);
    EXPECT_EQ(wide_view.csr().values().data(), wide.values.data());
    EXPECT_EQ(narrow_view.csr().values().data(), narrow.values.data());
    Options options;
    if (method.kind == MethodKind::iterative) options.set("rtol", tight_rtol<double>);
    const auto solution = [&](const Device& device, const Csr<double>& A) {
      Solver<double> solver = make_solver<double>(method.name, device, options);
      solver.setup(A);
      Dense<double> x(device, elements.rows(), 1);
      const Report report = solver.solve(b.to(device), x);
      EXPECT_TRUE(report.solved()) << report.message;
      return x.to_vector();
    };
    const std::vector<double> expected = solution(gpu, copy);
    EXPECT_EQ(solution(gpu, narrow_view.csr()), expected);
    EXPECT_EQ(solution(gpu, wide_view.csr()), expected);
    if (method.serial) {
      EXPECT_LE(distance(expected, solution(Device::serial(), elements)), same_answer<double>);
    }
  }
}

TEST_F(GpuUserData, CsrView_NewValuesInPlace_AreSolvedAfterUpdateValues) {
  const Csr<double> elements = test::convection_diffusion(33, 0).csr<double>();
  DeviceCsr<std::int64_t> arrays(elements);
  const CsrView<double> view = CsrView<double>::unchecked(gpu, elements.rows(), elements.columns(),
                                                          elements.nonzeros(), arrays.row_offsets.data(),
                                                          arrays.column_indices.data(), arrays.values.data());
  const Dense<double> b = random_dense<double>(elements.rows(), 1, 34);
  Dense<double> x(gpu, elements.rows(), 1);
  Cg<double> solver(gpu, {.stop = {.rtol = tight_rtol<double>}, .preconditioner = "ilu0"});
  ASSERT_TRUE(solver.setup(view.csr()).ready());
  ASSERT_TRUE(solver.solve(b.to(gpu), x).solved());
  Csr<double> changed = elements;
  for (std::int64_t i = 0; i < changed.rows(); ++i) {
    for (std::int64_t k = changed.row_offsets()[i]; k < changed.row_offsets()[i + 1]; ++k) {
      if (changed.column_indices()[k] == i) changed.values()[k] = 5 + static_cast<double>(i % 3);
    }
  }
  arrays.values.assign({changed.values().data(), changed.values().data() + changed.nonzeros()});
  ASSERT_TRUE(solver.update_values(view.csr()).ready());
  const Report report = solver.solve(b.to(gpu), x);
  ASSERT_TRUE(report.solved()) << report.message;
  EXPECT_LE(assess(changed, x.to(Device()), b).relative_residual, 1.1 * tight_rtol<double>);
  EXPECT_GT(assess(elements, x.to(Device()), b).relative_residual, 1e-3);
}

}  // namespace
}  // namespace echelon
