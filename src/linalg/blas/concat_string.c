/* SPDX-License-Identifier: BSD-3-Clause */
/* The one function of gfortran's run time that LAPACK in a static OpenBLAS calls, for wheels: without it they
 * would contain libgfortran and libquadmath. */
#include <string.h>

void _gfortran_concat_string(size_t length, char* result, size_t first_length, const char* first,
                             size_t second_length, const char* second);

/* The Fortran expression `first // second`, cut off or filled up with blanks to `length` characters. */
void _gfortran_concat_string(size_t length, char* result, size_t first_length, const char* first,
                             size_t second_length, const char* second) {
  const size_t from_first = first_length < length ? first_length : length;
  const size_t left = length - from_first;
  const size_t from_second = second_length < left ? second_length : left;
  memcpy(result, first, from_first);
  memcpy(result + from_first, second, from_second);
  memset(result + from_first + from_second, ' ', left - from_second);
}
