/* SPDX-License-Identifier: BSD-3-Clause */
/* The C interface: what each function does, and how it refuses misuse. Each test is a function of this file;
 * the program runs all, or those that are named on the command line. */
#include <echelon/echelon.h>

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures = 0;

static void check(int holds, const char* expression, int line) {
  if (holds) return;
  ++failures;
  fprintf(stderr, "interface_test.c:%d: %s\n  last error: %s\n", line, expression, echelon_last_error());
}
#define CHECK(expression) check((expression) != 0, #expression, __LINE__)
/* A refused call and a word of its explanation. */
#define CHECK_REFUSED(call, code, word)                \
  do {                                                 \
    CHECK((call) == (code));                           \
    CHECK(strstr(echelon_last_error(), word) != NULL); \
  } while (0)

enum { n = 4 };
/* The tridiagonal matrix (-1, 4, -2) of order 4 in CSR, with all index types and bases, and its lower
 * triangle. */
static const int32_t offsets[] = {0, 2, 5, 8, 10};
static const int32_t columns[] = {0, 1, 0, 1, 2, 1, 2, 3, 2, 3};
static const int64_t offsets_of_64_bits[] = {1, 3, 6, 9, 11};
static const int64_t columns_of_64_bits[] = {1, 2, 1, 2, 3, 2, 3, 4, 3, 4};
static const double values[] = {4, -2, -1, 4, -2, -1, 4, -2, -1, 4};
static const double b[] = {0, 1, 2, 13};            /* A (1 2 3 4) */
static const double b_transposed[] = {2, 3, 4, 10}; /* A^T (1 2 3 4) */

static echelon_matrix make_matrix(void) {
  echelon_matrix A = NULL;
  CHECK(echelon_compressed(ECHELON_BY_ROWS, ECHELON_DOUBLE, n, n, 10, ECHELON_INT32, offsets, ECHELON_INT32,
                           columns, values, 0, ECHELON_FULL, NULL, &A) == ECHELON_SOLVED);
  return A;
}

static echelon_solver make_solver(const char* method) {
  echelon_solver solver = NULL;
  CHECK(echelon_create(method, ECHELON_DOUBLE, NULL, &solver) == ECHELON_SOLVED);
  return solver;
}

/* Whether x is `scale` (1 2 3 4). */
static int is_solution(const double* x, double scale, double tolerance) {
  int i;
  for (i = 0; i < n; ++i) {
    if (!(fabs(x[i] - scale * (i + 1)) <= tolerance)) return 0;
  }
  return 1;
}

static int solves(echelon_matrix A, const double* rhs) {
  double x[n] = {0};
  const int32_t code = echelon_solve_once(A, 1, rhs, n, x, n, "method=sparse-lu", NULL);
  return code == ECHELON_SOLVED && is_solution(x, 1, 1e-12);
}

static void test_library(void) {
  int32_t code;
  CHECK(strchr(echelon_version(), '.') != NULL);
  CHECK(strcmp(echelon_code_name(ECHELON_NOT_SPD), "not_spd") == 0);
  CHECK(strcmp(echelon_code_name(ECHELON_SOLVED), "solved") == 0);
  CHECK(strcmp(echelon_code_name(1000), "unknown") == 0);
  for (code = ECHELON_CALLBACK_FAILED; code <= ECHELON_LEAST_SQUARES; ++code)
    CHECK(strcmp(echelon_code_name(code), "unknown") != 0);
  CHECK(strstr(echelon_methods_json(), "\"name\":\"sparse-lu\"") != NULL);
}

static void test_compressed_forms(void) {
  echelon_matrix A = make_matrix();
  int64_t rows = 0, width = 0, nonzeros = 0;
  CHECK(solves(A, b));
  CHECK(echelon_matrix_size(A, &rows, &width, &nonzeros) == ECHELON_SOLVED);
  CHECK(rows == n && width == n && nonzeros == 10);
  CHECK(echelon_matrix_size(A, NULL, NULL, NULL) == ECHELON_SOLVED);
  echelon_matrix_free(A);

  /* 64 bits and base 1; the columns of the arrays read as CSC are the rows of A^T. */
  CHECK(echelon_compressed(ECHELON_BY_ROWS, ECHELON_DOUBLE, n, n, 10, ECHELON_INT64, offsets_of_64_bits,
                           ECHELON_INT64, columns_of_64_bits, values, 1, ECHELON_FULL, "",
                           &A) == ECHELON_SOLVED);
  CHECK(solves(A, b));
  echelon_matrix_free(A);
  CHECK(echelon_compressed(ECHELON_BY_COLUMNS, ECHELON_DOUBLE, n, n, 10, ECHELON_INT64, offsets_of_64_bits,
                           ECHELON_INT64, columns_of_64_bits, values, 1, ECHELON_FULL, "serial",
                           &A) == ECHELON_SOLVED);
  CHECK(solves(A, b_transposed));
  echelon_matrix_free(A);
}

static void test_triangle(void) {
  static const int32_t rows[] = {0, 1, 1, 2, 2, 3, 3};
  static const int32_t lower[] = {0, 0, 1, 1, 2, 2, 3};
  static const double elements[] = {4, -1, 4, -1, 4, -1, 4};
  static const double rhs[] = {2, 4, 6, 13};
  echelon_matrix A = NULL;
  int64_t nonzeros = 0;
  CHECK(echelon_triplets(ECHELON_DOUBLE, n, n, 7, ECHELON_INT32, rows, lower, elements, 0, ECHELON_LOWER,
                         NULL, &A) == ECHELON_SOLVED);
  CHECK(echelon_matrix_size(A, NULL, NULL, &nonzeros) == ECHELON_SOLVED && nonzeros == 10);
  CHECK(solves(A, rhs));
  echelon_matrix_free(A);
}

/* i times the matrix of make_matrix(), whose solutions are (1 2 3 4) for i b. */
static int32_t product_by_i(void* user, const void* x, void* y) {
  const double* in = x;
  double* out = y;
  int row;
  (void)user;
  for (row = 0; row < n; ++row) {
    int k;
    out[2 * row] = out[2 * row + 1] = 0;
    for (k = offsets[row]; k < offsets[row + 1]; ++k) {
      out[2 * row] -= values[k] * in[2 * columns[k] + 1];
      out[2 * row + 1] += values[k] * in[2 * columns[k]];
    }
  }
  return 0;
}

static void test_complex_elements(void) {
  static const char* const methods[] = {"auto", "lu", "sparse-lu", "gmres", "gauss-jordan", "qr", "lsqr"};
  double elements[20] = {0}, rhs[2 * n] = {0}, x[2 * n];
  echelon_matrix A = NULL;
  echelon_matrix product = NULL;
  echelon_matrix factors[2] = {NULL, NULL};
  echelon_solver solver = NULL;
  size_t m;
  int flags, i;
  for (i = 0; i < 10; ++i) elements[2 * i + 1] = values[i];
  CHECK(echelon_compressed(ECHELON_BY_ROWS, ECHELON_COMPLEX_DOUBLE, n, n, 10, ECHELON_INT32, offsets,
                           ECHELON_INT32, columns, elements, 0, ECHELON_FULL, NULL, &A) == ECHELON_SOLVED);
  CHECK(echelon_operator(ECHELON_COMPLEX_DOUBLE, n, n, product_by_i, NULL, NULL, NULL, &product) ==
        ECHELON_SOLVED);
  for (m = 0; m < sizeof methods / sizeof methods[0]; ++m) {
    CHECK(echelon_create(methods[m], ECHELON_COMPLEX_DOUBLE, NULL, &solver) == ECHELON_SOLVED);
    CHECK(echelon_set_real(solver, "rtol", 1e-13) == ECHELON_SOLVED);
    CHECK(echelon_setup(solver, A, NULL) == ECHELON_SOLVED);
    for (flags = 0; flags <= ECHELON_ADJOINT; ++flags) {
      for (i = 0; i < n; ++i) {
        rhs[2 * i + 1] = flags == 0 ? b[i] : flags == ECHELON_TRANSPOSED ? b_transposed[i] : -b_transposed[i];
      }
      CHECK(echelon_solve(solver, 1, rhs, n, x, n, flags, NULL) == ECHELON_SOLVED);
      for (i = 0; i < n; ++i) CHECK(fabs(x[2 * i] - (i + 1)) < 1e-11 && fabs(x[2 * i + 1]) < 1e-11);
    }
    echelon_free(solver);
  }
  CHECK(echelon_create("lu", ECHELON_COMPLEX_DOUBLE, NULL, &solver) == ECHELON_SOLVED);
  CHECK(echelon_setup(solver, A, NULL) == ECHELON_SOLVED);
  CHECK(echelon_factors(solver, "LU", factors) == ECHELON_SOLVED);
  CHECK(factors[0] != NULL && factors[1] != NULL);
  echelon_matrix_free(factors[0]);
  echelon_matrix_free(factors[1]);
  echelon_free(solver);
  for (i = 0; i < n; ++i) rhs[2 * i + 1] = b[i];
  CHECK(echelon_solve_once(product, 1, rhs, n, x, n, "method=gmres rtol=1e-13", NULL) == ECHELON_SOLVED);
  for (i = 0; i < n; ++i) CHECK(fabs(x[2 * i] - (i + 1)) < 1e-11 && fabs(x[2 * i + 1]) < 1e-11);
  CHECK(echelon_solve_once(A, 1, rhs, n, x, n, "method=gmres preconditioner=amg rtol=1e-13", NULL) ==
        ECHELON_SOLVED);
  for (i = 0; i < n; ++i) CHECK(fabs(x[2 * i] - (i + 1)) < 1e-11 && fabs(x[2 * i + 1]) < 1e-11);
  CHECK_REFUSED(echelon_create("lamg", ECHELON_COMPLEX_DOUBLE, NULL, &solver), ECHELON_NOT_BUILT, "real");
  solver = make_solver("lu");
  CHECK_REFUSED(echelon_setup(solver, A, NULL), ECHELON_BAD_ARGUMENT, "scalar");
  echelon_free(solver);
  echelon_matrix_free(A);
  echelon_matrix_free(product);
}

