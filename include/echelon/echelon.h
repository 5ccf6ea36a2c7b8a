/* SPDX-License-Identifier: BSD-3-Clause */
/* The C interface of Echelon (C99), for programs in C and for languages that call C. docs/c.md explains it.
 *
 * Functions return a code, unless stated otherwise: 0 where the system is solved, a positive number where a
 * computation ended with another outcome, and a negative one where the call was refused. No function throws,
 * prints or ends the program. Callbacks must neither throw C++ exceptions nor leave by longjmp.
 *
 * Handles are not thread-safe, excluding echelon_solve, echelon_apply and echelon_cancel, which any number of
 * threads may call for a solver at once. Numbers of codes and constants are never used for another meaning.
 */
#pragma once

#include <echelon/export.h>

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* NOLINTBEGIN(modernize-use-using) */
/* A matrix or an operator; it refers to the arrays of the caller, unless it was read from a file. */
typedef struct echelon_matrix_object* echelon_matrix;
/* A method with its options and, after a set-up, what it keeps of a matrix. */
typedef struct echelon_solver_object* echelon_solver;
/* The outcome of a set-up or a solve. */
typedef struct echelon_report_object* echelon_report;
/* Many sparse systems with one pattern. */
typedef struct echelon_batch_object* echelon_batch;

/* y = A x, or z = M^-1 r: reads the elements of x and writes those of y, in the memory of the device. Both
 * have the scalar type of the matrix. Returns 0, or another number after a failure: the call then ends with
 * ECHELON_CALLBACK_FAILED. */
typedef int32_t (*echelon_product)(void* user, const void* x, void* y);
/* Called on the calling thread at every convergence check of a solve, and from time to time in a set-up.
 * `phase` is ECHELON_ANALYSIS, ECHELON_SETUP or ECHELON_SOLVE, and `fraction` the share of its work that is
 * done, from 0 to 1, or -1 in a solve, whose end is not known. In a set-up `iteration` is 0,
 * `relative_residual` 1 and `tolerance` 0. Returns 0 to go on; otherwise the call ends with
 * ECHELON_CANCELLED. */
typedef int32_t (*echelon_progress)(void* user, int32_t phase, double fraction, int64_t iteration,
                                    double relative_residual, double tolerance);
/* Called on the calling thread at every convergence check of an iterative method, after echelon_progress,
 * with the x of the right-hand side of this number, from 0, after `iteration` iterations. x is in the memory
 * of the solver's device, has the solver's scalar type, and is valid during the call. Returns 0 to go on;
 * otherwise the call ends with ECHELON_CANCELLED. */
typedef int32_t (*echelon_iterate)(void* user, int64_t right_hand_side, int64_t iteration, const void* x);
/* NOLINTEND(modernize-use-using) */

/* Phases of a solver's work. */
enum { ECHELON_ANALYSIS = 0, ECHELON_SETUP = 1, ECHELON_SOLVE = 2 };

/* Codes. echelon_code_name() has their names, "not_spd" for ECHELON_NOT_SPD. */
enum {
  /* The system is solved, or a set-up succeeded. */
  ECHELON_SOLVED = 0,

  /* The computation took place. x holds the last iterate, or is left as it was where nothing was computed;
   * the report says more. With the two outcomes marked by (x) the equations hold, or x has the least residual
   * that was asked for. */
  ECHELON_MAX_ITERATIONS = 1,    /* the limit of iterations came first */
  ECHELON_STAGNATED = 2,         /* the residual no longer decreases */
  ECHELON_DIVERGED = 3,          /* the residual grew */
  ECHELON_BREAKDOWN = 4,         /* the method divided by zero */
  ECHELON_SINGULAR = 5,          /* A is singular to working precision */
  ECHELON_INCONSISTENT = 6,      /* no x satisfies the equations */
  ECHELON_UNDERDETERMINED = 7,   /* (x) satisfies the equations, and so do others */
  ECHELON_NOT_A_NUMBER = 8,      /* NaN or infinity in A, in b or in the result */
  ECHELON_NOT_SPD = 9,           /* A is not symmetric positive definite, and the method needs that */
  ECHELON_MEMORY_EXHAUSTED = 10, /* memory did not suffice during the computation */
  ECHELON_CANCELLED = 11,        /* echelon_cancel, or the progress callback */
  ECHELON_LEAST_SQUARES = 12,    /* (x) has the least residual; with the option least_squares only */

