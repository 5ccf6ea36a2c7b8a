// SPDX-License-Identifier: BSD-3-Clause
// Transposition and conversion of COO to CSR on the GPU, compared with cuSPARSE and with a copy of the same
// number of bytes.
//   bench_convert_gpu [MILLIONS] [MATRIX.mtx[.gz] ...]
// prints two tables in Markdown for about MILLIONS million entries (default: 100) and for the matrices given.
// The traffic is the input read once and the result written once. Echelon's time is that of the public call,
// including allocations. cuSPARSE has 32-bit offsets, and its workspace and result are allocated beforehand;
// it transposes with cusparseCsr2cscEx2 and converts with cusparseXcoosortByRow, a gather of the values and
// cusparseXcoo2csr, which does not sum repeated entries.
#include "backend/cuda/owned.cuh"
#include "coo_matrices.hpp"
#include "support/arguments.hpp"
#include "support/cusparse.cuh"
#include "support/measure.cuh"

#include <echelon/echelon.hpp>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

namespace ec = echelon;

namespace {

using Handle = ec::Owned<cusparseHandle_t, cusparseDestroy>;

Handle make_handle() {
  auto handle = ec::make_owned<Handle>(cusparseCreate);
  ec::check(cusparseSetStream(handle.get(), ec::stream()));
  return handle;
}

template <class T>
constexpr cudaDataType cuda_type = sizeof(T) == 8 ? CUDA_R_64F : CUDA_R_32F;

void print_row(const std::string& name, bool is_double, std::int64_t entries, double bytes, double bandwidth,
               double ours, double theirs) {
  std::printf("| %s | %s | %.2f M | %.3f | %.3f | %.3f | %.2f | %.0f %% |\n", name.c_str(),
              is_double ? "double" : "float", static_cast<double>(entries) / 1e6, 1e3 * bytes / bandwidth,
              1e3 * ours, 1e3 * theirs, theirs / ours, 100 * bytes / ours / bandwidth);
  std::fflush(stdout);
}

template <class V>
void require_equal(const ec::Array<V>& ours, const ec::Array<V>& theirs, const char* what) {
  if (ours.to_vector() == theirs.to_vector()) return;
  std::printf("%s differ\n", what);
  std::exit(1);
}

template <class T>
double cusparse_transpose(const ec::Csr<T>& A, const ec::Csr<T>& expected) {
  const ec::Device& gpu = A.device();
  const std::vector<std::int64_t> wide = A.row_offsets().to_vector();
  const std::vector<std::int32_t> narrow(wide.begin(), wide.end());
  const ec::Array<std::int32_t> offsets(gpu, narrow);
  ec::Array<std::int32_t> column_offsets(gpu, A.columns() + 1);
  ec::Array<std::int32_t> rows(gpu, A.nonzeros());
  ec::Array<T> values(gpu, A.nonzeros());
  const Handle handle = make_handle();
  const auto m = static_cast<int>(A.rows());
  const auto n = static_cast<int>(A.columns());
  const auto nonzeros = static_cast<int>(A.nonzeros());
  std::size_t bytes = 0;
  ec::check(cusparseCsr2cscEx2_bufferSize(handle.get(), m, n, nonzeros, A.values().data(), offsets.data(),
                                          A.column_indices().data(), values.data(), column_offsets.data(),
                                          rows.data(), cuda_type<T>, CUSPARSE_ACTION_NUMERIC,
                                          CUSPARSE_INDEX_BASE_ZERO, CUSPARSE_CSR2CSC_ALG_DEFAULT, &bytes));
  ec::Array<unsigned char> buffer(gpu, static_cast<std::int64_t>(bytes) + 1);
  const double seconds = ec::bench::gpu_seconds([&] {
    ec::check(cusparseCsr2cscEx2(handle.get(), m, n, nonzeros, A.values().data(), offsets.data(),
                                 A.column_indices().data(), values.data(), column_offsets.data(), rows.data(),
                                 cuda_type<T>, CUSPARSE_ACTION_NUMERIC, CUSPARSE_INDEX_BASE_ZERO,
                                 CUSPARSE_CSR2CSC_ALG_DEFAULT, buffer.data()));
  });
  require_equal(expected.column_indices(), rows, "the transposes' indices");
  require_equal(expected.values(), values, "the transposes' values");
  return seconds;
}

template <class T>
void compare_transpose(const std::string& name, const ec::Csr<T>& A, double bandwidth) {
  const double theirs = cusparse_transpose(A, ec::transpose(A));
  const double ours = ec::bench::gpu_seconds([&] { static_cast<void>(ec::transpose(A)); });
  const double bytes =
      ec::bench::csr_bytes<T>(A.rows(), A.nonzeros()) + ec::bench::csr_bytes<T>(A.columns(), A.nonzeros());
  print_row(name, sizeof(T) == 8, A.nonzeros(), bytes, bandwidth, ours, theirs);
}

template <class T>
double cusparse_tocsr(const ec::Coo<T>& A) {
  const ec::Device& gpu = A.device();
  const Handle handle = make_handle();
  const auto m = static_cast<int>(A.rows());
  const auto n = static_cast<int>(A.columns());
  const auto count = static_cast<int>(A.entries());
  ec::Array<std::int32_t> rows = A.row_indices();
  ec::Array<std::int32_t> columns = A.column_indices();
  std::vector<std::int32_t> numbers(static_cast<std::size_t>(A.entries()));
  std::iota(numbers.begin(), numbers.end(), 0);
  const ec::Array<std::int32_t> identity(gpu, numbers);
  ec::Array<std::int32_t> order(gpu, A.entries());
  ec::Array<std::int32_t> offsets(gpu, A.rows() + 1);
  ec::Array<T> values(gpu, A.entries());
  std::size_t bytes = 0;
  ec::check(cusparseXcoosort_bufferSizeExt(handle.get(), m, n, count, rows.data(), columns.data(), &bytes));
  ec::Array<unsigned char> buffer(gpu, static_cast<std::int64_t>(bytes) + 1);
  cusparseDnVecDescr_t from = nullptr;
  cusparseSpVecDescr_t to = nullptr;
  ec::check(cusparseCreateDnVec(&from, count, const_cast<T*>(A.values().data()), cuda_type<T>));
  ec::check(cusparseCreateSpVec(&to, count, count, order.data(), values.data(), CUSPARSE_INDEX_32I,
                                CUSPARSE_INDEX_BASE_ZERO, cuda_type<T>));
  // The sort works in place, so that each run starts from a copy of the unsorted entries; the time of the
  // copies is measured separately and subtracted.
  const auto restore = [&] {
    ec::check(cudaMemcpyAsync(order.data(), identity.data(), order.bytes(), cudaMemcpyDeviceToDevice,
                              ec::stream()));
    ec::check(cudaMemcpyAsync(rows.data(), A.row_indices().data(), rows.bytes(), cudaMemcpyDeviceToDevice,
                              ec::stream()));
    ec::check(cudaMemcpyAsync(columns.data(), A.column_indices().data(), columns.bytes(),
                              cudaMemcpyDeviceToDevice, ec::stream()));
  };
  const double copies = ec::bench::gpu_seconds(restore);
  const double all = ec::bench::gpu_seconds([&] {
    restore();
    ec::check(cusparseXcoosortByRow(handle.get(), m, n, count, rows.data(), columns.data(), order.data(),
                                    buffer.data()));
    ec::check(cusparseGather(handle.get(), from, to));
    ec::check(
        cusparseXcoo2csr(handle.get(), rows.data(), count, m, offsets.data(), CUSPARSE_INDEX_BASE_ZERO));
  });
  cusparseDestroySpVec(to);
  cusparseDestroyDnVec(from);
  return all - copies;
}

template <class T>
void compare_tocsr(const std::string& name, const ec::Coo<T>& A, double bandwidth) {
  const ec::Csr<T> result = ec::to_csr(A);
  const double theirs = cusparse_tocsr(A);
  const double ours = ec::bench::gpu_seconds([&] { static_cast<void>(ec::to_csr(A)); });
  const double bytes =
      ec::bench::coo_bytes<T>(A.entries()) + ec::bench::csr_bytes<T>(A.rows(), result.nonzeros());
  print_row(name, sizeof(T) == 8, A.entries(), bytes, bandwidth, ours, theirs);
}

template <class T>
void compare_transposes(std::int64_t entries, const std::vector<std::string>& files, double bandwidth) {
  const ec::Device gpu = ec::Device::cuda();
  const auto side = static_cast<std::int64_t>(std::cbrt(static_cast<double>(entries) / 7));
  compare_transpose("Poisson 7-point " + std::to_string(side) + "^3", ec::bench::poisson_3d<T>(side).to(gpu),
                    bandwidth);
  compare_transpose("scattered", ec::to_csr(ec::bench::scattered<T>(entries).to(gpu)), bandwidth);
  for (const std::string& file : files) {
    compare_transpose(std::filesystem::path(file).filename().string(),
                      ec::read_matrix_market<T>(file).to(gpu), bandwidth);
  }
}

template <class T>
void compare_tocsrs(std::int64_t entries, const std::vector<std::string>& files, double bandwidth) {
  const ec::Device gpu = ec::Device::cuda();
  const auto side = static_cast<std::int64_t>(std::cbrt(static_cast<double>(entries) / 7));
  compare_tocsr("Poisson 7-point, by rows", ec::to_coo(ec::bench::poisson_3d<T>(side).to(gpu)), bandwidth);
  compare_tocsr("scattered", ec::bench::scattered<T>(entries).to(gpu), bandwidth);
  compare_tocsr("elements", ec::bench::elements<T>(entries).to(gpu), bandwidth);
  for (const std::string& file : files) {
    compare_tocsr(std::filesystem::path(file).filename().string(),
                  ec::to_coo(ec::to_csc(ec::read_matrix_market<T>(file).to(gpu))), bandwidth);
  }
}

}  // namespace

int main(int argc, char** argv) {
  ec::bench::Arguments arguments(argc, argv, "[MILLIONS] [MATRIX.mtx[.gz]]...");
  const std::int64_t entries = arguments.positional("MILLIONS", std::int64_t{100}) * 1'000'000;
  const std::vector<std::string> files = arguments.positionals("MATRIX");
  const double bandwidth = ec::bench::copy_bandwidth();
  std::printf("%s, copy %.0f GB/s\n\n", hardware(ec::Device::cuda()).c_str(), bandwidth / 1e9);
  const char* head =
      "| %s | type | entries | floor ms | echelon ms | cuSPARSE ms | cuSPARSE / echelon | of copy |\n"
      "|---|---|---|---|---|---|---|---|\n";
  std::printf(head, "transpose");
  compare_transposes<double>(entries, files, bandwidth);
  compare_transposes<float>(entries, files, bandwidth);
  std::printf("\n");
  std::printf(head, "COO to CSR");
  compare_tocsrs<double>(entries, files, bandwidth);
  compare_tocsrs<float>(entries, files, bandwidth);
}
