#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compiles a C++ file for OpenCL devices, to an object for the host that carries the code of its kernels.

Clang compiles the file twice in its HIP dialect. The pass for the device gives LLVM's intermediate representation, which the
translator turns into SPIR-V, and back into SPIR 1.2 (bitcode) for drivers without SPIR-V. The pass for the host embeds both
forms and registers them by functions that src/backend/opencl/modules.cpp defines.

Usage: compile_opencl.py SOURCE OBJECT --clang CLANG++ --translator LLVM-SPIRV --assembler LLVM-AS --disassembler LLVM-DIS
       --builtins HEADER --objcopy OBJCOPY --host-optimization=-O2 -- OPTIONS...

The options are those of both passes, but for the optimisation of the one for the host. Beside the object, OBJECT.d lists
the files that it depends on.
"""
import argparse
import re
import struct
import subprocess
import sys
from pathlib import Path

DIALECT = ["-x", "hip", "--offload=spirv64", "-nogpuinc", "-nogpulib", "-ffp-contract=off", "-DECHELON_OPENCL_TARGET"]

# `freeze` has no counterpart in the translator of LLVM 15. It is the identity for a value that is no poison, and a use of
# such a value is as undefined in its operand.
FREEZE = [
    (re.compile(r"= freeze i1 (.*)$", re.M), r"= or i1 \1, false"),
    (re.compile(r"= freeze (i\d+) (.*)$", re.M), r"= or \1 \2, 0"),
    (re.compile(r"= freeze (double|float) (.*)$", re.M), r"= select i1 true, \1 \2, \1 \2"),
    (re.compile(r"= freeze (\S.*\*) (%\S+)$", re.M), r"= bitcast \1 \2 to \1"),
]
# SPIR 1.2's library of PoCL 3.1 has no fences; LLVM has an instruction.
FENCE = re.compile(r"call (?:spir_func )?void @_Z(?:9mem_fencej|22atomic_work_item_fencej\w*)\(.*$", re.M)
# Names of the HIP run time, which a program may link as well.
RENAMED = {
    "__hipRegisterFatBinary": "echelon_opencl_register_module",
    "__hipRegisterFunction": "echelon_opencl_register_kernel",
    "__hipRegisterVar": "echelon_opencl_register_variable",
    "__hipUnregisterFatBinary": "echelon_opencl_unregister_module",
    "__hipPopCallConfiguration": "echelon_opencl_pop_configuration",
    "hipLaunchKernel": "echelon_opencl_launch",
}
# Functions that a device has. Any other one that is declared would be found missing only where a driver links.
BUILT_IN = re.compile(r"_Z\d+(get_\w+|barrier|mem_fence|atom\w*|sqrt|fabs|ldexp|ilogb|fma|log|log2|exp|pow|hypot|cos|sin|floor|"
                      r"ceil|trunc|rint|round|copysign|fmax|fmin|fmod)[a-z]*\w*|llvm\..*")


def run(*command):
    result = subprocess.run(command)
    if result.returncode != 0:
        sys.exit(result.returncode)


def check_declarations(text, source):
    missing = [name for name in re.findall(r"^declare .*@\"?([\w.$]+)\"?\(", text, re.M) if not BUILT_IN.fullmatch(name)]
    if missing:
        sys.exit(f"{source}: kernels call functions that no device has: {', '.join(missing)}")


def translate(options, assembly, base):
    """Files with the module as SPIR-V and as SPIR 1.2."""
    text = assembly.read_text()
    for pattern, replacement in FREEZE:
        text = pattern.sub(replacement, text)
    check_declarations(text, options.source)
    assembly.write_text(text)
    bitcode, spirv, spir, spir_text = (base.with_suffix(end) for end in (".bc", ".spv", ".spir.bc", ".spir.ll"))
    run(options.assembler, assembly, "-o", bitcode)
    run(options.translator, "--spirv-fp-contract=off", bitcode, "-o", spirv)
    run(options.translator, "-r", spirv, "-o", spir)
    run(options.disassembler, spir, "-o", spir_text)
    spir_text.write_text(FENCE.sub("fence seq_cst", spir_text.read_text()))
    run(options.assembler, spir_text, "-o", spir)
    return spirv, spir


def compile_device(options, base):
    assembly = base.with_suffix(".ll")
    run(options.clang, *DIALECT, *options.flags, "-include", options.builtins, "--cuda-device-only", "-emit-llvm", "-S", options.source,
        "-o", assembly, "-MD", "-MT", options.object, "-MF", f"{options.object}.d")
    image = base.with_suffix(".image")
    forms = [form.read_bytes() for form in translate(options, assembly, base)]
    # Each form after its size, at a multiple of 8 bytes.
    padded = [form + bytes(-len(form) % 8) for form in forms]
    image.write_bytes(b"".join(struct.pack("<Q", len(form)) + form for form in padded))
    return image


def compile_host(options, image):
    run(options.clang, *DIALECT, *options.flags, options.host_optimization, "-include", options.builtins, "--cuda-host-only",
        "-Xclang", "-fcuda-include-gpubinary", "-Xclang", image, "-c", options.source, "-o", options.object)
    names = [f"--redefine-sym={old}={new}" for old, new in RENAMED.items()]
    run(options.objcopy, *names, options.object)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("source", type=Path)
    parser.add_argument("object", type=Path)
    for name in ("clang", "translator", "assembler", "disassembler", "builtins", "objcopy"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--host-optimization", required=True)
    arguments = sys.argv[1:]
    separator = arguments.index("--")
    options = parser.parse_args(arguments[:separator])
    options.flags = arguments[separator + 1:]
    options.object.parent.mkdir(parents=True, exist_ok=True)
    compile_host(options, compile_device(options, options.object))


if __name__ == "__main__":
    main()
