// SPDX-License-Identifier: BSD-3-Clause
// Products and sums of sparse matrices on the GPU, compared with cuSPARSE and with the host.
//   bench_spgemm_gpu [--updates] [SIDE]
// prints tables in Markdown for the 7-point Laplacian A on SIDE^3 points (default: 126, 2 million rows), the
// prolongation P from aggregates of 8 points, and S = (I - 2/3 D^-1 A) P.
// First table: the whole operation, pattern and values, compared with each of cuSPARSE's algorithms.
// cuSPARSE has 32-bit offsets. Both allocate from CUDA's pool; the peak is the memory excluding the operands,
// including the result. Second table: values alone, with and without stored positions, compared with the
// compute phase of SpGEMMreuse. Third table: the smallest sizes from which the GPU is faster than 2 and than
// all cores of the host, for A A and A + A^2, with operands on the device that computes. Wall-clock times
// including the GPU's work; medians of 9. --updates prints the second table alone.
#include "backend/cuda/cuda.cuh"
#include "backend/cuda/libraries.cuh"
#include "galerkin.hpp"
#include "support/arguments.hpp"
#include "support/cusparse.cuh"
#include "support/measure.cuh"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

namespace ec = echelon;

namespace {

constexpr int runs = 9;
const ec::Device gpu = ec::Device::cuda();

/// Seconds of f, including the work that it queues on the GPU.
template <class F>
double seconds(F f) {
  return ec::bench::median_seconds(runs, [&] {
    f();
    ec::check(cudaStreamSynchronize(ec::stream()));
  });
}

/// Peak growth in MB of the memory taken from CUDA's pool while f runs.
template <class F>
double peak_mb(F f) {
  cudaMemPool_t pool = nullptr;
  ec::check(cudaDeviceGetDefaultMemPool(&pool, 0));
  std::uint64_t before = 0;
  std::uint64_t most = 0;
  ec::check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &most));
  ec::check(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &before));
  f();
  ec::check(cudaStreamSynchronize(ec::stream()));
  ec::check(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &most));
  return static_cast<double>(most - before) / 1e6;
}

/// A matrix in cuSPARSE's format.
template <class T>
struct Narrow {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  ec::Array<std::int32_t> offsets;
  ec::Array<std::int32_t> column_indices;
  ec::Array<T> values;
};

template <class T>
Narrow<T> narrow(const ec::Csr<T>& A) {
  const std::vector<std::int64_t> wide = A.row_offsets().to_vector();
  const std::vector<std::int32_t> offsets(wide.begin(), wide.end());
  return {A.rows(), A.columns(), ec::Array<std::int32_t>(gpu, std::span<const std::int32_t>(offsets)),
          A.column_indices(), A.values()};
}

using Buffer = ec::Array<unsigned char>;
Buffer buffer_of(std::size_t bytes) {
  return {gpu, static_cast<std::int64_t>(bytes) + 1};
}

constexpr cusparseOperation_t plain = CUSPARSE_OPERATION_NON_TRANSPOSE;

class Handle {
 public:
  Handle() {
    ec::check(cusparseCreate(&handle_));
    ec::check(cusparseSetStream(handle_, ec::stream()));
    ec::check(cusparseCreateMatDescr(&general_));
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() {
    cusparseDestroyMatDescr(general_);
    cusparseDestroy(handle_);
  }
  operator cusparseHandle_t() const { return handle_; }
  cusparseMatDescr_t general() const { return general_; }

 private:
  cusparseHandle_t handle_ = nullptr;
  cusparseMatDescr_t general_ = nullptr;
};

/// cuSPARSE's descriptors for C = A B.
template <class T>
class Descriptors {
 public:
  static constexpr cudaDataType type = sizeof(T) == 8 ? CUDA_R_64F : CUDA_R_32F;

