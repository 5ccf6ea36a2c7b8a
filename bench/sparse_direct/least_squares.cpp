// SPDX-License-Identifier: BSD-3-Clause
// Least squares with sparse matrices that are not square, compared with SuiteSparseQR.
//   bench_least_squares [--runs N] [--methods A,B] [--rtol X] MATRIX...
// prints a table in Markdown: seconds of the processor on one thread for a set-up and a solve with the
// right-hand side b_i = sin(i + 1), the least of RUNS (default: 3), the residual, ||A^T r|| / (||A||_F
// ||r||), and ||x||. Methods: sparse-qr, augmented, qr, lsmr, lsqr and cgls (default: all but qr), those of
// the last three with a preconditioner as lsmr+sketch, and SuiteSparseQR, if it was found. MATRIX is a file,
// or tall:ROWS,COLUMNS,DECADES: pairs of columns that differ by 1 to 10^-DECADES, with four elements a row.
#include "support/arguments.hpp"

#include <echelon/io/files.hpp>
#include <echelon/matrix/transform.hpp>
#include <echelon/solver.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#ifdef ECHELON_BENCH_WITH_SPQR
#include <SuiteSparseQR.hpp>
#endif

namespace ec = echelon;

namespace {

double processor_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

struct Answer {
  double seconds = 1e99;
  std::string status;
  std::vector<double> x;
};

double norm(const std::vector<double>& x) {
  double squares = 0;
  for (const double element : x) squares += element * element;
  return std::sqrt(squares);
}

/// Prints the figures of an answer, which are computed here for all methods.
void print(const std::string& matrix, const ec::Csr<double>& A, const std::vector<double>& b,
           const std::string& method, const Answer& answer) {
  std::vector<double> r = b;
  std::vector<double> g(static_cast<std::size_t>(A.columns()), 0);
  double frobenius = 0;
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
      r[static_cast<std::size_t>(i)] -=
          A.values()[k] * answer.x[static_cast<std::size_t>(A.column_indices()[k])];
      frobenius += A.values()[k] * A.values()[k];
    }
  }
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k)
      g[static_cast<std::size_t>(A.column_indices()[k])] += A.values()[k] * r[static_cast<std::size_t>(i)];
  }
  std::printf("| %s | %s | %s | %.3g | %.6e | %.1e | %.5e |\n", matrix.c_str(), method.c_str(),
              answer.status.c_str(), answer.seconds, norm(r), norm(g) / (std::sqrt(frobenius) * norm(r)),
              norm(answer.x));
}

Answer by_method(const std::string& name, const ec::Csr<double>& A, const std::vector<double>& b, int runs,
                 double rtol) {
  Answer answer;
  const std::size_t plus = name.find('+');
  const std::string method = name.substr(0, plus);
  ec::Options options;
  if (plus != std::string::npos) options.set("preconditioner", name.substr(plus + 1));
  answer.x.resize(static_cast<std::size_t>(A.columns()));
  for (int run = 0; run < runs; ++run) {
    const double start = processor_seconds();
    ec::Solver<double> solver = ec::make_solver<double>(method, ec::Device::serial(), options);
    solver.setup(A);
    std::fill(answer.x.begin(), answer.x.end(), 0.0);
    const ec::Report report = solver.solve(b, answer.x, {.measure_error = false, .rtol = rtol});
    answer.seconds = std::min(answer.seconds, processor_seconds() - start);
    answer.status = ec::to_string(report.status);
    if (report.iterations > 0) answer.status += ", " + std::to_string(report.iterations) + " iterations";
  }
  return answer;
}

ec::Csr<double> tall(const std::vector<std::string>& sizes) {
  const auto m = static_cast<std::int32_t>(std::stol(sizes.at(0)));
  const auto n = static_cast<std::int32_t>(std::stol(sizes.at(1)));
  const double decades = std::stod(sizes.at(2));
  std::mt19937 random(1);
  std::normal_distribution<double> normal;
  std::vector<ec::Triplet<double>> elements;
  const auto add_pair = [&](std::int32_t row, std::int32_t column) {
    const std::int32_t left = column - column % 2;
    const double size = normal(random);
    const double gap = std::pow(10, -decades * left / n);
    elements.push_back({row, left, size});
    elements.push_back({row, std::min(left + 1, n - 1), size + gap * normal(random)});
  };
  for (std::int32_t i = 0; i < m; ++i) {
    add_pair(i, static_cast<std::int32_t>(random() % static_cast<unsigned>(n)));
    add_pair(i, static_cast<std::int32_t>(random() % static_cast<unsigned>(n)));
  }
  return ec::Csr<double>::from_triplets(m, n, elements);
}

