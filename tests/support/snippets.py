"""Small loops in MLIR's generic form, written by hand, for tests of the extraction."""

from __future__ import annotations

import re

TYPES = {
    "wide": "tensor<128x128xf32, #linear>",
    "half": "tensor<128x128xf16, #linear>",
    "loaded": "tensor<128x128xf16, #blocked>",
    "row": "tensor<128xf32, #ttg.slice<{dim = 1, parent = #linear}>>",
    "column": "tensor<128xf32, #ttg.slice<{dim = 0, parent = #linear}>>",
    "flags": "tensor<128x128xi1, #linear>",
    "mma": "tensor<128x128xf32, #mma>",
    "pointers": "tensor<128x!tt.ptr<f32>, #line>",
    "floats": "tensor<128xf32, #line>",
    "ints": "tensor<128xi32, #line>",
    "indices": "tensor<32xi32, #ttg.slice<{dim = 0, parent = #index}>>",
    "entries": "tensor<32x!tt.ptr<i32>, #ttg.slice<{dim = 0, parent = #index}>>",
    "gathered": "tensor<32x128xf16, #blocked>",
    "mma16": "tensor<128x128xf16, #mma>",
    "tmem": "!ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>",
    "narrow": "tensor<128x64xf32, #linear1>",
    "left": "!ttg.memdesc<128x64xf32, #tmem, #ttng.tensor_memory, mutable, 128x128>",
    "smem": "!ttg.memdesc<128x128xf16, #shared, #ttg.shared_memory>",
    "turned": "!ttg.memdesc<128x128xf16, #shared1, #ttg.shared_memory>",
    "desc": "!tt.tensordesc<128x128xf16, #shared>",
    "one": "!tt.tensordesc<1x128xf16, #shared>",
    "token": "!ttg.async.token",
    "ptr": "!tt.ptr<f32>",
}
HEAD = """\
#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], \
order = [1, 0]}>
#index = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [32, 1], warpsPerCTA = [1, 4], \
order = [1, 0]}>
#line = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#linear = #ttg.linear<{register = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [0, 64]], \
lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp = [[32, 0], [64, 0]], block = []}>
#linear1 = #ttg.linear<{register = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32]], \
lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp = [[32, 0], [64, 0]], block = []}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], \
instrShape = [16, 128, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#shared1 = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 16}>
#tmem = #ttng.tensor_memory_encoding<blockM = 128, blockN = 128, colStride = 1>
"""
PARAMETERS = {
    "x": "desc", "y": "desc", "z": "one", "a": "smem", "b": "smem", "p": "ptr", "q": "ptr",
    "n": "i32", "flag": "i1", "scale": "f32", "w": "wide", "r": "row", "m": "mma",
    "lanes": "ints", "v": "column",
}  # fmt: skip
CONSTANTS = """\
%zero = "arith.constant"() <{value = 0 : i32}> : () -> i32
%no = "arith.constant"() <{value = false}> : () -> i1
%yes = "arith.constant"() <{value = true}> : () -> i1
%lanes_p0 = "tt.splat"(%p) : (@ptr) -> @pointers
%lanes_p = "tt.addptr"(%lanes_p0, %lanes) : (@pointers, @ints) -> @pointers
%lanes_q0 = "tt.splat"(%q) : (@ptr) -> @pointers
%lanes_q = "tt.addptr"(%lanes_q0, %lanes) : (@pointers, @ints) -> @pointers
%zeros = "arith.constant"() <{value = dense<0.0> : @floats}> : () -> @floats
%acc:2 = "ttng.tmem_alloc"() : () -> (@tmem, @token)
%rest:2 = "ttng.tmem_alloc"() : () -> (@tmem, @token)
"""
ATTRIBUTES = {
    "FLOAT": "<{fastmath = #arith.fastmath<none>}>",
    "LOAD": "<{isVolatile = false, operandSegmentSizes = array<i32: 1, 0, 0>}>",
    "DOT": "<{inputPrecision = 0 : i32, isAsync = false, maxNumImpreciseAcc = 0 : i32}>",
}


def loop_of(body: str, carried: str = "", before: str = "", architecture: int = 100) -> str:
    """Return a dump whose only loop is called ``i``.

    Parameters
    ----------
    body : str
        Operations in generic form; ``@name`` is one of `TYPES`, ``FLOAT`` what float arithmetic
        needs. Every operation's variable becomes its name.
    carried : str
        Lines ``argument: type = initial -> next``.
    before : str
        Operations before the loop.
    architecture : int
        Of the target.
    """
    rows = [re.split(r": | = | -> ", line) for line in carried.splitlines()]
    kinds = ", ".join(kind for _, kind, _, _ in rows)
    arguments = "".join(f", {name}: {kind}" for name, kind, _, _ in rows)
    initial = "".join(f", {first}" for _, _, first, _ in rows)
    following = ", ".join(last for *_, last in rows)
    results = f"%results:{len(rows)} = " if rows else ""
    parameters = ", ".join(f"%{name}: {_type(kind)}" for name, kind in PARAMETERS.items())
    types = ", ".join(_type(kind) for kind in PARAMETERS.values())
    text = f"""\
{HEAD}"builtin.module"() ({{
"tt.func"() <{{function_type = ({types}) -> (), sym_name = "snippet"}}> ({{
^bb0({parameters}):
{CONSTANTS}{before}
{results}"scf.for"(%zero, %n, %n{initial}) ({{
^bb0(%i: i32{arguments}):
{body.strip()}
"scf.yield"({following}) : ({kinds}) -> ()
}}) : (i32, i32, i32{f", {kinds}" if kinds else ""}) -> ({kinds})
"tt.return"() : () -> ()
}}) : () -> ()
}}) {{"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:{architecture}", \
"ttg.threads-per-warp" = 32 : i32}} : () -> ()
"""
    for short, whole in ATTRIBUTES.items():
        text = text.replace(short, whole)
    return re.sub(r"@(\w+)", lambda m: TYPES[m[1]], text)


