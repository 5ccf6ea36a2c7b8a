// SPDX-License-Identifier: BSD-3-Clause
// cuSPARSE deprecates csrilu02 and offers nothing in its place.
#define DISABLE_CUSPARSE_DEPRECATED

#include "backend/cuda/owned.cuh"
#include "backend/store.hpp"
#include "solver/factor_status.hpp"
#include "solver/instantiate.hpp"
#include "support/workspace_pool.hpp"

#include <echelon/methods/ilu0.hpp>

#include <limits>
#include <vector>

namespace echelon {

namespace {

using Handle = Owned<cusparseHandle_t, cusparseDestroy>;

Handle make_handle() {
  auto handle = make_owned<Handle>(cusparseCreate);
  check(cusparseSetStream(handle.get(), stream()));
  return handle;
}

/// csrilu02 for float and double under one name.
struct Csrilu02 {
  using Info = Owned<csrilu02Info_t, cusparseDestroyCsrilu02Info>;
  using Description = Owned<cusparseMatDescr_t, cusparseDestroyMatDescr>;
  static constexpr auto policy = CUSPARSE_SOLVE_POLICY_USE_LEVEL;

  Handle handle = make_handle();
  Description description = make_owned<Description>(cusparseCreateMatDescr);
  Info info = make_owned<Info>(cusparseCreateCsrilu02Info);
  int rows = 0;
  int nonzeros = 0;
  const int* row_offsets = nullptr;
  const int* column_indices = nullptr;

  int buffer_bytes(float* values) {
    int bytes = 0;
    check(cusparseScsrilu02_bufferSize(handle.get(), rows, nonzeros, description.get(), values, row_offsets,
                                       column_indices, info.get(), &bytes));
    return bytes;
  }
  int buffer_bytes(double* values) {
    int bytes = 0;
    check(cusparseDcsrilu02_bufferSize(handle.get(), rows, nonzeros, description.get(), values, row_offsets,
                                       column_indices, info.get(), &bytes));
    return bytes;
  }
  void analyze(const float* values, void* buffer) {
    check(cusparseScsrilu02_analysis(handle.get(), rows, nonzeros, description.get(), values, row_offsets,
                                     column_indices, info.get(), policy, buffer));
  }
  void analyze(const double* values, void* buffer) {
    check(cusparseDcsrilu02_analysis(handle.get(), rows, nonzeros, description.get(), values, row_offsets,
                                     column_indices, info.get(), policy, buffer));
  }
  void factor(float* values, void* buffer) {
    check(cusparseScsrilu02(handle.get(), rows, nonzeros, description.get(), values, row_offsets,
                            column_indices, info.get(), policy, buffer));
  }
  void factor(double* values, void* buffer) {
    check(cusparseDcsrilu02(handle.get(), rows, nonzeros, description.get(), values, row_offsets,
                            column_indices, info.get(), policy, buffer));
  }
  /// The first pivot that became zero. Waits.
  FirstIndex zero_pivot() {
    int position = -1;
    const cusparseStatus_t status = cusparseXcsrilu02_zeroPivot(handle.get(), info.get(), &position);
    if (status != CUSPARSE_STATUS_ZERO_PIVOT) check(status);
    return position < 0 ? FirstIndex{} : FirstIndex{position};
  }
};

/// L (unit diagonal, not stored) and U on the pattern of A, in the 32-bit CSR that cuSPARSE factors.
template <class T>
struct Factors {
  Factors(const Device& device, std::int64_t n, std::int64_t nonzeros)
      : rows(n),
        row_offsets(device, n + 1),
        column_indices(device, nonzeros),
        values(device, nonzeros),
        diagonal(device, n) {}
  [[nodiscard]] std::size_t bytes() const {
    return row_offsets.bytes() + column_indices.bytes() + values.bytes() + diagonal.bytes();
  }
  std::int64_t rows;
  Array<std::int32_t> row_offsets, column_indices;
  Array<T> values;
  Array<std::int32_t> diagonal;  ///< places of the diagonal elements
};

/// Copies the offset and finds the diagonal element of row i; reports a row without one.
struct CopyRow {
  std::int64_t rows;
  const std::int64_t* row_offsets;
  const std::int32_t* column_indices;
  std::int32_t* narrow_offsets;
  std::int32_t* diagonal;
  ECHELON_ANYWHERE FirstIndex operator()(std::int64_t i) const {
    narrow_offsets[i] = static_cast<std::int32_t>(row_offsets[i]);
    if (i == rows) return {};
    std::int64_t low = row_offsets[i];
    std::int64_t high = row_offsets[i + 1];
    while (low < high) {
      const std::int64_t middle = (low + high) / 2;
      if (column_indices[middle] < i) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    if (low == row_offsets[i + 1] || column_indices[low] != i) return {i};
    diagonal[i] = static_cast<std::int32_t>(low);
    return {};
  }
};

/// The first pivots that no triangular solve can divide by.
struct BadPivots {
  FirstIndex zero = {};
  FirstIndex nonfinite = {};
  friend ECHELON_ANYWHERE BadPivots combine(BadPivots a, BadPivots b) {
    return {combine(a.zero, b.zero), combine(a.nonfinite, b.nonfinite)};
  }
};

template <class T>
struct InspectPivot {
  const T* values;
  const std::int32_t* diagonal;
  ECHELON_ANYWHERE BadPivots operator()(std::int64_t i) const {
    const T pivot = values[diagonal[i]];
    return {{pivot == 0 ? i : FirstIndex::none}, {pivot - pivot != 0 ? i : FirstIndex::none}};
  }
};

/// A dense vector's descriptor; where its elements are changes from solve to solve.
class Vector {
  using Descriptor = Owned<cusparseDnVecDescr_t, cusparseDestroyDnVec>;