  Descriptors(const Narrow<T>& A_, const Narrow<T>& B_, Narrow<T>& C_) : result_(C_) {
    A = describe(A_);
    B = describe(B_);
    C_ = {A_.rows, B_.columns, ec::Array<std::int32_t>(gpu, A_.rows + 1), {}, {}};
    ec::check(cusparseCreateCsr(&C, C_.rows, C_.columns, 0, C_.offsets.data(), nullptr, nullptr,
                                CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, type));
    ec::check(cusparseSpGEMM_createDescr(&product));
  }
  Descriptors(const Descriptors&) = delete;
  Descriptors& operator=(const Descriptors&) = delete;
  ~Descriptors() {
    cusparseSpGEMM_destroyDescr(product);
    cusparseDestroySpMat(C);
    cusparseDestroySpMat(B);
    cusparseDestroySpMat(A);
  }
  void allocate_result() {
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    std::int64_t nonzeros = 0;
    ec::check(cusparseSpMatGetSize(C, &rows, &columns, &nonzeros));
    result_.column_indices = ec::Array<std::int32_t>(gpu, nonzeros);
    result_.values = ec::Array<T>(gpu, nonzeros);
    ec::check(cusparseCsrSetPointers(C, result_.offsets.data(), result_.column_indices.data(),
                                     result_.values.data()));
  }

  cusparseConstSpMatDescr_t A = nullptr;
  cusparseConstSpMatDescr_t B = nullptr;
  cusparseSpMatDescr_t C = nullptr;
  cusparseSpGEMMDescr_t product = nullptr;