static void test_triplets_are_summed(void) {
  static const int64_t rows[] = {1, 1, 2, 2};
  static const int64_t width[] = {1, 1, 2, 1};
  static const float elements[] = {1, 2, 4, 1};
  static const float rhs[] = {3, 9};
  float x[2] = {0, 0};
  echelon_matrix A = NULL;
  CHECK(echelon_triplets(ECHELON_FLOAT, 2, 2, 4, ECHELON_INT64, rows, width, elements, 1, ECHELON_FULL, NULL,
                         &A) == ECHELON_SOLVED);
  CHECK(echelon_solve_once(A, 1, rhs, 2, x, 2, "method=lu", NULL) == ECHELON_SOLVED);
  CHECK(fabs((double)x[0] - 1) < 1e-6 && fabs((double)x[1] - 2) < 1e-6);
  echelon_matrix_free(A);
}

static void test_dense_and_new_values(void) {
  double elements[] = {2, 1, -7, 0, 3, -7}; /* (2 1; 0 3) by rows, 3 elements apart */
  static const double rhs[] = {4, 6};
  double x[2] = {0, 0};
  echelon_matrix A = NULL;
  echelon_solver solver = make_solver("lu");
  CHECK(echelon_dense(ECHELON_BY_ROWS, ECHELON_DOUBLE, 2, 2, elements, 3, NULL, &A) == ECHELON_SOLVED);
  CHECK(echelon_setup(solver, A, NULL) == ECHELON_SOLVED);
  CHECK(echelon_solve(solver, 1, rhs, 2, x, 2, 0, NULL) == ECHELON_SOLVED);
  CHECK(fabs(x[0] - 1) < 1e-14 && fabs(x[1] - 2) < 1e-14);
  elements[0] = 1;
  CHECK(echelon_matrix_values(A, elements) == ECHELON_SOLVED);
  CHECK(echelon_update(solver, A, NULL) == ECHELON_SOLVED);
  CHECK(echelon_solve(solver, 1, rhs, 2, x, 2, 0, NULL) == ECHELON_SOLVED);
  CHECK(fabs(x[0] - 2) < 1e-14 && fabs(x[1] - 2) < 1e-14);
  echelon_free(solver);
  echelon_matrix_free(A);
}

static void test_factor_and_reuse(void) {
  echelon_matrix A = make_matrix();
  echelon_solver solver = make_solver("sparse-lu");
  echelon_report report = NULL;
  double x[2 * n], doubled[10];
  double pair[2 * n];
  int i;
  CHECK(echelon_bytes(solver) == 0);
  CHECK(echelon_analyze(solver, A, &report) == ECHELON_SOLVED);
  CHECK(strcmp(echelon_report_text(report, "status"), "ready") == 0);
  echelon_report_free(report);
  CHECK(echelon_solve(solver, 1, b, n, x, n, 0, NULL) == ECHELON_NOT_SET_UP);
  CHECK(echelon_setup(solver, A, NULL) == ECHELON_SOLVED);
  CHECK(echelon_bytes(solver) > 0);
  /* The solver keeps what it needs of the matrix. */
  echelon_matrix_free(A);

  CHECK(echelon_solve(solver, 1, b_transposed, n, x, n, ECHELON_TRANSPOSED, NULL) == ECHELON_SOLVED);
  CHECK(is_solution(x, 1, 1e-12));
  CHECK(echelon_solve(solver, 1, b_transposed, n, x, n, ECHELON_ADJOINT, NULL) == ECHELON_SOLVED);
  CHECK(is_solution(x, 1, 1e-12));

  /* Two right-hand sides by rows, in place. */
  for (i = 0; i < n; ++i) {
    pair[2 * i] = b[i];
    pair[2 * i + 1] = 3 * b[i];
  }
  CHECK(echelon_solve(solver, 2, pair, 2, pair, 2, ECHELON_ROW_MAJOR, NULL) == ECHELON_SOLVED);
  for (i = 0; i < n; ++i) {
    x[i] = pair[2 * i];
    x[n + i] = pair[2 * i + 1];
  }
  CHECK(is_solution(x, 1, 1e-12) && is_solution(x + n, 3, 1e-12));

  for (i = 0; i < 10; ++i) doubled[i] = 2 * values[i];
  A = make_matrix();
  CHECK(echelon_matrix_values(A, doubled) == ECHELON_SOLVED);
  CHECK(echelon_update(solver, A, NULL) == ECHELON_SOLVED);
  CHECK(echelon_solve(solver, 1, b, n, x, n, 0, NULL) == ECHELON_SOLVED);
  CHECK(is_solution(x, 0.5, 1e-12));
  echelon_free(solver);
  echelon_matrix_free(A);
}

static void test_reports(void) {
  echelon_matrix A = make_matrix();
  echelon_report report = NULL;
  double x[n], history[2] = {-1, -1};
  CHECK(echelon_solve_once(A, 1, b, n, x, n, " method=bicgstab  rtol=1e-12 preconditioner=jacobi ",
                           &report) == ECHELON_SOLVED);
  CHECK(is_solution(x, 1, 1e-9));
  CHECK(echelon_report_code(report) == ECHELON_SOLVED);
  CHECK(strcmp(echelon_report_text(report, "status"), "converged") == 0);
  CHECK(strcmp(echelon_report_text(report, "method"), "bicgstab") == 0);
  CHECK(echelon_report_text(report, "iterations") == NULL);
  CHECK(echelon_report_text(report, "nothing") == NULL);
  CHECK(strstr(echelon_report_text(report, "text"), "bicgstab") != NULL);
  CHECK(strstr(echelon_report_text(report, "html"), "<h1>bicgstab</h1>") != NULL);
  CHECK(echelon_report_number(report, "iterations") >= 1);
  CHECK(echelon_report_number(report, "relative_residual") <= 1e-12);
  CHECK(echelon_report_number(report, "columns.0.iterations") == echelon_report_number(report, "iterations"));
  CHECK(echelon_report_number(report, "solved") == 1);
  CHECK(isnan(echelon_report_number(report, "columns.1.iterations")));
  CHECK(isnan(echelon_report_number(report, "columns.x")) &&
        isnan(echelon_report_number(report, "columns.")));
  CHECK(isnan(echelon_report_number(report, "nothing.at.all")) &&
        isnan(echelon_report_number(report, "status")));
  CHECK(echelon_report_history(report, 0, NULL) >= 2);
  CHECK(echelon_report_history(report, 1, history) >= 2);
  CHECK(history[0] == 1 && history[1] == -1);
  CHECK(echelon_report_json(report)[0] == '{' && strstr(echelon_report_json(report), "\"history\"") != NULL);
  echelon_report_free(report);

  CHECK(echelon_solve_once(A, 1, b, n, x, n, NULL, &report) == ECHELON_SOLVED);
  CHECK(strlen(echelon_report_text(report, "reason")) > 0);
  CHECK(isnan(echelon_report_number(report, "rank")));
  echelon_report_free(report);
  CHECK(echelon_solve_once(A, 1, b, n, x, n, "method=sparse-lu certify=yes", &report) == ECHELON_SOLVED);
  CHECK(echelon_report_number(report, "certificate.error_bound") < 1e-10);
  echelon_report_free(report);
  echelon_matrix_free(A);
}

static void test_numerical_outcomes(void) {
  static const double singular[] = {1, 2, 2, 4};
  static const double rhs[] = {1, 1};
  double nan_values[10];
  double x[n] = {0};
  echelon_matrix A = NULL;
  echelon_report report = NULL;
  CHECK(echelon_dense(ECHELON_BY_COLUMNS, ECHELON_DOUBLE, 2, 2, singular, 2, NULL, &A) == ECHELON_SOLVED);
  CHECK(echelon_solve_once(A, 1, rhs, 2, x, 2, "method=lu", &report) > 0);
  CHECK(echelon_report_code(report) > 0 && echelon_report_number(report, "solved") == 0);
  echelon_report_free(report);
  CHECK(echelon_solve_once(A, 1, rhs, 2, x, 2, "method=mapped-echelon", NULL) == ECHELON_INCONSISTENT);
  CHECK(echelon_solve_once(A, 1, rhs, 2, x, 2, "method=mapped-echelon least_squares=on", NULL) ==
        ECHELON_LEAST_SQUARES);
  CHECK(echelon_solve_once(A, 1, singular, 2, x, 2, "method=mapped-echelon", NULL) ==
        ECHELON_UNDERDETERMINED);
  echelon_matrix_free(A);

  A = make_matrix();
  CHECK(echelon_solve_once(A, 1, b, n, x, n, "method=gmres max_iterations=1", NULL) ==
        ECHELON_MAX_ITERATIONS);
  memcpy(nan_values, values, sizeof nan_values);
  nan_values[3] = NAN;
  CHECK(echelon_matrix_values(A, nan_values) == ECHELON_SOLVED);
  CHECK(echelon_solve_once(A, 1, b, n, x, n, "method=sparse-lu", NULL) == ECHELON_NOT_A_NUMBER);
  echelon_matrix_free(A);
}

