# SPDX-License-Identifier: BSD-3-Clause
"""The extension module of the package `echelon` for NVIDIA GPUs, which that package loads."""
