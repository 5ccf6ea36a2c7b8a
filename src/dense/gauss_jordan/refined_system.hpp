// SPDX-License-Identifier: BSD-3-Clause
/// Systems in T, eliminated in a lower precision: their answers are refined in T until they are as good as
/// asked for. N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., chapter 12.
#pragma once

#include "dense/gauss_jordan/contraction.hpp"
#include "dense/gauss_jordan/system.hpp"

#include <echelon/error.hpp>

#include <optional>
#include <string>
#include <vector>

namespace echelon {

/// What the options ask for that is lower than T, or nothing. Throws BadOption.
template <class B, class T>
std::optional<FloatProducts> lower_products(const GaussJordanOptions& options) {
  const std::string& name = options.factor_precision;
  if (name != "working" && name != "single" && name != "tf32x3" && name != "tf32") {
    throw BadOption("factor_precision",
                    "there is no precision '" + name + "': it is working, single, tf32x3 or tf32");
  }
  FloatProducts products = FloatProducts::in_float;
  if constexpr (std::is_same_v<B, Cuda>) {
    if (name == "tf32x3") products = FloatProducts::tf32x3;
    if (name == "tf32") products = FloatProducts::tf32;
  }
  const bool lower = std::is_same_v<T, double> || products != FloatProducts::in_float;
  if (name == "working" || !lower) return std::nullopt;
  return products;
}

/// For the report: used, unless `why` says why not.
template <class B, class T>
std::optional<FactorPrecision> tell_factor_precision(const GaussJordanOptions& options,
                                                     const std::string& why) {
  if (options.factor_precision == "working") return std::nullopt;
  const std::optional<FloatProducts> products = lower_products<B, T>(options);
  if (!products)
    return FactorPrecision{options.factor_precision, "working", "float is the working precision"};
  if (!why.empty()) return FactorPrecision{options.factor_precision, "working", why};
  const std::string used = *products == FloatProducts::in_float ? "single" : options.factor_precision;
  const bool as_asked = used == options.factor_precision;
  return FactorPrecision{options.factor_precision, used, as_asked ? "" : "only GPUs know TF32"};
}

namespace refined_detail {

template <class T>
struct RoundElements {
  DenseView<const T> A;
  float* rounded;  // column after column
  ECHELON_ANYWHERE void operator()(std::int64_t e) const {
    const std::int64_t i = e % A.rows();
    const std::int64_t j = e / A.rows();
    const bool by_column = A.layout() == Layout::column_major;
    rounded[e] = static_cast<float>(A.data()[by_column ? j * A.leading() + i : i * A.leading() + j]);
  }
};

/// A column of residuals may be too small for float: it is rounded when it has been scaled to about 1.
template <class T>
struct RoundScaled {
  DenseView<const T> R;
  const Largest* largest;
  DenseView<float> rounded;
  ECHELON_ANYWHERE void operator()(std::int64_t e) const {
    const std::int64_t i = e % R.rows();
    const std::int64_t j = e / R.rows();
    const T scale = gauss_jordan_detail::balancing_scale<T>(largest[j].value);
    rounded.data()[j * rounded.leading() + i] = static_cast<float>(R.data()[j * R.leading() + i] * scale);
  }
};

/// X = X + factor C, where the columns of C were scaled with those of a residual.
template <class T>
struct AddScaledBack {
  DenseView<const float> C;
  const Largest* largest;
  T factor;
  DenseView<T> X;
  ECHELON_ANYWHERE void operator()(std::int64_t e) const {
    const std::int64_t i = e % X.rows();
    const std::int64_t j = e / X.rows();
    const T scale = gauss_jordan_detail::balancing_scale<T>(largest[j].value);
    X.data()[j * X.leading() + i] += factor * (static_cast<T>(C.data()[j * C.leading() + i]) / scale);
  }
};

/// Of a residual and its x. Steps are judged by the residual of the equations as they were scaled.
struct Norms {
  Largest residual, scaled_residual, solution;
  friend ECHELON_ANYWHERE Norms combine(Norms a, Norms b) {
    return {combine(a.residual, b.residual), combine(a.scaled_residual, b.scaled_residual),
            combine(a.solution, b.solution)};
  }
};

template <class T>
struct NormsAt {
  const float* row_scale;  // null: 1
  const T* r;
  const T* x;
  ECHELON_ANYWHERE Norms operator()(std::int64_t i) const {
    const double residual = std::fabs(static_cast<double>(r[i]));
    const double scale = row_scale == nullptr ? 1 : static_cast<double>(row_scale[i]);
    return {{residual}, {scale * residual}, {std::fabs(static_cast<double>(x[i]))}};
  }
};

}  // namespace refined_detail

/// A dense copy of A.
template <class B, class T>
Dense<float> rounded(B& backend, const MatrixRef<T>& A) {
  Dense<T> dense;
  if (A.is_sparse()) dense = to_dense(A);
  const DenseView<const T> view = A.is_sparse() ? std::as_const(dense).view() : A.dense();
  Dense<float> result(A.device(), A.rows(), A.columns());
  backend.for_each(A.rows() * A.columns(), refined_detail::RoundElements<T>{view, result.data()});
  return result;
}

/// How refinement ended for a right-hand side.
struct Refinement {
  std::int64_t steps = 0;  ///< after the first solution
  double backward_error = 0;
  bool accurate = false;  ///< as asked for
};

/// What the worst of them lacks, or nothing.
inline std::string too_inaccurate(const std::vector<Refinement>& columns) {
  double worst = -1;
  for (const Refinement& column : columns) {
    if (!column.accurate) worst = std::max(worst, column.backward_error);
  }
  if (worst < 0) return {};
  return "refinement ended with a backward error of " + short_number(worst);
}

/// Keeps A eliminated in float, n^2 elements; A itself is only referred to, for residuals.
template <class B, class T>
class RefinedSystem {
  using Low = EliminatedSystem<B, float>;