static void test_options(void) {
  echelon_matrix A = make_matrix();
  echelon_solver solver = make_solver("gmres");
  echelon_report report = NULL;
  double x[n];
  CHECK(echelon_set(solver, "preconditioner", "jacobi") == ECHELON_SOLVED);
  CHECK(echelon_set_real(solver, "preconditioner.weight", 0.5) == ECHELON_SOLVED);
  CHECK(echelon_set_integer(solver, "restart", 7) == ECHELON_SOLVED);
  CHECK(echelon_setup(solver, A, NULL) == ECHELON_SOLVED);
  /* Tolerances act at once. */
  CHECK(echelon_set(solver, "max_iterations", "1") == ECHELON_SOLVED);
  CHECK(echelon_solve(solver, 1, b, n, x, n, 0, NULL) == ECHELON_MAX_ITERATIONS);
  CHECK(echelon_set_integer(solver, "max_iterations", 100) == ECHELON_SOLVED);
  CHECK(echelon_set_real(solver, "rtol", 1e-3) == ECHELON_SOLVED);
  CHECK(echelon_solve(solver, 1, b, n, x, n, 0, &report) == ECHELON_SOLVED);
  CHECK(echelon_report_number(report, "tolerance") < 1);
  echelon_report_free(report);
  /* A first guess that is the solution. */
  CHECK(echelon_set_real(solver, "rtol", 1e-10) == ECHELON_SOLVED);
  CHECK(echelon_solve(solver, 1, b, n, x, n, 0, NULL) == ECHELON_SOLVED);
  CHECK(echelon_set_real(solver, "rtol", 1e-6) == ECHELON_SOLVED);
  CHECK(echelon_solve(solver, 1, b, n, x, n, ECHELON_FROM_X, &report) == ECHELON_SOLVED);
  CHECK(echelon_report_number(report, "iterations") == 0);
  echelon_report_free(report);

  CHECK_REFUSED(echelon_set(solver, "restrat", "3"), ECHELON_BAD_OPTION, "restart");
  CHECK_REFUSED(echelon_set(solver, "preconditioner.weight", "3"), ECHELON_BAD_OPTION, "weight");
  CHECK_REFUSED(echelon_set(solver, "restart", "many"), ECHELON_BAD_OPTION, "restart");
  CHECK_REFUSED(echelon_set_real(solver, "rtol", 2), ECHELON_BAD_OPTION, "rtol");
  CHECK_REFUSED(echelon_set_real(solver, "atol", -1), ECHELON_BAD_OPTION, "atol");
  CHECK_REFUSED(echelon_set_integer(solver, "max_iterations", -1), ECHELON_BAD_OPTION, "max_iterations");
  CHECK_REFUSED(echelon_set(solver, "least_squares", "perhaps"), ECHELON_BAD_OPTION, "least_squares");
  CHECK_REFUSED(echelon_set(solver, NULL, "3"), ECHELON_BAD_ARGUMENT, "option");
  CHECK_REFUSED(echelon_set(solver, "restart", NULL), ECHELON_BAD_ARGUMENT, "text");
  CHECK_REFUSED(echelon_set_integer(NULL, "restart", 1), ECHELON_BAD_ARGUMENT, "solver");
  CHECK_REFUSED(echelon_set_real(NULL, "rtol", 1), ECHELON_BAD_ARGUMENT, "solver");
  /* A refused option changes nothing. */
  CHECK(echelon_solve(solver, 1, b, n, x, n, 0, NULL) == ECHELON_SOLVED);
  echelon_free(solver);

  solver = make_solver("auto");
  CHECK_REFUSED(echelon_set(solver, "restart", "3"), ECHELON_BAD_OPTION, "restart");
  CHECK_REFUSED(echelon_set(solver, "methods", "fast"), ECHELON_BAD_OPTION, "fast");
  CHECK(echelon_set(solver, "methods", "direct") == ECHELON_SOLVED);
  CHECK(echelon_set(solver, "rtol", "1e-10") == ECHELON_SOLVED);
  CHECK(echelon_setup(solver, A, &report) == ECHELON_SOLVED);
  CHECK(strlen(echelon_report_text(report, "reason")) > 0);
  echelon_report_free(report);
  CHECK(echelon_solve(solver, 1, b, n, x, n, 0, NULL) == ECHELON_SOLVED);
  CHECK(is_solution(x, 1, 1e-8));
  echelon_free(solver);
  echelon_matrix_free(A);
}

/* y = A x for the symmetric tridiagonal matrix (-1, 4, -1); counts the calls, and fails from `limit` on. */
struct count {
  int calls;
  int limit;
};
static int32_t multiply(void* user, const void* from, void* to) {
  struct count* const count = user;
  const double* const x = from;
  double* const y = to;
  int i;
  for (i = 0; i < n; ++i) y[i] = 4 * x[i] - (i > 0 ? x[i - 1] : 0) - (i + 1 < n ? x[i + 1] : 0);
  return ++count->calls > count->limit;
}
static int32_t divide_by_diagonal(void* user, const void* from, void* to) {
  int i;
  ++*(int*)user;
  for (i = 0; i < n; ++i) ((double*)to)[i] = ((const double*)from)[i] / 4;
  return 0;
}

static void test_operator(void) {
  static const double rhs[] = {2, 4, 6, 13};
  struct count count = {0, 1000};
  int applications = 0;
  double x[n];
  echelon_matrix A = NULL;
  echelon_solver solver = make_solver("cg");
  CHECK(echelon_operator(ECHELON_DOUBLE, n, n, multiply, multiply, &count, NULL, &A) == ECHELON_SOLVED);
  CHECK(echelon_preconditioner_product(solver, divide_by_diagonal, &applications) == ECHELON_SOLVED);
  CHECK(echelon_setup(solver, A, NULL) == ECHELON_SOLVED);
  CHECK(echelon_solve(solver, 1, rhs, n, x, n, 0, NULL) == ECHELON_SOLVED);
  CHECK(is_solution(x, 1, 1e-6));
  CHECK(count.calls > 0 && applications > 0);
  count.limit = count.calls + 1;
  CHECK_REFUSED(echelon_solve(solver, 1, rhs, n, x, n, 0, NULL), ECHELON_CALLBACK_FAILED, "product");
  CHECK_REFUSED(echelon_matrix_values(A, rhs), ECHELON_BAD_ARGUMENT, "operator");
  echelon_free(solver);
  solver = make_solver("sparse-lu");
  CHECK_REFUSED(echelon_setup(solver, A, NULL), ECHELON_BAD_ARGUMENT, "sparse-lu");
  echelon_free(solver);
  echelon_matrix_free(A);
}

/* -Laplace u on 40 x 30 points, periodic along the first axis, with a unit more on the diagonal. */
enum { grid_x = 40, grid_y = 30, points_of_grid = grid_x * grid_y, stencil_size = 5 };

