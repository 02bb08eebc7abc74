// triton 3.9.0, sm_90
#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#blocked1 = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#blocked2 = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#blocked3 = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [1, 32], warpsPerCTA = [1, 4], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 128, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
"builtin.module"() ({
  "tt.func"() <{arg_attrs = [{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {tt.divisibility = 16 : i32}, {}], function_type = (!tt.tensordesc<128x64xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<64x128xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<128x128xf16, #shared>, i32, i32, i64, i64, !tt.ptr<f16>, i32) -> (), sym_name = "gemm_bias_gelu", sym_visibility = "public"}> ({
  ^bb0(%a_desc: !tt.tensordesc<128x64xf16, #shared>, %a_desc.shape.0: i32, %a_desc.shape.1: i32, %a_desc.stride.0: i64, %a_desc.stride.1: i64, %b_desc: !tt.tensordesc<64x128xf16, #shared>, %b_desc.shape.0: i32, %b_desc.shape.1: i32, %b_desc.stride.0: i64, %b_desc.stride.1: i64, %c_desc: !tt.tensordesc<128x128xf16, #shared>, %c_desc.shape.0: i32, %c_desc.shape.1: i32, %c_desc.stride.0: i64, %c_desc.stride.1: i64, %bias_ptr: !tt.ptr<f16>, %depth: i32):
    %0 = "arith.constant"() <{value = 128 : i32}> : () -> i32
    %1 = "arith.constant"() <{value = 0 : i32}> {sched.location = "gemm_bias_gelu.py:18:5"} : () -> i32
    %2 = "arith.constant"() <{value = 64 : i32}> {sched.location = "gemm_bias_gelu.py:18:5"} : () -> i32
    %c = "arith.constant"() <{value = dense<0.000000e+00> : tensor<128x128xf32, #mma>}> {sched.location = "gemm_bias_gelu.py:17:9", sched.name = "c"} : () -> tensor<128x128xf32, #mma>
    %3 = "arith.constant"() <{value = dense<5.000000e-01> : tensor<128x128xf32, #mma>}> {sched.location = "gemm_bias_gelu.py:26:34"} : () -> tensor<128x128xf32, #mma>
    %tanh = "arith.constant"() <{value = dense<2.000000e+00> : tensor<128x128xf32, #mma>}> {sched.location = "gemm_bias_gelu.py:25:16", sched.name = "tanh"} : () -> tensor<128x128xf32, #mma>
    %4 = "arith.constant"() <{value = dense<1.000000e+00> : tensor<128x128xf32, #mma>}> : () -> tensor<128x128xf32, #mma>
    %tanh_0 = "arith.constant"() <{value = dense<2.885390e+00> : tensor<128x128xf32, #mma>}> {sched.location = "gemm_bias_gelu.py:25:29", sched.name = "tanh"} : () -> tensor<128x128xf32, #mma>
    %inner = "arith.constant"() <{value = dense<0.797884583> : tensor<128x128xf32, #mma>}> {sched.location = "gemm_bias_gelu.py:24:13", sched.name = "inner"} : () -> tensor<128x128xf32, #mma>
    %inner_1 = "arith.constant"() <{value = dense<4.471500e-02> : tensor<128x128xf32, #mma>}> {sched.location = "gemm_bias_gelu.py:24:33", sched.name = "inner"} : () -> tensor<128x128xf32, #mma>
    %row = "tt.get_program_id"() <{axis = 0 : i32}> {sched.location = "gemm_bias_gelu.py:15:11", sched.name = "row"} : () -> i32
    %row_2 = "arith.muli"(%row, %0) <{overflowFlags = #arith.overflow<none>}> {sched.location = "gemm_bias_gelu.py:15:11", sched.name = "row"} : (i32, i32) -> i32
    %column = "tt.get_program_id"() <{axis = 1 : i32}> {sched.location = "gemm_bias_gelu.py:16:14", sched.name = "column"} : () -> i32
    %column_3 = "arith.muli"(%column, %0) <{overflowFlags = #arith.overflow<none>}> {sched.location = "gemm_bias_gelu.py:16:14", sched.name = "column"} : (i32, i32) -> i32
    %c_4 = "scf.for"(%1, %depth, %2, %c) ({
    ^bb0(%k: i32, %c_25: tensor<128x128xf32, #mma>):
      %a = "tt.descriptor_load"(%a_desc, %row_2, %k) {sched.location = "gemm_bias_gelu.py:19:13", sched.name = "a", sched.stage = 0 : i32, sched.cluster = 2 : i32, sched.slots = 3 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 4 : i32} : (!tt.tensordesc<128x64xf16, #shared>, i32, i32) -> tensor<128x64xf16, #blocked>
      %a_26 = "ttg.local_alloc"(%a) {sched.location = "gemm_bias_gelu.py:19:13", sched.name = "a", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128x64xf16, #blocked>) -> !ttg.memdesc<128x64xf16, #shared, #smem>
      %b = "tt.descriptor_load"(%b_desc, %k, %column_3) {sched.location = "gemm_bias_gelu.py:20:13", sched.name = "b", sched.stage = 0 : i32, sched.cluster = 2 : i32, sched.slots = 3 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 4 : i32} : (!tt.tensordesc<64x128xf16, #shared>, i32, i32) -> tensor<64x128xf16, #blocked1>
      %b_27 = "ttg.local_alloc"(%b) {sched.location = "gemm_bias_gelu.py:20:13", sched.name = "b", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x128xf16, #blocked1>) -> !ttg.memdesc<64x128xf16, #shared, #smem>
      %c_28 = "ttng.warp_group_dot"(%a_26, %b_27, %c_25) <{inputPrecision = 0 : i32, isAsync = false, maxNumImpreciseAcc = 0 : i32}> {sched.location = "gemm_bias_gelu.py:21:13", sched.name = "c", sched.stage = 2 : i32, sched.cluster = 0 : i32, sched.wait_stage = 3 : i32, sched.wait_before = 0 : i32} : (!ttg.memdesc<128x64xf16, #shared, #smem>, !ttg.memdesc<64x128xf16, #shared, #smem>, tensor<128x128xf32, #mma>) -> tensor<128x128xf32, #mma>
      "scf.yield"(%c_28) : (tensor<128x128xf32, #mma>) -> ()
    }) {sched.location = "gemm_bias_gelu.py:18:5", sched.name = "k"} : (i32, i32, i32, tensor<128x128xf32, #mma>) -> tensor<128x128xf32, #mma>
    %bias = "tt.addptr"(%bias_ptr, %column_3) {sched.location = "gemm_bias_gelu.py:22:20", sched.name = "bias"} : (!tt.ptr<f16>, i32) -> !tt.ptr<f16>
    %bias_5 = "tt.make_range"() <{end = 128 : i32, start = 0 : i32}> {sched.location = "gemm_bias_gelu.py:22:40", sched.name = "bias"} : () -> tensor<128xi32, #blocked2>
    %bias_6 = "tt.splat"(%bias) {sched.location = "gemm_bias_gelu.py:22:20", sched.name = "bias"} : (!tt.ptr<f16>) -> tensor<128x!tt.ptr<f16>, #blocked2>
    %bias_7 = "tt.addptr"(%bias_6, %bias_5) {sched.location = "gemm_bias_gelu.py:22:20", sched.name = "bias"} : (tensor<128x!tt.ptr<f16>, #blocked2>, tensor<128xi32, #blocked2>) -> tensor<128x!tt.ptr<f16>, #blocked2>
    %bias_8 = "tt.load"(%bias_7) <{isVolatile = false, operandSegmentSizes = array<i32: 1, 0, 0>}> {sched.location = "gemm_bias_gelu.py:22:12", sched.name = "bias"} : (tensor<128x!tt.ptr<f16>, #blocked2>) -> tensor<128xf16, #blocked2>
    %c_9 = "ttg.convert_layout"(%bias_8) {sched.trivial = true, sched.location = "gemm_bias_gelu.py:23:10", sched.name = "c"} : (tensor<128xf16, #blocked2>) -> tensor<128xf16, #ttg.slice<{dim = 0, parent = #blocked3}>>
    %c_10 = "tt.expand_dims"(%c_9) <{axis = 0 : i32}> {sched.location = "gemm_bias_gelu.py:23:10", sched.name = "c"} : (tensor<128xf16, #ttg.slice<{dim = 0, parent = #blocked3}>>) -> tensor<1x128xf16, #blocked3>
    %c_11 = "arith.extf"(%c_10) {sched.location = "gemm_bias_gelu.py:23:10", sched.name = "c"} : (tensor<1x128xf16, #blocked3>) -> tensor<1x128xf32, #blocked3>
    %c_12 = "ttg.convert_layout"(%c_11) {sched.trivial = false, sched.location = "gemm_bias_gelu.py:23:5", sched.name = "c"} : (tensor<1x128xf32, #blocked3>) -> tensor<1x128xf32, #mma>
    %c_13 = "tt.broadcast"(%c_12) {sched.location = "gemm_bias_gelu.py:23:5", sched.name = "c"} : (tensor<1x128xf32, #mma>) -> tensor<128x128xf32, #mma>
    %c_14 = "arith.addf"(%c_4, %c_13) <{fastmath = #arith.fastmath<none>}> {sched.location = "gemm_bias_gelu.py:23:5", sched.name = "c"} : (tensor<128x128xf32, #mma>, tensor<128x128xf32, #mma>) -> tensor<128x128xf32, #mma>
    %inner_15 = "arith.mulf"(%c_14, %inner_1) <{fastmath = #arith.fastmath<none>}> {sched.location = "gemm_bias_gelu.py:24:33", sched.name = "inner"} : (tensor<128x128xf32, #mma>, tensor<128x128xf32, #mma>) -> tensor<128x128xf32, #mma>
    %inner_16 = "arith.mulf"(%inner_15, %c_14) <{fastmath = #arith.fastmath<none>}> {sched.location = "gemm_bias_gelu.py:24:33", sched.name = "inner"} : (tensor<128x128xf32, #mma>, tensor<128x128xf32, #mma>) -> tensor<128x128xf32, #mma>
    %inner_17 = "arith.mulf"(%inner_16, %c_14) <{fastmath = #arith.fastmath<none>}> {sched.location = "gemm_bias_gelu.py:24:33", sched.name = "inner"} : (tensor<128x128xf32, #mma>, tensor<128x128xf32, #mma>) -> tensor<128x128xf32, #mma>
    %inner_18 = "arith.addf"(%c_14, %inner_17) <{fastmath = #arith.fastmath<none>}> {sched.location = "gemm_bias_gelu.py:24:29", sched.name = "inner"} : (tensor<128x128xf32, #mma>, tensor<128x128xf32, #mma>) -> tensor<128x128xf32, #mma>
    %inner_19 = "arith.mulf"(%inner_18, %inner) <{fastmath = #arith.fastmath<none>}> {sched.location = "gemm_bias_gelu.py:24:13", sched.name = "inner"} : (tensor<128x128xf32, #mma>, tensor<128x128xf32, #mma>) -> tensor<128x128xf32, #mma>
    %tanh_20 = "arith.mulf"(%inner_19, %tanh_0) <{fastmath = #arith.fastmath<none>}> {sched.location = "gemm_bias_gelu.py:25:29", sched.name = "tanh"} : (tensor<128x128xf32, #mma>, tensor<128x128xf32, #mma>) -> tensor<128x128xf32, #mma>
    %tanh_21 = "math.exp2"(%tanh_20) <{fastmath = #arith.fastmath<none>}> {sched.location = "gemm_bias_gelu.py:25:21", sched.name = "tanh"} : (tensor<128x128xf32, #mma>) -> tensor<128x128xf32, #mma>
    %tanh_22 = "arith.addf"(%tanh_21, %4) <{fastmath = #arith.fastmath<none>}> {sched.location = "gemm_bias_gelu.py:25:21", sched.name = "tanh"} : (tensor<128x128xf32, #mma>, tensor<128x128xf32, #mma>) -> tensor<128x128xf32, #mma>
    %tanh_23 = "arith.divf"(%tanh, %tanh_22) <{fastmath = #arith.fastmath<none>}> {sched.location = "gemm_bias_gelu.py:25:16", sched.name = "tanh"} : (tensor<128x128xf32, #mma>, tensor<128x128xf32, #mma>) -> tensor<128x128xf32, #mma>
    %tanh_24 = "arith.subf"(%4, %tanh_23) <{fastmath = #arith.fastmath<none>}> {sched.location = "gemm_bias_gelu.py:25:12", sched.name = "tanh"} : (tensor<128x128xf32, #mma>, tensor<128x128xf32, #mma>) -> tensor<128x128xf32, #mma>
    %5 = "arith.mulf"(%c_14, %3) <{fastmath = #arith.fastmath<none>}> {sched.location = "gemm_bias_gelu.py:26:34"} : (tensor<128x128xf32, #mma>, tensor<128x128xf32, #mma>) -> tensor<128x128xf32, #mma>
    %6 = "arith.addf"(%tanh_24, %4) <{fastmath = #arith.fastmath<none>}> {sched.location = "gemm_bias_gelu.py:26:45"} : (tensor<128x128xf32, #mma>, tensor<128x128xf32, #mma>) -> tensor<128x128xf32, #mma>
    %7 = "arith.mulf"(%5, %6) <{fastmath = #arith.fastmath<none>}> {sched.location = "gemm_bias_gelu.py:26:34"} : (tensor<128x128xf32, #mma>, tensor<128x128xf32, #mma>) -> tensor<128x128xf32, #mma>
    %8 = "arith.truncf"(%7) {sched.location = "gemm_bias_gelu.py:26:33"} : (tensor<128x128xf32, #mma>) -> tensor<128x128xf16, #mma>
    %9 = "ttg.convert_layout"(%8) {sched.trivial = false, sched.location = "gemm_bias_gelu.py:26:5"} : (tensor<128x128xf16, #mma>) -> tensor<128x128xf16, #blocked1>
    "tt.descriptor_store"(%c_desc, %9, %row_2, %column_3) {sched.location = "gemm_bias_gelu.py:26:5"} : (!tt.tensordesc<128x128xf16, #shared>, tensor<128x128xf16, #blocked1>, i32, i32) -> ()
    "tt.return"() : () -> ()
  }) {noinline = false, sched.location = "gemm_bias_gelu.py:11:1"} : () -> ()
}) {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32, "ttng.two-ctas" = false} : () -> ()
