// SPDX-License-Identifier: BSD-3-Clause
// Sparse matrix-vector products on the GPU, compared with cuSPARSE and with a copy of the same number of
// bytes.
//   bench_spmv_gpu [SIDE] [MATRIX.mtx[.gz] ...]
// prints a table in Markdown for the 7-point Laplacian on SIDE^3 points (default: 256) and for the matrices
// given, in double, in float, and with real numbers as complex ones in double. Times are medians of 15
// measurements, each the mean over as many products as take a millisecond. cuSPARSE has 32-bit row offsets, 4
// bytes per row less, and is preprocessed; the faster of its two CSR algorithms is listed.
#include "backend/cuda/cuda.cuh"
#include "backend/cuda/libraries.cuh"
#include "linalg/spmv/multiply.hpp"
#include "support/arguments.hpp"
#include "support/cusparse.cuh"
#include "support/measure.cuh"

#include <echelon/echelon.hpp>

#include <cuda_runtime.h>

#include <complex>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace ec = echelon;

namespace {

using Complex = std::complex<double>;

/// cuSPARSE's product with a matrix, preprocessed.
template <class T>
class CusparseProduct {
 public:
  CusparseProduct(const ec::Csr<T>& host, const ec::Csr<T>& A, const T* x, T* y, cusparseSpMVAlg_t algorithm)
      : algorithm_(algorithm) {
    const auto offsets = host.row_offsets().span();
    const std::vector<std::int32_t> narrow(offsets.begin(), offsets.end());
    offsets_ = ec::Array<std::int32_t>(A.device(), std::span<const std::int32_t>(narrow));
    ec::check(cusparseCreate(&handle_));
    ec::check(cusparseSetStream(handle_, ec::stream()));
    ec::check(cusparseCreateConstCsr(&matrix_, A.rows(), A.columns(), A.nonzeros(), offsets_.data(),
                                     A.column_indices().data(), A.values().data(), CUSPARSE_INDEX_32I,
                                     CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, type));
    ec::check(cusparseCreateConstDnVec(&x_, A.columns(), x, type));
    ec::check(cusparseCreateDnVec(&y_, A.rows(), y, type));
    std::size_t bytes = 0;
    ec::check(cusparseSpMV_bufferSize(handle_, CUSPARSE_OPERATION_NON_TRANSPOSE, &one_, matrix_, x_, &zero_,
                                      y_, type, algorithm_, &bytes));
    buffer_ = ec::Array<unsigned char>(A.device(), static_cast<std::int64_t>(bytes) + 1);
    ec::check(cusparseSpMV_preprocess(handle_, CUSPARSE_OPERATION_NON_TRANSPOSE, &one_, matrix_, x_, &zero_,
                                      y_, type, algorithm_, buffer_.data()));
  }
  CusparseProduct(const CusparseProduct&) = delete;
  CusparseProduct& operator=(const CusparseProduct&) = delete;
  ~CusparseProduct() {
    cusparseDestroyDnVec(y_);
    cusparseDestroyDnVec(x_);
    cusparseDestroySpMat(matrix_);
    cusparseDestroy(handle_);
  }
  void operator()() {
    ec::check(cusparseSpMV(handle_, CUSPARSE_OPERATION_NON_TRANSPOSE, &one_, matrix_, x_, &zero_, y_, type,
                           algorithm_, buffer_.data()));
  }