static void test_stencil(void) {
  const int64_t points[2] = {grid_x, grid_y};
  const int32_t boundaries[2] = {ECHELON_PERIODIC, ECHELON_DIRICHLET};
  const int32_t neighbours[3 * stencil_size] = {0, 0, 0, -1, 0, 0, 1, 0, 0, 0, -1, 0, 0, 1, 0};
  const int32_t far[3] = {0, 2, 0};
  const double constants[stencil_size] = {5, -1, -1, -1, -1};
  static double arrays[stencil_size * points_of_grid], rhs[points_of_grid], x[2][points_of_grid];
  const char* const methods[] = {"structured-multigrid", "cg"};
  echelon_matrix A = NULL;
  echelon_matrix variable = NULL;
  int64_t rows = 0, nonzeros = -1;
  int i, k;
  CHECK(echelon_stencil(ECHELON_DOUBLE, 2, points, boundaries, stencil_size, neighbours, ECHELON_CONSTANT,
                        constants, NULL, &A) == ECHELON_SOLVED);
  CHECK(echelon_matrix_size(A, &rows, NULL, &nonzeros) == ECHELON_SOLVED);
  CHECK(rows == points_of_grid && nonzeros == 0);
  CHECK(echelon_matrix_elements(A, 0, NULL, NULL, NULL) == stencil_size * points_of_grid - 2 * grid_x);
  for (i = 0; i < points_of_grid; ++i) rhs[i] = i / grid_x == 0 || i / grid_x == grid_y - 1 ? 2 : 1;
  for (k = 0; k < 2; ++k) {
    echelon_solver solver = make_solver(methods[k]);
    CHECK(echelon_set_real(solver, "rtol", 1e-12) == ECHELON_SOLVED);
    CHECK(echelon_setup(solver, A, NULL) == ECHELON_SOLVED);
    CHECK(echelon_solve(solver, 1, rhs, points_of_grid, x[k], points_of_grid, 0, NULL) == ECHELON_SOLVED);
    for (i = 0; i < points_of_grid; ++i) CHECK(fabs(x[k][i] - 1) < 1e-9);
    echelon_free(solver);
  }
  for (k = 0; k < stencil_size; ++k) {
    for (i = 0; i < points_of_grid; ++i) arrays[k * points_of_grid + i] = constants[k] * (1 + i % 3);
  }
  CHECK(echelon_stencil(ECHELON_DOUBLE, 2, points, boundaries, stencil_size, neighbours, ECHELON_VARIABLE,
                        arrays, NULL, &variable) == ECHELON_SOLVED);
  for (i = 0; i < points_of_grid; ++i) rhs[i] *= 1 + i % 3;
  CHECK(echelon_solve_once(variable, 1, rhs, points_of_grid, x[0], points_of_grid, "method=gmres rtol=1e-12",
                           NULL) == ECHELON_SOLVED);
  for (i = 0; i < points_of_grid; ++i) CHECK(fabs(x[0][i] - 1) < 1e-9);
  CHECK_REFUSED(echelon_matrix_values(A, constants), ECHELON_BAD_ARGUMENT, "stencil");
  echelon_matrix_free(variable);
  echelon_matrix_free(A);
  CHECK_REFUSED(
      echelon_stencil(ECHELON_DOUBLE, 4, points, NULL, 1, neighbours, ECHELON_CONSTANT, constants, NULL, &A),
      ECHELON_INVALID_MATRIX, "4 axes");
  CHECK_REFUSED(
      echelon_stencil(ECHELON_DOUBLE, 2, NULL, NULL, 1, neighbours, ECHELON_CONSTANT, constants, NULL, &A),
      ECHELON_BAD_ARGUMENT, "points");
  CHECK_REFUSED(echelon_stencil(ECHELON_DOUBLE, 2, points, neighbours + 3, 1, neighbours, ECHELON_CONSTANT,
                                constants, NULL, &A),
                ECHELON_BAD_ARGUMENT, "boundary is -1");
  CHECK_REFUSED(
      echelon_stencil(ECHELON_DOUBLE, 2, points, NULL, 1, far, ECHELON_CONSTANT, constants, NULL, &A),
      ECHELON_INVALID_MATRIX, "out of range");
  CHECK_REFUSED(echelon_stencil(ECHELON_DOUBLE, 2, points, NULL, 0, NULL, ECHELON_CONSTANT, NULL, NULL, &A),
                ECHELON_INVALID_MATRIX, "no coefficient");
  CHECK_REFUSED(echelon_stencil(ECHELON_DOUBLE, 2, points, NULL, 1, neighbours, 2, constants, NULL, &A),
                ECHELON_BAD_ARGUMENT, "coefficients");
  CHECK_REFUSED(echelon_stencil(ECHELON_COMPLEX_DOUBLE, 2, points, NULL, 1, neighbours, ECHELON_CONSTANT,
                                constants, NULL, &A),
                ECHELON_BAD_ARGUMENT, "real");
}

static void test_preconditioner(void) {
  echelon_matrix A = make_matrix();
  echelon_solver solver = make_solver("gmres");
  echelon_solver lu = make_solver("sparse-lu");
  echelon_solver single = NULL;
  echelon_report report = NULL;
  double x[n];
  CHECK(echelon_preconditioner(solver, lu) == ECHELON_SOLVED);
  CHECK_REFUSED(echelon_setup(solver, A, NULL), ECHELON_NOT_SET_UP, "echelon_setup");
  CHECK(echelon_setup(lu, A, NULL) == ECHELON_SOLVED);
  CHECK(echelon_setup(solver, A, NULL) == ECHELON_SOLVED);
  CHECK(echelon_solve(solver, 1, b, n, x, n, 0, &report) == ECHELON_SOLVED);
  CHECK(is_solution(x, 1, 1e-10));
  CHECK(echelon_report_number(report, "iterations") <= 2);
  echelon_report_free(report);
  CHECK(echelon_apply(lu, b, x) == ECHELON_SOLVED);
  CHECK(is_solution(x, 1, 1e-12));
  CHECK(echelon_preconditioner(solver, NULL) == ECHELON_SOLVED);
  CHECK(echelon_setup(solver, A, NULL) == ECHELON_SOLVED);
  CHECK(echelon_solve(solver, 1, b, n, x, n, 0, NULL) == ECHELON_SOLVED);

  CHECK(echelon_create("sparse-lu", ECHELON_FLOAT, NULL, &single) == ECHELON_SOLVED);
  CHECK_REFUSED(echelon_preconditioner(solver, single), ECHELON_BAD_ARGUMENT, "scalar");
  CHECK_REFUSED(echelon_preconditioner(solver, solver), ECHELON_BAD_ARGUMENT, "itself");
  CHECK_REFUSED(echelon_setup(single, A, NULL), ECHELON_BAD_ARGUMENT, "scalar");
  CHECK_REFUSED(echelon_apply(single, b, x), ECHELON_NOT_SET_UP, "echelon_setup");
  CHECK_REFUSED(echelon_apply(lu, NULL, x), ECHELON_BAD_ARGUMENT, "r is");
  CHECK_REFUSED(echelon_apply(lu, b, NULL), ECHELON_BAD_ARGUMENT, "z is");
  CHECK_REFUSED(echelon_preconditioner_product(NULL, divide_by_diagonal, NULL), ECHELON_BAD_ARGUMENT,
                "solver");
  echelon_free(single);
  echelon_free(lu);
  echelon_free(solver);
  echelon_matrix_free(A);
}

static void test_near_null_space(void) {
  static const double ones[] = {1, 1, 1, 1};
  double x[n];
  echelon_matrix A = make_matrix();
  echelon_solver solver = make_solver("amg");
  CHECK(echelon_near_null_space(solver, n, 1, ones, n) == ECHELON_SOLVED);
  CHECK(echelon_setup(solver, A, NULL) == ECHELON_SOLVED);
  CHECK(echelon_near_null_space(solver, n - 1, 1, ones, n) == ECHELON_SOLVED);
  CHECK_REFUSED(echelon_setup(solver, A, NULL), ECHELON_DIMENSION_MISMATCH, "rows");
  CHECK(echelon_solve(solver, 1, b, n, x, n, 0, NULL) == ECHELON_NOT_SET_UP);
  CHECK_REFUSED(echelon_near_null_space(solver, n, 1, ones, n - 1), ECHELON_DIMENSION_MISMATCH, "leading");
  CHECK_REFUSED(echelon_near_null_space(solver, -1, 1, ones, n), ECHELON_BAD_ARGUMENT, "rows");
  CHECK_REFUSED(echelon_near_null_space(solver, n, -1, ones, n), ECHELON_BAD_ARGUMENT, "columns");
  CHECK_REFUSED(echelon_near_null_space(solver, n, 1, NULL, n), ECHELON_BAD_ARGUMENT, "vectors");
  echelon_free(solver);
  echelon_matrix_free(A);
}

struct stopping {
  echelon_solver solver;
  int calls;
  int analyses;
  int by_cancel;
};
static int32_t stop(void* user, int32_t phase, double fraction, int64_t iteration, double relative_residual,
                    double tolerance) {
  struct stopping* const stopping = user;
  if (phase != ECHELON_SOLVE) {
    CHECK(phase == ECHELON_ANALYSIS || phase == ECHELON_SETUP);
    CHECK(fraction >= 0 && fraction <= 1 && iteration == 0 && relative_residual == 1);
    stopping->analyses += phase == ECHELON_ANALYSIS;
    return 0;
  }
  ++stopping->calls;
  CHECK(fraction == -1 && iteration >= 0 && relative_residual >= 0 && tolerance > 0);
  if (!stopping->by_cancel) return 1;
  echelon_cancel(stopping->solver);
  return 0;
}

static void test_progress_and_cancellation(void) {
  echelon_matrix A = make_matrix();
  struct stopping stopping = {NULL, 0, 0, 0};
  double x[n];
  stopping.solver = make_solver("gmres");
  CHECK(echelon_on_progress(stopping.solver, stop, &stopping) == ECHELON_SOLVED);
  CHECK(echelon_analyze(stopping.solver, A, NULL) == ECHELON_SOLVED);
  CHECK(stopping.analyses >= 2);
  CHECK(echelon_setup(stopping.solver, A, NULL) == ECHELON_SOLVED);
  CHECK(echelon_solve(stopping.solver, 1, b, n, x, n, 0, NULL) == ECHELON_CANCELLED);
  CHECK(stopping.calls >= 1);
  stopping.by_cancel = 1;
  CHECK(echelon_solve(stopping.solver, 1, b, n, x, n, 0, NULL) == ECHELON_CANCELLED);
  /* The next call starts afresh, also after a request that came between calls. */
  echelon_cancel(stopping.solver);
  CHECK(echelon_on_progress(stopping.solver, NULL, NULL) == ECHELON_SOLVED);
  CHECK(echelon_solve(stopping.solver, 1, b, n, x, n, 0, NULL) == ECHELON_SOLVED);
  CHECK_REFUSED(echelon_on_progress(NULL, stop, NULL), ECHELON_BAD_ARGUMENT, "solver");
  echelon_cancel(NULL);
  echelon_free(stopping.solver);
  echelon_matrix_free(A);
}

/* The x of each iteration of two right-hand sides. */
enum { most_iterations = 20 };
struct iterates {
  int counts[2];
  double x[2][most_iterations + 1][n];
  int64_t stop_at;
};
static int32_t keep_iterate(void* user, int64_t right_hand_side, int64_t iteration, const void* x) {
  struct iterates* const kept = user;
  CHECK(right_hand_side >= 0 && right_hand_side < 2 && iteration >= 0 && iteration <= most_iterations);
  memcpy(kept->x[right_hand_side][iteration], x, n * sizeof(double));
  kept->counts[right_hand_side] = (int)iteration;
  return iteration == kept->stop_at;
}

