# SPDX-License-Identifier: BSD-3-Clause
# Run by `julia --project=julia/Echelon.jl -e 'using Pkg; Pkg.test()'` with ECHELON_LIBRARY set to libechelon.so.
using Echelon, LinearAlgebra, LinearSolve, SparseArrays, Test

n = 200
A = spdiagm(-1 => fill(-1.5, n - 1), 0 => fill(5.0, n), 1 => fill(-0.5, n - 1))
b = collect(range(1.0, 2.0; length = n))

@testset "factor, transpose, new values" begin
    F = echelon(A; method = "sparse-lu")
    @test norm(A * (F \ b) - b) <= 1e-13 * norm(b)
    @test norm(A' * (F' \ b) - b) <= 1e-13 * norm(b)
    X = zeros(n, 3)
    ldiv!(X, F, [b 2b 3b])
    @test X[:, 3] ≈ 3 * X[:, 1]
    update!(F, 2A)
    @test F \ b ≈ X[:, 1] / 2
    @test report(F)["backward_error"] < 1e-14
    @test size(F) == (n, n)
end

@testset "determinant, inertia" begin
    F = echelon(A; method = "sparse-lu")
    @test logabsdet(F)[1] ≈ logabsdet(lu(A))[1]
    @test det(echelon([0.0 2.0; 3.0 0.0]; method = "lu")) ≈ -6
    @test_throws DomainError logdet(echelon([0.0 2.0; 3.0 0.0]; method = "lu"))
    @test inertia(echelon(spdiagm([1.0, -2.0, 3.0]); method = "sparse-ldlt")) == (positive = 2, negative = 1, zero = 0)
    @test_throws EchelonError inertia(F)
end

@testset "index types, dense, float" begin
    for B in (SparseMatrixCSC{Float64, Int32}(A), Matrix(A), Symmetric(A + A'), SparseMatrixCSC{Float32, Int64}(A))
        F = echelon(B)
        @test norm(B * (F \ eltype(B).(b)) - b) <= 1e-4 * norm(b)
        @test report(F)["method"] isa String
    end
end

@testset "iteration, options, errors" begin
    F = echelon(A; method = "gmres", rtol = 1e-12, preconditioner = "ilu0")
    x = F \ b
    @test length(Echelon.history(report(F))) == report(F)["iterations"] + 1
    @test report(F)["none"] === nothing
    @test_throws EchelonError echelon(A; method = "no-such-method")
    @test_throws EchelonError echelon(spzeros(3, 3)) \ ones(3)
    @test_throws DimensionMismatch F \ ones(n - 1)
end

@testset "LinearSolve" begin
    problem = LinearProblem(A, b)
    cache = init(problem, EchelonAlgorithm("sparse-lu"))
    x = copy(solve!(cache).u)
    @test norm(A * x - b) <= 1e-13 * norm(b)
    cache.A = 2A
    @test solve!(cache).u ≈ x / 2
    # A new pattern is analysed anew.
    cache.A = A + sparse([1], [n], [1.0], n, n)
    @test norm(cache.A * solve!(cache).u - b) <= 1e-13 * norm(b)
end
