! SPDX-License-Identifier: BSD-3-Clause
! A program in Fortran: reads a matrix, factors it, and solves for two right-hand sides with the same factors; then solves
! a system in its own arrays in one call.
program main
  use, intrinsic :: iso_fortran_env, only: error_unit, int32, real64
  use echelon
  implicit none
  character(1000) :: file
  if (command_argument_count() /= 1) then
    write (error_unit, "(a)") "usage: example_12_fortran matrix.mtx"
    stop 1
  end if
  call get_command_argument(1, file)
  call factor_and_solve(trim(file))
  call solve_own_arrays()

contains

  ! Ends the program where a code is not 0.
  subroutine require(code, what)
    integer(int32), intent(in) :: code
    character(*), intent(in) :: what
    if (code == ECHELON_SOLVED) return
    write (error_unit, "(3a)") what, ": ", echelon_message(code)
    stop 1
  end subroutine

  subroutine factor_and_solve(name)
    character(*), intent(in) :: name
    type(echelon_matrix) :: A
    type(echelon_solver) :: solver
    type(echelon_report) :: report
    real(real64), allocatable :: b(:), x(:)
    integer(int32) :: code
    integer :: i, k
    call A%read(name, code)
    call require(code, "read")
    call solver%create("sparse-lu", code)
    call require(code, "create")
    call solver%setup(A, code)
    call require(code, "setup")
    allocate (x(A%columns()))
    do k = 1, 2
      b = [(cos(real(k * i, real64)), i=0, int(A%rows()) - 1)]
      call solver%solve(b, x, code, report=report)
      call require(code, "solve")
      print "(a, i0, a, es7.1, a, i0, a)", "right-hand side ", k, ": backward error ", &
          report%number("backward_error"), ", ", nint(report%number("expected_digits")), " digits"
    end do
  end subroutine

  ! The matrix (2 -1; -1 2) in CSR form, whose rows and columns count from 1.
  subroutine solve_own_arrays()
    integer(int32), target :: offsets(3) = [1, 3, 5], columns(4) = [1, 2, 1, 2]
    real(real64), target :: values(4) = [2, -1, -1, 2]
    type(echelon_matrix) :: A
    real(real64) :: x(2)
    integer(int32) :: code
    call A%csr(offsets, columns, values, code)
    call require(code, "csr")
    call A%solve([1.0_real64, 1.0_real64], x, code, options="method=cg rtol=1e-12")
    call require(code, "solve")
    print "(a, 2f6.3)", "x =", x
  end subroutine
end program
