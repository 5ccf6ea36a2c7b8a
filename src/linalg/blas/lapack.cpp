// SPDX-License-Identifier: BSD-3-Clause
#include "linalg/blas/lapack.hpp"

#include "linalg/blas/decompositions.hpp"

#include <lapacke.h>

#include <complex>
#include <cstddef>
#include <limits>
#include <vector>

// Building blocks of sytrf_rook and hetrf_rook, which LAPACKE does not declare. The last argument is the
// length of `part`.
extern "C" {
void LAPACK_GLOBAL(slasyf_rook, SLASYF_ROOK)(const char* part, const int* n, const int* block, int* columns,
                                             float* a, const int* leading, int* pivots, float* work,
                                             const int* leading_work, int* info, std::size_t);
void LAPACK_GLOBAL(ssytf2_rook, SSYTF2_ROOK)(const char* part, const int* n, float* a, const int* leading,
                                             int* pivots, int* info, std::size_t);
void LAPACK_GLOBAL(dlasyf_rook, DLASYF_ROOK)(const char* part, const int* n, const int* block, int* columns,
                                             double* a, const int* leading, int* pivots, double* work,
                                             const int* leading_work, int* info, std::size_t);
void LAPACK_GLOBAL(dsytf2_rook, DSYTF2_ROOK)(const char* part, const int* n, double* a, const int* leading,
                                             int* pivots, int* info, std::size_t);
#define ECHELON_COMPLEX_ROOK(T, lower, upper)                                                                \
  void LAPACK_GLOBAL(lower##lasyf_rook, upper##LASYF_ROOK)(                                                  \
      const char* part, const int* n, const int* block, int* columns, T* a, const int* leading, int* pivots, \
      T* work, const int* leading_work, int* info, std::size_t);                                             \
  void LAPACK_GLOBAL(lower##lahef_rook, upper##LAHEF_ROOK)(                                                  \
      const char* part, const int* n, const int* block, int* columns, T* a, const int* leading, int* pivots, \
      T* work, const int* leading_work, int* info, std::size_t);                                             \
  void LAPACK_GLOBAL(lower##sytf2_rook, upper##SYTF2_ROOK)(                                                  \
      const char* part, const int* n, T* a, const int* leading, int* pivots, int* info, std::size_t);        \
  void LAPACK_GLOBAL(lower##hetf2_rook, upper##HETF2_ROOK)(                                                  \
      const char* part, const int* n, T* a, const int* leading, int* pivots, int* info, std::size_t);
ECHELON_COMPLEX_ROOK(std::complex<float>, c, C)
ECHELON_COMPLEX_ROOK(std::complex<double>, z, Z)
#undef ECHELON_COMPLEX_ROOK
}

