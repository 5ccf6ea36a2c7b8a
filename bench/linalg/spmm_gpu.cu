// SPDX-License-Identifier: BSD-3-Clause
// A sparse matrix times several vectors on the GPU, relative to one vector and compared with cuSPARSE.
//   bench_spmm_gpu [SIDE] [MATRIX.mtx[.gz] ...]
// prints a table in Markdown for the 7-point Laplacian on SIDE^3 points (default: 256) and for the matrices
// given. Times are medians of 15 measurements, each the mean over as many products as take a
// millisecond. cuSPARSE has 32-bit row offsets, 4 bytes per row less, and is preprocessed; the faster of its
// two algorithms for the layout is listed.
#include "backend/cuda/libraries.cuh"
#include "support/arguments.hpp"
#include "support/cusparse.cuh"
#include "support/measure.cuh"

#include <echelon/echelon.hpp>

#include <cstdio>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

namespace ec = echelon;

namespace {

/// cuSPARSE's product, preprocessed.
template <class T>
class CusparseProduct {
 public:
  CusparseProduct(const ec::Csr<T>& host, const ec::Csr<T>& A, ec::DenseView<const T> X, ec::DenseView<T> Y,
                  cusparseSpMMAlg_t algorithm)
      : algorithm_(algorithm) {
    const auto offsets = host.row_offsets().span();
    const std::vector<std::int32_t> narrow(offsets.begin(), offsets.end());
    offsets_ = ec::Array<std::int32_t>(A.device(), std::span<const std::int32_t>(narrow));
    const cusparseOrder_t order =
        X.layout() == ec::Layout::column_major ? CUSPARSE_ORDER_COL : CUSPARSE_ORDER_ROW;
    ec::check(cusparseCreate(&handle_));
    ec::check(cusparseSetStream(handle_, ec::stream()));
    ec::check(cusparseCreateConstCsr(&matrix_, A.rows(), A.columns(), A.nonzeros(), offsets_.data(),
                                     A.column_indices().data(), A.values().data(), CUSPARSE_INDEX_32I,
                                     CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, type));
    ec::check(cusparseCreateConstDnMat(&x_, X.rows(), X.columns(), X.leading(), X.data(), type, order));
    ec::check(cusparseCreateDnMat(&y_, Y.rows(), Y.columns(), Y.leading(), Y.data(), type, order));
    std::size_t bytes = 0;
    ec::check(cusparseSpMM_bufferSize(handle_, plain, plain, &one_, matrix_, x_, &zero_, y_, type, algorithm_,
                                      &bytes));
    buffer_ = ec::Array<unsigned char>(A.device(), static_cast<std::int64_t>(bytes) + 1);
    ec::check(cusparseSpMM_preprocess(handle_, plain, plain, &one_, matrix_, x_, &zero_, y_, type, algorithm_,
                                      buffer_.data()));
  }
  CusparseProduct(const CusparseProduct&) = delete;
  CusparseProduct& operator=(const CusparseProduct&) = delete;
  ~CusparseProduct() {
    cusparseDestroyDnMat(y_);
    cusparseDestroyDnMat(x_);
    cusparseDestroySpMat(matrix_);
    cusparseDestroy(handle_);
  }
  void operator()() {
    ec::check(cusparseSpMM(handle_, plain, plain, &one_, matrix_, x_, &zero_, y_, type, algorithm_,
                           buffer_.data()));
  }