/* The x of iteration k is that of a solve of k iterations. */
static void test_iterates(void) {
  static const char* const methods[] = {"gmres", "bicgstab", "cg"};
  const double pair[] = {0, 1, 2, 13, 0.5, -1, 3, 2};
  echelon_matrix A = make_matrix();
  size_t m;
  for (m = 0; m < sizeof methods / sizeof methods[0]; ++m) {
    struct iterates kept = {{0, 0}, {{{0}}}, -1};
    echelon_solver solver = make_solver(methods[m]);
    double x[2 * n], shorter[n];
    int side, k;
    CHECK(echelon_set_integer(solver, "max_iterations", most_iterations) == ECHELON_SOLVED);
    CHECK(echelon_setup(solver, A, NULL) == ECHELON_SOLVED);
    CHECK(echelon_on_iterate(solver, keep_iterate, &kept) == ECHELON_SOLVED);
    CHECK(echelon_solve(solver, 2, pair, n, x, n, 0, NULL) >= ECHELON_SOLVED);
    CHECK(echelon_on_iterate(solver, NULL, NULL) == ECHELON_SOLVED);
    for (side = 0; side < 2; ++side) {
      CHECK(kept.counts[side] >= 3);
      for (k = 1; k < 3; ++k) {
        CHECK(echelon_set_integer(solver, "max_iterations", k) == ECHELON_SOLVED);
        CHECK(echelon_solve(solver, 1, pair + side * n, n, shorter, n, 0, NULL) == ECHELON_MAX_ITERATIONS);
        CHECK(memcmp(kept.x[side][k], shorter, sizeof shorter) == 0);
      }
    }
    /* A callback may end the solve, also next to one of progress. */
    CHECK(echelon_set_integer(solver, "max_iterations", most_iterations) == ECHELON_SOLVED);
    kept.stop_at = 1;
    CHECK(echelon_on_iterate(solver, keep_iterate, &kept) == ECHELON_SOLVED);
    CHECK(echelon_solve(solver, 1, pair, n, x, n, 0, NULL) == ECHELON_CANCELLED);
    CHECK(kept.counts[0] == 1);
    echelon_free(solver);
  }
  CHECK_REFUSED(echelon_on_iterate(NULL, keep_iterate, NULL), ECHELON_BAD_ARGUMENT, "solver");
  echelon_matrix_free(A);
}

/* A solver that several threads use at once, each with an error of its own. */
struct concurrent {
  echelon_solver solver;
  int k;
  int solved;
};
static void* solve_and_fail(void* user) {
  struct concurrent* const task = user;
  double rhs[n], x[n];
  char word[32];
  int i, turn;
  task->solved = 1;
  sprintf(word, "leading_b is %d", -task->k);
  for (turn = 0; turn < 50; ++turn) {
    for (i = 0; i < n; ++i) rhs[i] = task->k * b[i];
    task->solved &= echelon_solve(task->solver, 1, rhs, n, x, n, 0, NULL) == ECHELON_SOLVED;
    task->solved &= is_solution(x, task->k, 1e-10);
    task->solved &= echelon_apply(task->solver, rhs, x) == ECHELON_SOLVED;
    task->solved &= is_solution(x, task->k, 1e-10);
    task->solved &=
        echelon_solve(task->solver, 1, rhs, -task->k, x, n, 0, NULL) == ECHELON_DIMENSION_MISMATCH;
    task->solved &= strstr(echelon_last_error(), word) != NULL;
  }
  return NULL;
}

static void test_concurrent_solves(void) {
  struct concurrent tasks[4];
  pthread_t threads[4];
  echelon_matrix A = make_matrix();
  echelon_solver solver = make_solver("sparse-lu");
  int k;
  CHECK(echelon_setup(solver, A, NULL) == ECHELON_SOLVED);
  for (k = 0; k < 4; ++k) {
    tasks[k].solver = solver;
    tasks[k].k = k + 1;
    CHECK(pthread_create(&threads[k], NULL, solve_and_fail, &tasks[k]) == 0);
  }
  for (k = 0; k < 4; ++k) {
    CHECK(pthread_join(threads[k], NULL) == 0);
    CHECK(tasks[k].solved);
  }
  echelon_free(solver);
  echelon_matrix_free(A);
}

/* Arguments of echelon_compressed. */
struct arrays {
  int32_t order, scalar;
  int64_t rows, columns, entries;
  int32_t offset_type;
  const void* offsets;
  int32_t index_type;
  const void* indices;
  const void* values;
  int32_t base, part;
  const char* device;
};
static int32_t compress(const struct arrays* a, echelon_matrix* A) {
  return echelon_compressed(a->order, a->scalar, a->rows, a->columns, a->entries, a->offset_type, a->offsets,
                            a->index_type, a->indices, a->values, a->base, a->part, a->device, A);
}
/* A matrix with one argument changed. */
#define CHECK_REFUSED_WITH(member, value, code, word)  \
  do {                                                 \
    struct arrays changed = valid;                     \
    changed.member = value;                            \
    CHECK_REFUSED(compress(&changed, &A), code, word); \
    CHECK(A == NULL);                                  \
  } while (0)

static void test_misuse_of_matrices(void) {
  static const int32_t decreasing[] = {0, 2, 1, 8, 10};
  static const int32_t outside[] = {0, 1, 0, 1, 2, 1, 2, 4, 2, 3};
  const struct arrays valid = {
      ECHELON_BY_ROWS, ECHELON_DOUBLE, n,      n, 10,           ECHELON_INT32, offsets,
      ECHELON_INT32,   columns,        values, 0, ECHELON_FULL, NULL};
  echelon_matrix A = (echelon_matrix)(void*)&failures;
  CHECK_REFUSED_WITH(order, 3, ECHELON_BAD_ARGUMENT, "order");
  CHECK_REFUSED_WITH(scalar, 9, ECHELON_BAD_ARGUMENT, "scalar");
  CHECK_REFUSED_WITH(scalar, ECHELON_COMPLEX_FLOAT, ECHELON_NOT_BUILT, "complex");
  CHECK_REFUSED_WITH(rows, -1, ECHELON_BAD_ARGUMENT, "negative");
  CHECK_REFUSED_WITH(columns, -1, ECHELON_BAD_ARGUMENT, "negative");
  CHECK_REFUSED_WITH(entries, -1, ECHELON_BAD_ARGUMENT, "negative");
  CHECK_REFUSED_WITH(entries, 11, ECHELON_INVALID_MATRIX, "11");
  CHECK_REFUSED_WITH(offset_type, 16, ECHELON_BAD_ARGUMENT, "16");
  CHECK_REFUSED_WITH(index_type, 16, ECHELON_BAD_ARGUMENT, "16");
  CHECK_REFUSED_WITH(offsets, NULL, ECHELON_BAD_ARGUMENT, "offsets");
  CHECK_REFUSED_WITH(indices, NULL, ECHELON_BAD_ARGUMENT, "indices");
  CHECK_REFUSED_WITH(values, NULL, ECHELON_BAD_ARGUMENT, "values");
  CHECK_REFUSED_WITH(base, 2, ECHELON_BAD_ARGUMENT, "base");
  CHECK_REFUSED_WITH(base, 1, ECHELON_INVALID_MATRIX, "");
  CHECK_REFUSED_WITH(part, 7, ECHELON_BAD_ARGUMENT, "part");
  CHECK_REFUSED_WITH(part, ECHELON_LOWER, ECHELON_INVALID_MATRIX, "");
  CHECK_REFUSED_WITH(device, "gpu", ECHELON_BAD_OPTION, "gpu");
  CHECK_REFUSED_WITH(offsets, decreasing, ECHELON_INVALID_MATRIX, "");
  CHECK_REFUSED_WITH(indices, outside, ECHELON_INVALID_MATRIX, "4");
  CHECK_REFUSED(compress(&valid, NULL), ECHELON_BAD_ARGUMENT, "result");
  CHECK_REFUSED(echelon_triplets(ECHELON_DOUBLE, n, n, 10, 32, NULL, columns, values, 0, 0, NULL, &A),
                ECHELON_BAD_ARGUMENT, "row_indices");
  CHECK_REFUSED(echelon_triplets(ECHELON_DOUBLE, n, n, 10, 32, columns, NULL, values, 0, 0, NULL, &A),
                ECHELON_BAD_ARGUMENT, "column_indices");
  CHECK_REFUSED(echelon_triplets(ECHELON_DOUBLE, n, n, 10, 32, columns, outside, values, 0, 0, NULL, &A),
                ECHELON_INVALID_MATRIX, "4");
  CHECK_REFUSED(echelon_dense(ECHELON_BY_ROWS, ECHELON_DOUBLE, 2, 3, values, 2, NULL, &A),
                ECHELON_DIMENSION_MISMATCH, "leading");
  CHECK_REFUSED(echelon_dense(ECHELON_BY_ROWS, ECHELON_DOUBLE, 2, 3, NULL, 3, NULL, &A), ECHELON_BAD_ARGUMENT,
                "values");
  CHECK_REFUSED(echelon_dense(0, ECHELON_DOUBLE, 2, 3, values, 3, NULL, &A), ECHELON_BAD_ARGUMENT, "order");
  CHECK_REFUSED(echelon_operator(ECHELON_DOUBLE, n, n, NULL, NULL, NULL, NULL, &A), ECHELON_BAD_ARGUMENT,
                "product");
  CHECK_REFUSED(echelon_operator(ECHELON_DOUBLE, n, -n, multiply, NULL, NULL, NULL, &A), ECHELON_BAD_ARGUMENT,
                "negative");
  CHECK_REFUSED(echelon_read("missing.mtx", ECHELON_DOUBLE, &A), ECHELON_PARSE_ERROR, "missing.mtx");
  CHECK_REFUSED(echelon_read(NULL, ECHELON_DOUBLE, &A), ECHELON_BAD_ARGUMENT, "file");
  CHECK_REFUSED(echelon_matrix_size(NULL, NULL, NULL, NULL), ECHELON_BAD_ARGUMENT, "A is");
  CHECK_REFUSED(echelon_matrix_values(NULL, values), ECHELON_BAD_ARGUMENT, "A is");
  A = make_matrix();
  CHECK_REFUSED(echelon_matrix_values(A, NULL), ECHELON_BAD_ARGUMENT, "values");
  echelon_matrix_free(A);
  echelon_matrix_free(NULL);
  /* A matrix without rows needs no arrays of elements. */
  CHECK(echelon_triplets(ECHELON_DOUBLE, 0, 0, 0, ECHELON_INT32, NULL, NULL, NULL, 0, ECHELON_FULL, NULL,
                         &A) == ECHELON_SOLVED);
  CHECK(echelon_solve_once(A, 1, NULL, 0, NULL, 0, NULL, NULL) == ECHELON_SOLVED);
  echelon_matrix_free(A);
}