ec::Csr<double> matrix_of(const std::string& name) {
  if (name.rfind("tall:", 0) == 0) return tall(ec::bench::split(name.substr(5), ','));
  return ec::to_csr<double>(ec::read_matrix<double>(name)).to(ec::Device::serial());
}

#ifdef ECHELON_BENCH_WITH_SPQR
Answer by_spqr(const ec::Csr<double>& A, const std::vector<double>& b, int runs) {
  cholmod_common common;
  cholmod_l_start(&common);
  const ec::Csr<double> transpose = ec::transpose(A);  // its rows are the columns of A
  cholmod_sparse* const S =
      cholmod_l_allocate_sparse(static_cast<std::size_t>(A.rows()), static_cast<std::size_t>(A.columns()),
                                static_cast<std::size_t>(A.nonzeros()), 1, 1, 0, CHOLMOD_REAL, &common);
  std::copy(transpose.row_offsets().data(), transpose.row_offsets().data() + A.columns() + 1,
            static_cast<SuiteSparse_long*>(S->p));
  std::copy(transpose.column_indices().data(), transpose.column_indices().data() + A.nonzeros(),
            static_cast<SuiteSparse_long*>(S->i));
  std::copy(transpose.values().data(), transpose.values().data() + A.nonzeros(), static_cast<double*>(S->x));
  cholmod_dense* const right = cholmod_l_allocate_dense(b.size(), 1, b.size(), CHOLMOD_REAL, &common);
  std::copy(b.begin(), b.end(), static_cast<double*>(right->x));
  Answer answer;
  for (int run = 0; run < runs; ++run) {
    const double start = processor_seconds();
    cholmod_dense* solution =
        A.rows() >= A.columns()
            ? SuiteSparseQR<double>(S, right, &common)
            : SuiteSparseQR_min2norm<double>(SPQR_ORDERING_DEFAULT, SPQR_DEFAULT_TOL, S, right, &common);
    answer.seconds = std::min(answer.seconds, processor_seconds() - start);
    const auto* const x = static_cast<const double*>(solution->x);
    answer.x.assign(x, x + A.columns());
    cholmod_l_free_dense(&solution, &common);
  }
  answer.status = "rank " + std::to_string(common.SPQR_istat[4]);
  return answer;
}
#endif

}  // namespace

int main(int argc, char** argv) {
  ec::bench::Arguments arguments(argc, argv, "[--runs N] [--methods A,B] [--rtol X] MATRIX...");
  const int runs = arguments.option("--runs", 3);
  const std::string methods =
      arguments.option<std::string>("--methods", "sparse-qr,augmented,lsmr,lsqr,cgls");
  const double rtol = std::stod(arguments.option<std::string>("--rtol", "1e-8"));
  const std::vector<std::string> files = arguments.positionals("matrix");
  arguments.finish();
  std::printf(
      "| matrix | method | status | seconds | residual | normal residual | norm of x |\n"
      "| --- | --- | --- | --- | --- | --- | --- |\n");
  for (const std::string& file : files) {
    const ec::Csr<double> A = matrix_of(file);
    std::vector<double> b(static_cast<std::size_t>(A.rows()));
    for (std::size_t i = 0; i < b.size(); ++i) b[i] = std::sin(static_cast<double>(i + 1));
    const std::string name = std::filesystem::path(file).stem().stem().string();
    for (const std::string& method : ec::bench::split(methods, ','))
      print(name, A, b, method, by_method(method, A, b, runs, rtol));
#ifdef ECHELON_BENCH_WITH_SPQR
    print(name, A, b, "SuiteSparseQR", by_spqr(A, b, runs));
#endif
    std::fflush(stdout);
  }
}
