# SPDX-License-Identifier: BSD-3-Clause

"A call that was refused, or a system that is not solved; `code` is that of echelon.h, `report` that of the solve."
struct EchelonError <: Exception
    code::Int32
    message::String
    report::Any
end

function Base.showerror(io::IO, error::EchelonError)
    print(io, "EchelonError: ", unsafe_string(echelon_code_name(error.code)))
    isempty(error.message) || print(io, ": ", error.message)
end

"Throws for a negative code, with the library's explanation."
function check(code::Int32, report = nothing)
    code < 0 && throw(EchelonError(code, unsafe_string(echelon_last_error()), report))
    return code
end

"""
    Report

Outcome of a set-up or a solve. `r["iterations"]`, `r["statistics.levels"]` are numbers or texts by their names in
docs/report.md, or `nothing`; `history(r)` has the relative residuals, `json(r)` the whole.
"""
mutable struct Report
    handle::Ptr{Cvoid}
    function Report(handle::Ptr{Cvoid})
        handle == C_NULL && return new(C_NULL)
        return finalizer(r -> echelon_report_free(r.handle), new(handle))
    end
end

code(r::Report) = GC.@preserve r echelon_report_code(r.handle)

function Base.getindex(r::Report, name::AbstractString)
    GC.@preserve r begin
        number = echelon_report_number(r.handle, String(name))
        isnan(number) || return number
        text = echelon_report_text(r.handle, String(name))
        return text == C_NULL ? nothing : unsafe_string(text)
    end
end

function history(r::Report)
    GC.@preserve r begin
        count = max(echelon_report_history(r.handle, 0, C_NULL), 0)
        residuals = Vector{Float64}(undef, count)
        echelon_report_history(r.handle, count, residuals)
        return residuals
    end
end

json(r::Report) = GC.@preserve r unsafe_string(echelon_report_json(r.handle))

function Base.show(io::IO, r::Report)
    text = r["text"]
    print(io, something(text, "no report"))
end

"Throws unless x can be taken as the solution."
function check_solved(code::Int32, r::Report)
    code in (ECHELON_SOLVED, ECHELON_UNDERDETERMINED, ECHELON_LEAST_SQUARES) && return
    code < 0 && check(code, r)
    throw(EchelonError(code, something(r["message"], ""), r))
end
