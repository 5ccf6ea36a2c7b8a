// SPDX-License-Identifier: BSD-3-Clause
/// cuSPARSE's incomplete factorisations, which it deprecates without a replacement, and its triangular
/// solves.
#pragma once

#define DISABLE_CUSPARSE_DEPRECATED

#include "backend/cuda/owned.cuh"
#include "support/cusparse.cuh"

#include <echelon/matrix/csr.hpp>

#include <cstdint>
#include <vector>

namespace echelon::bench {

/// A copy of A in double precision with 32-bit offsets, factored in place by csrilu02 or csric02.
class CusparseFactors {
  using Handle = Owned<cusparseHandle_t, cusparseDestroy>;
  using Description = Owned<cusparseMatDescr_t, cusparseDestroyMatDescr>;
  using LuInfo = Owned<csrilu02Info_t, cusparseDestroyCsrilu02Info>;
  using CholeskyInfo = Owned<csric02Info_t, cusparseDestroyCsric02Info>;

 public:
  CusparseFactors(const Csr<double>& host, const Csr<double>& A)
      : A_(A),
        rows_(static_cast<int>(A.rows())),
        nonzeros_(static_cast<int>(A.nonzeros())),
        columns_(A.column_indices()),
        values_(A.values()),
        handle_(make_owned<Handle>(cusparseCreate)),
        description_(make_owned<Description>(cusparseCreateMatDescr)),
        lu_(make_owned<LuInfo>(cusparseCreateCsrilu02Info)),
        cholesky_(make_owned<CholeskyInfo>(cusparseCreateCsric02Info)) {
    const auto offsets = host.row_offsets().span();
    const std::vector<std::int32_t> narrow(offsets.begin(), offsets.end());
    offsets_ = Array<std::int32_t>(A.device(), std::span<const std::int32_t>(narrow));
    check(cusparseSetStream(handle_.get(), stream()));
    int bytes = 0;
    check(cusparseDcsrilu02_bufferSize(handle_.get(), rows_, nonzeros_, description_.get(), values_.data(),
                                       offsets_.data(), columns_.data(), lu_.get(), &bytes));
    lu_buffer_ = Array<unsigned char>(A.device(), bytes);
    check(cusparseDcsric02_bufferSize(handle_.get(), rows_, nonzeros_, description_.get(), values_.data(),
                                      offsets_.data(), columns_.data(), cholesky_.get(), &bytes));
    cholesky_buffer_ = Array<unsigned char>(A.device(), bytes);
  }

  void analyze_lu() {
    check(cusparseDcsrilu02_analysis(handle_.get(), rows_, nonzeros_, description_.get(), A_.values().data(),
                                     offsets_.data(), columns_.data(), lu_.get(), policy, lu_buffer_.data()));
  }
  void analyze_cholesky() {
    check(cusparseDcsric02_analysis(handle_.get(), rows_, nonzeros_, description_.get(), A_.values().data(),
                                    offsets_.data(), columns_.data(), cholesky_.get(), policy,
                                    cholesky_buffer_.data()));
  }
  /// Factors the values of A anew.
  void factor_lu() {
    reset();
    check(cusparseDcsrilu02(handle_.get(), rows_, nonzeros_, description_.get(), values_.data(),
                            offsets_.data(), columns_.data(), lu_.get(), policy, lu_buffer_.data()));
  }
  void factor_cholesky() {
    reset();
    check(cusparseDcsric02(handle_.get(), rows_, nonzeros_, description_.get(), values_.data(),
                           offsets_.data(), columns_.data(), cholesky_.get(), policy,
                           cholesky_buffer_.data()));
  }

  [[nodiscard]] cusparseHandle_t handle() const { return handle_.get(); }
  [[nodiscard]] std::int64_t rows() const { return rows_; }
  [[nodiscard]] std::int64_t nonzeros() const { return nonzeros_; }
  [[nodiscard]] Array<std::int32_t>& offsets() { return offsets_; }
  [[nodiscard]] Array<std::int32_t>& columns() { return columns_; }
  [[nodiscard]] Array<double>& values() { return values_; }

 private:
  static constexpr auto policy = CUSPARSE_SOLVE_POLICY_USE_LEVEL;

  void reset() {
    check(cudaMemcpyAsync(values_.data(), A_.values().data(), values_.bytes(), cudaMemcpyDeviceToDevice,
                          stream()));
  }

  const Csr<double>& A_;
  int rows_;
  int nonzeros_;
  Array<std::int32_t> columns_;
  Array<double> values_;
  Array<std::int32_t> offsets_;
  Array<unsigned char> lu_buffer_;
  Array<unsigned char> cholesky_buffer_;
  Handle handle_;
  Description description_;
  LuInfo lu_;
  CholeskyInfo cholesky_;
};

/// Triangular solve by SpSV.
class CusparseTriangle {
  using Matrix = Owned<cusparseSpMatDescr_t, cusparseDestroySpMat>;
  using Vector = Owned<cusparseDnVecDescr_t, cusparseDestroyDnVec>;
  using Plan = Owned<cusparseSpSVDescr_t, cusparseSpSV_destroyDescr>;

 public:
  CusparseTriangle(CusparseFactors& factors, cusparseFillMode_t fill, cusparseDiagType_t diagonal, double* b,
                   double* x)
      : handle_(factors.handle()),
        matrix_(make_owned<Matrix>(cusparseCreateCsr, factors.rows(), factors.rows(), factors.nonzeros(),
                                   factors.offsets().data(), factors.columns().data(),
                                   factors.values().data(), CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                                   CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F)),
        b_(make_owned<Vector>(cusparseCreateDnVec, factors.rows(), b, CUDA_R_64F)),
        x_(make_owned<Vector>(cusparseCreateDnVec, factors.rows(), x, CUDA_R_64F)),
        plan_(make_owned<Plan>(cusparseSpSV_createDescr)) {
    check(cusparseSpMatSetAttribute(matrix_.get(), CUSPARSE_SPMAT_FILL_MODE, &fill, sizeof fill));
    check(cusparseSpMatSetAttribute(matrix_.get(), CUSPARSE_SPMAT_DIAG_TYPE, &diagonal, sizeof diagonal));
    std::size_t bytes = 0;
    check(cusparseSpSV_bufferSize(handle_, operation, &one, matrix_.get(), b_.get(), x_.get(), CUDA_R_64F,
                                  CUSPARSE_SPSV_ALG_DEFAULT, plan_.get(), &bytes));
    buffer_ = Array<unsigned char>(factors.values().device(), static_cast<std::int64_t>(bytes) + 1);
  }

  void analyze() {
    check(cusparseSpSV_analysis(handle_, operation, &one, matrix_.get(), b_.get(), x_.get(), CUDA_R_64F,
                                CUSPARSE_SPSV_ALG_DEFAULT, plan_.get(), buffer_.data()));
  }
  void solve() {
    check(cusparseSpSV_solve(handle_, operation, &one, matrix_.get(), b_.get(), x_.get(), CUDA_R_64F,
                             CUSPARSE_SPSV_ALG_DEFAULT, plan_.get()));
  }

 private:
  static constexpr auto operation = CUSPARSE_OPERATION_NON_TRANSPOSE;
  static constexpr double one = 1;
  cusparseHandle_t handle_;
  Array<unsigned char> buffer_;  // outlives the plan that points into it
  Matrix matrix_;
  Vector b_;
  Vector x_;
  Plan plan_;
};

}  // namespace echelon::bench
