# SPDX-License-Identifier: BSD-3-Clause
# Echelon as an algorithm of LinearSolve.jl.
module EchelonLinearSolveExt

using Echelon
using LinearSolve
using LinearSolve: LinearCache, OperatorAssumptions
using LinearSolve.SciMLBase: SciMLBase, ReturnCode

struct Algorithm <: LinearSolve.SciMLLinearSolveAlgorithm
    method::String
    options::Dict{Symbol, Any}
end

Echelon.EchelonAlgorithm(method::AbstractString = "auto"; options...) = Algorithm(method, Dict{Symbol, Any}(options))

"The factor of the last matrix, and its pattern; nothing before the first solve."
mutable struct Cache
    factor::Union{Nothing, Echelon.EchelonFactor}
    pattern::UInt
end

LinearSolve.needs_concrete_A(::Algorithm) = true
LinearSolve.init_cacheval(::Algorithm, A, b, u, Pl, Pr, maxiters::Int, abstol, reltol, verbose,
                          assumptions::OperatorAssumptions) = Cache(nothing, zero(UInt))

"Two matrices with one pattern have one hash; an analysis is kept only for these."
pattern_of(A) = hash(size(A))
pattern_of(A::Echelon.SparseArrays.SparseMatrixCSC) = hash((size(A), A.colptr, A.rowval))

function factor!(held::Cache, algorithm::Algorithm, A)
    pattern = pattern_of(A)
    if held.factor === nothing || held.pattern != pattern
        held.factor = nothing
        held.factor = echelon(A; method = algorithm.method, algorithm.options...)
        held.pattern = pattern
    else
        update!(held.factor, A)
    end
end

function return_code(code)
    code == Echelon.ECHELON_MAX_ITERATIONS && return ReturnCode.MaxIters
    code in (Echelon.ECHELON_STAGNATED, Echelon.ECHELON_DIVERGED) && return ReturnCode.Unstable
    return ReturnCode.Failure
end

function SciMLBase.solve!(cache::LinearCache, algorithm::Algorithm; kwargs...)
    A = convert(AbstractMatrix, cache.A)
    held = cache.cacheval
    try
        if cache.isfresh
            factor!(held, algorithm, A)
            cache.isfresh = false
        end
        x = held.factor \ cache.b
        copyto!(cache.u, x)
    catch failure
        failure isa EchelonError && failure.code > 0 || rethrow()
        return SciMLBase.build_linear_solution(algorithm, cache.u, nothing, cache; retcode = return_code(failure.code))
    end
    return SciMLBase.build_linear_solution(algorithm, cache.u, nothing, cache; retcode = ReturnCode.Success)
end

end
