! SPDX-License-Identifier: BSD-3-Clause
! The Fortran module: every type and procedure, and how misuse is refused. Each test is a subroutine; the program runs
! those that are named on the command line.
module interface_tests
  use, intrinsic :: ieee_arithmetic, only: ieee_is_nan
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: error_unit, int32, int64, real32, real64
  use echelon
  implicit none

  integer :: failures = 0
  integer, parameter :: n = 4
  ! The tridiagonal matrix (-1, 4, -2) of order 4 in CSR form.
  integer(int32), target :: offsets(5) = [1, 3, 6, 9, 11]
  integer(int32), target :: columns(10) = [1, 2, 1, 2, 3, 2, 3, 4, 3, 4]
  real(real64), target :: values(10) = [4, -2, -1, 4, -2, -1, 4, -2, -1, 4]
  real(real64) :: b(n) = [0, 1, 2, 13]             ! A (1 2 3 4)
  real(real64) :: b_transposed(n) = [2, 3, 4, 10]  ! A^T (1 2 3 4)
  real(real64) :: solution(n) = [1, 2, 3, 4]
  integer(c_int), target :: calls = 0

contains

  subroutine check(holds, what)
    logical, intent(in) :: holds
    character(*), intent(in) :: what
    if (holds) return
    failures = failures + 1
    write (error_unit, "(2a)") "failed: ", what
  end subroutine

  ! A call that is refused by this code, with a word in its explanation.
  subroutine check_refused(code, expected, word)
    integer(int32), intent(in) :: code, expected
    character(*), intent(in) :: word
    call check(code == expected, "refused: " // word // ", not " // echelon_message(code))
    call check(index(echelon_message(code), word) > 0, word // " in: " // echelon_message(code))
  end subroutine

  subroutine make_matrix(A)
    type(echelon_matrix), intent(inout) :: A
    integer(int32) :: code
    call A%csr(offsets, columns, values, code)
    call check(code == ECHELON_SOLVED, "csr")
  end subroutine

  subroutine make_solver(solver, method)
    type(echelon_solver), intent(inout) :: solver
    character(*), intent(in) :: method
    integer(int32) :: code
    call solver%create(method, code)
    call check(code == ECHELON_SOLVED, "create " // method)
  end subroutine

  ! Whether A x = rhs has the solution (1 2 3 4).
  function solves(A, rhs)
    type(echelon_matrix), intent(in) :: A
    real(real64), intent(in) :: rhs(:)
    logical :: solves
    real(real64) :: x(n)
    integer(int32) :: code
    call A%solve(rhs, x, code, options="method=sparse-lu")
    solves = code == ECHELON_SOLVED .and. maxval(abs(x - solution)) < 1e-12_real64
  end function

  subroutine test_library()
    call check(index(echelon_release(), ".") > 0, "version")
    call check(echelon_message(ECHELON_NOT_SPD) == "not_spd", "name of a code")
    call check(index(echelon_methods(), '"name":"sparse-lu"') > 0, "methods")
  end subroutine

  subroutine test_sparse_forms()
    type(echelon_matrix) :: A
    integer(int64), target :: long_offsets(5), long_columns(10)
    integer(int32), target :: from_zero(5), columns_from_zero(10), rows(10)
    integer(int32) :: code
    call make_matrix(A)
    call check(A%rows() == n .and. A%columns() == n .and. A%nonzeros() == 10, "sizes")
    call check(solves(A, b), "csr, int32")

    long_offsets = offsets
    long_columns = columns
    call A%csr(long_offsets, long_columns, values, code)
    call check(code == ECHELON_SOLVED .and. solves(A, b), "csr, int64")
    call A%csc(long_offsets, long_columns, values, code)
    call check(code == ECHELON_SOLVED .and. solves(A, b_transposed), "csc, int64")
    call A%csc(offsets, columns, values, code, rows=4)
    call check(code == ECHELON_SOLVED .and. solves(A, b_transposed), "csc, int32")

    from_zero = offsets - 1
    columns_from_zero = columns - 1
    call A%csr(from_zero, columns_from_zero, values, code, base=0, device="serial")
    call check(code == ECHELON_SOLVED .and. solves(A, b), "base 0")

    rows = [1, 1, 2, 2, 2, 3, 3, 3, 4, 4]
    call A%triplets(n, n, rows, columns, values, code)
    call check(code == ECHELON_SOLVED .and. solves(A, b), "triplets")
    call A%csr(offsets, columns, values, code, columns=7)
    call check(code == ECHELON_SOLVED .and. A%columns() == 7, "a rectangle")
  end subroutine

  subroutine test_triangle()
    type(echelon_matrix) :: A
    integer(int64), target :: rows(7) = [1, 2, 2, 3, 3, 4, 4], lower(7) = [1, 1, 2, 2, 3, 3, 4]
    real(real64), target :: elements(7) = [4, -1, 4, -1, 4, -1, 4]
    integer(int32) :: code
    call A%triplets(4_int64, 4_int64, rows, lower, elements, code, part=ECHELON_LOWER)
    call check(code == ECHELON_SOLVED .and. A%nonzeros() == 10, "triangle")
    call check(solves(A, [2.0_real64, 4.0_real64, 6.0_real64, 13.0_real64]), "solve with a triangle")
  end subroutine

  subroutine test_real32()
    type(echelon_matrix) :: A
    type(echelon_solver) :: solver
    real(real32), target :: elements(10)
    real(real32) :: rhs(n), x(n), y(n, 2)
    integer(int32) :: code
    elements = real(values, real32)
    rhs = real(b, real32)
    call A%csr(offsets, columns, elements, code)
    call A%solve(rhs, x, code, options="method=lu")
    call check(code == ECHELON_SOLVED .and. maxval(abs(x - real(solution, real32))) < 1e-5, "real32")
    call A%solve(spread(rhs, 2, 2), y, code)
    call check(code == ECHELON_SOLVED .and. maxval(abs(y(:, 2) - x)) < 1e-5, "real32, two right-hand sides")
    call solver%create("sparse-lu", code, scalar=ECHELON_FLOAT)
    call solver%setup(A, code)
    call check(code == ECHELON_SOLVED, "setup")
    call solver%solve(2 * rhs, x, code)
    call check(code == ECHELON_SOLVED .and. maxval(abs(x / 2 - real(solution, real32))) < 1e-5, "solver")
    call solver%apply(rhs, x, code)
    call check(code == ECHELON_SOLVED, "apply")
    call A%values(elements, code)
    call check(code == ECHELON_SOLVED, "values")
  end subroutine

  subroutine test_dense_sections()
    real(real64), target :: whole(3, 4)
    real(real64) :: x(2)
    type(echelon_matrix) :: A
    type(echelon_solver) :: solver
    integer(int32) :: code
    whole = 7
    whole(1:2, 1) = [2, 0]
    whole(1:2, 2) = [1, 3]
    call A%dense(whole(1:2, 1:2), code)
    call check(code == ECHELON_SOLVED, "dense")
    call make_solver(solver, "lu")
    call solver%setup(A, code)
    call solver%solve([4.0_real64, 6.0_real64], x, code)
    call check(code == ECHELON_SOLVED .and. maxval(abs(x - [1, 2])) < 1e-14, "section of a larger array")
    whole(1, 1) = 1
    call solver%update(A, code)
    call solver%solve([3.0_real64, 6.0_real64], x, code)
    call check(code == ECHELON_SOLVED .and. maxval(abs(x - [1, 2])) < 1e-14, "elements that changed in place")
    call A%dense(whole(1:3:2, 1:2), code)
    call check_refused(code, ECHELON_NOT_CONTIGUOUS, "without gaps")
  end subroutine

  subroutine test_factor_and_reuse()
    type(echelon_matrix) :: A
    type(echelon_solver) :: solver
    type(echelon_report) :: report
    real(real64), target :: doubled(10)
    real(real64) :: x(n), rhs(n, 3), y(n, 6)
    integer(int32) :: code
    call make_matrix(A)
    call make_solver(solver, "sparse-lu")
    call solver%analyze(A, code)
    call check(code == ECHELON_SOLVED, "analyze")
    call solver%setup(A, code, report)
    call check(code == ECHELON_SOLVED .and. report%text("status") == "ready", "setup")
    call check(solver%bytes() > 0, "bytes")
    call solver%solve(b_transposed, x, code, transposed=.true.)
    call check(code == ECHELON_SOLVED .and. maxval(abs(x - solution)) < 1e-12_real64, "transposed")
    rhs = spread(b, 2, 3)
    rhs(:, 3) = 2 * b
    y = 0
    call solver%solve(rhs, y(:, ::2), code)
    call check(code == ECHELON_SOLVED .and. maxval(abs(y(:, 5) - 2 * solution)) < 1e-12_real64, "columns with gaps")
    doubled = 2 * values
    call A%values(doubled, code)
    call check(code == ECHELON_SOLVED, "values")
    call solver%update(A, code)
    call check(code == ECHELON_SOLVED, "update")
    call solver%solve(b, x, code, report=report)
    call check(code == ECHELON_SOLVED .and. maxval(abs(2 * x - solution)) < 1e-12_real64, "new values")
    call check(report%code() == code .and. report%number("backward_error") < 1e-14_real64, "report")
  end subroutine

  subroutine test_iteration_and_report()
    type(echelon_matrix) :: A
    type(echelon_solver) :: solver, outer
    type(echelon_report) :: report
    real(real64) :: x(n), z(n)
    real(real64), allocatable :: history(:)
    integer(int32) :: code
    call make_matrix(A)
    call make_solver(solver, "gmres")
    call solver%set("rtol", 1e-12_real64, code)
    call check(code == ECHELON_SOLVED, "set a real")
    call solver%set("restart", 5, code)
    call check(code == ECHELON_SOLVED, "set an integer")
    call solver%set("max_iterations", 100_int64, code)
    call check(code == ECHELON_SOLVED, "set a long integer")
    call solver%set("measure_error", .false., code)
    call check(code == ECHELON_SOLVED, "set a truth value")
    call solver%set("preconditioner", "jacobi", code)
    call check(code == ECHELON_SOLVED, "set a text")
    call solver%setup(A, code)
    call solver%solve(b, x, code, report=report)
    call check(code == ECHELON_SOLVED .and. maxval(abs(x - solution)) < 1e-9_real64, "gmres")
    allocate (history, source=report%history())
    call check(size(history) == nint(report%number("iterations")) + 1, "history")
    call check(report%text("method") == "gmres" .and. report%text("none") == "", "texts")
    call check(ieee_is_nan(report%number("none")), "NaN for no number")
    call check(index(report%json(), '"status"') > 0, "json")
    call solver%solve(b, x, code, from_x=.true., report=report)
    call check(code == ECHELON_SOLVED .and. nint(report%number("iterations")) == 0, "a first guess")

    call make_solver(solver, "sparse-lu")
    call solver%setup(A, code)
    call solver%apply(b, z, code)
    call check(code == ECHELON_SOLVED .and. maxval(abs(z - solution)) < 1e-12_real64, "apply")
    call make_solver(outer, "gmres")
    call outer%preconditioner(solver, code)
    call check(code == ECHELON_SOLVED, "preconditioner")
    call outer%setup(A, code)
    call outer%solve(b, x, code, report=report)
    call check(code == ECHELON_SOLVED .and. report%number("iterations") <= 2, "preconditioned by factors")
    call outer%near_null_space(reshape([1.0_real64, 1.0_real64, 1.0_real64, 1.0_real64], [4, 1]), code)
    call check(code == ECHELON_SOLVED, "near null space")
  end subroutine

  function multiply(user, x, y) bind(c)
    type(c_ptr), value :: user, x, y
    integer(c_int32_t) :: multiply
    real(c_double), pointer :: from(:), to(:)
    integer(c_int), pointer :: count
    call c_f_pointer(x, from, [n])
    call c_f_pointer(y, to, [n])
    call c_f_pointer(user, count)
    count = count + 1
    to = 4 * from
    multiply = 0
  end function

  function stop_at_once(user, phase, fraction, iteration, relative_residual, tolerance) bind(c)
    type(c_ptr), value :: user
    integer(c_int32_t), value :: phase
    real(c_double), value :: fraction, relative_residual, tolerance
    integer(c_int64_t), value :: iteration
    integer(c_int32_t) :: stop_at_once
    stop_at_once = merge(1, 0, phase == ECHELON_PHASE_SOLVE .and. .not. c_associated(user) &
        .and. fraction < 0 .and. iteration >= 0 .and. relative_residual > tolerance)
  end function

  ! Keeps the x of the last iteration in the caller's array, and the number of iterations in its last element.
  function keep_iterate(user, right_hand_side, iteration, x) bind(c)
    type(c_ptr), value :: user, x
    integer(c_int64_t), value :: right_hand_side, iteration
    integer(c_int32_t) :: keep_iterate
    real(real64), pointer :: kept(:), elements(:)
    call c_f_pointer(user, kept, [n + 1])
    call c_f_pointer(x, elements, [n])
    kept(:n) = elements
    kept(n + 1) = real(iteration, real64)
    keep_iterate = merge(0, 1, right_hand_side == 0)
  end function

  subroutine test_callbacks()
    type(echelon_matrix) :: A
    type(echelon_solver) :: solver
    type(echelon_report) :: report
    real(real64) :: x(n)
    real(real64), target :: kept(n + 1)
    integer(int32) :: code
    call A%product(4_int64, 4_int64, multiply, code, transposed=multiply, user=c_loc(calls))
    call check(code == ECHELON_SOLVED .and. A%rows() == 4 .and. A%nonzeros() == 0, "product")
    call make_solver(solver, "cg")
    call solver%preconditioner(multiply, code, user=c_loc(calls))
    call check(code == ECHELON_SOLVED, "preconditioner by a product")
    call solver%setup(A, code)
    call solver%solve(4 * solution, x, code)
    call check(code == ECHELON_SOLVED .and. maxval(abs(x - solution)) < 1e-9_real64 .and. calls > 1, "cg")

    call make_matrix(A)
    call make_solver(solver, "gmres")
    call solver%on_progress(stop_at_once, code)
    call solver%setup(A, code)
    call solver%solve(b, x, code)
    call check(code == ECHELON_CANCELLED, "cancelled by the callback")
    call solver%cancel()

    call make_solver(solver, "gmres")
    call solver%on_iterate(keep_iterate, code, user=c_loc(kept))
    call solver%setup(A, code)
    call solver%solve(b, x, code, report=report)
    call check(code == ECHELON_SOLVED .and. maxval(abs(kept(:n) - x)) < 1e-9_real64 &
        .and. nint(kept(n + 1)) == nint(report%number("iterations")), "iterate")
  end subroutine

  subroutine test_determinant_and_inertia()
    real(real64), target :: elements(3, 3) = reshape([0.0_real64, 2.0_real64, 0.0_real64, 2.0_real64, 0.0_real64, &
        0.0_real64, 0.0_real64, 0.0_real64, 5.0_real64], [3, 3])
    type(echelon_matrix) :: A
    type(echelon_solver) :: solver
    real(real64) :: sign, logarithm
    integer(int64) :: positive, negative, zero
    integer(int32) :: code
    call A%dense(elements, code)
    call make_solver(solver, "ldlt")
    call solver%determinant(sign, logarithm, code)
    call check(code == ECHELON_NOT_SET_UP, "determinant before a set-up")
    call solver%setup(A, code)
    call solver%determinant(sign, logarithm, code)
    call check(code == ECHELON_SOLVED .and. sign < -0.5_real64 .and. abs(logarithm - log(20.0_real64)) < 1e-14_real64, &
        "determinant")
    call solver%inertia(positive, negative, zero, code)
    call check(code == ECHELON_SOLVED .and. positive == 2 .and. negative == 1 .and. zero == 0, "inertia")
    call make_solver(solver, "lu")
    call solver%setup(A, code)
    call solver%inertia(positive, negative, zero, code)
    call check(code == ECHELON_BAD_ARGUMENT, "no inertia of L U")
  end subroutine

  ! A second variable holds the matrix, the solver and the report after the first ones are gone.
  subroutine test_copies()
    type(echelon_matrix) :: A
    type(echelon_solver) :: solver
    type(echelon_report) :: report, empty
    real(real64) :: x(n)
    integer(int32) :: code
    call make_copies(A, solver, report)
    call solver%solve(b, x, code)
    call check(code == ECHELON_SOLVED .and. maxval(abs(x - solution)) < 1e-12_real64, "solver")
    call check(A%nonzeros() == 10 .and. solves(A, b), "matrix")
    call check(report%text("status") == "ready", "report")
    report = empty
    call check(report%text("status") == "", "an empty report")
    A = A
    call check(A%nonzeros() == 10, "assignment to itself")
  end subroutine

  subroutine make_copies(A, solver, report)
    type(echelon_matrix), intent(inout) :: A
    type(echelon_solver), intent(inout) :: solver
    type(echelon_report), intent(inout) :: report
    type(echelon_matrix) :: original
    type(echelon_solver) :: original_solver
    type(echelon_report) :: original_report
    integer(int32) :: code
    call make_matrix(original)
    call make_solver(original_solver, "sparse-lu")
    call original_solver%setup(original, code, original_report)
    call check(code == ECHELON_SOLVED, "setup")
    A = original
    solver = original_solver
    report = original_report
  end subroutine

  subroutine test_misuse()
    type(echelon_matrix) :: A
    type(echelon_solver) :: solver
    type(echelon_report) :: report
    real(real64), target :: few(9) = 1, sparse_values(20) = 1
    real(real64) :: x(n), y(n, 2), shorter(n - 1)
    real(real32) :: single(n)
    integer(int32) :: code
    call A%solve(b, x, code)
    call check_refused(code, ECHELON_BAD_ARGUMENT, "A")
    call check(A%rows() == 0 .and. A%nonzeros() == 0, "sizes of no matrix")
    call solver%set("rtol", 1e-3_real64, code)
    call check_refused(code, ECHELON_BAD_ARGUMENT, "solver")
    call check(report%code() < 0 .and. report%json() == "" .and. size(report%history()) == 0, "no report")
    call A%csr(offsets, columns, few, code)
    call check_refused(code, ECHELON_SHAPE_MISMATCH, "size")
    call A%csr(offsets, columns, sparse_values(::2), code)
    call check_refused(code, ECHELON_NOT_CONTIGUOUS, "without gaps")
    call A%csr(offsets, columns, values, code, base=0)
    call check_refused(code, ECHELON_INVALID_MATRIX, "invalid_matrix")
    call A%read("missing.mtx", code)
    call check_refused(code, ECHELON_PARSE_ERROR, "missing.mtx")

    call solver%create("sparse-luu", code)
    call check_refused(code, ECHELON_BAD_OPTION, "sparse-lu")
    call make_solver(solver, "sparse-lu")
    call solver%solve(b, x, code)
    call check_refused(code, ECHELON_NOT_SET_UP, "setup")
    call make_matrix(A)
    call solver%setup(A, code)
    call solver%solve(real(b, real32), single, code)
    call check_refused(code, ECHELON_WRONG_KIND, "kind of real")
    call A%solve(real(b, real32), single, code)
    call check_refused(code, ECHELON_WRONG_KIND, "kind of real")
    call solver%solve(b(1:3), x, code)
    call check_refused(code, ECHELON_DIMENSION_MISMATCH, "leading_b")
    call solver%solve(reshape(b, [n, 1]), y, code)
    call check_refused(code, ECHELON_SHAPE_MISMATCH, "size")
    call solver%apply(shorter, shorter, code)
    call check_refused(code, ECHELON_SHAPE_MISMATCH, "short")
    call A%values(few, code)
    call check_refused(code, ECHELON_SHAPE_MISMATCH, "short")
  end subroutine
end module

program interface_test
  use interface_tests
  character(40) :: name
  integer :: i
  do i = 1, command_argument_count()
    call get_command_argument(i, name)
    select case (name)
    case ("library"); call test_library()
    case ("sparse_forms"); call test_sparse_forms()
    case ("triangle"); call test_triangle()
    case ("real32"); call test_real32()
    case ("dense_sections"); call test_dense_sections()
    case ("factor_and_reuse"); call test_factor_and_reuse()
    case ("iteration_and_report"); call test_iteration_and_report()
    case ("callbacks"); call test_callbacks()
    case ("determinant_and_inertia"); call test_determinant_and_inertia()
    case ("copies"); call test_copies()
    case ("misuse"); call test_misuse()
    case default
      call check(.false., "no test " // name)
    end select
  end do
  if (failures > 0) stop 1
end program