static void test_misuse_of_solvers(void) {
  echelon_matrix A = make_matrix();
  echelon_solver solver = (echelon_solver)(void*)&failures;
  echelon_report report = (echelon_report)(void*)&failures;
  double x[2 * n] = {0};
  CHECK_REFUSED(echelon_create("spares-lu", ECHELON_DOUBLE, NULL, &solver), ECHELON_BAD_OPTION, "sparse-lu");
  CHECK(solver == NULL);
  CHECK_REFUSED(echelon_create(NULL, ECHELON_DOUBLE, NULL, &solver), ECHELON_BAD_ARGUMENT, "method");
  CHECK_REFUSED(echelon_create("lu", ECHELON_DOUBLE, NULL, NULL), ECHELON_BAD_ARGUMENT, "result");
  CHECK_REFUSED(echelon_create("lu", 0, NULL, &solver), ECHELON_BAD_ARGUMENT, "scalar");
  CHECK_REFUSED(echelon_create("lu", ECHELON_COMPLEX_FLOAT, NULL, &solver), ECHELON_NOT_BUILT, "complex");
  CHECK_REFUSED(echelon_create("lu", ECHELON_DOUBLE, "gpu", &solver), ECHELON_BAD_OPTION, "gpu");

  solver = make_solver("sparse-lu");
  CHECK_REFUSED(echelon_solve(solver, 1, b, n, x, n, 0, &report), ECHELON_NOT_SET_UP, "echelon_setup");
  CHECK(report == NULL);
  CHECK_REFUSED(echelon_update(solver, A, NULL), ECHELON_NOT_SET_UP, "echelon_setup");
  CHECK_REFUSED(echelon_setup(solver, NULL, NULL), ECHELON_BAD_ARGUMENT, "A is");
  CHECK_REFUSED(echelon_setup(NULL, A, NULL), ECHELON_BAD_ARGUMENT, "solver is");
  CHECK_REFUSED(echelon_analyze(NULL, A, NULL), ECHELON_BAD_ARGUMENT, "solver is");
  CHECK_REFUSED(echelon_update(NULL, A, NULL), ECHELON_BAD_ARGUMENT, "solver is");
  /* Handles of another kind. */
  CHECK_REFUSED(echelon_setup((echelon_solver)(void*)A, A, NULL), ECHELON_BAD_ARGUMENT, "solver is");
  CHECK_REFUSED(echelon_setup(solver, (echelon_matrix)(void*)solver, NULL), ECHELON_BAD_ARGUMENT, "A is");
  CHECK(echelon_setup(solver, A, NULL) == ECHELON_SOLVED);
  CHECK_REFUSED(echelon_solve(NULL, 1, b, n, x, n, 0, NULL), ECHELON_BAD_ARGUMENT, "solver is");
  CHECK_REFUSED(echelon_solve(solver, -1, b, n, x, n, 0, NULL), ECHELON_BAD_ARGUMENT, "columns");
  CHECK_REFUSED(echelon_solve(solver, 1, NULL, n, x, n, 0, NULL), ECHELON_BAD_ARGUMENT, "b is");
  CHECK_REFUSED(echelon_solve(solver, 1, b, n, NULL, n, 0, NULL), ECHELON_BAD_ARGUMENT, "x is");
  CHECK_REFUSED(echelon_solve(solver, 1, b, n - 1, x, n, 0, NULL), ECHELON_DIMENSION_MISMATCH, "leading_b");
  CHECK_REFUSED(echelon_solve(solver, 1, b, n, x, n - 1, 0, NULL), ECHELON_DIMENSION_MISMATCH, "leading_x");
  CHECK_REFUSED(echelon_solve(solver, 2, b, 1, x, 2, ECHELON_ROW_MAJOR, NULL), ECHELON_DIMENSION_MISMATCH,
                "leading_b");
  CHECK_REFUSED(echelon_solve(solver, 1, b, n, x, n, 16, NULL), ECHELON_BAD_ARGUMENT, "flags");
  CHECK_REFUSED(echelon_solve(solver, 1, x, n, x + 1, n, 0, NULL), ECHELON_OVERLAPPING_OPERANDS, "");
  CHECK(echelon_solve(solver, 0, NULL, n, NULL, n, 0, NULL) == ECHELON_SOLVED);
  CHECK(echelon_bytes(NULL) == ECHELON_BAD_ARGUMENT);
  echelon_free(solver);
  echelon_free(NULL);

  CHECK_REFUSED(echelon_solve_once(NULL, 1, b, n, x, n, NULL, NULL), ECHELON_BAD_ARGUMENT, "A is");
  CHECK_REFUSED(echelon_solve_once(A, 1, b, n, x, n, "method", NULL), ECHELON_BAD_OPTION, "NAME=VALUE");
  CHECK_REFUSED(echelon_solve_once(A, 1, b, n, x, n, "=3", NULL), ECHELON_BAD_OPTION, "NAME=VALUE");
  CHECK_REFUSED(echelon_solve_once(A, 1, b, n, x, n, "method=gcc", NULL), ECHELON_BAD_OPTION, "gcc");
  CHECK_REFUSED(echelon_solve_once(A, 1, b, n, x, n, "method=cg rtol=x", NULL), ECHELON_BAD_OPTION, "rtol");
  CHECK_REFUSED(echelon_solve_once(A, 1, b, 3, x, n, NULL, NULL), ECHELON_DIMENSION_MISMATCH, "leading_b");
  echelon_matrix_free(A);
}

static void test_misuse_of_reports(void) {
  echelon_matrix A = make_matrix();
  echelon_report report = NULL;
  double x[n];
  CHECK(echelon_solve_once(A, 1, b, n, x, n, NULL, &report) == ECHELON_SOLVED);
  CHECK(echelon_report_code(NULL) == ECHELON_BAD_ARGUMENT);
  CHECK(echelon_report_code((echelon_report)(void*)A) == ECHELON_BAD_ARGUMENT);
  CHECK(isnan(echelon_report_number(NULL, "iterations")) && isnan(echelon_report_number(report, NULL)));
  CHECK(echelon_report_text(NULL, "status") == NULL && echelon_report_text(report, NULL) == NULL);
  CHECK(echelon_report_history(NULL, 0, NULL) == ECHELON_BAD_ARGUMENT);
  CHECK(echelon_report_history(report, -1, x) == ECHELON_BAD_ARGUMENT);
  CHECK(echelon_report_history(report, 1, NULL) == ECHELON_BAD_ARGUMENT);
  CHECK(echelon_report_json(NULL) == NULL);
  echelon_report_free(report);
  echelon_report_free(NULL);
  echelon_matrix_free(A);
}

/* The memory of a freed handle is read, which tools that check memory report. */
static void test_freed_handles(void) {
  double x[n];
  echelon_matrix A = make_matrix();
  echelon_solver solver = make_solver("sparse-lu");
  CHECK(echelon_setup(solver, A, NULL) == ECHELON_SOLVED);
  echelon_free(solver);
  CHECK(echelon_solve(solver, 1, b, n, x, n, 0, NULL) == ECHELON_BAD_ARGUMENT);
  echelon_free(solver);
  echelon_matrix_free(A);
  CHECK(echelon_matrix_size(A, NULL, NULL, NULL) == ECHELON_BAD_ARGUMENT);
  echelon_matrix_free(A);
}

static void test_larger_than_memory(void) {
  int64_t size = 0;
  echelon_matrix A = NULL;
  struct count count = {0, 1000};
  echelon_solver solver = make_solver("cg");
  /* 2^50 rows: vectors of 8 PiB. */
  CHECK(echelon_operator(ECHELON_DOUBLE, (int64_t)1 << 50, (int64_t)1 << 50, multiply, NULL, &count, NULL,
                         &A) == ECHELON_SOLVED);
  CHECK(echelon_matrix_size(A, &size, NULL, NULL) == ECHELON_SOLVED && size == (int64_t)1 << 50);
  size = echelon_setup(solver, A, NULL);
  CHECK(size == ECHELON_OUT_OF_MEMORY || size == ECHELON_MEMORY_EXHAUSTED || size == ECHELON_INVALID_MATRIX);
  echelon_free(solver);
  echelon_matrix_free(A);
}

