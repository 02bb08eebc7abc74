// triton 3.9.0, sm_90
#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#blocked1 = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 128, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
"builtin.module"() ({
  "tt.func"() <{function_type = (!tt.tensordesc<64x64xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<64x128xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<64x128xf16, #shared>, i32, i32, i64, i64, f32, i32) -> (), sym_name = "rms_norm_gemm", sym_visibility = "public"}> ({
  ^bb0(%x_desc: !tt.tensordesc<64x64xf16, #shared>, %x_desc.shape.0: i32, %x_desc.shape.1: i32, %x_desc.stride.0: i64, %x_desc.stride.1: i64, %w_desc: !tt.tensordesc<64x128xf16, #shared>, %w_desc.shape.0: i32, %w_desc.shape.1: i32, %w_desc.stride.0: i64, %w_desc.stride.1: i64, %c_desc: !tt.tensordesc<64x128xf16, #shared>, %c_desc.shape.0: i32, %c_desc.shape.1: i32, %c_desc.stride.0: i64, %c_desc.stride.1: i64, %epsilon: f32, %depth: i32):
    %squares = "arith.constant"() <{value = dense<0.000000e+00> : tensor<64xf32, #ttg.slice<{dim = 1, parent = #blocked}>>}> {sched.location = "rms_norm_gemm.py:18:15", sched.name = "squares"} : () -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #blocked}>>
    %0 = "arith.constant"() <{value = 64 : i32}> : () -> i32
    %column = "arith.constant"() <{value = 128 : i32}> {sched.location = "rms_norm_gemm.py:17:14", sched.name = "column"} : () -> i32
    %1 = "arith.constant"() <{value = 0 : i32}> {sched.location = "rms_norm_gemm.py:20:5"} : () -> i32
    %c = "arith.constant"() <{value = dense<0.000000e+00> : tensor<64x128xf32, #mma>}> {sched.location = "rms_norm_gemm.py:19:9", sched.name = "c"} : () -> tensor<64x128xf32, #mma>
    %row = "tt.get_program_id"() <{axis = 0 : i32}> {sched.location = "rms_norm_gemm.py:16:11", sched.name = "row"} : () -> i32
    %row_0 = "arith.muli"(%row, %0) <{overflowFlags = #arith.overflow<none>}> {sched.location = "rms_norm_gemm.py:16:11", sched.name = "row"} : (i32, i32) -> i32
    %column_1 = "tt.get_program_id"() <{axis = 1 : i32}> {sched.location = "rms_norm_gemm.py:17:14", sched.name = "column"} : () -> i32
    %column_2 = "arith.muli"(%column_1, %column) <{overflowFlags = #arith.overflow<none>}> {sched.location = "rms_norm_gemm.py:17:14", sched.name = "column"} : (i32, i32) -> i32
    %c_3:2 = "scf.for"(%1, %depth, %0, %squares, %c) ({
    ^bb0(%k: i32, %squares_9: tensor<64xf32, #ttg.slice<{dim = 1, parent = #blocked}>>, %c_10: tensor<64x128xf32, #mma>):
      %x = "tt.descriptor_load"(%x_desc, %row_0, %k) {sched.location = "rms_norm_gemm.py:21:13", sched.name = "x", sched.stage = 0 : i32, sched.cluster = 2 : i32, sched.slots = 2 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 4 : i32} : (!tt.tensordesc<64x64xf16, #shared>, i32, i32) -> tensor<64x64xf16, #blocked>
      %x_11 = "ttg.local_alloc"(%x) {sched.location = "rms_norm_gemm.py:21:13", sched.name = "x", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
      %w = "tt.descriptor_load"(%w_desc, %k, %column_2) {sched.location = "rms_norm_gemm.py:22:13", sched.name = "w", sched.stage = 0 : i32, sched.cluster = 2 : i32, sched.slots = 3 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 4 : i32} : (!tt.tensordesc<64x128xf16, #shared>, i32, i32) -> tensor<64x128xf16, #blocked1>
      %w_12 = "ttg.local_alloc"(%w) {sched.location = "rms_norm_gemm.py:22:13", sched.name = "w", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x128xf16, #blocked1>) -> !ttg.memdesc<64x128xf16, #shared, #smem>
      %c_13 = "ttng.warp_group_dot"(%x_11, %w_12, %c_10) <{inputPrecision = 0 : i32, isAsync = false, maxNumImpreciseAcc = 0 : i32}> {sched.location = "rms_norm_gemm.py:23:13", sched.name = "c", sched.stage = 2 : i32, sched.cluster = 0 : i32, sched.wait_stage = 3 : i32, sched.wait_before = 5 : i32} : (!ttg.memdesc<64x64xf16, #shared, #smem>, !ttg.memdesc<64x128xf16, #shared, #smem>, tensor<64x128xf32, #mma>) -> tensor<64x128xf32, #mma>
      %wide = "arith.extf"(%x) {sched.location = "rms_norm_gemm.py:24:16", sched.name = "wide", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xf16, #blocked>) -> tensor<64x64xf32, #blocked>
      %squares_14 = "arith.mulf"(%wide, %wide) <{fastmath = #arith.fastmath<none>}> {sched.location = "rms_norm_gemm.py:25:27", sched.name = "squares", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xf32, #blocked>, tensor<64x64xf32, #blocked>) -> tensor<64x64xf32, #blocked>
      %squares_15 = "tt.reduce"(%squares_14) <{axis = 1 : i32}> ({
      ^bb0(%squares_17: f32, %squares_18: f32):
        %squares_19 = "arith.addf"(%squares_17, %squares_18) <{fastmath = #arith.fastmath<none>}> {sched.location = "rms_norm_gemm.py:25:20", sched.name = "squares"} : (f32, f32) -> f32
        "tt.reduce.return"(%squares_19) : (f32) -> ()
      }) {sched.location = "rms_norm_gemm.py:25:20", sched.name = "squares", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xf32, #blocked>) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #blocked}>>
      %squares_16 = "arith.addf"(%squares_9, %squares_15) <{fastmath = #arith.fastmath<none>}> {sched.location = "rms_norm_gemm.py:25:9", sched.name = "squares", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #blocked}>>, tensor<64xf32, #ttg.slice<{dim = 1, parent = #blocked}>>) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #blocked}>>
      "scf.yield"(%squares_16, %c_13) : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #blocked}>>, tensor<64x128xf32, #mma>) -> ()
    }) {sched.location = "rms_norm_gemm.py:20:5", sched.name = "k"} : (i32, i32, i32, tensor<64xf32, #ttg.slice<{dim = 1, parent = #blocked}>>, tensor<64x128xf32, #mma>) -> (tensor<64xf32, #ttg.slice<{dim = 1, parent = #blocked}>>, tensor<64x128xf32, #mma>)
    %factor = "arith.sitofp"(%depth) {sched.location = "rms_norm_gemm.py:26:23", sched.name = "factor"} : (i32) -> f32
    %factor_4 = "tt.splat"(%factor) {sched.location = "rms_norm_gemm.py:26:23", sched.name = "factor"} : (f32) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #blocked}>>
    %factor_5 = "arith.divf"(%c_3#0, %factor_4) <{fastmath = #arith.fastmath<none>}> {sched.location = "rms_norm_gemm.py:26:23", sched.name = "factor"} : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #blocked}>>, tensor<64xf32, #ttg.slice<{dim = 1, parent = #blocked}>>) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #blocked}>>
    %factor_6 = "tt.splat"(%epsilon) {sched.location = "rms_norm_gemm.py:26:23", sched.name = "factor"} : (f32) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #blocked}>>
    %factor_7 = "arith.addf"(%factor_5, %factor_6) <{fastmath = #arith.fastmath<none>}> {sched.location = "rms_norm_gemm.py:26:23", sched.name = "factor"} : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #blocked}>>, tensor<64xf32, #ttg.slice<{dim = 1, parent = #blocked}>>) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #blocked}>>
    %factor_8 = "math.rsqrt"(%factor_7) <{fastmath = #arith.fastmath<none>}> {sched.location = "rms_norm_gemm.py:26:14", sched.name = "factor"} : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #blocked}>>) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #blocked}>>
    %2 = "tt.expand_dims"(%factor_8) <{axis = 1 : i32}> {sched.location = "rms_norm_gemm.py:27:38"} : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #blocked}>>) -> tensor<64x1xf32, #blocked>
    %3 = "ttg.convert_layout"(%2) {sched.trivial = false, sched.location = "rms_norm_gemm.py:27:34"} : (tensor<64x1xf32, #blocked>) -> tensor<64x1xf32, #mma>
    %4 = "tt.broadcast"(%3) {sched.location = "rms_norm_gemm.py:27:34"} : (tensor<64x1xf32, #mma>) -> tensor<64x128xf32, #mma>
    %5 = "arith.mulf"(%c_3#1, %4) <{fastmath = #arith.fastmath<none>}> {sched.location = "rms_norm_gemm.py:27:34"} : (tensor<64x128xf32, #mma>, tensor<64x128xf32, #mma>) -> tensor<64x128xf32, #mma>
    %6 = "arith.truncf"(%5) {sched.location = "rms_norm_gemm.py:27:33"} : (tensor<64x128xf32, #mma>) -> tensor<64x128xf16, #mma>
    %7 = "ttg.convert_layout"(%6) {sched.trivial = false, sched.location = "rms_norm_gemm.py:27:5"} : (tensor<64x128xf16, #mma>) -> tensor<64x128xf16, #blocked1>
    "tt.descriptor_store"(%c_desc, %7, %row_0, %column_2) {sched.location = "rms_norm_gemm.py:27:5"} : (!tt.tensordesc<64x128xf16, #shared>, tensor<64x128xf16, #blocked1>, i32, i32) -> ()
    "tt.return"() : () -> ()
  }) {noinline = false, sched.location = "rms_norm_gemm.py:12:1"} : () -> ()
}) {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32, "ttng.two-ctas" = false} : () -> ()
