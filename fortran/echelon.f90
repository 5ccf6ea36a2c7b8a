! SPDX-License-Identifier: BSD-3-Clause
! Echelon for Fortran: matrices, solvers and reports as types that free what they hold. docs/fortran.md explains them.
!
! Every procedure that computes returns the code of the C function that it calls: 0 (ECHELON_SOLVED) where the system is
! solved, a positive number for another outcome, a negative one where the call was refused; echelon_message(code) is its
! text. A matrix refers to the arrays of the caller, which have the attribute TARGET and stay until the matrix and the
! solvers that were set up with it are gone. A copy by assignment is the same matrix, solver or report; copies of one
! object are made and dropped by one thread at a time.
module echelon
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int32, int64, real32, real64
  use echelon_c
  implicit none
  private

  public :: echelon_matrix, echelon_solver, echelon_report
  public :: echelon_message, echelon_release, echelon_methods
  public :: echelon_product, echelon_progress, echelon_iterate
  public :: ECHELON_PHASE_ANALYSIS, ECHELON_PHASE_SETUP, ECHELON_PHASE_SOLVE, ECHELON_SOLVED, ECHELON_MAX_ITERATIONS
  public :: ECHELON_STAGNATED, ECHELON_DIVERGED, ECHELON_BREAKDOWN, ECHELON_SINGULAR, ECHELON_INCONSISTENT
  public :: ECHELON_UNDERDETERMINED, ECHELON_NOT_A_NUMBER, ECHELON_NOT_SPD, ECHELON_MEMORY_EXHAUSTED, ECHELON_CANCELLED
  public :: ECHELON_LEAST_SQUARES, ECHELON_BAD_ARGUMENT, ECHELON_BAD_OPTION, ECHELON_DIMENSION_MISMATCH
  public :: ECHELON_DEVICE_MISMATCH, ECHELON_OVERLAPPING_OPERANDS, ECHELON_INVALID_MATRIX, ECHELON_PARSE_ERROR
  public :: ECHELON_NOT_BUILT, ECHELON_NO_DEVICE, ECHELON_OUT_OF_MEMORY, ECHELON_CUDA_ERROR, ECHELON_NOT_SET_UP
  public :: ECHELON_CALLBACK_FAILED, ECHELON_OPENCL_ERROR, ECHELON_INTERNAL, ECHELON_FLOAT, ECHELON_DOUBLE, ECHELON_COMPLEX_FLOAT
  public :: ECHELON_COMPLEX_DOUBLE, ECHELON_INT32, ECHELON_INT64, ECHELON_BY_ROWS, ECHELON_BY_COLUMNS, ECHELON_FULL
  public :: ECHELON_LOWER, ECHELON_UPPER, ECHELON_SYMMETRIC, ECHELON_TRANSPOSED, ECHELON_ADJOINT, ECHELON_FROM_X
  public :: ECHELON_ROW_MAJOR

  ! Codes of this module alone, in addition to those of C.
  integer(int32), parameter, public :: ECHELON_WRONG_KIND = -1000
  integer(int32), parameter, public :: ECHELON_NOT_CONTIGUOUS = -1001
  integer(int32), parameter, public :: ECHELON_SHAPE_MISMATCH = -1002

  ! Address of the first element; null if the array is empty or has gaps.
  interface address
    module procedure address_i4, address_i8, address_r4, address_r8, address_2d_r4, address_2d_r8
  end interface
  interface given
    module procedure given_integer, given_logical
  end interface

  ! An array that a matrix refers to.
  type :: array
    type(c_ptr) :: memory = c_null_ptr
    integer(int64) :: size = 0
    integer(int32) :: number = 0  ! ECHELON_INT32, _INT64, _FLOAT or _DOUBLE
  end type

  ! An object of the C interface, and the number of variables that hold it.
  type :: shared_object
    type(c_ptr) :: handle = c_null_ptr
    integer :: holders = 1
    integer(int32) :: scalar = ECHELON_DOUBLE  ! type of the elements
    integer(int64) :: entries = 0              ! of the arrays of a sparse matrix
    integer(int64) :: order = 0                ! of a solver: rows of the matrix of the last set-up
  end type

  abstract interface
    subroutine free_procedure(handle) bind(c)
      import :: c_ptr
      type(c_ptr), value :: handle
    end subroutine
  end interface

  ! A sparse or dense matrix in the arrays of the caller, one from a file, or one known by its products.
  type :: echelon_matrix
    private
    type(shared_object), pointer :: object => null()
  contains
    generic :: csr => csr_i4_r4, csr_i4_r8, csr_i8_r4, csr_i8_r8
    generic :: csc => csc_i4_r4, csc_i4_r8, csc_i8_r4, csc_i8_r8
    generic :: triplets => triplets_i4_r4, triplets_i4_r8, triplets_i8_r4, triplets_i8_r8
    generic :: dense => dense_r4, dense_r8
    generic :: values => values_r4, values_r8
    generic :: solve => solve_once_r4, solve_once_r8, solve_once_many_r4, solve_once_many_r8
    generic :: assignment(=) => share_matrix
    procedure :: product => product_matrix
    procedure :: read => read_matrix
    procedure :: rows => matrix_rows
    procedure :: columns => matrix_columns
    procedure :: nonzeros => matrix_nonzeros
    procedure, private :: csr_i4_r4, csr_i4_r8, csr_i8_r4, csr_i8_r8
    procedure, private :: csc_i4_r4, csc_i4_r8, csc_i8_r4, csc_i8_r8
    procedure, private :: triplets_i4_r4, triplets_i4_r8, triplets_i8_r4, triplets_i8_r8
    procedure, private :: dense_r4, dense_r8, values_r4, values_r8
    procedure, private :: solve_once_r4, solve_once_r8, solve_once_many_r4, solve_once_many_r8
    procedure, private :: share_matrix
    final :: release_matrix
  end type

  ! A method with its options and, after a set-up, what it keeps of a matrix.
  type :: echelon_solver
    private
    type(shared_object), pointer :: object => null()
  contains
    generic :: set => set_text, set_i4, set_i8, set_r8, set_logical
    generic :: solve => solve_r4, solve_r8, solve_many_r4, solve_many_r8
    generic :: apply => apply_r4, apply_r8
    generic :: preconditioner => precondition_by_solver, precondition_by_product
    generic :: assignment(=) => share_solver
    procedure :: create => create_solver
    procedure :: near_null_space
    procedure :: on_progress
    procedure :: on_iterate
    procedure :: analyze => analyze_matrix
    procedure :: setup => setup_matrix
    procedure :: update => update_matrix
    procedure :: cancel => cancel_solver
    procedure :: determinant => solver_determinant
    procedure :: inertia => solver_inertia
    procedure :: bytes => solver_bytes
    procedure, private :: set_text, set_i4, set_i8, set_r8, set_logical
    procedure, private :: solve_r4, solve_r8, solve_many_r4, solve_many_r8, apply_r4, apply_r8
    procedure, private :: precondition_by_solver, precondition_by_product
    procedure, private :: share_solver
    final :: release_solver
  end type

  ! The outcome of a set-up or a solve, by the names of docs/report.md.
  type :: echelon_report
    private
    type(shared_object), pointer :: object => null()
  contains
    generic :: assignment(=) => share_report
    procedure :: code => report_code
    procedure :: number => report_number
    procedure :: text => report_text
    procedure :: history => report_history
    procedure :: json => report_json
    procedure, private :: share_report
    final :: release_report
  end type