/* The elements of a matrix of order n as a dense one, and whether there is a matrix. */
static int dense_of(echelon_matrix A, double* dense) {
  int64_t rows[n * n], width[n * n], count, k;
  double elements[n * n];
  memset(dense, 0, n * n * sizeof *dense);
  if (A == NULL) return 0;
  count = echelon_matrix_elements(A, n * n, rows, width, elements);
  CHECK(count >= 0 && count <= n * n);
  for (k = 0; k < count; ++k) dense[rows[k] * n + width[k]] = elements[k];
  return 1;
}

/* product = product M for the matrix of the handle, or product itself where there is none; frees it. */
static void multiply_by(double* product, echelon_matrix M) {
  double factor[n * n], result[n * n] = {0};
  int i, j, k;
  if (!dense_of(M, factor)) return;
  for (i = 0; i < n; ++i)
    for (k = 0; k < n; ++k)
      for (j = 0; j < n; ++j) result[i * n + j] += product[i * n + k] * factor[k * n + j];
  memcpy(product, result, sizeof result);
  echelon_matrix_free(M);
}

/* P R A C Q = L U for a method that has these factors. */
static void check_factors(const char* method) {
  echelon_matrix A = make_matrix(), factors[7];
  echelon_solver solver = make_solver(method);
  double left[n * n] = {0}, right[n * n] = {0};
  int i;
  for (i = 0; i < n; ++i) left[i * n + i] = right[i * n + i] = 1;
  CHECK(echelon_factors(solver, "L", factors) == ECHELON_NOT_SET_UP && factors[0] == NULL);
  CHECK(echelon_setup(solver, A, NULL) == ECHELON_SOLVED);
  CHECK(echelon_factors(solver, "PRCQLUF", factors) == ECHELON_SOLVED);
  CHECK(factors[4] != NULL && factors[5] != NULL && factors[6] == NULL);
  CHECK_REFUSED(echelon_factors(solver, "LX", factors + 6), ECHELON_BAD_ARGUMENT, "'X'");
  CHECK_REFUSED(echelon_factors(solver, NULL, factors + 6), ECHELON_BAD_ARGUMENT, "names");
  CHECK_REFUSED(echelon_factors(solver, "L", NULL), ECHELON_BAD_ARGUMENT, "factors");
  echelon_free(solver);
  multiply_by(left, factors[0]);
  multiply_by(left, factors[1]);
  multiply_by(left, A);
  multiply_by(left, factors[2]);
  multiply_by(left, factors[3]);
  multiply_by(right, factors[4]);
  multiply_by(right, factors[5]);
  for (i = 0; i < n * n; ++i) CHECK(fabs(left[i] - right[i]) < 1e-14);
}

static void test_factors(void) {
  echelon_matrix A = make_matrix(), factors[2];
  echelon_solver solver = make_solver("gauss-jordan");
  check_factors("lu");
  check_factors("sparse-lu");
  check_factors("crout");
  check_factors("crout-blocked");
  CHECK(echelon_setup(solver, A, NULL) == ECHELON_SOLVED);
  CHECK_REFUSED(echelon_factors(solver, "LU", factors), ECHELON_BAD_ARGUMENT, "no factors");
  CHECK(factors[0] == NULL && factors[1] == NULL);
  echelon_free(solver);
  echelon_matrix_free(A);
}

/* The determinant of a tridiagonal matrix is that of its leading minors d_k = 4 d_{k-1} - 2 d_{k-2}. */
static void test_determinant(void) {
  static const char* const methods[] = {"lu", "sparse-lu", "gauss-jordan", "qr", "banded-lu"};
  const double eighth = atan(1) / 2; /* pi / 8 */
  double expected = 4, previous = 1, sign = 0, imaginary = 0, logarithm = 0;
  double elements[20], exchanged[] = {0, 3, 2, 0};
  echelon_matrix A = make_matrix();
  echelon_solver solver = make_solver("lu");
  size_t m;
  int i;
  for (i = 1; i < n; ++i) {
    const double next = 4 * expected - 2 * previous;
    previous = expected;
    expected = next;
  }
  CHECK_REFUSED(echelon_determinant(solver, &sign, NULL, NULL), ECHELON_NOT_SET_UP, "echelon_setup");
  echelon_free(solver);
  for (m = 0; m < sizeof methods / sizeof methods[0]; ++m) {
    solver = make_solver(methods[m]);
    CHECK(echelon_setup(solver, A, NULL) == ECHELON_SOLVED);
    CHECK(echelon_determinant(solver, &sign, &imaginary, &logarithm) == ECHELON_SOLVED);
    CHECK(sign == 1 && imaginary == 0 && fabs(logarithm - log(expected)) < 1e-14);
    CHECK(echelon_determinant(solver, NULL, NULL, NULL) == ECHELON_SOLVED);
    echelon_free(solver);
  }
  solver = make_solver("gmres");
  CHECK(echelon_setup(solver, A, NULL) == ECHELON_SOLVED);
  CHECK_REFUSED(echelon_determinant(solver, &sign, NULL, NULL), ECHELON_BAD_ARGUMENT, "gmres");
  echelon_free(solver);
  echelon_matrix_free(A);

  /* (0 2; 3 0), and a matrix of zeros. */
  solver = make_solver("lu");
  CHECK(echelon_dense(ECHELON_BY_COLUMNS, ECHELON_DOUBLE, 2, 2, exchanged, 2, NULL, &A) == ECHELON_SOLVED);
  CHECK(echelon_setup(solver, A, NULL) == ECHELON_SOLVED);
  CHECK(echelon_determinant(solver, &sign, NULL, &logarithm) == ECHELON_SOLVED);
  CHECK(sign == -1 && fabs(logarithm - log(6)) < 1e-14);
  exchanged[1] = 0;
  CHECK(echelon_update(solver, A, NULL) == ECHELON_SINGULAR);
  CHECK(echelon_determinant(solver, &sign, NULL, &logarithm) == ECHELON_SOLVED);
  CHECK(sign == 0 && isinf(logarithm) && logarithm < 0);
  echelon_free(solver);
  echelon_matrix_free(A);

  /* exp(i pi / 8) A, whose determinant has the phase i. */
  for (i = 0; i < 10; ++i) {
    elements[2 * i] = values[i] * cos(eighth);
    elements[2 * i + 1] = values[i] * sin(eighth);
  }
  CHECK(echelon_compressed(ECHELON_BY_ROWS, ECHELON_COMPLEX_DOUBLE, n, n, 10, ECHELON_INT32, offsets,
                           ECHELON_INT32, columns, elements, 0, ECHELON_FULL, NULL, &A) == ECHELON_SOLVED);
  CHECK(echelon_create("sparse-lu", ECHELON_COMPLEX_DOUBLE, NULL, &solver) == ECHELON_SOLVED);
  CHECK(echelon_setup(solver, A, NULL) == ECHELON_SOLVED);
  CHECK(echelon_determinant(solver, &sign, &imaginary, &logarithm) == ECHELON_SOLVED);
  CHECK(fabs(sign) < 1e-14 && fabs(imaginary - 1) < 1e-14 && fabs(logarithm - log(expected)) < 1e-14);
  echelon_free(solver);
  echelon_matrix_free(A);
}

/* diag(3, -2, 5, -7) has two eigenvalues of each sign. */
static void test_inertia(void) {
  static const int32_t every[] = {0, 1, 2, 3, 4};
  static const double diagonal[] = {3, -2, 5, -7};
  static const double positive_diagonal[] = {3, 2, 5, 7};
  int64_t positive = -1, negative = -1, zero = -1;
  echelon_matrix A = NULL;
  echelon_solver solver = make_solver("sparse-ldlt");
  CHECK(echelon_compressed(ECHELON_BY_ROWS, ECHELON_DOUBLE, n, n, n, ECHELON_INT32, every, ECHELON_INT32,
                           every, diagonal, 0, ECHELON_FULL, NULL, &A) == ECHELON_SOLVED);
  CHECK_REFUSED(echelon_inertia(solver, &positive, NULL, NULL), ECHELON_NOT_SET_UP, "echelon_setup");
  CHECK(echelon_setup(solver, A, NULL) == ECHELON_SOLVED);
  CHECK(echelon_inertia(solver, &positive, &negative, &zero) == ECHELON_SOLVED);
  CHECK(positive == 2 && negative == 2 && zero == 0);
  CHECK(echelon_inertia(solver, NULL, NULL, NULL) == ECHELON_SOLVED);
  echelon_free(solver);
  solver = make_solver("sparse-lu");
  CHECK(echelon_setup(solver, A, NULL) == ECHELON_SOLVED);
  CHECK_REFUSED(echelon_inertia(solver, &positive, NULL, NULL), ECHELON_BAD_ARGUMENT, "sparse-lu");
  echelon_free(solver);
  solver = make_solver("sparse-cholesky");
  CHECK(echelon_matrix_values(A, positive_diagonal) == ECHELON_SOLVED);
  CHECK(echelon_setup(solver, A, NULL) == ECHELON_SOLVED);
  CHECK(echelon_inertia(solver, &positive, &negative, &zero) == ECHELON_SOLVED);
  CHECK(positive == n && negative == 0 && zero == 0);
  echelon_free(solver);
  echelon_matrix_free(A);
}

