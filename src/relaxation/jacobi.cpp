// SPDX-License-Identifier: BSD-3-Clause
#include "backend/store.hpp"
#include "linalg/vector/functors.hpp"
#include "solver/instantiate.hpp"
#include "solver/iteration/iterative_method.hpp"

#include <echelon/methods/jacobi.hpp>

#include <support/scalar_list.hpp>

namespace echelon {

namespace {

/// Computes weight / d_i, where d_i is a_ii, or for l1 the row's sum of magnitudes with the sign of a_ii,
/// which is a_ii / |a_ii|.
/// Returns the first row whose diagonal element is zero or missing.
template <class T>
struct JacobiScale {
  double weight;
  bool l1;
  T* scale;
  ECHELON_ANYWHERE FirstIndex finish(std::int64_t i, Dot<T> diagonal, double magnitudes) const {
    if (diagonal == Dot<T>{0}) return {i};
    const Dot<T> d = l1 ? magnitudes * (diagonal / magnitude(diagonal)) : diagonal;
    scale[i] = static_cast<T>(weight / d);
    return {};
  }
};

template <class T>
struct InvertSparseDiagonal : JacobiScale<T> {
  const std::int64_t* row_offsets;
  const std::int32_t* column_indices;
  const T* values;
  ECHELON_ANYWHERE FirstIndex operator()(std::int64_t i) const {
    Dot<T> diagonal = 0;
    double magnitudes = 0;
    for (std::int64_t k = row_offsets[i]; k < row_offsets[i + 1]; ++k) {
      magnitudes += magnitude(values[k]);
      if (column_indices[k] == i) diagonal = static_cast<Dot<T>>(values[k]);
    }
    return this->finish(i, diagonal, magnitudes);
  }
};

template <class T>
struct InvertDenseDiagonal : JacobiScale<T> {
  DenseView<const T> a;
  std::int64_t row_step;
  std::int64_t column_step;
  ECHELON_ANYWHERE FirstIndex operator()(std::int64_t i) const {
    double magnitudes = 0;
    for (std::int64_t j = 0; this->l1 && j < a.columns(); ++j) {
      magnitudes += magnitude(a.data()[i * row_step + j * column_step]);
    }
    return this->finish(i, static_cast<Dot<T>>(a.data()[i * (row_step + column_step)]), magnitudes);
  }
};

/// x += D^-1 r while the iteration runs.
template <class T>
struct Relax {
  const IterationStateOf<Dot<T>>* state;
  const T* scale;
  const T* r;
  T* x;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    if (state == nullptr || state->running()) x[i] += scale[i] * r[i];
  }
};

template <class B, class T>
class JacobiIteration final : public IterativeMethod<B, T> {
  using Base = IterativeMethod<B, T>;
  using typename Base::SolveWorkspace;

 public:
  JacobiIteration(const Device& device, const JacobiOptions& options)
      : Base(device, options.stop), options_(options) {}

  Outcome setup(const MatrixRef<T>& A) override {
    Base::setup(A);
    B backend(this->device());
    scale_ = Array<T>(this->device(), A.rows());
    Array<FirstIndex> zero(this->device(), 1);
    const JacobiScale<T> invert{options_.weight, options_.variant == JacobiVariant::l1, scale_.data()};
    const Store<FirstIndex> store{zero.data()};
    if (const Csr<T>* csr = A.csr()) {
      backend.reduce(A.rows(),
                     InvertSparseDiagonal<T>{invert, csr->row_offsets().data(), csr->column_indices().data(),
                                             csr->values().data()},
                     store);
    } else {
      const DenseView<const T>& a = A.dense();
      const bool by_column = a.layout() == Layout::column_major;
      backend.reduce(
          A.rows(),
          InvertDenseDiagonal<T>{invert, a, by_column ? 1 : a.leading(), by_column ? a.leading() : 1}, store);
    }
    const FirstIndex row = backend.read(zero.data());
    if (row.value == FirstIndex::none) return {};
    return {Status::breakdown,
            "Jacobi divides by the diagonal, and row " + std::to_string(row.value) + " (from 0) has none",
            row.value};
  }
  Outcome update_values(const MatrixRef<T>& A) override { return setup(A); }

  [[nodiscard]] std::size_t bytes() const override { return scale_.bytes(); }

  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const override {
    return this->complete_workspace(std::make_unique<SolveWorkspace>(this->device(), this->matrix().rows()));
  }

  void apply(Workspace& workspace, const MultiVector<const T>& r, const MultiVector<T>& z,
             Operation /*operation*/) const override {
    auto& own = static_cast<SolveWorkspace&>(workspace);
    for (int c = 0; c < r.columns(); ++c) {
      own.backend.for_each(own.n, ScaleVector<T>{scale_.data(), r[c], z[c]});  // the sweep from z = 0
      for (std::int64_t sweep = 1; sweep < options_.sweeps; ++sweep) {
        form_residual(own, r[c], z[c]);
        own.backend.for_each(own.n, Relax<T>{nullptr, scale_.data(), own.r.data(), z[c]});
      }
    }
  }
  /// One sweep multiplies by a diagonal matrix; more than one have products with A.
  [[nodiscard]] OperatorTraits traits() const override { return {.is_transposable = options_.sweeps == 1}; }

 private:
  void start(SolveWorkspace& /*workspace*/, const T* /*b*/, T* /*x*/) const override {}

  void step(SolveWorkspace& workspace, const T* b, T* x) const override {
    workspace.backend.for_each(workspace.n,
                               Relax<T>{workspace.state(), scale_.data(), workspace.r.data(), x});
    form_residual(workspace, b, x);
    workspace.backend.reduce(workspace.n, SquaredMagnitude{workspace.r.data()},
                             RecordResidual{workspace.state()});
  }

  /// r = b - A x.
  void form_residual(SolveWorkspace& workspace, const T* b, const T* x) const {
    workspace.backend.copy(workspace.n, b, workspace.r.data());
    multiply(workspace.backend, T{-1}, this->matrix(), x, T{1}, workspace.r.data());
  }

  JacobiOptions options_;
  Array<T> scale_;
};

}  // namespace

template <>
struct MethodWith<JacobiOptions> {
  template <class B, class T>
  using Type = JacobiIteration<B, T>;
};

#define ECHELON_INSTANTIATE(T)                                                                     \
  template std::unique_ptr<SolverImplementation<T>> make_implementation<ThisTarget>(const Device&, \
                                                                                    const JacobiOptions&);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon
