# SPDX-License-Identifier: BSD-3-Clause
from spack.package import *


class Echelon(CMakePackage, CudaPackage):
    """Solves linear systems, dense and sparse, and says how well: direct and iterative methods, multigrid, on the host and on
    NVIDIA GPUs, from C++, C, Fortran, Python and the command line."""

    license("BSD-3-Clause")
    maintainers("echelon")

    # spack develop --path CHECKOUT echelon@0.1.0
    version("0.1.0")

    variant("shared", default=True, description="Build a shared library")
    variant("tool", default=True, description="Build the command-line tool")
    variant("fortran", default=False, description="Build the Fortran module")
    variant("petsc", default=False, description="Build the plug-in for PETSc")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("fortran", type="build", when="+fortran")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("python@3:", type="build", when="+tool")
    depends_on("blas")
    depends_on("lapack")
    depends_on("netlib-lapack+lapacke", when="^[virtuals=lapack] netlib-lapack")
    depends_on("suite-sparse")
    depends_on("metis@5:")
    depends_on("fmt@9:")
    depends_on("zlib-api")
    depends_on("nlohmann-json")
    depends_on("cli11", when="+tool")
    depends_on("petsc~complex+double", when="+petsc")

    conflicts("%gcc@:11")
    conflicts("%clang@:13")
    conflicts("cuda@:11", when="+cuda")

    generator("ninja")

    def cmake_args(self):
        args = [
            self.define_from_variant("BUILD_SHARED_LIBS", "shared"),
            self.define_from_variant("ECHELON_BUILD_TOOL", "tool"),
            self.define_from_variant("ECHELON_CUDA", "cuda"),
            self.define_from_variant("ECHELON_FORTRAN", "fortran"),
            self.define_from_variant("ECHELON_PETSC", "petsc"),
            self.define("ECHELON_BUILD_TESTS", False),
            self.define("ECHELON_BUILD_EXAMPLES", False),
            self.define("ECHELON_PYTHON", False),
            self.define("ECHELON_WERROR", False),
            self.define("BLAS_LIBRARIES", self.spec["blas"].libs.joined(";")),
            self.define("LAPACK_LIBRARIES", self.spec["lapack"].libs.joined(";")),
        ]
        if "+cuda" in self.spec and "none" not in self.spec.variants["cuda_arch"].value:
            args.append(self.define("CMAKE_CUDA_ARCHITECTURES", ";".join(self.spec.variants["cuda_arch"].value)))
        return args

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def solve_a_generated_matrix(self):
        if "+tool" in self.spec:
            tool = Executable(self.prefix.bin.echelon)
            tool("generate", "poisson-2d", "--rows", "100", "-o", "A.mtx")
            tool("solve", "A.mtx")