static void test_matrix_elements(void) {
  const double dense[] = {0, 3, 5, 0}; /* (0 5; 3 0), column-major */
  int64_t rows[2] = {-1, -1}, width[2] = {-1, -1};
  double elements[2];
  struct count count = {0, 1000};
  char file[] = "interface_test_elements.mtx";
  echelon_matrix A = NULL, copy = NULL;
  CHECK(echelon_dense(ECHELON_BY_COLUMNS, ECHELON_DOUBLE, 2, 2, dense, 2, NULL, &A) == ECHELON_SOLVED);
  CHECK(echelon_matrix_elements(A, 0, NULL, NULL, NULL) == 2);
  CHECK(echelon_matrix_elements(A, 1, rows, width, elements) == 2 && rows[0] == 0 && rows[1] == -1);
  CHECK(echelon_matrix_elements(A, 2, rows, width, elements) == 2);
  CHECK(rows[0] == 0 && width[0] == 1 && elements[0] == 5 && rows[1] == 1 && width[1] == 0 &&
        elements[1] == 3);
  CHECK_REFUSED(echelon_matrix_elements(A, -1, rows, width, elements), ECHELON_BAD_ARGUMENT, "-1");
  CHECK_REFUSED(echelon_matrix_elements(A, 2, rows, NULL, elements), ECHELON_BAD_ARGUMENT, "columns");
  CHECK(echelon_matrix_elements(NULL, 0, NULL, NULL, NULL) == ECHELON_BAD_ARGUMENT);
  CHECK(echelon_write(A, file) == ECHELON_SOLVED);
  CHECK(echelon_read(file, ECHELON_DOUBLE, &copy) == ECHELON_SOLVED);
  CHECK(echelon_matrix_elements(copy, 2, rows, width, elements) == 2 && elements[0] == 5);
  CHECK(remove(file) == 0);
  CHECK(echelon_write(A, "no/such/folder/A.mtx") == ECHELON_PARSE_ERROR);
  CHECK(echelon_write(A, "A.unknown") == ECHELON_BAD_OPTION);
  CHECK_REFUSED(echelon_write(A, NULL), ECHELON_BAD_ARGUMENT, "file");
  echelon_matrix_free(copy);
  echelon_matrix_free(A);
  CHECK(echelon_operator(ECHELON_DOUBLE, 1, 1, multiply, NULL, &count, NULL, &A) == ECHELON_SOLVED);
  CHECK(echelon_matrix_elements(A, 0, NULL, NULL, NULL) == ECHELON_BAD_ARGUMENT);
  CHECK(echelon_write(A, file) == ECHELON_BAD_ARGUMENT);
  echelon_matrix_free(A);
}

static void test_map(void) {
  echelon_matrix A = make_matrix();
  echelon_solver solver = make_solver("mapped-echelon");
  echelon_report report = NULL;
  int64_t rows[n] = {-2, -2, -2, -2};
  int i, seen = 0;
  CHECK(echelon_setup(solver, A, &report) == ECHELON_SOLVED);
  CHECK(echelon_report_map(report, 0, NULL) == n);
  CHECK(echelon_report_map(report, 1, rows) == n && rows[1] == -2);
  CHECK(echelon_report_map(report, n, rows) == n);
  for (i = 0; i < n; ++i) seen |= 1 << rows[i];
  CHECK(seen == (1 << n) - 1);
  CHECK_REFUSED(echelon_report_map(report, 1, NULL), ECHELON_BAD_ARGUMENT, "rows");
  CHECK(echelon_report_map(NULL, 0, NULL) == ECHELON_BAD_ARGUMENT);
  echelon_report_free(report);
  CHECK(echelon_solve_once(A, 1, b, n, (double[n]){0}, n, "method=lu", &report) == ECHELON_SOLVED);
  CHECK(echelon_report_map(report, 0, NULL) == 0);
  echelon_report_free(report);
  echelon_free(solver);
  echelon_matrix_free(A);
}

/* Systems s = 0, 1, 2 with the matrix (s + 1) A and the solution (1 2 3 4). */
static void test_batch(void) {
  enum { systems = 3, nonzeros = 10 };
  double elements[systems * nonzeros], rhs[systems * n], x[systems * n], errors[systems];
  int32_t codes[systems];
  echelon_matrix A = make_matrix(), other = NULL;
  echelon_batch batch = NULL;
  int s, k;
  for (s = 0; s < systems; ++s) {
    for (k = 0; k < nonzeros; ++k) elements[s * nonzeros + k] = (s + 1) * values[k];
    for (k = 0; k < n; ++k) rhs[s * n + k] = (s + 1) * b[k];
  }
  CHECK(echelon_batch_create(A, &batch) == ECHELON_SOLVED);
  echelon_matrix_free(A);
  CHECK(echelon_batch_solve(batch, systems, elements, 1, rhs, x, codes, errors) == ECHELON_SOLVED);
  for (s = 0; s < systems; ++s)
    CHECK(codes[s] == ECHELON_SOLVED && errors[s] < 1e-14 && is_solution(x + s * n, 1, 1e-12));
  CHECK(echelon_batch_solve(batch, systems, elements, 1, rhs, rhs, NULL, NULL) == ECHELON_SOLVED);
  CHECK(is_solution(rhs + n, 1, 1e-12));
  CHECK(echelon_batch_solve(batch, 0, NULL, 1, NULL, NULL, NULL, NULL) == ECHELON_SOLVED);
  /* The first row of the second matrix is zero, and the third has a NaN. */
  elements[nonzeros] = elements[nonzeros + 1] = 0;
  elements[2 * nonzeros] = NAN;
  for (k = 0; k < n; ++k) rhs[k] = b[k];
  CHECK(echelon_batch_solve(batch, systems, elements, 1, rhs, x, codes, NULL) == ECHELON_BATCH_UNSOLVED);
  CHECK(codes[0] == ECHELON_SOLVED && is_solution(x, 1, 1e-12));
  CHECK(codes[1] == ECHELON_SINGULAR || codes[1] == ECHELON_INCONSISTENT);
  CHECK(codes[2] == ECHELON_NOT_A_NUMBER);
  CHECK_REFUSED(echelon_batch_solve(batch, -1, elements, 1, rhs, x, codes, NULL), ECHELON_BAD_ARGUMENT, "-1");
  CHECK_REFUSED(echelon_batch_solve(batch, 1, NULL, 1, rhs, x, codes, NULL), ECHELON_BAD_ARGUMENT, "values");
  CHECK_REFUSED(echelon_batch_solve(batch, 1, elements, 1, NULL, x, codes, NULL), ECHELON_BAD_ARGUMENT, "b");
  echelon_batch_free(batch);
  CHECK(echelon_compressed(ECHELON_BY_COLUMNS, ECHELON_DOUBLE, n, n, 10, ECHELON_INT32, offsets,
                           ECHELON_INT32, columns, values, 0, ECHELON_FULL, NULL, &other) == ECHELON_SOLVED);
  CHECK_REFUSED(echelon_batch_create(other, &batch), ECHELON_BAD_ARGUMENT, "ascend");
  CHECK(batch == NULL);
  CHECK(echelon_batch_create(NULL, &batch) == ECHELON_BAD_ARGUMENT);
  CHECK(echelon_batch_create(other, NULL) == ECHELON_BAD_ARGUMENT);
  echelon_matrix_free(other);
  CHECK(strcmp(echelon_code_name(ECHELON_BATCH_UNSOLVED), "batch_unsolved") == 0);
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    void (*run)(void);
  } tests[] = {
      {"library", test_library},
      {"compressed_forms", test_compressed_forms},
      {"triangle", test_triangle},
      {"triplets_are_summed", test_triplets_are_summed},
      {"complex_elements", test_complex_elements},
      {"dense_and_new_values", test_dense_and_new_values},
      {"factor_and_reuse", test_factor_and_reuse},
      {"reports", test_reports},
      {"factors", test_factors},
      {"determinant", test_determinant},
      {"inertia", test_inertia},
      {"matrix_elements", test_matrix_elements},
      {"map", test_map},
      {"batch", test_batch},
      {"numerical_outcomes", test_numerical_outcomes},
      {"options", test_options},
      {"operator", test_operator},
      {"stencil", test_stencil},
      {"preconditioner", test_preconditioner},
      {"near_null_space", test_near_null_space},
      {"progress_and_cancellation", test_progress_and_cancellation},
      {"iterates", test_iterates},
      {"concurrent_solves", test_concurrent_solves},
      {"misuse_of_matrices", test_misuse_of_matrices},
      {"misuse_of_solvers", test_misuse_of_solvers},
      {"misuse_of_reports", test_misuse_of_reports},
      {"larger_than_memory", test_larger_than_memory},
      {"freed_handles", test_freed_handles},
  };
  size_t i;
  for (i = 0; i < sizeof tests / sizeof tests[0]; ++i) {
    const int before = failures;
    int wanted = argc < 2;
    int k;
    for (k = 1; k < argc; ++k) wanted |= strcmp(argv[k], tests[i].name) == 0;
    if (!wanted) continue;
    tests[i].run();
    printf("%s %s\n", failures == before ? "ok    " : "FAILED", tests[i].name);
  }
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
