# SPDX-License-Identifier: BSD-3-Clause

"""
    EchelonFactor{T} <: Factorization{T}

A method that is set up for a matrix. `F \\ b`, `ldiv!(x, F, b)`, `F' \\ b`, `update!(F, A)`, `report(F)`.
One task at a time changes a factor; several may solve with one.
"""
mutable struct EchelonFactor{T <: Real32or64} <: Factorization{T}
    handle::Ptr{Cvoid}
    matrix::Union{Nothing, MatrixHandle{T}}
    rows::Int
    columns::Int
    report::Report
    function EchelonFactor{T}(method::AbstractString; device::AbstractString = "") where {T}
        handle = Ref{Ptr{Cvoid}}(C_NULL)
        check(echelon_create(String(method), scalar_code(T), String(device), handle))
        return finalizer(F -> echelon_free(F.handle), new{T}(handle[], nothing, 0, 0, Report(C_NULL)))
    end
end

Base.size(F::EchelonFactor) = (F.rows, F.columns)
Base.size(F::EchelonFactor, d::Integer) = d == 1 ? F.rows : d == 2 ? F.columns : 1

"Report of the last set-up or solve."
report(F::EchelonFactor) = F.report

"""
    set!(F, option, value)

Sets an option by its name, of nested methods with dots. `rtol`, `atol`, `max_iterations`, `least_squares` and
`measure_error` act from the next solve on, others from the next `update!`.
"""
set!(F::EchelonFactor, option, value::Integer) =
    (GC.@preserve F check(echelon_set_integer(F.handle, String(option), value)); F)
set!(F::EchelonFactor, option, value::AbstractFloat) =
    (GC.@preserve F check(echelon_set_real(F.handle, String(option), value)); F)
set!(F::EchelonFactor, option, value) =
    (GC.@preserve F check(echelon_set(F.handle, String(option), string(value))); F)
set!(F::EchelonFactor, option, value::Bool) =
    (GC.@preserve F check(echelon_set(F.handle, String(option), value ? "true" : "false")); F)

"""
    echelon(A; method = "auto", device = "", options...)

Sets a method up for A: factors it, or sets up a preconditioner. Options are those of the method; of nested methods they
are written as pairs of `set`: `echelon(A; method = "cg", preconditioner = "amg", set = ["preconditioner.cycle" => "w"])`.
Throws EchelonError where that is not possible.
"""
function echelon(A::AbstractMatrix; method::AbstractString = "auto", device::AbstractString = "", set = (), options...)
    F = EchelonFactor{element_type(A)}(method; device)
    for (name, value) in options
        set!(F, name, value)
    end
    for (name, value) in set
        set!(F, name, value)
    end
    return setup!(F, A, echelon_setup)
end

"""
    update!(F, A)

Sets up for an A with new values in the pattern of the last one, whose analysis is kept.
"""
update!(F::EchelonFactor, A::AbstractMatrix) = setup!(F, A, F.matrix === nothing ? echelon_setup : echelon_update)

function setup!(F::EchelonFactor{T}, A::AbstractMatrix, call) where {T}
    element_type(A) == T || throw(ArgumentError("the matrix has another element type than the factor, $T"))
    matrix = MatrixHandle(A)
    made = Ref{Ptr{Cvoid}}(C_NULL)
    old = F.matrix
    code = GC.@preserve F matrix old check(call(F.handle, matrix.handle, made))
    F.matrix = matrix
    F.rows, F.columns = size(A)
    F.report = Report(made[])
    check_solved(code, F.report)
    return F
end

"Solves op(A) X = B into X."
function solve!(X::StridedVecOrMat{T}, F::EchelonFactor{T}, B::StridedVecOrMat{T}; transposed::Bool = false,
                from_x::Bool = false) where {T}
    rows, columns = transposed ? (F.columns, F.rows) : (F.rows, F.columns)
    size(B, 1) == rows && size(X, 1) == columns && size(B, 2) == size(X, 2) ||
        throw(DimensionMismatch("A is $rows by $columns, B is of size $(size(B)), X of size $(size(X))"))
    (stride(X, 1) == 1 || size(X, 1) <= 1) && (stride(B, 1) == 1 || size(B, 1) <= 1) ||
        throw(ArgumentError("elements of a column have gaps between them"))
    flags = (transposed ? ECHELON_TRANSPOSED : Int32(0)) + (from_x ? ECHELON_FROM_X : Int32(0))
    made = Ref{Ptr{Cvoid}}(C_NULL)
    code = GC.@preserve F X B echelon_solve(F.handle, size(B, 2), pointer(B), leading(B), pointer(X), leading(X), flags, made)
    F.report = Report(made[])
    check_solved(code, F.report)
    return X