  /* Numbers from 32 to 63 are outcomes of batches of systems. */
  ECHELON_BATCH_UNSOLVED = 32, /* at least one of the systems is not solved; others are */

  /* The call was refused, and nothing was computed. echelon_last_error() says why. */
  ECHELON_BAD_ARGUMENT = -1,
  ECHELON_BAD_OPTION = -2, /* a method, option or device of this name, or its value */
  ECHELON_DIMENSION_MISMATCH = -3,
  ECHELON_DEVICE_MISMATCH = -4,
  ECHELON_OVERLAPPING_OPERANDS = -5,
  ECHELON_INVALID_MATRIX = -6, /* arrays that do not describe a matrix */
  ECHELON_PARSE_ERROR = -7,    /* a file that cannot be read */
  ECHELON_NOT_BUILT = -8,      /* this build of the library lacks it */
  ECHELON_NO_DEVICE = -9,      /* this machine lacks it */
  ECHELON_OUT_OF_MEMORY = -10,
  ECHELON_CUDA_ERROR = -11,
  ECHELON_NOT_SET_UP = -12, /* a solve before a set-up, or after one that was refused */
  ECHELON_CALLBACK_FAILED = -13,
  ECHELON_OPENCL_ERROR = -14,
  ECHELON_INTERNAL = -99
};

/* Types of elements. Complex ones are a real and an imaginary part, as C's double complex; on an NVIDIA
 * GPU some methods take them.
 * ECHELON_COMPLEX_FLOAT is reserved: ECHELON_NOT_BUILT. */
enum { ECHELON_FLOAT = 1, ECHELON_DOUBLE = 2, ECHELON_COMPLEX_FLOAT = 3, ECHELON_COMPLEX_DOUBLE = 4 };
/* Types of indices and offsets. */
enum { ECHELON_INT32 = 32, ECHELON_INT64 = 64 };
/* Orders of the elements of a matrix: CSR, or a dense row-major one; CSC, or a dense column-major one. */
enum { ECHELON_BY_ROWS = 1, ECHELON_BY_COLUMNS = 2 };
/* Elements that the arrays of a sparse matrix hold: all, the lower or upper triangle of a symmetric matrix,
 * or all of one that is stated to be symmetric. Symmetric means A = A^T for complex elements, too. */
enum { ECHELON_FULL = 0, ECHELON_LOWER = 1, ECHELON_UPPER = 2, ECHELON_SYMMETRIC = 3 };
/* Meaning of neighbours beyond the ends of an axis of a grid: u = 0 there, the u of the nearest point of the
 * grid (no flux), or the point at the other end. */
enum { ECHELON_DIRICHLET = 0, ECHELON_NEUMANN = 1, ECHELON_PERIODIC = 2 };
/* Coefficients of a stencil: one for each offset, or one for each offset and point. */
enum { ECHELON_CONSTANT = 0, ECHELON_VARIABLE = 1 };
/* Flags of echelon_solve, which may be added. */
enum {
  ECHELON_TRANSPOSED = 1, /* solve A^T x = b */
  ECHELON_ADJOINT = 2,    /* solve A^H x = b */
  ECHELON_FROM_X = 4,     /* x is a first guess */
  ECHELON_ROW_MAJOR = 8   /* b and x are row-major */
};

/* ---- The library ---- */

/* "0.1.0"; static text. */
ECHELON_API const char* echelon_version(void);
/* Explanation of the last negative code that this thread got; "" before the first. Valid until the next one.
 */
ECHELON_API const char* echelon_last_error(void);
/* Name of a code, "unknown" for any other number; static text. */
ECHELON_API const char* echelon_code_name(int32_t code);
/* The methods of this build with their options as a JSON list; NULL without memory. Static text. */
ECHELON_API const char* echelon_methods_json(void);

/* ---- Matrices ---- */

/* In all of them `device` is the memory that holds the arrays and the devices that can use it: NULL, "" or
 * "openmp" for the host, "cuda" or "cuda:1" for a GPU, "opencl" or "opencl:1" for an OpenCL device. *A
 * becomes the matrix, or NULL where the call is refused. The caller keeps the arrays until the matrix and the
 * solvers that were set up with it are freed; they are read only. */

