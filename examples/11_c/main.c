/* SPDX-License-Identifier: BSD-3-Clause */
/* A program in C: reads a matrix, factors it, and solves for two right-hand sides with the same factors. */
#include <echelon/echelon.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Ends the program where a code is not 0. */
static void require(int32_t code, const char* call) {
  if (code == ECHELON_SOLVED) return;
  fprintf(stderr, "%s: %s. %s\n", call, echelon_code_name(code), code < 0 ? echelon_last_error() : "");
  exit(EXIT_FAILURE);
}

int main(int argc, char** argv) {
  echelon_matrix A = NULL;
  echelon_solver solver = NULL;
  echelon_report report = NULL;
  double *b, *x;
  int64_t n, k, i;
  if (argc != 2) {
    fprintf(stderr, "usage: %s matrix.mtx\n", argv[0]);
    return EXIT_FAILURE;
  }
  require(echelon_read(argv[1], ECHELON_DOUBLE, &A), "echelon_read");
  require(echelon_matrix_size(A, &n, NULL, NULL), "echelon_matrix_size");
  b = malloc((size_t)n * sizeof *b);
  x = malloc((size_t)n * sizeof *x);
  if (b == NULL || x == NULL) return EXIT_FAILURE;

  require(echelon_create("sparse-lu", ECHELON_DOUBLE, NULL, &solver), "echelon_create");
  require(echelon_setup(solver, A, NULL), "echelon_setup");
  for (k = 1; k <= 2; ++k) {
    for (i = 0; i < n; ++i) b[i] = cos((double)(k * i));
    require(echelon_solve(solver, 1, b, n, x, n, 0, &report), "echelon_solve");
    printf("right-hand side %d: backward error %.1e, %.0f digits\n", (int)k,
           echelon_report_number(report, "backward_error"), echelon_report_number(report, "expected_digits"));
    echelon_report_free(report);
  }

  free(x);
  free(b);
  echelon_free(solver);
  echelon_matrix_free(A);
  return EXIT_SUCCESS;
}