end

leading(X::AbstractVector) = max(length(X), 1)
leading(X::AbstractMatrix) = max(stride(X, 2), size(X, 1), 1)

LinearAlgebra.ldiv!(X::StridedVecOrMat{T}, F::EchelonFactor{T}, B::StridedVecOrMat{T}) where {T} = solve!(X, F, B)
LinearAlgebra.ldiv!(F::EchelonFactor{T}, B::StridedVecOrMat{T}) where {T} = solve!(B, F, B)

unknowns(B::AbstractVector, n) = (n,)
unknowns(B::AbstractMatrix, n) = (n, size(B, 2))

function Base.:\(F::EchelonFactor{T}, B::AbstractVecOrMat) where {T}
    return solve!(zeros(T, unknowns(B, F.columns)), F, Array{T}(B))
end

"`F'` and `transpose(F)`: real matrices have one transpose."
struct TransposedFactor{T} <: Factorization{T}
    parent::EchelonFactor{T}
end
Base.adjoint(F::EchelonFactor) = TransposedFactor(F)
Base.transpose(F::EchelonFactor) = TransposedFactor(F)
Base.adjoint(F::TransposedFactor) = F.parent
Base.transpose(F::TransposedFactor) = F.parent
Base.size(F::TransposedFactor) = reverse(size(F.parent))
Base.size(F::TransposedFactor, d::Integer) = d <= 2 ? size(F.parent, 3 - d) : 1

LinearAlgebra.ldiv!(X::StridedVecOrMat{T}, F::TransposedFactor{T}, B::StridedVecOrMat{T}) where {T} =
    solve!(X, F.parent, B; transposed = true)
function Base.:\(F::TransposedFactor{T}, B::AbstractVecOrMat) where {T}
    return solve!(zeros(T, unknowns(B, F.parent.rows)), F.parent, Array{T}(B); transposed = true)
end

"""
    logabsdet(F), logdet(F), det(F)

The determinant of A by a direct method: the logarithm of its magnitude and its sign, or both as one number.
"""
function LinearAlgebra.logabsdet(F::EchelonFactor{T}) where {T}
    sign, logarithm = Ref{Float64}(0), Ref{Float64}(0)
    GC.@preserve F check(echelon_determinant(F.handle, sign, C_NULL, logarithm))
    return T(logarithm[]), T(sign[])
end
function LinearAlgebra.logdet(F::EchelonFactor)
    logarithm, sign = logabsdet(F)
    sign >= 0 || throw(DomainError(sign, "the determinant is negative: logabsdet has its magnitude and sign"))
    return logarithm
end
function LinearAlgebra.det(F::EchelonFactor)
    logarithm, sign = logabsdet(F)
    return sign * exp(logarithm)
end

"""
    inertia(F)

Numbers of positive, negative and zero eigenvalues of a symmetric A, by "ldlt", "cholesky" and their sparse forms.
"""
function inertia(F::EchelonFactor)
    positive, negative, zero = Ref{Int64}(0), Ref{Int64}(0), Ref{Int64}(0)
    GC.@preserve F check(echelon_inertia(F.handle, positive, negative, zero))
    return (positive = positive[], negative = negative[], zero = zero[])
end

"One application of F as a preconditioner, z = M^-1 r: `F` serves as `M` of an iteration whose M is applied by `mul!`."
function apply!(z::StridedVector{T}, F::EchelonFactor{T}, r::StridedVector{T}) where {T}
    length(r) >= F.rows && length(z) >= F.columns && stride(r, 1) == 1 && stride(z, 1) == 1 ||
        throw(DimensionMismatch("r and z need $(F.rows) contiguous elements"))
    GC.@preserve F z r check(echelon_apply(F.handle, pointer(r), pointer(z)))
    return z
end
LinearAlgebra.mul!(z::StridedVector{T}, F::EchelonFactor{T}, r::StridedVector{T}) where {T} = apply!(z, F, r)