namespace echelon::lapack {

namespace {

/// Complex numbers under the names that lapacke.h has for them in C++ and in C.
lapack_complex_float* lapack_numbers(std::complex<float>* a) {
  return reinterpret_cast<lapack_complex_float*>(a);
}
const lapack_complex_float* lapack_numbers(const std::complex<float>* a) {
  return reinterpret_cast<const lapack_complex_float*>(a);
}
lapack_complex_double* lapack_numbers(std::complex<double>* a) {
  return reinterpret_cast<lapack_complex_double*>(a);
}
const lapack_complex_double* lapack_numbers(const std::complex<double>* a) {
  return reinterpret_cast<const lapack_complex_double*>(a);
}

}  // namespace

float norm_one(int n, const float* a) {
  return LAPACKE_slange_work(LAPACK_COL_MAJOR, '1', n, n, a, n, nullptr);
}
double norm_one(int n, const double* a) {
  return LAPACKE_dlange_work(LAPACK_COL_MAJOR, '1', n, n, a, n, nullptr);
}

float norm_one(int n, const std::complex<float>* a) {
  return LAPACKE_clange_work(LAPACK_COL_MAJOR, '1', n, n, lapack_numbers(a), n, nullptr);
}
double norm_one(int n, const std::complex<double>* a) {
  return LAPACKE_zlange_work(LAPACK_COL_MAJOR, '1', n, n, lapack_numbers(a), n, nullptr);
}

float norm_max(int n, const float* a) {
  return LAPACKE_slange_work(LAPACK_COL_MAJOR, 'M', n, n, a, n, nullptr);
}
double norm_max(int n, const double* a) {
  return LAPACKE_dlange_work(LAPACK_COL_MAJOR, 'M', n, n, a, n, nullptr);
}
float norm_max(int n, const std::complex<float>* a) {
  return LAPACKE_clange_work(LAPACK_COL_MAJOR, 'M', n, n, lapack_numbers(a), n, nullptr);
}
double norm_max(int n, const std::complex<double>* a) {
  return LAPACKE_zlange_work(LAPACK_COL_MAJOR, 'M', n, n, lapack_numbers(a), n, nullptr);
}
float upper_norm_max(int n, const float* a) {
  return LAPACKE_slantr_work(LAPACK_COL_MAJOR, 'M', 'U', 'N', n, n, a, n, nullptr);
}
double upper_norm_max(int n, const double* a) {
  return LAPACKE_dlantr_work(LAPACK_COL_MAJOR, 'M', 'U', 'N', n, n, a, n, nullptr);
}

int getrf(int rows, int columns, float* a, int leading, int* pivots) {
  return checked_info(LAPACKE_sgetrf_work(LAPACK_COL_MAJOR, rows, columns, a, leading, pivots), "sgetrf");
}
int getrf(int rows, int columns, double* a, int leading, int* pivots) {
  return checked_info(LAPACKE_dgetrf_work(LAPACK_COL_MAJOR, rows, columns, a, leading, pivots), "dgetrf");
}

int getrf(int rows, int columns, std::complex<float>* a, int leading, int* pivots) {
  return checked_info(
      LAPACKE_cgetrf_work(LAPACK_COL_MAJOR, rows, columns, lapack_numbers(a), leading, pivots), "cgetrf");
}
int getrf(int rows, int columns, std::complex<double>* a, int leading, int* pivots) {
  return checked_info(
      LAPACKE_zgetrf_work(LAPACK_COL_MAJOR, rows, columns, lapack_numbers(a), leading, pivots), "zgetrf");
}

void swap_rows(int columns, float* a, int leading, int first, int last, const int* pivots) {
  checked_info(LAPACKE_slaswp_work(LAPACK_COL_MAJOR, columns, a, leading, first + 1, last, pivots, 1),
               "slaswp");
}
void swap_rows(int columns, double* a, int leading, int first, int last, const int* pivots) {
  checked_info(LAPACKE_dlaswp_work(LAPACK_COL_MAJOR, columns, a, leading, first + 1, last, pivots, 1),
               "dlaswp");
}

void swap_rows(int columns, std::complex<float>* a, int leading, int first, int last, const int* pivots) {
  checked_info(
      LAPACKE_claswp_work(LAPACK_COL_MAJOR, columns, lapack_numbers(a), leading, first + 1, last, pivots, 1),
      "claswp");
}
void swap_rows(int columns, std::complex<double>* a, int leading, int first, int last, const int* pivots) {
  checked_info(
      LAPACKE_zlaswp_work(LAPACK_COL_MAJOR, columns, lapack_numbers(a), leading, first + 1, last, pivots, 1),
      "zlaswp");
}

int potrf(int n, float* a, int leading) {
  return checked_info(LAPACKE_spotrf_work(LAPACK_COL_MAJOR, 'L', n, a, leading), "spotrf");
}
SymmetricStep lasyf_rook(int n, int block, float* a, int leading, int* pivots, float* work) {
  SymmetricStep step{};
  LAPACK_GLOBAL(slasyf_rook, SLASYF_ROOK)
  ("L", &n, &block, &step.columns, a, &leading, pivots, work, &n, &step.zero_pivot, 1);
  return step;
}
SymmetricStep sytf2_rook(int n, float* a, int leading, int* pivots) {
  SymmetricStep step{n, 0};
  LAPACK_GLOBAL(ssytf2_rook, SSYTF2_ROOK)("L", &n, a, &leading, pivots, &step.zero_pivot, 1);
  return step;
}
void sytrs_rook(int n, int columns, const float* ldl, const int* pivots, float* b, int leading) {
  checked_info(LAPACKE_ssytrs_rook_work(LAPACK_COL_MAJOR, 'L', n, columns, ldl, n, pivots, b, leading),
               "ssytrs_rook");
}

int potrf(int n, double* a, int leading) {
  return checked_info(LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', n, a, leading), "dpotrf");
}
int potrf(int n, std::complex<float>* a, int leading) {
  return checked_info(LAPACKE_cpotrf_work(LAPACK_COL_MAJOR, 'L', n, lapack_numbers(a), leading), "cpotrf");
}
int potrf(int n, std::complex<double>* a, int leading) {
  return checked_info(LAPACKE_zpotrf_work(LAPACK_COL_MAJOR, 'L', n, lapack_numbers(a), leading), "zpotrf");
}
SymmetricStep lasyf_rook(int n, int block, double* a, int leading, int* pivots, double* work) {
  SymmetricStep step{};
  LAPACK_GLOBAL(dlasyf_rook, DLASYF_ROOK)
  ("L", &n, &block, &step.columns, a, &leading, pivots, work, &n, &step.zero_pivot, 1);
  return step;
}
SymmetricStep sytf2_rook(int n, double* a, int leading, int* pivots) {
  SymmetricStep step{n, 0};
  LAPACK_GLOBAL(dsytf2_rook, DSYTF2_ROOK)("L", &n, a, &leading, pivots, &step.zero_pivot, 1);
  return step;
}
void sytrs_rook(int n, int columns, const double* ldl, const int* pivots, double* b, int leading) {
  checked_info(LAPACKE_dsytrs_rook_work(LAPACK_COL_MAJOR, 'L', n, columns, ldl, n, pivots, b, leading),
               "dsytrs_rook");
}

/// The routines of symmetric and Hermitian factorisations for complex numbers: `kind` is sy or he in the
/// names of LAPACK, `panel` its routine for a block of columns.
#define ECHELON_COMPLEX_ROOK(T, lower, upper, kind, KIND, panel, PANEL)                                 \
  SymmetricStep panel(int n, int block, T* a, int leading, int* pivots, T* work) {                      \
    SymmetricStep step{};                                                                               \
    LAPACK_GLOBAL(lower##panel, upper##PANEL)                                                           \
    ("L", &n, &block, &step.columns, a, &leading, pivots, work, &n, &step.zero_pivot, 1);               \
    return step;                                                                                        \
  }                                                                                                     \
  SymmetricStep kind##tf2_rook(int n, T* a, int leading, int* pivots) {                                 \
    SymmetricStep step{n, 0};                                                                           \
    LAPACK_GLOBAL(lower##kind##tf2_rook, upper##KIND##TF2_ROOK)                                         \
    ("L", &n, a, &leading, pivots, &step.zero_pivot, 1);                                                \
    return step;                                                                                        \
  }                                                                                                     \
  void kind##trs_rook(int n, int columns, const T* ldl, const int* pivots, T* b, int leading) {         \
    checked_info(                                                                                       \
        LAPACKE_##lower##kind##trs_rook_work(LAPACK_COL_MAJOR, 'L', n, columns, lapack_numbers(ldl), n, \
                                             pivots, lapack_numbers(b), leading),                       \
        #lower #kind "trs_rook");                                                                       \
  }
ECHELON_COMPLEX_ROOK(std::complex<float>, c, C, sy, SY, lasyf_rook, LASYF_ROOK)
ECHELON_COMPLEX_ROOK(std::complex<float>, c, C, he, HE, lahef_rook, LAHEF_ROOK)
ECHELON_COMPLEX_ROOK(std::complex<double>, z, Z, sy, SY, lasyf_rook, LASYF_ROOK)
ECHELON_COMPLEX_ROOK(std::complex<double>, z, Z, he, HE, lahef_rook, LAHEF_ROOK)
#undef ECHELON_COMPLEX_ROOK

namespace {

/// Calls f(work, size) with the workspace that f(answer, -1) asks for, and returns its result. The functions
/// of LAPACKE that do this refuse vectors with a NaN, which solves end with where numbers overflow. `spare`
/// elements follow the workspace: OpenBLAS's zgemv reads an element beyond vectors, without using it.
template <class T, class F>
int with_workspace(const F& f, int spare = 0) {
  T size = 0;
  if (const int info = f(&size, -1); info != 0) return info;
  const auto elements = static_cast<std::size_t>(std::real(size));
  std::vector<T> work(elements + static_cast<std::size_t>(spare));
  return f(work.data(), static_cast<int>(elements));
}

}  // namespace

void geqrf(int rows, int columns, float* a, int leading, float* tau) {
  const auto factor = [&](float* work, int size) {
    return LAPACKE_sgeqrf_work(LAPACK_COL_MAJOR, rows, columns, a, leading, tau, work, size);
  };
  checked_info(with_workspace<float>(factor), "sgeqrf");
}
void geqrf(int rows, int columns, double* a, int leading, double* tau) {
  const auto factor = [&](double* work, int size) {
    return LAPACKE_dgeqrf_work(LAPACK_COL_MAJOR, rows, columns, a, leading, tau, work, size);
  };
  checked_info(with_workspace<double>(factor), "dgeqrf");
}

void multiply_by_q(bool adjoint, int n, int columns, const Reflections<float>& q, float* b, int leading) {
  const auto multiply = [&](float* work, int size) {
    return LAPACKE_sormqr_work(LAPACK_COL_MAJOR, 'L', adjoint ? 'T' : 'N', n, columns, q.count, q.vectors,
                               q.leading, q.tau, b, leading, work, size);
  };
  checked_info(with_workspace<float>(multiply), "sormqr");
}

void multiply_by_q(bool adjoint, int n, int columns, const Reflections<double>& q, double* b, int leading) {
  const auto multiply = [&](double* work, int size) {
    return LAPACKE_dormqr_work(LAPACK_COL_MAJOR, 'L', adjoint ? 'T' : 'N', n, columns, q.count, q.vectors,
                               q.leading, q.tau, b, leading, work, size);
  };
  checked_info(with_workspace<double>(multiply), "dormqr");
}

void getrs(bool transposed, int n, int columns, const float* lu, const int* pivots, float* b, int leading) {
  checked_info(
      LAPACKE_sgetrs_work(LAPACK_COL_MAJOR, transposed ? 'T' : 'N', n, columns, lu, n, pivots, b, leading),
      "sgetrs");
}
void getrs(bool transposed, int n, int columns, const double* lu, const int* pivots, double* b, int leading) {
  checked_info(
      LAPACKE_dgetrs_work(LAPACK_COL_MAJOR, transposed ? 'T' : 'N', n, columns, lu, n, pivots, b, leading),
      "dgetrs");
}

void getrs(bool transposed, int n, int columns, const std::complex<float>* lu, const int* pivots,
           std::complex<float>* b, int leading) {
  checked_info(LAPACKE_cgetrs_work(LAPACK_COL_MAJOR, transposed ? 'T' : 'N', n, columns, lapack_numbers(lu),
                                   n, pivots, lapack_numbers(b), leading),
               "cgetrs");
}
void getrs(bool transposed, int n, int columns, const std::complex<double>* lu, const int* pivots,
           std::complex<double>* b, int leading) {
  checked_info(LAPACKE_zgetrs_work(LAPACK_COL_MAJOR, transposed ? 'T' : 'N', n, columns, lapack_numbers(lu),
                                   n, pivots, lapack_numbers(b), leading),
               "zgetrs");
}

double reciprocal_condition(int n, const float* lu, float norm_one) {
  std::vector<float> work(4 * static_cast<std::size_t>(n));
  std::vector<lapack_int> integers(static_cast<std::size_t>(n));
  float result = 0;
  checked_info(
      LAPACKE_sgecon_work(LAPACK_COL_MAJOR, '1', n, lu, n, norm_one, &result, work.data(), integers.data()),
      "sgecon");
  return static_cast<double>(result);
}
double reciprocal_condition(int n, const double* lu, double norm_one) {
  std::vector<double> work(4 * static_cast<std::size_t>(n));
  std::vector<lapack_int> integers(static_cast<std::size_t>(n));
  double result = 0;
  checked_info(
      LAPACKE_dgecon_work(LAPACK_COL_MAJOR, '1', n, lu, n, norm_one, &result, work.data(), integers.data()),
      "dgecon");
  return result;
}

void geqp3(int rows, int columns, float* a, int leading, int* pivots, float* tau) {
  const auto factor = [&](float* work, int size) {
    return LAPACKE_sgeqp3_work(LAPACK_COL_MAJOR, rows, columns, a, leading, pivots, tau, work, size);
  };
  checked_info(with_workspace<float>(factor), "sgeqp3");
}
void tzrzf(int rows, int columns, float* a, int leading, float* tau) {
  const auto factor = [&](float* work, int size) {
    return LAPACKE_stzrzf_work(LAPACK_COL_MAJOR, rows, columns, a, leading, tau, work, size);
  };
  checked_info(with_workspace<float>(factor), "stzrzf");
}
void multiply_by_z(bool adjoint, int n, int columns, const Reflections<float>& z, float* b, int leading) {
  const auto multiply = [&](float* work, int size) {
    return LAPACKE_sormrz_work(LAPACK_COL_MAJOR, 'L', adjoint ? 'T' : 'N', n, columns, z.count, n - z.count,
                               z.vectors, z.leading, z.tau, b, leading, work, size);
  };
  checked_info(with_workspace<float>(multiply), "sormrz");
}
double triangular_reciprocal_condition(int n, const float* r, int leading) {
  std::vector<float> work(3 * static_cast<std::size_t>(n));
  std::vector<lapack_int> integers(static_cast<std::size_t>(n));
  float result = 0;
  checked_info(LAPACKE_strcon_work(LAPACK_COL_MAJOR, '1', 'U', 'N', n, r, leading, &result, work.data(),
                                   integers.data()),
               "strcon");
  return static_cast<double>(result);
}

void geqp3(int rows, int columns, double* a, int leading, int* pivots, double* tau) {
  const auto factor = [&](double* work, int size) {
    return LAPACKE_dgeqp3_work(LAPACK_COL_MAJOR, rows, columns, a, leading, pivots, tau, work, size);
  };
  checked_info(with_workspace<double>(factor), "dgeqp3");
}
void tzrzf(int rows, int columns, double* a, int leading, double* tau) {
  const auto factor = [&](double* work, int size) {
    return LAPACKE_dtzrzf_work(LAPACK_COL_MAJOR, rows, columns, a, leading, tau, work, size);
  };
  checked_info(with_workspace<double>(factor), "dtzrzf");
}
void multiply_by_z(bool adjoint, int n, int columns, const Reflections<double>& z, double* b, int leading) {
  const auto multiply = [&](double* work, int size) {
    return LAPACKE_dormrz_work(LAPACK_COL_MAJOR, 'L', adjoint ? 'T' : 'N', n, columns, z.count, n - z.count,
                               z.vectors, z.leading, z.tau, b, leading, work, size);
  };
  checked_info(with_workspace<double>(multiply), "dormrz");
}
double triangular_reciprocal_condition(int n, const double* r, int leading) {
  std::vector<double> work(3 * static_cast<std::size_t>(n));
  std::vector<lapack_int> integers(static_cast<std::size_t>(n));
  double result = 0;
  checked_info(LAPACKE_dtrcon_work(LAPACK_COL_MAJOR, '1', 'U', 'N', n, r, leading, &result, work.data(),
                                   integers.data()),
               "dtrcon");
  return static_cast<double>(result);
}

int gbtrf(int n, int lower, int upper, std::complex<float>* band, int* pivots) {
  return checked_info(LAPACKE_cgbtrf_work(LAPACK_COL_MAJOR, n, n, lower, upper, lapack_numbers(band),
                                          2 * lower + upper + 1, pivots),
                      "cgbtrf");
}
int gbtrf(int n, int lower, int upper, std::complex<double>* band, int* pivots) {
  return checked_info(LAPACKE_zgbtrf_work(LAPACK_COL_MAJOR, n, n, lower, upper, lapack_numbers(band),
                                          2 * lower + upper + 1, pivots),
                      "zgbtrf");
}
void gbtrs(bool transposed, int n, int lower, int upper, int columns, const std::complex<float>* band,
           const int* pivots, std::complex<float>* b) {
  checked_info(LAPACKE_cgbtrs_work(LAPACK_COL_MAJOR, transposed ? 'T' : 'N', n, lower, upper, columns,
                                   lapack_numbers(band), 2 * lower + upper + 1, pivots, lapack_numbers(b), n),
               "cgbtrs");
}
void gbtrs(bool transposed, int n, int lower, int upper, int columns, const std::complex<double>* band,
           const int* pivots, std::complex<double>* b) {
  checked_info(LAPACKE_zgbtrs_work(LAPACK_COL_MAJOR, transposed ? 'T' : 'N', n, lower, upper, columns,
                                   lapack_numbers(band), 2 * lower + upper + 1, pivots, lapack_numbers(b), n),
               "zgbtrs");
}

/// The routines of orthogonal factorisations for complex numbers, with LAPACK's letter of their precision.
#define ECHELON_COMPLEX_ORTHOGONAL(T, letter)                                                               \
  void geqrf(int rows, int columns, T* a, int leading, T* tau) {                                            \
    const auto factor = [&](T* work, int size) {                                                            \
      return LAPACKE_##letter##geqrf_work(LAPACK_COL_MAJOR, rows, columns, lapack_numbers(a), leading,      \
                                          lapack_numbers(tau), lapack_numbers(work), size);                 \
    };                                                                                                      \
    checked_info(with_workspace<T>(factor), #letter "geqrf");                                               \
  }                                                                                                         \
  void multiply_by_q(bool adjoint, int n, int columns, const Reflections<T>& q, T* b, int leading) {        \
    const auto multiply = [&](T* work, int size) {                                                          \
      return LAPACKE_##letter##unmqr_work(LAPACK_COL_MAJOR, 'L', adjoint ? 'C' : 'N', n, columns, q.count,  \
                                          lapack_numbers(q.vectors), q.leading, lapack_numbers(q.tau),      \
                                          lapack_numbers(b), leading, lapack_numbers(work), size);          \
    };                                                                                                      \
    checked_info(with_workspace<T>(multiply), #letter "unmqr");                                             \
  }                                                                                                         \
  void geqp3(int rows, int columns, T* a, int leading, int* pivots, T* tau) {                               \
    std::vector<T::value_type> reals(2 * static_cast<std::size_t>(columns));                                \
    const auto factor = [&](T* work, int size) {                                                            \
      return LAPACKE_##letter##geqp3_work(LAPACK_COL_MAJOR, rows, columns, lapack_numbers(a), leading,      \
                                          pivots, lapack_numbers(tau), lapack_numbers(work), size,          \
                                          reals.data());                                                    \
    };                                                                                                      \
    checked_info(with_workspace<T>(factor, columns), #letter "geqp3");                                      \
  }                                                                                                         \
  void tzrzf(int rows, int columns, T* a, int leading, T* tau) {                                            \
    const auto factor = [&](T* work, int size) {                                                            \
      return LAPACKE_##letter##tzrzf_work(LAPACK_COL_MAJOR, rows, columns, lapack_numbers(a), leading,      \
                                          lapack_numbers(tau), lapack_numbers(work), size);                 \
    };                                                                                                      \
    checked_info(with_workspace<T>(factor), #letter "tzrzf");                                               \
  }                                                                                                         \
  void multiply_by_z(bool adjoint, int n, int columns, const Reflections<T>& z, T* b, int leading) {        \
    const auto multiply = [&](T* work, int size) {                                                          \
      return LAPACKE_##letter##unmrz_work(LAPACK_COL_MAJOR, 'L', adjoint ? 'C' : 'N', n, columns, z.count,  \
                                          n - z.count, lapack_numbers(z.vectors), z.leading,                \
                                          lapack_numbers(z.tau), lapack_numbers(b), leading,                \
                                          lapack_numbers(work), size);                                      \
    };                                                                                                      \
    checked_info(with_workspace<T>(multiply), #letter "unmrz");                                             \
  }                                                                                                         \
  double triangular_reciprocal_condition(int n, const T* r, int leading) {                                  \
    std::vector<T> work(2 * static_cast<std::size_t>(n));                                                   \
    std::vector<T::value_type> reals(static_cast<std::size_t>(n));                                          \
    T::value_type result = 0;                                                                               \
    checked_info(LAPACKE_##letter##trcon_work(LAPACK_COL_MAJOR, '1', 'U', 'N', n, lapack_numbers(r),        \
                                              leading, &result, lapack_numbers(work.data()), reals.data()), \
                 #letter "trcon");                                                                          \
    return static_cast<double>(result);                                                                     \
  }
ECHELON_COMPLEX_ORTHOGONAL(std::complex<float>, c)
ECHELON_COMPLEX_ORTHOGONAL(std::complex<double>, z)
#undef ECHELON_COMPLEX_ORTHOGONAL

}  // namespace echelon::lapack