 public:
  template <class T>
  Vector(std::int64_t n, T* elements)
      : descriptor_(make_owned<Descriptor>(cusparseCreateDnVec, n, elements,
                                           std::is_same_v<T, double> ? CUDA_R_64F : CUDA_R_32F)) {}
  template <class T>
  void point_to(T* elements) {
    check(cusparseDnVecSetValues(descriptor_.get(), elements));
  }
  [[nodiscard]] cusparseDnVecDescr_t get() const { return descriptor_.get(); }

 private:
  Descriptor descriptor_;
};

/// A triangular solve by cuSPARSE's SpSV, for one thread at a time.
template <class T>
class Triangle {
  using Matrix = Owned<cusparseSpMatDescr_t, cusparseDestroySpMat>;
  using Plan = Owned<cusparseSpSVDescr_t, cusparseSpSV_destroyDescr>;

 public:
  Triangle(cusparseHandle_t handle, Factors<T>& factors, cusparseFillMode_t fill, cusparseDiagType_t diagonal,
           const Vector& right, const Vector& left)
      : handle_(handle),
        matrix_(make_owned<Matrix>(cusparseCreateCsr, factors.rows, factors.rows, factors.values.size(),
                                   factors.row_offsets.data(), factors.column_indices.data(),
                                   factors.values.data(), CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                                   CUSPARSE_INDEX_BASE_ZERO, type)),
        plan_(make_owned<Plan>(cusparseSpSV_createDescr)) {
    check(cusparseSpMatSetAttribute(matrix_.get(), CUSPARSE_SPMAT_FILL_MODE, &fill, sizeof fill));
    check(cusparseSpMatSetAttribute(matrix_.get(), CUSPARSE_SPMAT_DIAG_TYPE, &diagonal, sizeof diagonal));
    std::size_t bytes = 0;
    check(cusparseSpSV_bufferSize(handle_, operation, &one, matrix_.get(), right.get(), left.get(), type,
                                  algorithm, plan_.get(), &bytes));
    buffer_ = Array<unsigned char>(factors.values.device(), static_cast<std::int64_t>(bytes));
    check(cusparseSpSV_analysis(handle_, operation, &one, matrix_.get(), right.get(), left.get(), type,
                                algorithm, plan_.get(), buffer_.data()));
  }

  /// The analysis keeps what it needs of the values, so new ones must be told.
  void update(Factors<T>& factors) {
    check(
        cusparseSpSV_updateMatrix(handle_, plan_.get(), factors.values.data(), CUSPARSE_SPSV_UPDATE_GENERAL));
  }

  void solve(const Vector& right, const Vector& left) const {
    check(cusparseSpSV_solve(handle_, operation, &one, matrix_.get(), right.get(), left.get(), type,
                             algorithm, plan_.get()));
  }

  [[nodiscard]] std::size_t bytes() const { return buffer_.bytes(); }

 private:
  static constexpr cudaDataType type = std::is_same_v<T, double> ? CUDA_R_64F : CUDA_R_32F;
  static constexpr auto operation = CUSPARSE_OPERATION_NON_TRANSPOSE;
  static constexpr auto algorithm = CUSPARSE_SPSV_ALG_DEFAULT;
  static constexpr T one = 1;