 private:
  static cusparseConstSpMatDescr_t describe(const Narrow<T>& M) {
    cusparseConstSpMatDescr_t descriptor = nullptr;
    ec::check(cusparseCreateConstCsr(&descriptor, M.rows, M.columns, M.values.size(), M.offsets.data(),
                                     M.column_indices.data(), M.values.data(), CUSPARSE_INDEX_32I,
                                     CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, type));
    return descriptor;
  }
  Narrow<T>& result_;
};

template <class T>
Narrow<T> multiply(const Handle& handle, cusparseSpGEMMAlg_t algorithm, const Narrow<T>& A,
                   const Narrow<T>& B) {
  constexpr cudaDataType type = Descriptors<T>::type;
  const T one = 1;
  const T zero = 0;
  Narrow<T> result;
  Descriptors<T> d(A, B, result);
  std::size_t bytes = 0;
  ec::check(cusparseSpGEMM_workEstimation(handle, plain, plain, &one, d.A, d.B, &zero, d.C, type, algorithm,
                                          d.product, &bytes, nullptr));
  Buffer first = buffer_of(bytes);
  ec::check(cusparseSpGEMM_workEstimation(handle, plain, plain, &one, d.A, d.B, &zero, d.C, type, algorithm,
                                          d.product, &bytes, first.data()));
  std::size_t second_bytes = 0;
  if (algorithm == CUSPARSE_SPGEMM_ALG2 || algorithm == CUSPARSE_SPGEMM_ALG3) {
    std::size_t third_bytes = 0;
    ec::check(cusparseSpGEMM_estimateMemory(handle, plain, plain, &one, d.A, d.B, &zero, d.C, type, algorithm,
                                            d.product, 0.2F, &third_bytes, nullptr, nullptr));
    Buffer third = buffer_of(third_bytes);
    ec::check(cusparseSpGEMM_estimateMemory(handle, plain, plain, &one, d.A, d.B, &zero, d.C, type, algorithm,
                                            d.product, 0.2F, &third_bytes, third.data(), &second_bytes));
  } else {
    ec::check(cusparseSpGEMM_compute(handle, plain, plain, &one, d.A, d.B, &zero, d.C, type, algorithm,
                                     d.product, &second_bytes, nullptr));
  }
  Buffer second = buffer_of(second_bytes);
  ec::check(cusparseSpGEMM_compute(handle, plain, plain, &one, d.A, d.B, &zero, d.C, type, algorithm,
                                   d.product, &second_bytes, second.data()));
  d.allocate_result();
  ec::check(
      cusparseSpGEMM_copy(handle, plain, plain, &one, d.A, d.B, &zero, d.C, type, algorithm, d.product));
  return result;
}

/// Seconds of the compute phase of SpGEMMreuse.
template <class T>
double reuse_seconds(const Handle& handle, const Narrow<T>& A, const Narrow<T>& B) {
  constexpr cudaDataType type = Descriptors<T>::type;
  constexpr cusparseSpGEMMAlg_t algorithm = CUSPARSE_SPGEMM_DEFAULT;
  const T one = 1;
  const T zero = 0;
  Narrow<T> result;
  Descriptors<T> d(A, B, result);
  std::array<std::size_t, 5> bytes{};
  std::array<Buffer, 5> buffers;
  ec::check(cusparseSpGEMMreuse_workEstimation(handle, plain, plain, d.A, d.B, d.C, algorithm, d.product,
                                               &bytes[0], nullptr));
  buffers[0] = buffer_of(bytes[0]);
  ec::check(cusparseSpGEMMreuse_workEstimation(handle, plain, plain, d.A, d.B, d.C, algorithm, d.product,
                                               &bytes[0], buffers[0].data()));
  ec::check(cusparseSpGEMMreuse_nnz(handle, plain, plain, d.A, d.B, d.C, algorithm, d.product, &bytes[1],
                                    nullptr, &bytes[2], nullptr, &bytes[3], nullptr));
  for (std::size_t b = 1; b < 4; ++b) buffers[b] = buffer_of(bytes[b]);
  ec::check(cusparseSpGEMMreuse_nnz(handle, plain, plain, d.A, d.B, d.C, algorithm, d.product, &bytes[1],
                                    buffers[1].data(), &bytes[2], buffers[2].data(), &bytes[3],
                                    buffers[3].data()));
  d.allocate_result();
  ec::check(cusparseSpGEMMreuse_copy(handle, plain, plain, d.A, d.B, d.C, algorithm, d.product, &bytes[4],
                                     nullptr));
  buffers[4] = buffer_of(bytes[4]);
  ec::check(cusparseSpGEMMreuse_copy(handle, plain, plain, d.A, d.B, d.C, algorithm, d.product, &bytes[4],
                                     buffers[4].data()));
  return seconds([&] {
    ec::check(cusparseSpGEMMreuse_compute(handle, plain, plain, &one, d.A, d.B, &zero, d.C, type, algorithm,
                                          d.product));
  });
}

auto geam2_buffer(double) {
  return cusparseDcsrgeam2_bufferSizeExt;
}
auto geam2_buffer(float) {
  return cusparseScsrgeam2_bufferSizeExt;
}
auto geam2(double) {
  return cusparseDcsrgeam2;
}
auto geam2(float) {
  return cusparseScsrgeam2;
}

template <class T>
Narrow<T> add(const Handle& handle, T alpha, const Narrow<T>& A, T beta, const Narrow<T>& B) {
  const auto m = static_cast<int>(A.rows);
  const auto n = static_cast<int>(A.columns);
  const auto a = static_cast<int>(A.values.size());
  const auto b = static_cast<int>(B.values.size());
  Narrow<T> C{A.rows, A.columns, ec::Array<std::int32_t>(gpu, A.rows + 1), {}, {}};
  std::size_t bytes = 0;
  ec::check(geam2_buffer(T{})(handle, m, n, &alpha, handle.general(), a, A.values.data(), A.offsets.data(),
                              A.column_indices.data(), &beta, handle.general(), b, B.values.data(),
                              B.offsets.data(), B.column_indices.data(), handle.general(), nullptr,
                              C.offsets.data(), nullptr, &bytes));
  Buffer buffer = buffer_of(bytes);
  int nonzeros = 0;
  ec::check(cusparseXcsrgeam2Nnz(handle, m, n, handle.general(), a, A.offsets.data(), A.column_indices.data(),
                                 handle.general(), b, B.offsets.data(), B.column_indices.data(),
                                 handle.general(), C.offsets.data(), &nonzeros, buffer.data()));
  C.column_indices = ec::Array<std::int32_t>(gpu, nonzeros);
  C.values = ec::Array<T>(gpu, nonzeros);
  ec::check(geam2(T{})(handle, m, n, &alpha, handle.general(), a, A.values.data(), A.offsets.data(),
                       A.column_indices.data(), &beta, handle.general(), b, B.values.data(), B.offsets.data(),
                       B.column_indices.data(), handle.general(), C.values.data(), C.offsets.data(),
                       C.column_indices.data(), buffer.data()));
  return C;
}

template <class T>
void expect_same(const ec::Csr<T>& ours, const Narrow<T>& theirs) {
  const std::vector<T> a = ours.values().to_vector();
  const std::vector<T> b = theirs.values.to_vector();
  bool same = ours.column_indices().to_vector() == theirs.column_indices.to_vector() && a.size() == b.size();
  for (std::size_t k = 0; same && k < a.size(); ++k) same = std::abs(a[k] - b[k]) <= T{1e-3};
  if (same) return;
  std::printf("\nthe results differ\n");
  std::exit(1);
}

/// "-" if cuSPARSE returns an error.
struct Theirs {
  double time = std::numeric_limits<double>::infinity();
  double peak = std::numeric_limits<double>::infinity();
};

template <class T, class F>
Theirs measure_theirs(const ec::Csr<T>& ours, F theirs) {
  try {
    expect_same(ours, theirs());
    return {seconds(theirs), peak_mb(theirs)};
  } catch (const ec::Error&) {
    return {};
  }
}

template <class T>
struct Operands {
  ec::Csr<T> A, A2, P, S, P_transposed, S_transposed;
};

template <class T>
Operands<T> operands(std::int64_t side) {
  Operands<T> o;
  o.A = ec::bench::poisson_3d<T>(side);
  o.A2 = ec::multiply(o.A, o.A);
  o.P = ec::bench::aggregation<T>(side);
  o.S = ec::bench::smoothed(o.A, o.P);
  o.P_transposed = ec::bench::transposed(o.P).to(gpu);
  o.S_transposed = ec::bench::transposed(o.S).to(gpu);
  for (ec::Csr<T>* M : {&o.A, &o.A2, &o.P, &o.S}) *M = M->to(gpu);
  return o;
}

/// Time and memory of the floor: operands read once, the result written once.
template <class T>
double bytes_of(std::initializer_list<const ec::Csr<T>*> matrices) {
  double bytes = 0;
  for (const ec::Csr<T>* M : matrices) bytes += static_cast<double>(M->bytes());
  return bytes;
}

template <class T>
void print(const char* name, double floor, double ours, double ours_peak, const std::vector<Theirs>& theirs) {
  std::printf("| %s | %s | %.2f | %.2f |", name, sizeof(T) == 8 ? "double" : "float", 1e3 * floor,
              1e3 * ours);
  for (const Theirs& t : theirs) std::printf(" %.2f |", 1e3 * t.time);
  std::printf(" %.2f | %.2f | %.0f |", theirs[0].time / ours, ours_peak / theirs[0].peak, ours_peak);
  for (const Theirs& t : theirs) std::printf(" %.0f |", t.peak);
  std::printf("\n");
  std::fflush(stdout);
}

constexpr std::array algorithms = {CUSPARSE_SPGEMM_DEFAULT, CUSPARSE_SPGEMM_ALG2, CUSPARSE_SPGEMM_ALG3};

void print_updates_header() {
  std::printf(
      "\n| C | type | floor ms | by search ms | by positions ms | cuSPARSE ms | cuSPARSE / by positions | "
      "C MB | positions MB |\n|---|---|---|---|---|---|---|---|---|\n");
}

/// Measures update(product, C), values of a known pattern, of a product with stored positions and of one
/// without, compared with the compute phase of SpGEMMreuse.
template <class T, class Product, class F>
void compare_updates(const char* name, double floor, const ec::Csr<T>& expected, Product with,
                     Product without, double theirs, F update) {
  ec::Csr<T> C = expected;
  const double gathered = seconds([&] { update(with, C); });
  const bool same = C.values().to_vector() == expected.values().to_vector();
  const double searched = seconds([&] { update(without, C); });
  if (!same || C.values().to_vector() != expected.values().to_vector()) {
    std::printf("\nan update differs from the product\n");
    std::exit(1);
  }
  std::printf("| %s | %s | %.2f | %.3f | %.3f | %.3f | %.2f | %.0f | %.0f |\n", name,
              sizeof(T) == 8 ? "double" : "float", 1e3 * floor, 1e3 * searched, 1e3 * gathered, 1e3 * theirs,
              theirs / gathered, static_cast<double>(C.bytes()) / 1e6,
              static_cast<double>(with.bytes() - without.bytes()) / 1e6);
  std::fflush(stdout);
}

template <class T>
void compare_pair(const Handle& handle, const char* name, double bandwidth, const ec::Csr<T>& A,
                  const ec::Csr<T>& B) {
  const ec::Csr<T> C = ec::multiply(A, B);
  const double ours = seconds([&] { return ec::multiply(A, B); });
  const double peak = peak_mb([&] { return ec::multiply(A, B); });
  const Narrow<T> a = narrow(A);
  const Narrow<T> b = narrow(B);
  std::vector<Theirs> theirs;
  for (const auto algorithm : algorithms) {
    theirs.push_back(measure_theirs(C, [&] { return multiply(handle, algorithm, a, b); }));
  }
  print<T>(name, bytes_of({&A, &B, &C}) / bandwidth, ours, peak, theirs);
}

template <class T>
void compare_pair_updates(const Handle& handle, const char* name, double bandwidth, const ec::Csr<T>& A,
                          const ec::Csr<T>& B) {
  const ec::Csr<T> C = ec::multiply(A, B);
  using Product = ec::SparseProduct<T>;
  compare_updates<T>(name, bytes_of({&A, &B, &C}) / bandwidth, C, Product(A, B),
                     Product(A, B, {.store_positions = false}), reuse_seconds(handle, narrow(A), narrow(B)),
                     [&](Product& product, ec::Csr<T>& result) { product.update(A, B, result); });
}

/// The faster of cuSPARSE's two orders.
template <class T>
void compare_triple(const Handle& handle, const char* name, double bandwidth, const ec::Csr<T>& R,
                    const ec::Csr<T>& A, const ec::Csr<T>& P) {
  const ec::Csr<T> C = ec::multiply(R, A, P);
  const double ours = seconds([&] { return ec::multiply(R, A, P); });
  const double peak = peak_mb([&] { return ec::multiply(R, A, P); });
  const Narrow<T> r = narrow(R);
  const Narrow<T> a = narrow(A);
  const Narrow<T> p = narrow(P);
  std::vector<Theirs> theirs;
  for (const auto algorithm : algorithms) {
    const Theirs left =
        measure_theirs(C, [&] { return multiply(handle, algorithm, multiply(handle, algorithm, r, a), p); });
    const Theirs right =
        measure_theirs(C, [&] { return multiply(handle, algorithm, r, multiply(handle, algorithm, a, p)); });
    theirs.push_back(left.time < right.time ? left : right);
  }
  print<T>(name, bytes_of({&R, &A, &P, &C}) / bandwidth, ours, peak, theirs);
}

/// R (A P) by cuSPARSE, which is the faster order.
template <class T>
void compare_triple_updates(const Handle& handle, const char* name, double bandwidth, const ec::Csr<T>& R,
                            const ec::Csr<T>& A, const ec::Csr<T>& P) {
  const ec::Csr<T> C = ec::multiply(R, A, P);
  const Narrow<T> r = narrow(R);
  const Narrow<T> a = narrow(A);
  const Narrow<T> p = narrow(P);
  const Narrow<T> ap = multiply(handle, CUSPARSE_SPGEMM_DEFAULT, a, p);
  const double reuse = reuse_seconds(handle, a, p) + reuse_seconds(handle, r, ap);
  using Product = ec::TripleProduct<T>;
  compare_updates<T>(name, bytes_of({&R, &A, &P, &C}) / bandwidth, C, Product(R, A, P),
                     Product(R, A, P, {.store_positions = false}), reuse,
                     [&](Product& product, ec::Csr<T>& result) { product.update(R, A, P, result); });
}

template <class T>
void compare_sum(const Handle& handle, const char* name, double bandwidth, const ec::Csr<T>& A,
                 const ec::Csr<T>& B) {
  const ec::Csr<T> C = ec::add<T>(2, A, -3, B);
  const double ours = seconds([&] { return ec::add<T>(2, A, -3, B); });
  const double peak = peak_mb([&] { return ec::add<T>(2, A, -3, B); });
  const Narrow<T> a = narrow(A);
  const Narrow<T> b = narrow(B);
  const Theirs theirs = measure_theirs(C, [&] { return add<T>(handle, 2, a, -3, b); });
  print<T>(name, bytes_of({&A, &B, &C}) / bandwidth, ours, peak, {theirs, {}, {}});
}

template <class T>
void compare_all(const Handle& handle, const Operands<T>& o, double bandwidth) {
  compare_pair(handle, "A A", bandwidth, o.A, o.A);
  compare_pair(handle, "A P", bandwidth, o.A, o.P);
  compare_pair(handle, "A S", bandwidth, o.A, o.S);
  compare_triple(handle, "P^T A P", bandwidth, o.P_transposed, o.A, o.P);
  compare_triple(handle, "S^T A S", bandwidth, o.S_transposed, o.A, o.S);
  compare_sum(handle, "2 A - 3 A^2", bandwidth, o.A, o.A2);
  compare_sum(handle, "2 A - 3 A", bandwidth, o.A, o.A);
}

template <class T>
void compare_all_updates(const Handle& handle, const Operands<T>& o, double bandwidth) {
  compare_pair_updates(handle, "A A", bandwidth, o.A, o.A);
  compare_pair_updates(handle, "A P", bandwidth, o.A, o.P);
  compare_pair_updates(handle, "A S", bandwidth, o.A, o.S);
  compare_triple_updates(handle, "P^T A P", bandwidth, o.P_transposed, o.A, o.P);
  compare_triple_updates(handle, "S^T A S", bandwidth, o.S_transposed, o.A, o.S);
}

/// Smallest size from which on the GPU is faster.
void compare_with_host() {
  std::printf(
      "\n| rows | A A: 2 cores us | %d cores us | GPU us | A + A^2: 2 cores us | %d cores us | GPU us |\n"
      "|---|---|---|---|---|---|---|\n",
      omp_get_max_threads(), omp_get_max_threads());
  for (const std::int64_t side : {3, 4, 6, 8, 11, 16, 23, 32, 45, 64, 91, 126}) {
    const auto A = ec::bench::poisson_3d<double>(side);
    const auto A2 = ec::multiply(A, A);
    std::printf("| %lld |", static_cast<long long>(A.rows()));
    const std::array devices = {ec::Device::openmp(2), ec::Device::openmp(), gpu};
    std::vector<double> sums;
    for (const ec::Device& device : devices) {
      const auto a = A.to(device);
      const auto a2 = A2.to(device);
      std::printf(" %.0f |", 1e6 * seconds([&] { return ec::multiply(a, a); }));
      sums.push_back(seconds([&] { return ec::add<double>(1, a, 1, a2); }));
    }
    for (const double time : sums) std::printf(" %.0f |", 1e6 * time);
    std::printf("\n");
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  ec::bench::Arguments arguments(argc, argv, "[--updates] [SIDE]");
  const bool updates_alone = arguments.flag("--updates");
  const auto side = arguments.positional("SIDE", std::int64_t{126});
  arguments.finish();
  const Handle handle;
  int version = 0;
  ec::check(cusparseGetVersion(handle, &version));
  const double bandwidth = ec::bench::copy_bandwidth();
  std::printf("%s, cuSPARSE %d, copy %.0f GB/s; 7-point Laplacian on %lld^3 points\n\n",
              hardware(gpu).c_str(), version, bandwidth / 1e9, static_cast<long long>(side));
  const Operands<double> in_double = operands<double>(side);
  const Operands<float> in_float = operands<float>(side);
  if (!updates_alone) {
    std::printf(
        "| C | type | floor ms | echelon ms | cuSPARSE default ms | ALG2 ms | ALG3 ms | default / echelon | "
        "echelon peak / default's | echelon peak MB | default's MB | ALG2's MB | ALG3's MB |\n"
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
    compare_all(handle, in_double, bandwidth);
    compare_all(handle, in_float, bandwidth);
  }
  print_updates_header();
  compare_all_updates(handle, in_double, bandwidth);
  compare_all_updates(handle, in_float, bandwidth);
  if (!updates_alone) compare_with_host();
}