 private:
  static constexpr cudaDataType type = ec::is_complex<T> ? CUDA_C_64F
                                       : sizeof(T) == 8  ? CUDA_R_64F
                                                         : CUDA_R_32F;
  cusparseSpMVAlg_t algorithm_;
  alignas(16) T one_ = 1;  // as cuSPARSE reads complex numbers
  alignas(16) T zero_ = 0;
  ec::Array<std::int32_t> offsets_;
  ec::Array<unsigned char> buffer_;
  cusparseHandle_t handle_ = nullptr;
  cusparseConstSpMatDescr_t matrix_ = nullptr;
  cusparseConstDnVecDescr_t x_ = nullptr;
  cusparseDnVecDescr_t y_ = nullptr;
};

template <class T>
const char* type_name() {
  return ec::is_complex<T> ? "complex double" : sizeof(T) == 8 ? "double" : "float";
}

/// The numbers of a real matrix as complex ones.
ec::Csr<Complex> to_complex(const ec::Csr<double>& A) {
  const auto values = A.values().span();
  const std::vector<Complex> complex(values.begin(), values.end());
  return {A.rows(), A.columns(), A.row_offsets(), A.column_indices(),
          ec::Array<Complex>(A.device(), std::span<const Complex>(complex))};
}

/// A row of the table.
template <class T>
void compare(const std::string& name, const ec::Csr<T>& host, double bandwidth) {
  const ec::Device gpu = ec::Device::cuda();
  const ec::Csr<T> A = host.to(gpu);
  std::vector<T> x_host(static_cast<std::size_t>(A.columns()));
  for (std::size_t i = 0; i < x_host.size(); ++i) x_host[i] = T{static_cast<ec::Real<T>>(1 + i % 17) / 17};
  const ec::Dense<T> x = ec::Dense<T>(std::span<const T>(x_host)).to(gpu);
  ec::Dense<T> y(gpu, A.rows(), 1);
  ec::Cuda backend(gpu);
  const double ours = ec::bench::gpu_seconds(
      [&] { ec::multiply(backend, T{1}, ec::MatrixRef<T>(A), x.data(), T{0}, y.data()); });
  double theirs = std::numeric_limits<double>::infinity();
  for (const cusparseSpMVAlg_t algorithm : {CUSPARSE_SPMV_CSR_ALG1, CUSPARSE_SPMV_CSR_ALG2}) {
    theirs =
        std::min(theirs, ec::bench::gpu_seconds(CusparseProduct<T>(host, A, x.data(), y.data(), algorithm)));
  }
  const double bytes = ec::bench::product_bytes(host);
  std::printf("| %s | %s | %.2f M | %.1f | %.1f | %.1f | %.2f | %.0f | %.0f %% |\n", name.c_str(),
              type_name<T>(), static_cast<double>(A.nonzeros()) / 1e6, 1e6 * bytes / bandwidth, 1e6 * ours,
              1e6 * theirs, theirs / ours, bytes / ours / 1e9, 100 * bytes / ours / bandwidth);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  ec::bench::Arguments arguments(argc, argv, "[SIDE] [MATRIX.mtx[.gz]]...");
  const auto side = arguments.positional("SIDE", std::int64_t{256});
  const std::vector<std::string> files = arguments.positionals("MATRIX");
  int driver = 0;
  int version = 0;
  ec::check(cudaDriverGetVersion(&driver));
  cusparseGetProperty(MAJOR_VERSION, &version);
  const double bandwidth = ec::bench::copy_bandwidth();
  std::printf("%s, CUDA driver interface %d, cuSPARSE %d, copy %.0f GB/s\n\n",
              hardware(ec::Device::cuda()).c_str(), driver, version, bandwidth / 1e9);
  std::printf(
      "| matrix | type | nonzeros | floor us | echelon us | cuSPARSE us | cuSPARSE / echelon | "
      "GB/s | of copy |\n|---|---|---|---|---|---|---|---|---|\n");
  const std::string poisson = "Poisson 7-point " + std::to_string(side) + "^3";
  const ec::Csr<double> laplacian = ec::bench::poisson_3d<double>(side);
  compare(poisson, laplacian, bandwidth);
  compare(poisson, to_complex(laplacian), bandwidth);
  compare(poisson, ec::bench::poisson_3d<float>(side), bandwidth);
  for (const std::string& path : files) {
    const std::string name = std::filesystem::path(path).filename().string();
    const ec::Csr<double> A = ec::read_matrix_market<double>(path);
    compare(name, A, bandwidth);
    compare(name, to_complex(A), bandwidth);
    compare(name, ec::read_matrix_market<float>(path), bandwidth);
  }
}