 public:
  /// For solves of some right-hand sides at a time.
  struct Space : Workspace {
    Space(std::unique_ptr<typename Low::Space> of, const Device& device)
        : low(std::move(of)),
          residual(device, rows(), columns()),
          next(device, rows(), columns()),
          candidate(device, rows(), columns()),
          rounded(device, rows(), columns()),
          correction(device, rows(), columns()),
          largest(device, columns()),
          norms(device, 1) {}
    [[nodiscard]] std::int64_t rows() const { return low->transformed.rows(); }
    [[nodiscard]] std::int64_t columns() const { return low->transformed.columns(); }
    [[nodiscard]] std::size_t bytes() const override {
      return low->bytes() + residual.bytes() + next.bytes() + candidate.bytes() + rounded.bytes() +
             correction.bytes();
    }
    std::unique_ptr<typename Low::Space> low;
    Dense<T> residual, next, candidate;
    Dense<float> rounded, correction;
    Array<Largest> largest;
    Array<refined_detail::Norms> norms;
  };

  /// `tools` are used as long as it lives, and by nothing else that multiplies floats.
  RefinedSystem(EliminationTools<B>& tools, FloatProducts products, const GaussJordanOptions& options)
      : tools_(tools), products_(products), options_(options) {
    tools_.products = products;
  }
  RefinedSystem(const RefinedSystem&) = delete;
  RefinedSystem& operator=(const RefinedSystem&) = delete;

  /// For a square A. Returns why answers could not be refined, or nothing.
  std::string eliminate(const MatrixRef<T>& A) {
    GaussJordanOptions options = options_;
    if (!options.tolerance) options.tolerance = default_tolerance<T>(A.rows(), A.columns());
    low_ = std::make_unique<Low>(tools_, options);
    const Outcome outcome = low_->eliminate(rounded<B, T>(backend(), A), options.equilibrate);
    if (!outcome.ok()) return "rounded to float, " + outcome.message;
    if (low_->rank() < A.columns() || low_->facts().doubtful)
      return "in this precision, " + low_->rank_words();
    return why_no_contraction(A);
  }

  [[nodiscard]] FloatProducts products() const { return products_; }
  [[nodiscard]] const RankFacts& facts() const { return low_->facts(); }
  [[nodiscard]] const std::vector<std::int64_t>& pivot_columns() const { return low_->pivot_columns(); }
  [[nodiscard]] double norm_inf() const { return low_->norm_inf(); }
  [[nodiscard]] double reciprocal_condition() const { return low_->reciprocal_condition(); }
  [[nodiscard]] B& backend() const { return tools_.backend; }
  [[nodiscard]] std::size_t bytes() const { return low_->bytes(); }

  [[nodiscard]] std::unique_ptr<Space> make_space(std::int64_t columns, B* shared = nullptr) const {
    return std::make_unique<Space>(low_->make_space(columns, shared), backend().device());
  }