 private:
  static constexpr cusparseOperation_t plain = CUSPARSE_OPERATION_NON_TRANSPOSE;
  static constexpr cudaDataType type = sizeof(T) == 8 ? CUDA_R_64F : CUDA_R_32F;
  cusparseSpMMAlg_t algorithm_;
  T one_ = 1;
  T zero_ = 0;
  ec::Array<std::int32_t> offsets_;
  ec::Array<unsigned char> buffer_;
  cusparseHandle_t handle_ = nullptr;
  cusparseConstSpMatDescr_t matrix_ = nullptr;
  cusparseConstDnMatDescr_t x_ = nullptr;
  cusparseDnMatDescr_t y_ = nullptr;
};

/// A row of the table: `columns` columns in one layout.
template <class T>
void compare(const std::string& name, const ec::Csr<T>& host, const ec::Csr<T>& A, std::int64_t columns,
             ec::Layout layout, double single) {
  const ec::Device gpu = A.device();
  std::vector<T> x_host(static_cast<std::size_t>(A.columns() * columns));
  for (std::size_t i = 0; i < x_host.size(); ++i) x_host[i] = static_cast<T>(1 + i % 17) / T{17};
  const ec::Array<T> x(gpu, std::span<const T>(x_host));
  ec::Array<T> y(gpu, A.rows() * columns);
  const bool by_column = layout == ec::Layout::column_major;
  const ec::DenseView<const T> X(x.data(), A.columns(), columns, by_column ? A.columns() : columns, gpu,
                                 layout);
  const ec::DenseView<T> Y(y.data(), A.rows(), columns, by_column ? A.rows() : columns, gpu, layout);
  ec::Context context(gpu);
  const double ours = ec::bench::gpu_seconds([&] { ec::multiply<T>(context, T{1}, A, X, T{0}, Y); });
  double theirs = std::numeric_limits<double>::infinity();
  for (const cusparseSpMMAlg_t algorithm : {CUSPARSE_SPMM_CSR_ALG2, CUSPARSE_SPMM_CSR_ALG3}) {
    theirs = std::min(theirs, ec::bench::gpu_seconds(CusparseProduct<T>(host, A, X, Y, algorithm)));
  }
  std::printf("| %s | %s | %lld | %s | %.1f | %.1f | %.2f | %.1f | %.2f |\n", name.c_str(),
              sizeof(T) == 8 ? "double" : "float", static_cast<long long>(columns),
              by_column ? "columns" : "rows", 1e6 * single, 1e6 * ours, ours / single, 1e6 * theirs,
              theirs / ours);
  std::fflush(stdout);
}

template <class T>
void compare_all(const std::string& name, const ec::Csr<T>& host) {
  const ec::Csr<T> A = host.to(ec::Device::cuda());
  const ec::Dense<T> x =
      ec::Dense<T>(std::vector<T>(static_cast<std::size_t>(A.columns()), T{1})).to(A.device());
  ec::Dense<T> y(A.device(), A.rows(), 1);
  ec::Context context(A.device());
  const double single = ec::bench::gpu_seconds([&] { ec::multiply<T>(context, T{1}, A, x, T{0}, y); });
  for (const std::int64_t columns : {2, 4, 8, 16}) {
    for (const ec::Layout layout : {ec::Layout::column_major, ec::Layout::row_major}) {
      compare(name, host, A, columns, layout, single);
    }
  }
  if (A.rows() != A.columns()) return;
  const double transposed =
      ec::bench::gpu_seconds([&] { ec::multiply_transposed<T>(context, T{1}, A, x, T{0}, y); });
  std::printf("| %s | %s | 1, transposed | columns | %.1f | %.1f | %.2f | - | - |\n", name.c_str(),
              sizeof(T) == 8 ? "double" : "float", 1e6 * single, 1e6 * transposed, transposed / single);
}

}  // namespace

int main(int argc, char** argv) {
  ec::bench::Arguments arguments(argc, argv, "[SIDE] [MATRIX.mtx[.gz]]...");
  const auto side = arguments.positional("SIDE", std::int64_t{256});
  const std::vector<std::string> files = arguments.positionals("MATRIX");
  std::printf(
      "%s, copy %.0f GB/s\n\n| matrix | type | columns | stored by | 1 column us | echelon us | echelon / 1 "
      "column | cuSPARSE us | cuSPARSE / echelon |\n|---|---|---|---|---|---|---|---|---|\n",
      hardware(ec::Device::cuda()).c_str(), ec::bench::copy_bandwidth() / 1e9);
  const std::string name = "Poisson 7-point " + std::to_string(side) + "^3";
  compare_all(name, ec::bench::poisson_3d<double>(side));
  compare_all(name, ec::bench::poisson_3d<float>(side));
  for (const std::string& path : files) {
    const std::string file = std::filesystem::path(path).filename().string();
    const std::string stem = file.substr(0, file.find('.'));
    compare_all(stem, ec::read_matrix_market<double>(path));
    compare_all(stem, ec::read_matrix_market<float>(path));
  }
}