  cusparseHandle_t handle_;
  Matrix matrix_;
  Array<unsigned char> buffer_;  // outlives the plan that points into it
  Plan plan_;
};

/// z = U^-1 L^-1 r. Owns all that two threads cannot share.
template <class T>
class Substitution {
 public:
  Substitution(const Device& device, Factors<T>& factors)
      : device_(device),
        middle_values_(device, factors.rows),
        handle_(make_handle()),
        right_(factors.rows, middle_values_.data()),
        middle_(factors.rows, middle_values_.data()),
        left_(factors.rows, middle_values_.data()),
        lower_(handle_.get(), factors, CUSPARSE_FILL_MODE_LOWER, CUSPARSE_DIAG_TYPE_UNIT, right_, middle_),
        upper_(handle_.get(), factors, CUSPARSE_FILL_MODE_UPPER, CUSPARSE_DIAG_TYPE_NON_UNIT, middle_,
               left_) {}

  void update(Factors<T>& factors) {
    const CurrentDevice current(device_.id());
    lower_.update(factors);
    upper_.update(factors);
  }

  /// Neither waits nor allocates.
  void apply(const T* r, T* z) {
    const CurrentDevice current(device_.id());
    right_.point_to(const_cast<T*>(r));  // cuSPARSE reads it only
    left_.point_to(z);
    lower_.solve(right_, middle_);
    upper_.solve(middle_, left_);
  }

  [[nodiscard]] std::size_t bytes() const { return middle_values_.bytes() + lower_.bytes() + upper_.bytes(); }

 private:
  Device device_;
  Array<T> middle_values_;  // L^-1 r
  Handle handle_;
  Vector right_, middle_, left_;
  Triangle<T> lower_, upper_;
};

/// Substitutions that no workspace uses: their analysis is reused.
template <class T>
using SubstitutionPool = WorkspacePool<Substitution<T>>;

template <class T>
class IncompleteLu final : public SolverImplementation<T> {
  /// Holds a substitution from the pool that the method had when the workspace was created.
  struct Lease : Workspace {
    Lease(std::shared_ptr<SubstitutionPool<T>> from, std::unique_ptr<Substitution<T>> borrowed)
        : pool(std::move(from)), substitution(std::move(borrowed)) {}
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    ~Lease() override { pool->give_back(std::move(substitution)); }
    [[nodiscard]] std::size_t bytes() const override { return substitution->bytes(); }
    std::shared_ptr<SubstitutionPool<T>> pool;
    std::unique_ptr<Substitution<T>> substitution;
  };

 public:
  IncompleteLu(const Device& device, const Ilu0Options& /*options*/)
      : SolverImplementation<T>(device), backend_(device), pool_(std::make_shared<SubstitutionPool<T>>()) {}

  Outcome analyze(const MatrixRef<T>& A) override {
    if (!A.is_sparse()) return ilu0_without_pattern();
    const Csr<T>& csr = *A.csr();
    if (csr.nonzeros() > std::numeric_limits<std::int32_t>::max()) {
      throw InvalidMatrix("ilu0 on a GPU counts nonzeros in 32 bits, and A has " +
                          std::to_string(csr.nonzeros()) + ": use another preconditioner, or the host");
    }
    forget();
    const CurrentDevice current(this->device().id());
    factors_ = std::make_unique<Factors<T>>(this->device(), csr.rows(), csr.nonzeros());
    if (csr.rows() == 0) return {};
    backend_.copy(csr.nonzeros(), csr.column_indices().data(), factors_->column_indices.data());
    const FirstIndex missing = copy_rows(csr);
    if (missing.value != FirstIndex::none) return ilu0_pivot(missing.value, "is not stored");

    factorisation_ = std::make_unique<Csrilu02>();
    factorisation_->rows = static_cast<int>(csr.rows());
    factorisation_->nonzeros = static_cast<int>(csr.nonzeros());
    factorisation_->row_offsets = factors_->row_offsets.data();
    factorisation_->column_indices = factors_->column_indices.data();
    buffer_ = Array<unsigned char>(this->device(), factorisation_->buffer_bytes(factors_->values.data()));
    factorisation_->analyze(csr.values().data(), buffer_.data());
    return {};
  }

  Outcome setup(const MatrixRef<T>& A) override {
    Outcome outcome = analyze(A);
    return outcome.ok() ? update_values(A) : outcome;
  }