/* A sparse matrix in CSR (ECHELON_BY_ROWS: rows + 1 offsets, column indices) or CSC form (ECHELON_BY_COLUMNS:
 * columns + 1 offsets, row indices) with `entries` stored elements; offsets and indices count from `base`, 0
 * or 1. `part` as above. CSR with 32-bit indices that ascend within rows, base 0 and all elements stays in
 * place; other forms are converted once, O(entries), and again only as values when these change.
 * ECHELON_INVALID_MATRIX names the first element that is out of range. */
ECHELON_API int32_t echelon_compressed(int32_t order, int32_t scalar, int64_t rows, int64_t columns,
                                       int64_t entries, int32_t offset_type, const void* offsets,
                                       int32_t index_type, const void* indices, const void* values,
                                       int32_t base, int32_t part, const char* device, echelon_matrix* A);
/* A sparse matrix as a list of entries (COO) in any order; those of one position are added in the order of
 * the list. */
ECHELON_API int32_t echelon_triplets(int32_t scalar, int64_t rows, int64_t columns, int64_t entries,
                                     int32_t index_type, const void* row_indices, const void* column_indices,
                                     const void* values, int32_t base, int32_t part, const char* device,
                                     echelon_matrix* A);
/* A dense matrix, whose rows (ECHELON_BY_ROWS) or columns are `leading` elements apart. */
ECHELON_API int32_t echelon_dense(int32_t order, int32_t scalar, int64_t rows, int64_t columns,
                                  const void* values, int64_t leading, const char* device, echelon_matrix* A);
/* A matrix known by its products y = A x and, unless `transposed` is NULL, y = A^T x. */
ECHELON_API int32_t echelon_operator(int32_t scalar, int64_t rows, int64_t columns, echelon_product product,
                                     echelon_product transposed, void* user, const char* device,
                                     echelon_matrix* A);
/* A stencil on a grid of 1 to 3 axes in place of a matrix, without arrays of indices, for
 * structured-multigrid and for methods that take an operator. Row x + points[0] (y + points[1] z) is that of
 * the point (x, y, z). boundaries[a] is as above, NULL: ECHELON_DIRICHLET for all axes. Neighbour k of
 * `count` is at the distances offsets[3 k], offsets[3 k + 1] and offsets[3 k + 2] along the axes, each -1, 0
 * or 1. ECHELON_CONSTANT: values[k] is its coefficient, in host memory; ECHELON_VARIABLE: values[k n + i] is
 * that in row i of n. The values are copied. Real elements only. ECHELON_INVALID_MATRIX names what does not
 * fit. */
ECHELON_API int32_t echelon_stencil(int32_t scalar, int32_t axes, const int64_t points[],
                                    const int32_t boundaries[], int32_t count, const int32_t offsets[],
                                    int32_t coefficients, const void* values, const char* device,
                                    echelon_matrix* A);
/* A matrix from a file of any format that the library reads, in host memory. */
ECHELON_API int32_t echelon_read(const char* file, int32_t scalar, echelon_matrix* A);
/* Takes new values for the same entries, in the order of the arrays of the matrix; the array may be the old
 * one with other elements. Solvers see them after echelon_update. Not for operators, stencils and matrices
 * from files. */
ECHELON_API int32_t echelon_matrix_values(echelon_matrix A, const void* values);
/* Sizes; any pointer may be NULL. Nonzeros: the elements that the library works with; 0 for an operator and a
 * stencil. */
ECHELON_API int32_t echelon_matrix_size(echelon_matrix A, int64_t* rows, int64_t* columns, int64_t* nonzeros);
/* Writes at most `capacity` stored elements, row by row, as triplets that count from 0; those of a dense
 * matrix that are zero are left out. Pointers may be NULL where capacity is 0. Returns how many elements
 * there are, or a negative code; not for operators. O(rows + elements), and a copy of a matrix that is dense,
 * a stencil or on a GPU. */
ECHELON_API int64_t echelon_matrix_elements(echelon_matrix A, int64_t capacity, int64_t rows[],
                                            int64_t columns[], void* values);
/* Writes a file in the format of the name's ending, or as Matrix Market under a name without one; not for
 * operators. */
ECHELON_API int32_t echelon_write(echelon_matrix A, const char* file);
/* Frees the handle; NULL is allowed. Solvers that refer to the matrix keep what they need, excluding the
 * caller's arrays. */
ECHELON_API void echelon_matrix_free(echelon_matrix A);

/* ---- Solvers ---- */