  /// A X = B for views in columns.
  [[nodiscard]] std::vector<Refinement> solve(Space& space, const MatrixRef<T>& A, DenseView<const T> right,
                                              DenseView<T> X) const {
    std::vector<Refinement> all;
    for (std::int64_t begin = 0; begin < right.columns(); begin += space.columns()) {
      const std::int64_t end = std::min(begin + space.columns(), right.columns());
      const std::vector<Refinement> some =
          solve_some(space, A, column_range(right, begin, end), column_range(X, begin, end));
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  }

  /// z = about A^-1 r, unrefined; does not wait.
  void apply(Space& space, const T* r, T* z) const {
    const std::int64_t n = space.rows();
    const Device& device = backend().device();
    space.low->backend.fill(n, T{0}, z);
    add_correction(space, T{1}, {r, n, 1, n, device}, {z, n, 1, n, device});
  }

 private:
  /// A column on its way.
  struct Column {
    Refinement result;
    double right_norm = 0;
    double scaled_residual = std::numeric_limits<double>::infinity();
    bool finished = false;
  };

  /// X = X + factor A^-1 R, about.
  void add_correction(Space& space, T factor, DenseView<const T> R, DenseView<T> X) const {
    using namespace refined_detail;
    B& backend = space.low->backend;
    for (std::int64_t j = 0; j < R.columns(); ++j) {
      backend.reduce(R.rows(), gauss_jordan_detail::MagnitudeOf<T>{R.column(j)},
                     Store<Largest>{space.largest.data() + j});
    }
    const DenseView<float> rounded = column_range(space.rounded.view(), 0, R.columns());
    const DenseView<float> correction = column_range(space.correction.view(), 0, R.columns());
    const std::int64_t elements = R.rows() * R.columns();
    backend.for_each(elements, RoundScaled<T>{R, space.largest.data(), rounded});
    backend.fill(elements, 0.0F, correction.data());
    low_->add_solution(*space.low, rounded, correction);
    backend.for_each(elements, AddScaledBack<T>{correction, space.largest.data(), factor, X});
  }

  std::string why_no_contraction(const MatrixRef<T>& A) const {
    const std::unique_ptr<Space> space = make_space(1, &backend());
    const auto subtract = [&](const T*, T*) {
      add_correction(*space, T{-1}, space->next.view(), space->candidate.view());
    };
    const std::optional<double> factor =
        find_no_contraction(backend(), A, low_->column_scale(), space->candidate.data(), space->next.data(),
                            space->largest.data(), subtract);
    if (!factor) return {};
    return "an error of size 1 is left with size " + short_number(*factor) + " by a step of refinement";
  }

  refined_detail::Norms norms(Space& space, const T* r, const T* x) const {
    B& backend = space.low->backend;
    backend.reduce(space.rows(), refined_detail::NormsAt<T>{low_->row_scale(), r, x},
                   Store<refined_detail::Norms>{space.norms.data()});
    return backend.read(space.norms.data());
  }

  [[nodiscard]] std::vector<Refinement> solve_some(Space& space, const MatrixRef<T>& A,
                                                   DenseView<const T> right, DenseView<T> X) const {
    B& backend = space.low->backend;
    const DenseView<T> residual = column_range(space.residual.view(), 0, right.columns());
    const DenseView<T> candidate = column_range(space.candidate.view(), 0, right.columns());
    const DenseView<T> next = column_range(space.next.view(), 0, right.columns());
    std::vector<Column> columns(static_cast<std::size_t>(right.columns()));
    for (std::int64_t j = 0; j < right.columns(); ++j) {
      backend.fill(X.rows(), T{0}, X.column(j));
      backend.copy(right.rows(), right.column(j), residual.column(j));
      columns[static_cast<std::size_t>(j)] = start(norms(space, right.column(j), X.column(j)).residual.value);
    }
    constexpr std::int64_t most_steps = 50;
    const auto is_finished = [](const Column& column) { return column.finished; };
    for (std::int64_t step = 0;
         step <= most_steps && !std::all_of(columns.begin(), columns.end(), is_finished); ++step) {
      for (std::int64_t j = 0; j < X.columns(); ++j) backend.copy(X.rows(), X.column(j), candidate.column(j));
      add_correction(space, T{1}, residual, candidate);
      form_residual<B, T>(backend, A, right, candidate, next);
      for (std::int64_t j = 0; j < X.columns(); ++j) {
        Column& column = columns[static_cast<std::size_t>(j)];
        if (column.finished || !take_step(column, step, norms(space, next.column(j), candidate.column(j)))) {
          continue;
        }
        backend.copy(X.rows(), candidate.column(j), X.column(j));
        backend.copy(X.rows(), next.column(j), residual.column(j));
      }
    }
    std::vector<Refinement> results;
    results.reserve(columns.size());
    for (const Column& column : columns) results.push_back(column.result);
    return results;
  }

  /// A right-hand side of zeros, or with a NaN that will be found there, has x = 0.
  [[nodiscard]] static Column start(double right_norm) {
    const bool nothing = right_norm == 0 || !std::isfinite(right_norm);
    Column column;
    column.result = {0, nothing ? 0.0 : 1.0, nothing};
    column.right_norm = right_norm;
    column.finished = nothing;
    return column;
  }

  /// Whether the candidate is better than what there is. Without a wish, steps go on as long as they halve
  /// the residual: then it is as small as the working precision makes it.
  [[nodiscard]] bool take_step(Column& column, std::int64_t step, const refined_detail::Norms& found) const {
    constexpr double unit = std::numeric_limits<T>::epsilon();
    const double scaled = found.scaled_residual.value;
    const bool better = scaled < column.scaled_residual;
    const bool halved = scaled <= column.scaled_residual / 2;
    if (better) {
      const double size = norm_inf() * found.solution.value + column.right_norm;
      column.result.steps = step;
      column.result.backward_error = found.residual.value / size;
      column.scaled_residual = scaled;
    }
    const double usual = std::sqrt(static_cast<double>(low_->rows())) * unit;
    const double needed = std::min(options_.accuracy.value_or(usual), acceptable_backward_error<T>);
    column.result.accurate = column.result.backward_error <= needed;
    column.finished = !halved || (options_.accuracy && column.result.accurate);
    return better;
  }

  EliminationTools<B>& tools_;
  FloatProducts products_;
  GaussJordanOptions options_;
  std::unique_ptr<Low> low_;
};

}  // namespace echelon