def _type(kind: str) -> str:
    return f"@{kind}" if kind in TYPES else kind


def product(
    result: str, use_d: str, token: str = "", buffer: str = "%acc#0", predicate: str = "%yes"
) -> str:
    """Return a tcgen05 product of ``%a`` and ``%b`` into a buffer, with a token or without."""
    known = f", {token}" if token else ""
    kinds = ", @token" if token else ""
    name = f"%{result} = " if token else ""
    hint = f'{{sched.name = "{result}"}}'
    return (
        f'{name}"ttng.tc_gen5_mma"(%a, %b, {buffer}{known}, {use_d}, {predicate}) '
        f"<{{operandSegmentSizes = array<i32: 1, 1, 1, {int(bool(token))}, 1, 1, 0, 0>}}> {hint} : "
        f"(@smem, @smem, @tmem{kinds}, i1, i1) -> ({'@token' if token else ''})"
    )


def load(result: str, token: str = "", buffer: str = "%acc#0") -> str:
    """Return a load from tensor memory."""
    if not token:
        return (
            f'%{result} = "ttng.tmem_load"({buffer}) '
            "<{resultSegmentSizes = array<i32: 1, 0, 0>}> : (@tmem) -> @wide"
        )
    return (
        f'%{result}:2 = "ttng.tmem_load"({buffer}, {token}) '
        "<{resultSegmentSizes = array<i32: 1, 1, 0>}> : (@tmem, @token) -> (@wide, @token)"
    )


def store(value: str, predicate: str = "%yes", buffer: str = "%acc#0", name: str = "store") -> str:
    """Return a store to tensor memory, without a token."""
    return (
        f'"ttng.tmem_store"({buffer}, {value}, {predicate}) {{sched.name = "{name}"}} : '
        "(@tmem, @wide, i1) -> ()"
    )


def reduce(result: str, value: str) -> str:
    """Return the sum of a wide tile over its columns, so that something reads it."""
    return f"""\
%{result} = "tt.reduce"({value}) <{{axis = 1 : i32}}> ({{
^bb0(%left_{result}: f32, %right_{result}: f32):
%sum_{result} = "arith.addf"(%left_{result}, %right_{result}) FLOAT : (f32, f32) -> f32
"tt.reduce.return"(%sum_{result}) : (f32) -> ()
}}) : (@wide) -> @row"""


def float_of(operation: str, result: str, *operands: str, kind: str = "@wide") -> str:
    """Return element-wise arithmetic on floats."""
    kinds = ", ".join(kind for _ in operands)
    return f'%{result} = "{operation}"({", ".join(operands)}) FLOAT : ({kinds}) -> {kind}'


def in_registers(result: str, value: str) -> str:
    """Return an operation that reads a wide tile in registers and leaves a half one."""
    kind = "mma" if value in ("%c", "%state") else "wide"
    half = "half" if kind == "wide" else "mma16"
    return f'%{result} = "arith.truncf"({value}) : (@{kind}) -> @{half}'


def in_smem(result: str, value: str, kind: str = "@smem") -> str:
    """Return the allocation of a loaded tile in shared memory."""
    return f'%{result} = "ttg.local_alloc"({value}) : (@loaded) -> {kind}'


def tma_load(result: str, descriptor: str) -> str:
    """Return a load by TMA."""
    return (
        f'%{result} = "tt.descriptor_load"({descriptor}, %zero, %zero) : '
        "(@desc, i32, i32) -> @loaded"
    )


def tma_store(name: str, descriptor: str, value: str) -> str:
    """Return a store by TMA."""
    return (
        f'"tt.descriptor_store"({descriptor}, {value}, %i, %zero) {{sched.name = "{name}"}} : '
        "(@desc, @half, i32, i32) -> ()"
    )


def reduce_add(name: str, descriptor: str, value: str, kind: int = 1) -> str:
    """Return a reduction into global memory by TMA, a sum unless `kind` says otherwise."""
    return (
        f'"tt.descriptor_reduce"({descriptor}, {value}, %i, %zero) <{{kind = {kind} : i32}}> '
        f'{{sched.name = "{name}"}} : (@desc, @half, i32, i32) -> ()'
    )


def pointer_load(result: str, pointers: str) -> str:
    """Return a load through pointers."""
    return f'%{result} = "tt.load"({pointers}) LOAD : (@pointers) -> @floats'


def pointer_store(name: str, pointers: str, value: str) -> str:
    """Return a store through pointers."""
    return f'"tt.store"({pointers}, {value}) {{sched.name = "{name}"}} : (@pointers, @floats) -> ()'
