// triton 3.9.0, sm_100
#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#blocked1 = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [1, 32], warpsPerCTA = [4, 1], order = [1, 0]}>
#linear = #ttg.linear<{register = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [0, 64], [0, 128]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp = [[32, 0], [64, 0]], block = []}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
#tmem = #ttng.tensor_memory_encoding<blockM = 128, blockN = 256, colStride = 1>
"builtin.module"() ({
  "tt.func"() <{function_type = (!tt.tensordesc<128x64xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<64x256xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<128x256xf16, #shared>, i32, i32, i64, i64, f32, i32) -> (), sym_name = "rms_norm_gemm", sym_visibility = "public"}> ({
  ^bb0(%x_desc: !tt.tensordesc<128x64xf16, #shared>, %x_desc.shape.0: i32, %x_desc.shape.1: i32, %x_desc.stride.0: i64, %x_desc.stride.1: i64, %w_desc: !tt.tensordesc<64x256xf16, #shared>, %w_desc.shape.0: i32, %w_desc.shape.1: i32, %w_desc.stride.0: i64, %w_desc.stride.1: i64, %c_desc: !tt.tensordesc<128x256xf16, #shared>, %c_desc.shape.0: i32, %c_desc.shape.1: i32, %c_desc.stride.0: i64, %c_desc.stride.1: i64, %epsilon: f32, %depth: i32):
    %c = "arith.constant"() <{value = false}> {sched.location = "rms_norm_gemm.py:23:13", sched.name = "c"} : () -> i1
    %squares = "arith.constant"() <{value = dense<0.000000e+00> : tensor<128xf32, #ttg.slice<{dim = 1, parent = #blocked}>>}> {sched.location = "rms_norm_gemm.py:18:15", sched.name = "squares"} : () -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #blocked}>>
    %0 = "arith.constant"() <{value = true}> : () -> i1
    %row = "arith.constant"() <{value = 128 : i32}> {sched.location = "rms_norm_gemm.py:16:11", sched.name = "row"} : () -> i32
    %column = "arith.constant"() <{value = 256 : i32}> {sched.location = "rms_norm_gemm.py:17:14", sched.name = "column"} : () -> i32
    %1 = "arith.constant"() <{value = 0 : i32}> {sched.location = "rms_norm_gemm.py:20:5"} : () -> i32
    %2 = "arith.constant"() <{value = 64 : i32}> {sched.location = "rms_norm_gemm.py:20:5"} : () -> i32
    %c_0 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<128x256xf32, #linear>}> {sched.location = "rms_norm_gemm.py:19:9", sched.name = "c"} : () -> tensor<128x256xf32, #linear>
    %row_1 = "tt.get_program_id"() <{axis = 0 : i32}> {sched.location = "rms_norm_gemm.py:16:11", sched.name = "row"} : () -> i32
    %row_2 = "arith.muli"(%row_1, %row) <{overflowFlags = #arith.overflow<none>}> {sched.location = "rms_norm_gemm.py:16:11", sched.name = "row"} : (i32, i32) -> i32
    %column_3 = "tt.get_program_id"() <{axis = 1 : i32}> {sched.location = "rms_norm_gemm.py:17:14", sched.name = "column"} : () -> i32
    %column_4 = "arith.muli"(%column_3, %column) <{overflowFlags = #arith.overflow<none>}> {sched.location = "rms_norm_gemm.py:17:14", sched.name = "column"} : (i32, i32) -> i32
    %c_5:2 = "ttng.tmem_alloc"() {sched.location = "rms_norm_gemm.py:23:13", sched.name = "c"} : () -> (!ttg.memdesc<128x256xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token)
    %c_6 = "ttng.tmem_store"(%c_5#0, %c_5#1, %c_0, %0) {sched.location = "rms_norm_gemm.py:23:13", sched.name = "c"} : (!ttg.memdesc<128x256xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token, tensor<128x256xf32, #linear>, i1) -> !ttg.async.token
    %c_7:3 = "scf.for"(%1, %depth, %2, %squares, %c, %c_6) ({
    ^bb0(%k: i32, %squares_14: tensor<128xf32, #ttg.slice<{dim = 1, parent = #blocked}>>, %c_15: i1, %c_16: !ttg.async.token):
      %x = "tt.descriptor_load"(%x_desc, %row_2, %k) {sched.location = "rms_norm_gemm.py:21:13", sched.name = "x", sched.stage = 0 : i32, sched.cluster = 4 : i32, sched.slots = 3 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 4 : i32} : (!tt.tensordesc<128x64xf16, #shared>, i32, i32) -> tensor<128x64xf16, #blocked>
      %x_17 = "ttg.local_alloc"(%x) {sched.location = "rms_norm_gemm.py:21:13", sched.name = "x", sched.stage = 2 : i32, sched.cluster = 2 : i32} : (tensor<128x64xf16, #blocked>) -> !ttg.memdesc<128x64xf16, #shared, #smem>
      %w = "tt.descriptor_load"(%w_desc, %k, %column_4) {sched.location = "rms_norm_gemm.py:22:13", sched.name = "w", sched.stage = 0 : i32, sched.cluster = 4 : i32, sched.slots = 3 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 4 : i32} : (!tt.tensordesc<64x256xf16, #shared>, i32, i32) -> tensor<64x256xf16, #blocked1>
      %w_18 = "ttg.local_alloc"(%w) {sched.location = "rms_norm_gemm.py:22:13", sched.name = "w", sched.stage = 2 : i32, sched.cluster = 2 : i32} : (tensor<64x256xf16, #blocked1>) -> !ttg.memdesc<64x256xf16, #shared, #smem>
      %c_19 = "ttng.tc_gen5_mma"(%x_17, %w_18, %c_5#0, %c_16, %c_15, %0) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0>}> {sched.location = "rms_norm_gemm.py:23:13", sched.name = "c", sched.stage = 2 : i32, sched.cluster = 2 : i32, sched.wait_stage = 3 : i32, sched.wait_before = 0 : i32} : (!ttg.memdesc<128x64xf16, #shared, #smem>, !ttg.memdesc<64x256xf16, #shared, #smem>, !ttg.memdesc<128x256xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token, i1, i1) -> !ttg.async.token
      %wide = "arith.extf"(%x) {sched.location = "rms_norm_gemm.py:24:16", sched.name = "wide", sched.stage = 3 : i32, sched.cluster = 0 : i32} : (tensor<128x64xf16, #blocked>) -> tensor<128x64xf32, #blocked>
      %squares_20 = "arith.mulf"(%wide, %wide) <{fastmath = #arith.fastmath<none>}> {sched.location = "rms_norm_gemm.py:25:27", sched.name = "squares", sched.stage = 3 : i32, sched.cluster = 0 : i32} : (tensor<128x64xf32, #blocked>, tensor<128x64xf32, #blocked>) -> tensor<128x64xf32, #blocked>
      %squares_21 = "tt.reduce"(%squares_20) <{axis = 1 : i32}> ({
      ^bb0(%squares_23: f32, %squares_24: f32):
        %squares_25 = "arith.addf"(%squares_23, %squares_24) <{fastmath = #arith.fastmath<none>}> {sched.location = "rms_norm_gemm.py:25:20", sched.name = "squares"} : (f32, f32) -> f32
        "tt.reduce.return"(%squares_25) : (f32) -> ()
      }) {sched.location = "rms_norm_gemm.py:25:20", sched.name = "squares", sched.stage = 3 : i32, sched.cluster = 0 : i32} : (tensor<128x64xf32, #blocked>) -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #blocked}>>
      %squares_22 = "arith.addf"(%squares_14, %squares_21) <{fastmath = #arith.fastmath<none>}> {sched.location = "rms_norm_gemm.py:25:9", sched.name = "squares", sched.stage = 3 : i32, sched.cluster = 0 : i32} : (tensor<128xf32, #ttg.slice<{dim = 1, parent = #blocked}>>, tensor<128xf32, #ttg.slice<{dim = 1, parent = #blocked}>>) -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #blocked}>>
      "scf.yield"(%squares_22, %0, %c_19) : (tensor<128xf32, #ttg.slice<{dim = 1, parent = #blocked}>>, i1, !ttg.async.token) -> ()
    }) {sched.location = "rms_norm_gemm.py:20:5", sched.name = "k"} : (i32, i32, i32, tensor<128xf32, #ttg.slice<{dim = 1, parent = #blocked}>>, i1, !ttg.async.token) -> (tensor<128xf32, #ttg.slice<{dim = 1, parent = #blocked}>>, i1, !ttg.async.token)
    %c_8:2 = "ttng.tmem_load"(%c_5#0, %c_7#2) <{resultSegmentSizes = array<i32: 1, 1, 0>}> {sched.location = "rms_norm_gemm.py:23:13", sched.name = "c"} : (!ttg.memdesc<128x256xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token) -> (tensor<128x256xf32, #linear>, !ttg.async.token)
    %factor = "arith.sitofp"(%depth) {sched.location = "rms_norm_gemm.py:26:23", sched.name = "factor"} : (i32) -> f32
    %factor_9 = "tt.splat"(%factor) {sched.location = "rms_norm_gemm.py:26:23", sched.name = "factor"} : (f32) -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #blocked}>>
    %factor_10 = "arith.divf"(%c_7#0, %factor_9) <{fastmath = #arith.fastmath<none>}> {sched.location = "rms_norm_gemm.py:26:23", sched.name = "factor"} : (tensor<128xf32, #ttg.slice<{dim = 1, parent = #blocked}>>, tensor<128xf32, #ttg.slice<{dim = 1, parent = #blocked}>>) -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #blocked}>>
    %factor_11 = "tt.splat"(%epsilon) {sched.location = "rms_norm_gemm.py:26:23", sched.name = "factor"} : (f32) -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #blocked}>>
    %factor_12 = "arith.addf"(%factor_10, %factor_11) <{fastmath = #arith.fastmath<none>}> {sched.location = "rms_norm_gemm.py:26:23", sched.name = "factor"} : (tensor<128xf32, #ttg.slice<{dim = 1, parent = #blocked}>>, tensor<128xf32, #ttg.slice<{dim = 1, parent = #blocked}>>) -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #blocked}>>
    %factor_13 = "math.rsqrt"(%factor_12) <{fastmath = #arith.fastmath<none>}> {sched.location = "rms_norm_gemm.py:26:14", sched.name = "factor"} : (tensor<128xf32, #ttg.slice<{dim = 1, parent = #blocked}>>) -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #blocked}>>
    %3 = "tt.expand_dims"(%factor_13) <{axis = 1 : i32}> {sched.location = "rms_norm_gemm.py:27:38"} : (tensor<128xf32, #ttg.slice<{dim = 1, parent = #blocked}>>) -> tensor<128x1xf32, #blocked>
    %4 = "ttg.convert_layout"(%3) {sched.trivial = false, sched.location = "rms_norm_gemm.py:27:34"} : (tensor<128x1xf32, #blocked>) -> tensor<128x1xf32, #linear>
    %5 = "tt.broadcast"(%4) {sched.location = "rms_norm_gemm.py:27:34"} : (tensor<128x1xf32, #linear>) -> tensor<128x256xf32, #linear>
    %6 = "arith.mulf"(%c_8#0, %5) <{fastmath = #arith.fastmath<none>}> {sched.location = "rms_norm_gemm.py:27:34"} : (tensor<128x256xf32, #linear>, tensor<128x256xf32, #linear>) -> tensor<128x256xf32, #linear>
    %7 = "arith.truncf"(%6) {sched.location = "rms_norm_gemm.py:27:33"} : (tensor<128x256xf32, #linear>) -> tensor<128x256xf16, #linear>
    %8 = "ttg.convert_layout"(%7) {sched.trivial = false, sched.location = "rms_norm_gemm.py:27:5"} : (tensor<128x256xf16, #linear>) -> tensor<128x256xf16, #blocked1>
    "tt.descriptor_store"(%c_desc, %8, %row_2, %column_4) {sched.location = "rms_norm_gemm.py:27:5"} : (!tt.tensordesc<128x256xf16, #shared>, tensor<128x256xf16, #blocked1>, i32, i32) -> ()
    "tt.return"() : () -> ()
  }) {noinline = false, sched.location = "rms_norm_gemm.py:12:1"} : () -> ()
}) {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:100", "ttg.threads-per-warp" = 32 : i32, "ttng.two-ctas" = false} : () -> ()