  Outcome update_values(const MatrixRef<T>& A) override {
    Factors<T>& factors = *factors_;
    if (factors.rows == 0) return {};
    const CurrentDevice current(this->device().id());
    backend_.copy(factors.values.size(), A.csr()->values().data(), factors.values.data());
    factorisation_->factor(factors.values.data(), buffer_.data());
    BadPivots bad = inspect_pivots();
    bad.zero = combine(bad.zero, factorisation_->zero_pivot());
    if (bad.nonfinite.value < bad.zero.value) return ilu0_pivot(bad.nonfinite.value, "overflowed");
    if (bad.zero.value != FirstIndex::none) return ilu0_pivot(bad.zero.value, "became zero");
    refresh_pool();
    return {};
  }

  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const override {
    if (factors_->rows == 0) return std::make_unique<Workspace>();
    auto substitution = pool_->take();
    if (substitution == nullptr) substitution = make_substitution();
    return std::make_unique<Lease>(pool_, std::move(substitution));
  }

  [[nodiscard]] std::size_t bytes() const override {
    std::size_t bytes = (factors_ ? factors_->bytes() : 0) + buffer_.bytes();
    pool_->for_each_idle([&](const Substitution<T>& substitution) { bytes += substitution.bytes(); });
    return bytes;
  }

  /// One application to each column; the residual check tells how far that is from a solution.
  void solve(Workspace& workspace, DenseView<const T> right, DenseView<T> left,
             std::vector<Job>&) const override {
    for (std::int64_t j = 0; j < right.columns(); ++j) apply(workspace, right.column(j), left.column(j));
  }

  void apply(Workspace& workspace, const T* r, T* z) const override {
    if (factors_->rows > 0) static_cast<Lease&>(workspace).substitution->apply(r, z);
  }

 private:
  /// Frees what belongs to an earlier pattern, so that the next finds room.
  void forget() {
    pool_ = std::make_shared<SubstitutionPool<T>>();
    factorisation_.reset();
    buffer_ = Array<unsigned char>();
    factors_.reset();
  }

  /// Fills in the pattern; the first row without a diagonal element.
  FirstIndex copy_rows(const Csr<T>& csr) {
    Array<FirstIndex> missing(this->device(), 1);
    backend_.reduce(csr.rows() + 1,
                    CopyRow{csr.rows(), csr.row_offsets().data(), csr.column_indices().data(),
                            factors_->row_offsets.data(), factors_->diagonal.data()},
                    Store<FirstIndex>{missing.data()});
    return backend_.read(missing.data());
  }

  BadPivots inspect_pivots() {
    Array<BadPivots> bad(this->device(), 1);
    backend_.reduce(factors_->rows, InspectPivot<T>{factors_->values.data(), factors_->diagonal.data()},
                    Store<BadPivots>{bad.data()});
    return backend_.read(bad.data());
  }

  [[nodiscard]] std::unique_ptr<Substitution<T>> make_substitution() const {
    const CurrentDevice current(this->device().id());
    return std::make_unique<Substitution<T>>(this->device(), *factors_);
  }

  /// Updates idle substitutions to the new values, or creates the first one. They go to a new pool:
  /// substitutions in use have the old values and return to the old pool.
  void refresh_pool() {
    auto fresh = std::make_shared<SubstitutionPool<T>>();
    auto substitution = pool_->take();
    if (substitution == nullptr) {
      fresh->give_back(make_substitution());
    }
    for (; substitution != nullptr; substitution = pool_->take()) {
      substitution->update(*factors_);
      fresh->give_back(std::move(substitution));
    }
    pool_ = std::move(fresh);
  }

  Cuda backend_;
  std::unique_ptr<Factors<T>> factors_;
  Array<unsigned char> buffer_;  // csrilu02's
  std::unique_ptr<Csrilu02> factorisation_;
  std::shared_ptr<SubstitutionPool<T>> pool_;
};

}  // namespace

template <>
struct MethodWith<Ilu0Options> {
  template <class B, class T>
  using Type = IncompleteLu<T>;
};

template std::unique_ptr<SolverImplementation<float>> make_implementation<CudaTarget>(const Device&,
                                                                                      const Ilu0Options&);
template std::unique_ptr<SolverImplementation<double>> make_implementation<CudaTarget>(const Device&,
                                                                                       const Ilu0Options&);

}  // namespace echelon