contains

  ! ---- The library ----

  ! Name of a code, and for a negative one the explanation of the last call of this thread that was refused.
  function echelon_message(code) result(text)
    integer(int32), intent(in) :: code
    character(:), allocatable :: text
    select case (code)
    case (ECHELON_WRONG_KIND)
      text = "wrong_kind: arrays have another kind of real than the matrix or the solver"
    case (ECHELON_NOT_CONTIGUOUS)
      text = "not_contiguous: a matrix can refer to arrays without gaps only"
    case (ECHELON_SHAPE_MISMATCH)
      text = "shape_mismatch: an array is too short, or two arrays of one call differ in size"
    case default
      text = text_of(echelon_code_name(code))
      if (code < 0) text = text // ": " // text_of(echelon_last_error())
    end select
  end function

  ! Version of the library, "0.1.0".
  function echelon_release() result(text)
    character(:), allocatable :: text
    text = text_of(echelon_version())
  end function

  ! Methods and their options as a JSON list.
  function echelon_methods() result(text)
    character(:), allocatable :: text
    text = text_of(echelon_methods_json())
  end function

  ! ---- Matrices ----

  ! A sparse matrix in CSR form: rows + 1 offsets, and a column index for each value. It is square unless `columns` is
  ! given; offsets and indices count from `base`, 1 unless given; `part` is ECHELON_FULL, _LOWER, _UPPER or _SYMMETRIC;
  ! `device` is the memory of the arrays, that of the host unless given.
  subroutine csr_i4_r4(self, offsets, indices, values, code, columns, base, part, device)
    class(echelon_matrix), intent(inout) :: self
    integer(int32), intent(in), target :: offsets(:), indices(:)
    real(real32), intent(in), target :: values(:)
    integer(int32), intent(out) :: code
    integer(int32), intent(in), optional :: columns
    integer(int32), intent(in), optional :: base, part
    character(*), intent(in), optional :: device
    integer(int64) :: width
    width = size(offsets, kind=int64) - 1
    if (present(columns)) width = columns
    call compressed(self, ECHELON_BY_ROWS, width, &
        array(address(offsets), size(offsets, kind=int64), ECHELON_INT32), &
        array(address(indices), size(indices, kind=int64), ECHELON_INT32), &
        array(address(values), size(values, kind=int64), ECHELON_FLOAT), code, base, part, device)
  end subroutine

  subroutine csr_i4_r8(self, offsets, indices, values, code, columns, base, part, device)
    class(echelon_matrix), intent(inout) :: self
    integer(int32), intent(in), target :: offsets(:), indices(:)
    real(real64), intent(in), target :: values(:)
    integer(int32), intent(out) :: code
    integer(int32), intent(in), optional :: columns
    integer(int32), intent(in), optional :: base, part
    character(*), intent(in), optional :: device
    integer(int64) :: width
    width = size(offsets, kind=int64) - 1
    if (present(columns)) width = columns
    call compressed(self, ECHELON_BY_ROWS, width, &
        array(address(offsets), size(offsets, kind=int64), ECHELON_INT32), &
        array(address(indices), size(indices, kind=int64), ECHELON_INT32), &
        array(address(values), size(values, kind=int64), ECHELON_DOUBLE), code, base, part, device)
  end subroutine

  subroutine csr_i8_r4(self, offsets, indices, values, code, columns, base, part, device)
    class(echelon_matrix), intent(inout) :: self
    integer(int64), intent(in), target :: offsets(:), indices(:)
    real(real32), intent(in), target :: values(:)
    integer(int32), intent(out) :: code
    integer(int64), intent(in), optional :: columns
    integer(int32), intent(in), optional :: base, part
    character(*), intent(in), optional :: device
    integer(int64) :: width
    width = size(offsets, kind=int64) - 1
    if (present(columns)) width = columns
    call compressed(self, ECHELON_BY_ROWS, width, &
        array(address(offsets), size(offsets, kind=int64), ECHELON_INT64), &
        array(address(indices), size(indices, kind=int64), ECHELON_INT64), &
        array(address(values), size(values, kind=int64), ECHELON_FLOAT), code, base, part, device)
  end subroutine

  subroutine csr_i8_r8(self, offsets, indices, values, code, columns, base, part, device)
    class(echelon_matrix), intent(inout) :: self
    integer(int64), intent(in), target :: offsets(:), indices(:)
    real(real64), intent(in), target :: values(:)
    integer(int32), intent(out) :: code
    integer(int64), intent(in), optional :: columns
    integer(int32), intent(in), optional :: base, part
    character(*), intent(in), optional :: device
    integer(int64) :: width
    width = size(offsets, kind=int64) - 1
    if (present(columns)) width = columns
    call compressed(self, ECHELON_BY_ROWS, width, &
        array(address(offsets), size(offsets, kind=int64), ECHELON_INT64), &
        array(address(indices), size(indices, kind=int64), ECHELON_INT64), &
        array(address(values), size(values, kind=int64), ECHELON_DOUBLE), code, base, part, device)
  end subroutine


  ! A sparse matrix in CSC form: columns + 1 offsets, and a row index for each value; square unless `rows` is given.
  subroutine csc_i4_r4(self, offsets, indices, values, code, rows, base, part, device)
    class(echelon_matrix), intent(inout) :: self
    integer(int32), intent(in), target :: offsets(:), indices(:)
    real(real32), intent(in), target :: values(:)
    integer(int32), intent(out) :: code
    integer(int32), intent(in), optional :: rows
    integer(int32), intent(in), optional :: base, part
    character(*), intent(in), optional :: device
    integer(int64) :: width
    width = size(offsets, kind=int64) - 1
    if (present(rows)) width = rows
    call compressed(self, ECHELON_BY_COLUMNS, width, &
        array(address(offsets), size(offsets, kind=int64), ECHELON_INT32), &
        array(address(indices), size(indices, kind=int64), ECHELON_INT32), &
        array(address(values), size(values, kind=int64), ECHELON_FLOAT), code, base, part, device)
  end subroutine

  subroutine csc_i4_r8(self, offsets, indices, values, code, rows, base, part, device)
    class(echelon_matrix), intent(inout) :: self
    integer(int32), intent(in), target :: offsets(:), indices(:)
    real(real64), intent(in), target :: values(:)
    integer(int32), intent(out) :: code
    integer(int32), intent(in), optional :: rows
    integer(int32), intent(in), optional :: base, part
    character(*), intent(in), optional :: device
    integer(int64) :: width
    width = size(offsets, kind=int64) - 1
    if (present(rows)) width = rows
    call compressed(self, ECHELON_BY_COLUMNS, width, &
        array(address(offsets), size(offsets, kind=int64), ECHELON_INT32), &
        array(address(indices), size(indices, kind=int64), ECHELON_INT32), &
        array(address(values), size(values, kind=int64), ECHELON_DOUBLE), code, base, part, device)
  end subroutine

  subroutine csc_i8_r4(self, offsets, indices, values, code, rows, base, part, device)
    class(echelon_matrix), intent(inout) :: self
    integer(int64), intent(in), target :: offsets(:), indices(:)
    real(real32), intent(in), target :: values(:)
    integer(int32), intent(out) :: code
    integer(int64), intent(in), optional :: rows
    integer(int32), intent(in), optional :: base, part
    character(*), intent(in), optional :: device
    integer(int64) :: width
    width = size(offsets, kind=int64) - 1
    if (present(rows)) width = rows
    call compressed(self, ECHELON_BY_COLUMNS, width, &
        array(address(offsets), size(offsets, kind=int64), ECHELON_INT64), &
        array(address(indices), size(indices, kind=int64), ECHELON_INT64), &
        array(address(values), size(values, kind=int64), ECHELON_FLOAT), code, base, part, device)
  end subroutine

  subroutine csc_i8_r8(self, offsets, indices, values, code, rows, base, part, device)
    class(echelon_matrix), intent(inout) :: self
    integer(int64), intent(in), target :: offsets(:), indices(:)
    real(real64), intent(in), target :: values(:)
    integer(int32), intent(out) :: code
    integer(int64), intent(in), optional :: rows
    integer(int32), intent(in), optional :: base, part
    character(*), intent(in), optional :: device
    integer(int64) :: width
    width = size(offsets, kind=int64) - 1
    if (present(rows)) width = rows
    call compressed(self, ECHELON_BY_COLUMNS, width, &
        array(address(offsets), size(offsets, kind=int64), ECHELON_INT64), &
        array(address(indices), size(indices, kind=int64), ECHELON_INT64), &
        array(address(values), size(values, kind=int64), ECHELON_DOUBLE), code, base, part, device)
  end subroutine

  ! A sparse matrix as a list of entries in any order; those of one position are added.
  subroutine triplets_i4_r4(self, rows, columns, row_indices, column_indices, values, code, base, part, device)
    class(echelon_matrix), intent(inout) :: self
    integer(int32), intent(in) :: rows, columns
    integer(int32), intent(in), target :: row_indices(:), column_indices(:)
    real(real32), intent(in), target :: values(:)
    integer(int32), intent(out) :: code
    integer(int32), intent(in), optional :: base, part
    character(*), intent(in), optional :: device
    call triplets(self, int(rows, int64), int(columns, int64), &
        array(address(row_indices), size(row_indices, kind=int64), ECHELON_INT32), &
        array(address(column_indices), size(column_indices, kind=int64), ECHELON_INT32), &
        array(address(values), size(values, kind=int64), ECHELON_FLOAT), code, base, part, device)
  end subroutine

  subroutine triplets_i4_r8(self, rows, columns, row_indices, column_indices, values, code, base, part, device)
    class(echelon_matrix), intent(inout) :: self
    integer(int32), intent(in) :: rows, columns
    integer(int32), intent(in), target :: row_indices(:), column_indices(:)
    real(real64), intent(in), target :: values(:)
    integer(int32), intent(out) :: code
    integer(int32), intent(in), optional :: base, part
    character(*), intent(in), optional :: device
    call triplets(self, int(rows, int64), int(columns, int64), &
        array(address(row_indices), size(row_indices, kind=int64), ECHELON_INT32), &
        array(address(column_indices), size(column_indices, kind=int64), ECHELON_INT32), &
        array(address(values), size(values, kind=int64), ECHELON_DOUBLE), code, base, part, device)
  end subroutine

  subroutine triplets_i8_r4(self, rows, columns, row_indices, column_indices, values, code, base, part, device)
    class(echelon_matrix), intent(inout) :: self
    integer(int64), intent(in) :: rows, columns
    integer(int64), intent(in), target :: row_indices(:), column_indices(:)
    real(real32), intent(in), target :: values(:)
    integer(int32), intent(out) :: code
    integer(int32), intent(in), optional :: base, part
    character(*), intent(in), optional :: device
    call triplets(self, int(rows, int64), int(columns, int64), &
        array(address(row_indices), size(row_indices, kind=int64), ECHELON_INT64), &
        array(address(column_indices), size(column_indices, kind=int64), ECHELON_INT64), &
        array(address(values), size(values, kind=int64), ECHELON_FLOAT), code, base, part, device)
  end subroutine

  subroutine triplets_i8_r8(self, rows, columns, row_indices, column_indices, values, code, base, part, device)
    class(echelon_matrix), intent(inout) :: self
    integer(int64), intent(in) :: rows, columns
    integer(int64), intent(in), target :: row_indices(:), column_indices(:)
    real(real64), intent(in), target :: values(:)
    integer(int32), intent(out) :: code
    integer(int32), intent(in), optional :: base, part
    character(*), intent(in), optional :: device
    call triplets(self, int(rows, int64), int(columns, int64), &
        array(address(row_indices), size(row_indices, kind=int64), ECHELON_INT64), &
        array(address(column_indices), size(column_indices, kind=int64), ECHELON_INT64), &
        array(address(values), size(values, kind=int64), ECHELON_DOUBLE), code, base, part, device)
  end subroutine

  ! A dense matrix; its columns may be a section of those of a larger array.
  subroutine dense_r4(self, values, code, device)
    class(echelon_matrix), intent(inout) :: self
    real(real32), intent(in), target :: values(:, :)
    integer(int32), intent(out) :: code
    character(*), intent(in), optional :: device
    integer(int64) :: leading
    type(c_ptr) :: handle, memory
    memory = c_null_ptr
    leading = max(size(values, 1, int64), 1_int64)
    if (size(values, kind=int64) > 0) then
      memory = address(values(:, 1))
      if (size(values, 2) > 1) leading = distance(memory, address(values(:, 2))) / (storage_size(values) / 8)
      code = ECHELON_NOT_CONTIGUOUS
      if (.not. c_associated(memory) .or. leading < size(values, 1, int64)) return
    end if
    code = echelon_dense(ECHELON_BY_COLUMNS, ECHELON_FLOAT, size(values, 1, int64), size(values, 2, int64), memory, leading, &
        c_text(device), handle)
    call hold(self%object, handle, ECHELON_FLOAT, echelon_matrix_free)
  end subroutine

  subroutine dense_r8(self, values, code, device)
    class(echelon_matrix), intent(inout) :: self
    real(real64), intent(in), target :: values(:, :)
    integer(int32), intent(out) :: code
    character(*), intent(in), optional :: device
    integer(int64) :: leading
    type(c_ptr) :: handle, memory
    memory = c_null_ptr
    leading = max(size(values, 1, int64), 1_int64)
    if (size(values, kind=int64) > 0) then
      memory = address(values(:, 1))
      if (size(values, 2) > 1) leading = distance(memory, address(values(:, 2))) / (storage_size(values) / 8)
      code = ECHELON_NOT_CONTIGUOUS
      if (.not. c_associated(memory) .or. leading < size(values, 1, int64)) return
    end if
    code = echelon_dense(ECHELON_BY_COLUMNS, ECHELON_DOUBLE, size(values, 1, int64), size(values, 2, int64), memory, leading, &
        c_text(device), handle)
    call hold(self%object, handle, ECHELON_DOUBLE, echelon_matrix_free)
  end subroutine

  ! Takes new values for the entries of a sparse matrix, in the order of its arrays. Solvers see them after update. (A
  ! dense matrix, whose elements may change in place, needs update alone.)
  subroutine values_r4(self, values, code)
    class(echelon_matrix), intent(inout) :: self
    real(real32), intent(in), target :: values(:)
    integer(int32), intent(out) :: code
    code = values_fault(self%object, array(address(values), size(values, kind=int64), ECHELON_FLOAT))
    if (code == ECHELON_SOLVED) code = echelon_matrix_values(handle_of(self%object), address(values))
  end subroutine

  subroutine values_r8(self, values, code)
    class(echelon_matrix), intent(inout) :: self
    real(real64), intent(in), target :: values(:)
    integer(int32), intent(out) :: code
    code = values_fault(self%object, array(address(values), size(values, kind=int64), ECHELON_DOUBLE))
    if (code == ECHELON_SOLVED) code = echelon_matrix_values(handle_of(self%object), address(values))
  end subroutine

  ! A matrix known by its products y = A x and, if given, y = A^T x; `scalar` is ECHELON_DOUBLE unless given.
  subroutine product_matrix(self, rows, columns, product, code, transposed, user, scalar, device)
    class(echelon_matrix), intent(inout) :: self
    integer(int64), intent(in) :: rows, columns
    procedure(echelon_product) :: product
    integer(int32), intent(out) :: code
    procedure(echelon_product), optional :: transposed
    type(c_ptr), intent(in), optional :: user
    integer(int32), intent(in), optional :: scalar
    character(*), intent(in), optional :: device
    type(c_ptr) :: handle
    type(c_funptr) :: transposed_product
    transposed_product = c_null_funptr
    if (present(transposed)) transposed_product = c_funloc(transposed)
    code = echelon_operator(given(scalar, ECHELON_DOUBLE), rows, columns, c_funloc(product), transposed_product, &
        given_user(user), c_text(device), handle)
    call hold(self%object, handle, given(scalar, ECHELON_DOUBLE), echelon_matrix_free)
  end subroutine

  ! A matrix from a file of any format that the library reads; `scalar` is ECHELON_DOUBLE unless given.
  subroutine read_matrix(self, file, code, scalar)
    class(echelon_matrix), intent(inout) :: self
    character(*), intent(in) :: file
    integer(int32), intent(out) :: code
    integer(int32), intent(in), optional :: scalar
    type(c_ptr) :: handle
    code = echelon_read(c_text(file), given(scalar, ECHELON_DOUBLE), handle)
    call hold(self%object, handle, given(scalar, ECHELON_DOUBLE), echelon_matrix_free)
  end subroutine

  ! Sizes; 0 where there is no matrix. Nonzeros: the elements that the library works with.
  function matrix_rows(self) result(rows)
    class(echelon_matrix), intent(in) :: self
    integer(int64) :: rows
    if (echelon_matrix_size(handle_of(self%object), rows=rows) /= ECHELON_SOLVED) rows = 0
  end function

  function matrix_columns(self) result(columns)
    class(echelon_matrix), intent(in) :: self
    integer(int64) :: columns
    if (echelon_matrix_size(handle_of(self%object), columns=columns) /= ECHELON_SOLVED) columns = 0
  end function

  function matrix_nonzeros(self) result(nonzeros)
    class(echelon_matrix), intent(in) :: self
    integer(int64) :: nonzeros
    if (echelon_matrix_size(handle_of(self%object), nonzeros=nonzeros) /= ECHELON_SOLVED) nonzeros = 0
  end function

  ! Solves A x = b, or A X = B column by column, in one call. Options are words NAME=VALUE between blanks, "method=cg
  ! rtol=1e-10 preconditioner=amg".
  subroutine solve_once_r4(self, b, x, code, options, report)
    class(echelon_matrix), intent(in) :: self
    real(real32), intent(in), contiguous, target :: b(:)
    real(real32), intent(inout), contiguous, target :: x(:)
    integer(int32), intent(out) :: code
    character(*), intent(in), optional :: options
    type(echelon_report), intent(inout), optional :: report
    call solve_once(self, ECHELON_FLOAT, [size(b, kind=int64), size(x, kind=int64)], [1_int64, 1_int64], &
        address(b), address(x), code, options, report)
  end subroutine

  subroutine solve_once_r8(self, b, x, code, options, report)
    class(echelon_matrix), intent(in) :: self
    real(real64), intent(in), contiguous, target :: b(:)
    real(real64), intent(inout), contiguous, target :: x(:)
    integer(int32), intent(out) :: code
    character(*), intent(in), optional :: options
    type(echelon_report), intent(inout), optional :: report
    call solve_once(self, ECHELON_DOUBLE, [size(b, kind=int64), size(x, kind=int64)], [1_int64, 1_int64], &
        address(b), address(x), code, options, report)
  end subroutine

  subroutine solve_once_many_r4(self, b, x, code, options, report)
    class(echelon_matrix), intent(in) :: self
    real(real32), intent(in), contiguous, target :: b(:, :)
    real(real32), intent(inout), contiguous, target :: x(:, :)
    integer(int32), intent(out) :: code
    character(*), intent(in), optional :: options
    type(echelon_report), intent(inout), optional :: report
    call solve_once(self, ECHELON_FLOAT, [size(b, 1, int64), size(x, 1, int64)], [size(b, 2, int64), size(x, 2, int64)], &
        address(b), address(x), code, options, report)
  end subroutine

  subroutine solve_once_many_r8(self, b, x, code, options, report)
    class(echelon_matrix), intent(in) :: self
    real(real64), intent(in), contiguous, target :: b(:, :)
    real(real64), intent(inout), contiguous, target :: x(:, :)
    integer(int32), intent(out) :: code
    character(*), intent(in), optional :: options
    type(echelon_report), intent(inout), optional :: report
    call solve_once(self, ECHELON_DOUBLE, [size(b, 1, int64), size(x, 1, int64)], [size(b, 2, int64), size(x, 2, int64)], &
        address(b), address(x), code, options, report)
  end subroutine

  subroutine compressed(self, order, width, offsets, indices, values, code, base, part, device)
    type(echelon_matrix), intent(inout) :: self
    integer(int32), intent(in) :: order
    integer(int64), intent(in) :: width
    type(array), intent(in) :: offsets, indices, values
    integer(int32), intent(out) :: code
    integer(int32), intent(in), optional :: base, part
    character(*), intent(in), optional :: device
    integer(int64) :: sizes(2)
    type(c_ptr) :: handle
    code = fault_of([offsets, indices, values])
    if (indices%size /= values%size) code = ECHELON_SHAPE_MISMATCH
    if (code /= ECHELON_SOLVED) return
    sizes = [offsets%size - 1, width]
    if (order == ECHELON_BY_COLUMNS) sizes = sizes([2, 1])
    code = echelon_compressed(order, values%number, sizes(1), sizes(2), values%size, offsets%number, offsets%memory, &
        indices%number, indices%memory, values%memory, given(base, 1_int32), given(part, ECHELON_FULL), &
        c_text(device), handle)
    call hold(self%object, handle, values%number, echelon_matrix_free)
    if (associated(self%object)) self%object%entries = values%size
  end subroutine

  subroutine triplets(self, rows, columns, row_indices, column_indices, values, code, base, part, device)
    type(echelon_matrix), intent(inout) :: self
    integer(int64), intent(in) :: rows, columns
    type(array), intent(in) :: row_indices, column_indices, values
    integer(int32), intent(out) :: code
    integer(int32), intent(in), optional :: base, part
    character(*), intent(in), optional :: device
    type(c_ptr) :: handle
    code = fault_of([row_indices, column_indices, values])
    if (row_indices%size /= values%size .or. column_indices%size /= values%size) code = ECHELON_SHAPE_MISMATCH
    if (code /= ECHELON_SOLVED) return
    code = echelon_triplets(values%number, rows, columns, values%size, row_indices%number, row_indices%memory, &
        column_indices%memory, values%memory, given(base, 1_int32), given(part, ECHELON_FULL), c_text(device), handle)
    call hold(self%object, handle, values%number, echelon_matrix_free)
    if (associated(self%object)) self%object%entries = values%size
  end subroutine

  subroutine solve_once(self, scalar, lengths, widths, b, x, code, options, report)
    type(echelon_matrix), intent(in) :: self
    integer(int32), intent(in) :: scalar
    integer(int64), intent(in) :: lengths(2), widths(2)  ! rows and columns of b and x
    type(c_ptr), intent(in) :: b, x
    integer(int32), intent(out) :: code
    character(*), intent(in), optional :: options
    type(echelon_report), intent(inout), optional :: report
    type(c_ptr) :: handle
    code = operand_fault(self%object, scalar, widths)
    if (code /= ECHELON_SOLVED) return
    if (present(report)) then
      code = echelon_solve_once(handle_of(self%object), widths(1), b, lengths(1), x, lengths(2), c_text(options), handle)
      call hold(report%object, handle, scalar, echelon_report_free)
    else
      code = echelon_solve_once(handle_of(self%object), widths(1), b, lengths(1), x, lengths(2), c_text(options))
    end if
  end subroutine

  ! ---- Solvers ----

  ! A solver by the name of its method; "auto" chooses one for the matrix of the first set-up.
  subroutine create_solver(self, method, code, scalar, device)
    class(echelon_solver), intent(inout) :: self
    character(*), intent(in) :: method
    integer(int32), intent(out) :: code
    integer(int32), intent(in), optional :: scalar
    character(*), intent(in), optional :: device
    type(c_ptr) :: handle
    code = echelon_create(c_text(method), given(scalar, ECHELON_DOUBLE), c_text(device), handle)
    call hold(self%object, handle, given(scalar, ECHELON_DOUBLE), echelon_free)
  end subroutine

  ! Sets an option by its name. rtol, atol, max_iterations, least_squares and measure_error act from the next solve on,
  ! others from the next set-up.
  subroutine set_text(self, option, value, code)
    class(echelon_solver), intent(inout) :: self
    character(*), intent(in) :: option, value
    integer(int32), intent(out) :: code
    code = echelon_set(handle_of(self%object), c_text(option), c_text(value))
  end subroutine

  subroutine set_i4(self, option, value, code)
    class(echelon_solver), intent(inout) :: self
    character(*), intent(in) :: option
    integer(int32), intent(in) :: value
    integer(int32), intent(out) :: code
    code = echelon_set_integer(handle_of(self%object), c_text(option), int(value, int64))
  end subroutine

  subroutine set_i8(self, option, value, code)
    class(echelon_solver), intent(inout) :: self
    character(*), intent(in) :: option
    integer(int64), intent(in) :: value
    integer(int32), intent(out) :: code
    code = echelon_set_integer(handle_of(self%object), c_text(option), value)
  end subroutine

  subroutine set_r8(self, option, value, code)
    class(echelon_solver), intent(inout) :: self
    character(*), intent(in) :: option
    real(real64), intent(in) :: value
    integer(int32), intent(out) :: code
    code = echelon_set_real(handle_of(self%object), c_text(option), value)
  end subroutine

  subroutine set_logical(self, option, value, code)
    class(echelon_solver), intent(inout) :: self
    character(*), intent(in) :: option
    logical, intent(in) :: value
    integer(int32), intent(out) :: code
    code = echelon_set(handle_of(self%object), c_text(option), merge("true ", "false", value))
  end subroutine

  ! Preconditions from the next set-up on by another solver, which has been set up by then.
  subroutine precondition_by_solver(self, other, code)
    class(echelon_solver), intent(inout) :: self
    type(echelon_solver), intent(in) :: other
    integer(int32), intent(out) :: code
    code = echelon_preconditioner(handle_of(self%object), handle_of(other%object))
  end subroutine

  ! The same by a product z = M^-1 r of the caller.
  subroutine precondition_by_product(self, product, code, user)
    class(echelon_solver), intent(inout) :: self
    procedure(echelon_product) :: product
    integer(int32), intent(out) :: code
    type(c_ptr), intent(in), optional :: user
    code = echelon_preconditioner_product(handle_of(self%object), c_funloc(product), given_user(user))
  end subroutine

  ! Vectors that A maps nearly to zero, one in each column.
  subroutine near_null_space(self, vectors, code)
    class(echelon_solver), intent(inout) :: self
    real(real64), intent(in), contiguous :: vectors(:, :)
    integer(int32), intent(out) :: code
    code = echelon_near_null_space(handle_of(self%object), size(vectors, 1, int64), size(vectors, 2, int64), vectors, &
        size(vectors, 1, int64))
  end subroutine

  ! Calls `progress` in set-ups and solves.
  subroutine on_progress(self, progress, code, user)
    class(echelon_solver), intent(inout) :: self
    procedure(echelon_progress) :: progress
    integer(int32), intent(out) :: code
    type(c_ptr), intent(in), optional :: user
    code = echelon_on_progress(handle_of(self%object), c_funloc(progress), given_user(user))
  end subroutine

  ! Calls `iterate` with the x of every iteration.
  subroutine on_iterate(self, iterate, code, user)
    class(echelon_solver), intent(inout) :: self
    procedure(echelon_iterate) :: iterate
    integer(int32), intent(out) :: code
    type(c_ptr), intent(in), optional :: user
    code = echelon_on_iterate(handle_of(self%object), c_funloc(iterate), given_user(user))
  end subroutine

  ! Analyses the pattern of A only; optional.
  subroutine analyze_matrix(self, A, code, report)
    class(echelon_solver), intent(inout) :: self
    type(echelon_matrix), intent(in) :: A
    integer(int32), intent(out) :: code
    type(echelon_report), intent(inout), optional :: report
    type(c_ptr) :: handle
    code = echelon_analyze(handle_of(self%object), handle_of(A%object), handle)
    call take_report(report, handle)
    if (associated(self%object)) self%object%order = A%rows()
  end subroutine

  ! Prepares for solves with A: factors it, or sets up a preconditioner. Refers to the arrays of A.
  subroutine setup_matrix(self, A, code, report)
    class(echelon_solver), intent(inout) :: self
    type(echelon_matrix), intent(in) :: A
    integer(int32), intent(out) :: code
    type(echelon_report), intent(inout), optional :: report
    type(c_ptr) :: handle
    code = echelon_setup(handle_of(self%object), handle_of(A%object), handle)
    call take_report(report, handle)
    if (associated(self%object)) self%object%order = A%rows()
  end subroutine

  ! Prepares for new values of A in the pattern of the last set-up.
  subroutine update_matrix(self, A, code, report)
    class(echelon_solver), intent(inout) :: self
    type(echelon_matrix), intent(in) :: A
    integer(int32), intent(out) :: code
    type(echelon_report), intent(inout), optional :: report
    type(c_ptr) :: handle
    code = echelon_update(handle_of(self%object), handle_of(A%object), handle)
    call take_report(report, handle)
    if (associated(self%object)) self%object%order = A%rows()
  end subroutine

  ! Solves op(A) x = b, or op(A) X = B; `transposed` and `from_x` are .false. unless given.
  subroutine solve_r4(self, b, x, code, transposed, from_x, report)
    class(echelon_solver), intent(in) :: self
    real(real32), intent(in), contiguous, target :: b(:)
    real(real32), intent(inout), contiguous, target :: x(:)
    integer(int32), intent(out) :: code
    logical, intent(in), optional :: transposed, from_x
    type(echelon_report), intent(inout), optional :: report
    call solve_columns(self, ECHELON_FLOAT, [size(b, kind=int64), size(x, kind=int64)], [1_int64, 1_int64], &
        address(b), address(x), code, transposed, from_x, report)
  end subroutine

  subroutine solve_r8(self, b, x, code, transposed, from_x, report)
    class(echelon_solver), intent(in) :: self
    real(real64), intent(in), contiguous, target :: b(:)
    real(real64), intent(inout), contiguous, target :: x(:)
    integer(int32), intent(out) :: code
    logical, intent(in), optional :: transposed, from_x
    type(echelon_report), intent(inout), optional :: report
    call solve_columns(self, ECHELON_DOUBLE, [size(b, kind=int64), size(x, kind=int64)], [1_int64, 1_int64], &
        address(b), address(x), code, transposed, from_x, report)
  end subroutine

  subroutine solve_many_r4(self, b, x, code, transposed, from_x, report)
    class(echelon_solver), intent(in) :: self
    real(real32), intent(in), contiguous, target :: b(:, :)
    real(real32), intent(inout), contiguous, target :: x(:, :)
    integer(int32), intent(out) :: code
    logical, intent(in), optional :: transposed, from_x
    type(echelon_report), intent(inout), optional :: report
    call solve_columns(self, ECHELON_FLOAT, [size(b, 1, int64), size(x, 1, int64)], [size(b, 2, int64), size(x, 2, int64)], &
        address(b), address(x), code, transposed, from_x, report)
  end subroutine

  subroutine solve_many_r8(self, b, x, code, transposed, from_x, report)
    class(echelon_solver), intent(in) :: self
    real(real64), intent(in), contiguous, target :: b(:, :)
    real(real64), intent(inout), contiguous, target :: x(:, :)
    integer(int32), intent(out) :: code
    logical, intent(in), optional :: transposed, from_x
    type(echelon_report), intent(inout), optional :: report
    call solve_columns(self, ECHELON_DOUBLE, [size(b, 1, int64), size(x, 1, int64)], [size(b, 2, int64), size(x, 2, int64)], &
        address(b), address(x), code, transposed, from_x, report)
  end subroutine

  ! z = M^-1 r by one application of the solver as a preconditioner; r and z have as many elements as A has rows.
  subroutine apply_r4(self, r, z, code)
    class(echelon_solver), intent(in) :: self
    real(real32), intent(in), contiguous, target :: r(:)
    real(real32), intent(inout), contiguous, target :: z(:)
    integer(int32), intent(out) :: code
    code = application_fault(self%object, ECHELON_FLOAT, [size(r, kind=int64), size(z, kind=int64)])
    if (code == ECHELON_SOLVED) code = echelon_apply(handle_of(self%object), address(r), address(z))
  end subroutine

  subroutine apply_r8(self, r, z, code)
    class(echelon_solver), intent(in) :: self
    real(real64), intent(in), contiguous, target :: r(:)
    real(real64), intent(inout), contiguous, target :: z(:)
    integer(int32), intent(out) :: code
    code = application_fault(self%object, ECHELON_DOUBLE, [size(r, kind=int64), size(z, kind=int64)])
    if (code == ECHELON_SOLVED) code = echelon_apply(handle_of(self%object), address(r), address(z))
  end subroutine

  ! Ends the calls for this solver that are running; allowed on any thread.
  subroutine cancel_solver(self)
    class(echelon_solver), intent(in) :: self
    call echelon_cancel(handle_of(self%object))
  end subroutine

  ! The determinant of A, sign exp(logarithm), by the last set-up of a direct method.
  subroutine solver_determinant(self, sign, logarithm, code)
    class(echelon_solver), intent(in) :: self
    real(real64), intent(out) :: sign, logarithm
    integer(int32), intent(out) :: code
    code = echelon_determinant(handle_of(self%object), sign, logarithm=logarithm)
  end subroutine

  ! Numbers of positive, negative and zero eigenvalues of a symmetric A, by the last set-up of a method for these.
  subroutine solver_inertia(self, positive, negative, zero, code)
    class(echelon_solver), intent(in) :: self
    integer(int64), intent(out) :: positive, negative, zero
    integer(int32), intent(out) :: code
    code = echelon_inertia(handle_of(self%object), positive, negative, zero)
  end subroutine

  ! Bytes that the solver holds on its device; 0 before a set-up, or a negative code.
  function solver_bytes(self) result(bytes)
    class(echelon_solver), intent(in) :: self
    integer(int64) :: bytes
    bytes = echelon_bytes(handle_of(self%object))
  end function

  subroutine solve_columns(self, scalar, lengths, widths, b, x, code, transposed, from_x, report)
    type(echelon_solver), intent(in) :: self
    integer(int32), intent(in) :: scalar
    integer(int64), intent(in) :: lengths(2), widths(2)  ! rows and columns of b and x
    type(c_ptr), intent(in) :: b, x
    integer(int32), intent(out) :: code
    logical, intent(in), optional :: transposed, from_x
    type(echelon_report), intent(inout), optional :: report
    integer(int32) :: flags
    type(c_ptr) :: handle
    code = operand_fault(self%object, scalar, widths)
    if (code /= ECHELON_SOLVED) return
    flags = 0
    if (given(transposed, .false.)) flags = flags + ECHELON_TRANSPOSED
    if (given(from_x, .false.)) flags = flags + ECHELON_FROM_X
    if (present(report)) then
      code = echelon_solve(handle_of(self%object), widths(1), b, lengths(1), x, lengths(2), flags, handle)
      call hold(report%object, handle, scalar, echelon_report_free)
    else
      code = echelon_solve(handle_of(self%object), widths(1), b, lengths(1), x, lengths(2), flags)
    end if
  end subroutine

  ! ---- Reports ----

  ! The code that the call returned.
  function report_code(self) result(code)
    class(echelon_report), intent(in) :: self
    integer(int32) :: code
    code = echelon_report_code(handle_of(self%object))
  end function

  ! A number by its name, "iterations", "statistics.levels"; NaN where the report has none.
  function report_number(self, name) result(number)
    class(echelon_report), intent(in) :: self
    character(*), intent(in) :: name
    real(real64) :: number
    number = echelon_report_number(handle_of(self%object), c_text(name))
  end function

  ! A text by its name, "status", "method", or "text" for readable lines; empty where the report has none.
  function report_text(self, name) result(text)
    class(echelon_report), intent(in) :: self
    character(*), intent(in) :: name
    character(:), allocatable :: text
    text = text_of(echelon_report_text(handle_of(self%object), c_text(name)))
  end function

  ! Relative residuals after 0, 1, 2, ... iterations.
  function report_history(self) result(history)
    class(echelon_report), intent(in) :: self
    real(real64), allocatable :: history(:)
    real(real64) :: none(1)
    integer(int64) :: count
    count = max(echelon_report_history(handle_of(self%object), 0_int64, none), 0_int64)
    allocate (history(count))
    count = echelon_report_history(handle_of(self%object), count, history)
  end function

  ! The whole report as one line of JSON.
  function report_json(self) result(text)
    class(echelon_report), intent(in) :: self
    character(:), allocatable :: text
    text = text_of(echelon_report_json(handle_of(self%object)))
  end function

  ! ---- Objects that several variables hold ----

  impure elemental subroutine release_matrix(self)
    type(echelon_matrix), intent(inout) :: self
    call release(self%object, echelon_matrix_free)
  end subroutine

  impure elemental subroutine release_solver(self)
    type(echelon_solver), intent(inout) :: self
    call release(self%object, echelon_free)
  end subroutine

  impure elemental subroutine release_report(self)
    type(echelon_report), intent(inout) :: self
    call release(self%object, echelon_report_free)
  end subroutine

  subroutine share_matrix(self, other)
    class(echelon_matrix), intent(inout) :: self
    class(echelon_matrix), intent(in) :: other
    call share(self%object, other%object, echelon_matrix_free)
  end subroutine

  subroutine share_solver(self, other)
    class(echelon_solver), intent(inout) :: self
    class(echelon_solver), intent(in) :: other
    call share(self%object, other%object, echelon_free)
  end subroutine

  subroutine share_report(self, other)
    class(echelon_report), intent(inout) :: self
    class(echelon_report), intent(in) :: other
    call share(self%object, other%object, echelon_report_free)
  end subroutine

  ! Replaces the object of a variable by a new one; a null handle leaves it without one.
  subroutine hold(object, handle, scalar, free)
    type(shared_object), pointer, intent(inout) :: object
    type(c_ptr), intent(in) :: handle
    integer(int32), intent(in) :: scalar
    procedure(free_procedure) :: free
    call release(object, free)
    if (c_associated(handle)) allocate (object, source=shared_object(handle, scalar=scalar))
  end subroutine

  subroutine share(object, other, free)
    type(shared_object), pointer, intent(inout) :: object
    type(shared_object), pointer, intent(in) :: other
    procedure(free_procedure) :: free
    if (associated(object, other)) return
    call release(object, free)
    object => other
    if (associated(object)) object%holders = object%holders + 1
  end subroutine

  subroutine release(object, free)
    type(shared_object), pointer, intent(inout) :: object
    procedure(free_procedure) :: free
    if (.not. associated(object)) return
    object%holders = object%holders - 1
    if (object%holders == 0) then
      call free(object%handle)
      deallocate (object)
    end if
    object => null()
  end subroutine

  ! Gives the report to the caller, or frees it where none was asked for.
  subroutine take_report(report, handle)
    type(echelon_report), intent(inout), optional :: report
    type(c_ptr), intent(in) :: handle
    if (present(report)) then
      call hold(report%object, handle, ECHELON_DOUBLE, echelon_report_free)
    else
      call echelon_report_free(handle)
    end if
  end subroutine

  function handle_of(object) result(handle)
    type(shared_object), pointer, intent(in) :: object
    type(c_ptr) :: handle
    handle = c_null_ptr
    if (associated(object)) handle = object%handle
  end function

  ! Type of the elements of an object, or `otherwise` where there is no object.
  function scalar_of(object, otherwise) result(scalar)
    type(shared_object), pointer, intent(in) :: object
    integer(int32), intent(in) :: otherwise
    integer(int32) :: scalar
    scalar = otherwise
    if (associated(object)) scalar = object%scalar
  end function

  ! ---- Arguments ----

  ! Code of the first fault of arrays that a matrix would refer to.
  function fault_of(arrays) result(code)
    type(array), intent(in) :: arrays(:)
    integer(int32) :: code
    integer :: i
    code = ECHELON_SOLVED
    do i = 1, size(arrays)
      if (arrays(i)%size > 0 .and. .not. c_associated(arrays(i)%memory)) code = ECHELON_NOT_CONTIGUOUS
    end do
  end function

  ! Code of the first fault of new values for the arrays of a matrix.
  function values_fault(object, values) result(code)
    type(shared_object), pointer, intent(in) :: object
    type(array), intent(in) :: values
    integer(int32) :: code
    code = fault_of([values])
    if (scalar_of(object, values%number) /= values%number) code = ECHELON_WRONG_KIND
    if (associated(object)) then
      if (object%entries /= values%size) code = ECHELON_SHAPE_MISMATCH
    end if
  end function

  function operand_fault(object, scalar, sizes) result(code)
    type(shared_object), pointer, intent(in) :: object
    integer(int32), intent(in) :: scalar
    integer(int64), intent(in) :: sizes(2)  ! which should be equal
    integer(int32) :: code
    code = ECHELON_SOLVED
    if (sizes(1) /= sizes(2)) code = ECHELON_SHAPE_MISMATCH
    if (scalar_of(object, scalar) /= scalar) code = ECHELON_WRONG_KIND
  end function

  function application_fault(object, scalar, sizes) result(code)
    type(shared_object), pointer, intent(in) :: object
    integer(int32), intent(in) :: scalar
    integer(int64), intent(in) :: sizes(2)
    integer(int32) :: code
    code = operand_fault(object, scalar, sizes)
    if (associated(object)) then
      if (sizes(1) < object%order) code = ECHELON_SHAPE_MISMATCH
    end if
  end function

  function address_i4(elements) result(memory)
    integer(int32), intent(in), target :: elements(:)
    type(c_ptr) :: memory
    memory = c_null_ptr
    if (size(elements, kind=int64) > 0 .and. is_contiguous(elements)) memory = c_loc(elements(1))
  end function

  function address_i8(elements) result(memory)
    integer(int64), intent(in), target :: elements(:)
    type(c_ptr) :: memory
    memory = c_null_ptr
    if (size(elements, kind=int64) > 0 .and. is_contiguous(elements)) memory = c_loc(elements(1))
  end function

  function address_r4(elements) result(memory)
    real(real32), intent(in), target :: elements(:)
    type(c_ptr) :: memory
    memory = c_null_ptr
    if (size(elements, kind=int64) > 0 .and. is_contiguous(elements)) memory = c_loc(elements(1))
  end function

  function address_r8(elements) result(memory)
    real(real64), intent(in), target :: elements(:)
    type(c_ptr) :: memory
    memory = c_null_ptr
    if (size(elements, kind=int64) > 0 .and. is_contiguous(elements)) memory = c_loc(elements(1))
  end function

  function address_2d_r4(elements) result(memory)
    real(real32), intent(in), target :: elements(:, :)
    type(c_ptr) :: memory
    memory = c_null_ptr
    if (size(elements, kind=int64) > 0) memory = c_loc(elements(1, 1))
  end function

  function address_2d_r8(elements) result(memory)
    real(real64), intent(in), target :: elements(:, :)
    type(c_ptr) :: memory
    memory = c_null_ptr
    if (size(elements, kind=int64) > 0) memory = c_loc(elements(1, 1))
  end function

  ! Bytes between two addresses.
  function distance(first, second) result(bytes)
    type(c_ptr), intent(in) :: first, second
    integer(int64) :: bytes
    bytes = transfer(second, 0_c_intptr_t) - transfer(first, 0_c_intptr_t)
  end function

  function given_integer(value, otherwise) result(used)
    integer(int32), intent(in), optional :: value
    integer(int32), intent(in) :: otherwise
    integer(int32) :: used
    used = otherwise
    if (present(value)) used = value
  end function

  function given_logical(value, otherwise) result(used)
    logical, intent(in), optional :: value
    logical, intent(in) :: otherwise
    logical :: used
    used = otherwise
    if (present(value)) used = value
  end function

  function given_user(user) result(used)
    type(c_ptr), intent(in), optional :: user
    type(c_ptr) :: used
    used = c_null_ptr
    if (present(user)) used = user
  end function

  ! A text for C, without trailing blanks; empty if it is absent.
  function c_text(text) result(characters)
    character(*), intent(in), optional :: text
    character(:, c_char), allocatable :: characters
    characters = c_null_char
    if (present(text)) characters = trim(text) // c_null_char
  end function

  ! A text of C; empty for a null pointer.
  function text_of(address) result(text)
    type(c_ptr), intent(in) :: address
    character(:), allocatable :: text
    character(kind=c_char), pointer :: characters(:)
    interface
      function strlen(text) bind(c) result(length)
        import :: c_ptr, c_size_t
        type(c_ptr), value :: text
        integer(c_size_t) :: length
      end function
    end interface
    integer(c_size_t) :: i, length
    text = ""
    if (.not. c_associated(address)) return
    length = strlen(address)
    call c_f_pointer(address, characters, [length])
    text = repeat(" ", length)
    do i = 1, length
      text(i:i) = characters(i)
    end do
  end function

end module echelon
