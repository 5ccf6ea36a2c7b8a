# SPDX-License-Identifier: BSD-3-Clause
"""
Solves linear systems by the library Echelon, dense and sparse, and reports how well.

    using Echelon, SparseArrays
    F = echelon(A)              # chooses a method, and factors A
    x = F \\ b                   # throws EchelonError if the system is not solved
    update!(F, A2)              # new values in the pattern of A
    y = F' \\ b                  # the transpose, by the same factors
    report(F)["backward_error"]

docs/julia.md is the guide.
"""
module Echelon

using Libdl
using LinearAlgebra
using SparseArrays

export echelon, EchelonError, EchelonFactor, Report, update!, report, set!, inertia, EchelonAlgorithm

const Real32or64 = Union{Float32, Float64}

include("interface.jl")
include("errors.jl")
include("matrix.jl")
include("factor.jl")

"""
    EchelonAlgorithm(method = "auto"; options...)

Algorithm of LinearSolve.jl: `solve(LinearProblem(A, b), EchelonAlgorithm("sparse-lu"))`. Needs `using LinearSolve`.
"""
function EchelonAlgorithm end

# The environment variable ECHELON_LIBRARY names the library where the loader does not find it.
function __init__()
    Libdl.dlopen(get(ENV, "ECHELON_LIBRARY", libechelon))
end

end