/* A solver by the name of its method; "auto" chooses one for the matrix of the first set-up. */
ECHELON_API int32_t echelon_create(const char* method, int32_t scalar, const char* device,
                                   echelon_solver* solver);
/* Sets an option by its name: one of the method, those of nested methods with dots ("preconditioner.weight"),
 * or rtol, atol, max_iterations, least_squares and measure_error. These five act from the next solve on,
 * others from the next set-up. Text is converted to the type of the option. Checked at once:
 * ECHELON_BAD_OPTION with the nearest name. */
ECHELON_API int32_t echelon_set(echelon_solver solver, const char* option, const char* text);
ECHELON_API int32_t echelon_set_integer(echelon_solver solver, const char* option, int64_t value);
ECHELON_API int32_t echelon_set_real(echelon_solver solver, const char* option, double value);
/* Preconditions from the next set-up on by another solver, which has been set up by then and is not freed
 * before this one; NULL removes it. */
ECHELON_API int32_t echelon_preconditioner(echelon_solver solver, echelon_solver preconditioner);
/* The same by a product z = M^-1 r of the caller; NULL removes it. */
ECHELON_API int32_t echelon_preconditioner_product(echelon_solver solver, echelon_product product,
                                                   void* user);
/* Vectors that A maps nearly to zero, by which amg coarsens from the next set-up on: column-major, in host
 * memory, copied. */
ECHELON_API int32_t echelon_near_null_space(echelon_solver solver, int64_t rows, int64_t vectors,
                                            const double* values, int64_t leading);
/* Progress of set-ups and solves; NULL removes the callback. Concurrent solves call it at once. */
ECHELON_API int32_t echelon_on_progress(echelon_solver solver, echelon_progress progress, void* user);
/* The x of every iteration; NULL removes the callback. Each x is formed for its call: a copy, and with
 * methods that complete x at the end, such as gmres, a product with their basis. Concurrent solves call it at
 * once. */
ECHELON_API int32_t echelon_on_iterate(echelon_solver solver, echelon_iterate iterate, void* user);
/* Ends the calls for this solver that are running, with ECHELON_CANCELLED; the next one starts afresh.
 * Allowed on any thread and in a signal handler. */
ECHELON_API void echelon_cancel(echelon_solver solver);

/* Wherever `report` is not NULL, *report becomes a report, which the caller frees, or NULL where the call is
 * refused. */

/* Analyses the pattern of A only; optional. A set-up follows. */
ECHELON_API int32_t echelon_analyze(echelon_solver solver, echelon_matrix A, echelon_report* report);
/* Prepares for solves with A: factors it, or sets up a preconditioner. Refers to A. */
ECHELON_API int32_t echelon_setup(echelon_solver solver, echelon_matrix A, echelon_report* report);
/* Prepares for new values of A in the pattern of the last set-up, whose analysis is kept. */
ECHELON_API int32_t echelon_update(echelon_solver solver, echelon_matrix A, echelon_report* report);
/* Solves A X = B for `columns` right-hand sides in the memory of the solver's device. Columns are leading_b
 * and leading_x elements apart, or rows with ECHELON_ROW_MAJOR. X may be B itself; both must not overlap
 * otherwise. */
ECHELON_API int32_t echelon_solve(echelon_solver solver, int64_t columns, const void* b, int64_t leading_b,
                                  void* x, int64_t leading_x, int32_t flags, echelon_report* report);
/* z = M^-1 r by one application of the solver as a preconditioner. */
ECHELON_API int32_t echelon_apply(echelon_solver solver, const void* r, void* z);
/* Copies factors of the last set-up of a direct method to host memory. factors[k] becomes the one with the
 * letter names[k] in P R A C Q = L U + F, L L^T or L D L^T, of a Hermitian A L L^H or L D L^H: permutations P
 * and Q, diagonal matrices R and C of scales, block diagonal D, and F beyond the diagonal blocks of LU. It
 * becomes NULL where that is the identity or zero, or the method has no such factor. L, U, D and F have the
 * solver's scalar type, the others ECHELON_DOUBLE. The caller frees them with echelon_matrix_free.
 * ECHELON_BAD_ARGUMENT where the set-up left no factors. */
ECHELON_API int32_t echelon_factors(echelon_solver solver, const char* names, echelon_matrix factors[]);
/* The determinant of A by the last set-up of a direct method, as a sign and a logarithm, which never
 * overflow: det A = (sign + i imaginary) exp(logarithm). The sign is -1, 0 or 1 and `imaginary` 0 for real
 * elements; both are a complex number of magnitude 0 or 1 for complex ones. logarithm is -infinity where det
 * A is 0. Pointers may be NULL. ECHELON_BAD_ARGUMENT where the set-up left no determinant. */
