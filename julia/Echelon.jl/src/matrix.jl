# SPDX-License-Identifier: BSD-3-Clause

scalar_code(::Type{Float32}) = ECHELON_FLOAT
scalar_code(::Type{Float64}) = ECHELON_DOUBLE
index_code(::Type{Int32}) = ECHELON_INT32
index_code(::Type{Int64}) = ECHELON_INT64

"A matrix handle, and the arrays that the library refers to, which stay alive with it."
mutable struct MatrixHandle{T <: Real32or64}
    handle::Ptr{Cvoid}
    arrays::Any
    function MatrixHandle{T}(handle::Ptr{Cvoid}, arrays) where {T}
        return finalizer(m -> echelon_matrix_free(m.handle), new{T}(handle, arrays))
    end
end

"The library converts CSC once; its arrays are referred to and never written to."
function MatrixHandle(A::SparseMatrixCSC{T, I}; part::Int32 = ECHELON_FULL) where {T <: Real32or64, I <: Union{Int32, Int64}}
    handle = Ref{Ptr{Cvoid}}(C_NULL)
    arrays = (A.colptr, A.rowval, A.nzval)
    GC.@preserve arrays begin
        check(echelon_compressed(ECHELON_BY_COLUMNS, scalar_code(T), size(A, 1), size(A, 2), nnz(A), index_code(I),
                                 pointer(A.colptr), index_code(I), pointer(A.rowval), pointer(A.nzval), 1, part, C_NULL,
                                 handle))
    end
    return MatrixHandle{T}(handle[], arrays)
end

function MatrixHandle(A::StridedMatrix{T}) where {T <: Real32or64}
    stride(A, 1) == 1 || return MatrixHandle(Matrix(A))
    handle = Ref{Ptr{Cvoid}}(C_NULL)
    GC.@preserve A begin
        check(echelon_dense(ECHELON_BY_COLUMNS, scalar_code(T), size(A, 1), size(A, 2), pointer(A), max(stride(A, 2), 1),
                            C_NULL, handle))
    end
    return MatrixHandle{T}(handle[], A)
end

MatrixHandle(A::Symmetric{T, <:SparseMatrixCSC{T}}) where {T <: Real32or64} =
    MatrixHandle(A.uplo == 'U' ? triu(A.data) : tril(A.data); part = A.uplo == 'U' ? ECHELON_UPPER : ECHELON_LOWER)

"Other matrices are copied to one of these forms, with elements of type Float64 unless they have Float32."
MatrixHandle(A::AbstractSparseMatrix) = MatrixHandle(SparseMatrixCSC{element_type(A), Int64}(A))
MatrixHandle(A::AbstractMatrix) = MatrixHandle(Matrix{element_type(A)}(A))

element_type(A::AbstractArray) = eltype(A) == Float32 ? Float32 : Float64