ECHELON_API int32_t echelon_determinant(echelon_solver solver, double* sign, double* imaginary,
                                        double* logarithm);
/* Numbers of positive, negative and zero eigenvalues of a symmetric or Hermitian A by the last set-up of
 * cholesky, ldlt, sparse-cholesky or sparse-ldlt. Pointers may be NULL. ECHELON_BAD_ARGUMENT where the set-up
 * left no inertia. */
ECHELON_API int32_t echelon_inertia(echelon_solver solver, int64_t* positive, int64_t* negative,
                                    int64_t* zero);
/* Bytes that the solver holds on its device; 0 before a set-up, or a negative code. */
ECHELON_API int64_t echelon_bytes(echelon_solver solver);
/* Frees the solver; NULL is allowed. */
ECHELON_API void echelon_free(echelon_solver solver);

/* Solves A X = B, column-major, in one call. Options are words NAME=VALUE between blanks, "method=cg
 * rtol=1e-10 preconditioner=amg", NULL or "" for none: method (default auto), rtol, atol, max_iterations,
 * least_squares, measure_error, certify, and those of the method. */
ECHELON_API int32_t echelon_solve_once(echelon_matrix A, int64_t columns, const void* b, int64_t leading_b,
                                       void* x, int64_t leading_x, const char* options,
                                       echelon_report* report);

/* ---- Reports ---- */

/* The code that the call returned. */
ECHELON_API int32_t echelon_report_code(echelon_report report);
/* A number by its name in the JSON, parts of parts with dots: "iterations", "relative_residual",
 * "statistics.levels", "columns.0.backward_error"; true is 1. NaN where the report has none. */
ECHELON_API double echelon_report_number(echelon_report report, const char* name);
/* A text by its name in the JSON, "status", "method", "message"; "text" for readable lines, or "html" for a
 * page that a browser shows and that needs no other file; NULL where the report has none. Valid as long as
 * the report. */
ECHELON_API const char* echelon_report_text(echelon_report report, const char* name);
/* Writes at most `capacity` relative residuals, after 0, 1, 2, ... iterations. Returns how many there are. */
ECHELON_API int64_t echelon_report_history(echelon_report report, int64_t capacity, double history[]);
/* Writes the row that eliminates each of at most `capacity` unknowns, from 0, or -1 for a free unknown: the
 * map of mapped-echelon. Returns the number of unknowns, 0 where the report has no map. */
ECHELON_API int64_t echelon_report_map(echelon_report report, int64_t capacity, int64_t rows[]);
/* The whole report as one line of JSON; docs/report.md has the names. Valid as long as the report. */
ECHELON_API const char* echelon_report_json(echelon_report report);
/* Frees the report; NULL is allowed. */
ECHELON_API void echelon_report_free(echelon_report report);

/* ---- Batches ---- */

/* A solver of systems whose square sparse matrices have the pattern of A, on the device of A; the values of A
 * are not used, and A may be freed. A is in CSR form with indices that ascend within rows and all elements,
 * so that the order of its values is that of the arrays. */
ECHELON_API int32_t echelon_batch_create(echelon_matrix A, echelon_batch* batch);
/* Solves A_s X_s = B_s for s = 0, ..., systems - 1. `values` has the elements of A_0 in the order of the
 * pattern, then those of A_1, ...; b and x, which may be the same array, have a matrix of n by `columns` for
 * each system, column-major without gaps. All are in the memory of the pattern's device and have its scalar
 * type. codes[s] becomes the code of system s, and backward_errors[s] its componentwise backward error; both
 * arrays are on the host and may be NULL. x is NaN where nothing was computed. ECHELON_SOLVED if every system
 * is solved, otherwise ECHELON_BATCH_UNSOLVED. The first call chooses the order of pivots, which later ones
 * keep. */
ECHELON_API int32_t echelon_batch_solve(echelon_batch batch, int64_t systems, const void* values,
                                        int64_t columns, const void* b, void* x, int32_t codes[],
                                        double backward_errors[]);
/* Frees the batch; NULL is allowed. */
ECHELON_API void echelon_batch_free(echelon_batch batch);

#ifdef __cplusplus
}
#endif
