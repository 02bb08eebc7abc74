// triton 3.9.0, sm_100
#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#blocked1 = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [1, 32], warpsPerCTA = [4, 1], order = [1, 0]}>
#blocked2 = #ttg.blocked<{sizePerThread = [2], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#linear = #ttg.linear<{register = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [0, 64], [0, 128]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp = [[32, 0], [64, 0]], block = []}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
#tmem = #ttng.tensor_memory_encoding<blockM = 128, blockN = 256, colStride = 1>
"builtin.module"() ({
  "tt.func"() <{arg_attrs = [{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {tt.divisibility = 16 : i32}, {}], function_type = (!tt.tensordesc<128x64xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<64x256xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<128x256xf16, #shared>, i32, i32, i64, i64, !tt.ptr<f16>, i32) -> (), sym_name = "gemm_bias_gelu", sym_visibility = "public"}> ({
  ^bb0(%a_desc: !tt.tensordesc<128x64xf16, #shared>, %a_desc.shape.0: i32, %a_desc.shape.1: i32, %a_desc.stride.0: i64, %a_desc.stride.1: i64, %b_desc: !tt.tensordesc<64x256xf16, #shared>, %b_desc.shape.0: i32, %b_desc.shape.1: i32, %b_desc.stride.0: i64, %b_desc.stride.1: i64, %c_desc: !tt.tensordesc<128x256xf16, #shared>, %c_desc.shape.0: i32, %c_desc.shape.1: i32, %c_desc.stride.0: i64, %c_desc.stride.1: i64, %bias_ptr: !tt.ptr<f16>, %depth: i32):
    %c = "arith.constant"() <{value = false}> {sched.location = "gemm_bias_gelu.py:21:13", sched.name = "c"} : () -> i1
    %0 = "arith.constant"() <{value = true}> : () -> i1
    %row = "arith.constant"() <{value = 128 : i32}> {sched.location = "gemm_bias_gelu.py:15:11", sched.name = "row"} : () -> i32
    %column = "arith.constant"() <{value = 256 : i32}> {sched.location = "gemm_bias_gelu.py:16:14", sched.name = "column"} : () -> i32
    %1 = "arith.constant"() <{value = 0 : i32}> {sched.location = "gemm_bias_gelu.py:18:5"} : () -> i32
    %2 = "arith.constant"() <{value = 64 : i32}> {sched.location = "gemm_bias_gelu.py:18:5"} : () -> i32
    %c_0 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<128x256xf32, #linear>}> {sched.location = "gemm_bias_gelu.py:17:9", sched.name = "c"} : () -> tensor<128x256xf32, #linear>
    %3 = "arith.constant"() <{value = dense<5.000000e-01> : tensor<128x256xf32, #linear>}> {sched.location = "gemm_bias_gelu.py:26:34"} : () -> tensor<128x256xf32, #linear>
    %tanh = "arith.constant"() <{value = dense<2.000000e+00> : tensor<128x256xf32, #linear>}> {sched.location = "gemm_bias_gelu.py:25:16", sched.name = "tanh"} : () -> tensor<128x256xf32, #linear>
    %4 = "arith.constant"() <{value = dense<1.000000e+00> : tensor<128x256xf32, #linear>}> : () -> tensor<128x256xf32, #linear>
    %tanh_1 = "arith.constant"() <{value = dense<2.885390e+00> : tensor<128x256xf32, #linear>}> {sched.location = "gemm_bias_gelu.py:25:29", sched.name = "tanh"} : () -> tensor<128x256xf32, #linear>
    %inner = "arith.constant"() <{value = dense<0.797884583> : tensor<128x256xf32, #linear>}> {sched.location = "gemm_bias_gelu.py:24:13", sched.name = "inner"} : () -> tensor<128x256xf32, #linear>
    %inner_2 = "arith.constant"() <{value = dense<4.471500e-02> : tensor<128x256xf32, #linear>}> {sched.location = "gemm_bias_gelu.py:24:33", sched.name = "inner"} : () -> tensor<128x256xf32, #linear>
    %row_3 = "tt.get_program_id"() <{axis = 0 : i32}> {sched.location = "gemm_bias_gelu.py:15:11", sched.name = "row"} : () -> i32
    %row_4 = "arith.muli"(%row_3, %row) <{overflowFlags = #arith.overflow<none>}> {sched.location = "gemm_bias_gelu.py:15:11", sched.name = "row"} : (i32, i32) -> i32
    %column_5 = "tt.get_program_id"() <{axis = 1 : i32}> {sched.location = "gemm_bias_gelu.py:16:14", sched.name = "column"} : () -> i32
    %column_6 = "arith.muli"(%column_5, %column) <{overflowFlags = #arith.overflow<none>}> {sched.location = "gemm_bias_gelu.py:16:14", sched.name = "column"} : (i32, i32) -> i32
    %c_7:2 = "ttng.tmem_alloc"() {sched.location = "gemm_bias_gelu.py:21:13", sched.name = "c"} : () -> (!ttg.memdesc<128x256xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token)
    %c_8 = "ttng.tmem_store"(%c_7#0, %c_7#1, %c_0, %0) {sched.location = "gemm_bias_gelu.py:21:13", sched.name = "c"} : (!ttg.memdesc<128x256xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token, tensor<128x256xf32, #linear>, i1) -> !ttg.async.token
    %c_9:2 = "scf.for"(%1, %depth, %2, %c, %c_8) ({
    ^bb0(%k: i32, %c_30: i1, %c_31: !ttg.async.token):
      %a = "tt.descriptor_load"(%a_desc, %row_4, %k) {sched.location = "gemm_bias_gelu.py:19:13", sched.name = "a", sched.stage = 0 : i32, sched.cluster = 2 : i32, sched.slots = 3 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 4 : i32} : (!tt.tensordesc<128x64xf16, #shared>, i32, i32) -> tensor<128x64xf16, #blocked>
      %a_32 = "ttg.local_alloc"(%a) {sched.location = "gemm_bias_gelu.py:19:13", sched.name = "a", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128x64xf16, #blocked>) -> !ttg.memdesc<128x64xf16, #shared, #smem>
      %b = "tt.descriptor_load"(%b_desc, %k, %column_6) {sched.location = "gemm_bias_gelu.py:20:13", sched.name = "b", sched.stage = 0 : i32, sched.cluster = 2 : i32, sched.slots = 3 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 4 : i32} : (!tt.tensordesc<64x256xf16, #shared>, i32, i32) -> tensor<64x256xf16, #blocked1>
      %b_33 = "ttg.local_alloc"(%b) {sched.location = "gemm_bias_gelu.py:20:13", sched.name = "b", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x256xf16, #blocked1>) -> !ttg.memdesc<64x256xf16, #shared, #smem>
      %c_34 = "ttng.tc_gen5_mma"(%a_32, %b_33, %c_7#0, %c_31, %c_30, %0) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0>}> {sched.location = "gemm_bias_gelu.py:21:13", sched.name = "c", sched.stage = 2 : i32, sched.cluster = 0 : i32, sched.wait_stage = 3 : i32, sched.wait_before = 0 : i32} : (!ttg.memdesc<128x64xf16, #shared, #smem>, !ttg.memdesc<64x256xf16, #shared, #smem>, !ttg.memdesc<128x256xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token, i1, i1) -> !ttg.async.token
      "scf.yield"(%0, %c_34) : (i1, !ttg.async.token) -> ()
    }) {sched.location = "gemm_bias_gelu.py:18:5", sched.name = "k"} : (i32, i32, i32, i1, !ttg.async.token) -> (i1, !ttg.async.token)
    %c_10:2 = "ttng.tmem_load"(%c_7#0, %c_9#1) <{resultSegmentSizes = array<i32: 1, 1, 0>}> {sched.location = "gemm_bias_gelu.py:21:13", sched.name = "c"} : (!ttg.memdesc<128x256xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token) -> (tensor<128x256xf32, #linear>, !ttg.async.token)
    %bias = "tt.addptr"(%bias_ptr, %column_6) {sched.location = "gemm_bias_gelu.py:22:20", sched.name = "bias"} : (!tt.ptr<f16>, i32) -> !tt.ptr<f16>
    %bias_11 = "tt.make_range"() <{end = 256 : i32, start = 0 : i32}> {sched.location = "gemm_bias_gelu.py:22:40", sched.name = "bias"} : () -> tensor<256xi32, #blocked2>
    %bias_12 = "tt.splat"(%bias) {sched.location = "gemm_bias_gelu.py:22:20", sched.name = "bias"} : (!tt.ptr<f16>) -> tensor<256x!tt.ptr<f16>, #blocked2>
    %bias_13 = "tt.addptr"(%bias_12, %bias_11) {sched.location = "gemm_bias_gelu.py:22:20", sched.name = "bias"} : (tensor<256x!tt.ptr<f16>, #blocked2>, tensor<256xi32, #blocked2>) -> tensor<256x!tt.ptr<f16>, #blocked2>
    %bias_14 = "tt.load"(%bias_13) <{isVolatile = false, operandSegmentSizes = array<i32: 1, 0, 0>}> {sched.location = "gemm_bias_gelu.py:22:12", sched.name = "bias"} : (tensor<256x!tt.ptr<f16>, #blocked2>) -> tensor<256xf16, #blocked2>
    %c_15 = "ttg.convert_layout"(%bias_14) {sched.trivial = false, sched.location = "gemm_bias_gelu.py:23:10", sched.name = "c"} : (tensor<256xf16, #blocked2>) -> tensor<256xf16, #ttg.slice<{dim = 0, parent = #linear}>>
    %c_16 = "tt.expand_dims"(%c_15) <{axis = 0 : i32}> {sched.location = "gemm_bias_gelu.py:23:10", sched.name = "c"} : (tensor<256xf16, #ttg.slice<{dim = 0, parent = #linear}>>) -> tensor<1x256xf16, #linear>
    %c_17 = "arith.extf"(%c_16) {sched.location = "gemm_bias_gelu.py:23:10", sched.name = "c"} : (tensor<1x256xf16, #linear>) -> tensor<1x256xf32, #linear>
    %c_18 = "tt.broadcast"(%c_17) {sched.location = "gemm_bias_gelu.py:23:5", sched.name = "c"} : (tensor<1x256xf32, #linear>) -> tensor<128x256xf32, #linear>
    %c_19 = "arith.addf"(%c_10#0, %c_18) <{fastmath = #arith.fastmath<none>}> {sched.location = "gemm_bias_gelu.py:23:5", sched.name = "c"} : (tensor<128x256xf32, #linear>, tensor<128x256xf32, #linear>) -> tensor<128x256xf32, #linear>
    %inner_20 = "arith.mulf"(%c_19, %inner_2) <{fastmath = #arith.fastmath<none>}> {sched.location = "gemm_bias_gelu.py:24:33", sched.name = "inner"} : (tensor<128x256xf32, #linear>, tensor<128x256xf32, #linear>) -> tensor<128x256xf32, #linear>
    %inner_21 = "arith.mulf"(%inner_20, %c_19) <{fastmath = #arith.fastmath<none>}> {sched.location = "gemm_bias_gelu.py:24:33", sched.name = "inner"} : (tensor<128x256xf32, #linear>, tensor<128x256xf32, #linear>) -> tensor<128x256xf32, #linear>
    %inner_22 = "arith.mulf"(%inner_21, %c_19) <{fastmath = #arith.fastmath<none>}> {sched.location = "gemm_bias_gelu.py:24:33", sched.name = "inner"} : (tensor<128x256xf32, #linear>, tensor<128x256xf32, #linear>) -> tensor<128x256xf32, #linear>
    %inner_23 = "arith.addf"(%c_19, %inner_22) <{fastmath = #arith.fastmath<none>}> {sched.location = "gemm_bias_gelu.py:24:29", sched.name = "inner"} : (tensor<128x256xf32, #linear>, tensor<128x256xf32, #linear>) -> tensor<128x256xf32, #linear>
    %inner_24 = "arith.mulf"(%inner_23, %inner) <{fastmath = #arith.fastmath<none>}> {sched.location = "gemm_bias_gelu.py:24:13", sched.name = "inner"} : (tensor<128x256xf32, #linear>, tensor<128x256xf32, #linear>) -> tensor<128x256xf32, #linear>
    %tanh_25 = "arith.mulf"(%inner_24, %tanh_1) <{fastmath = #arith.fastmath<none>}> {sched.location = "gemm_bias_gelu.py:25:29", sched.name = "tanh"} : (tensor<128x256xf32, #linear>, tensor<128x256xf32, #linear>) -> tensor<128x256xf32, #linear>
    %tanh_26 = "math.exp2"(%tanh_25) <{fastmath = #arith.fastmath<none>}> {sched.location = "gemm_bias_gelu.py:25:21", sched.name = "tanh"} : (tensor<128x256xf32, #linear>) -> tensor<128x256xf32, #linear>
    %tanh_27 = "arith.addf"(%tanh_26, %4) <{fastmath = #arith.fastmath<none>}> {sched.location = "gemm_bias_gelu.py:25:21", sched.name = "tanh"} : (tensor<128x256xf32, #linear>, tensor<128x256xf32, #linear>) -> tensor<128x256xf32, #linear>
    %tanh_28 = "arith.divf"(%tanh, %tanh_27) <{fastmath = #arith.fastmath<none>}> {sched.location = "gemm_bias_gelu.py:25:16", sched.name = "tanh"} : (tensor<128x256xf32, #linear>, tensor<128x256xf32, #linear>) -> tensor<128x256xf32, #linear>
    %tanh_29 = "arith.subf"(%4, %tanh_28) <{fastmath = #arith.fastmath<none>}> {sched.location = "gemm_bias_gelu.py:25:12", sched.name = "tanh"} : (tensor<128x256xf32, #linear>, tensor<128x256xf32, #linear>) -> tensor<128x256xf32, #linear>
    %5 = "arith.mulf"(%c_19, %3) <{fastmath = #arith.fastmath<none>}> {sched.location = "gemm_bias_gelu.py:26:34"} : (tensor<128x256xf32, #linear>, tensor<128x256xf32, #linear>) -> tensor<128x256xf32, #linear>
    %6 = "arith.addf"(%tanh_29, %4) <{fastmath = #arith.fastmath<none>}> {sched.location = "gemm_bias_gelu.py:26:45"} : (tensor<128x256xf32, #linear>, tensor<128x256xf32, #linear>) -> tensor<128x256xf32, #linear>
    %7 = "arith.mulf"(%5, %6) <{fastmath = #arith.fastmath<none>}> {sched.location = "gemm_bias_gelu.py:26:34"} : (tensor<128x256xf32, #linear>, tensor<128x256xf32, #linear>) -> tensor<128x256xf32, #linear>
    %8 = "arith.truncf"(%7) {sched.location = "gemm_bias_gelu.py:26:33"} : (tensor<128x256xf32, #linear>) -> tensor<128x256xf16, #linear>
    %9 = "ttg.convert_layout"(%8) {sched.trivial = false, sched.location = "gemm_bias_gelu.py:26:5"} : (tensor<128x256xf16, #linear>) -> tensor<128x256xf16, #blocked1>
    "tt.descriptor_store"(%c_desc, %9, %row_4, %column_6) {sched.location = "gemm_bias_gelu.py:26:5"} : (!tt.tensordesc<128x256xf16, #shared>, tensor<128x256xf16, #blocked1>, i32, i32) -> ()
    "tt.return"() : () -> ()
  }) {noinline = false, sched.location = "gemm_bias_gelu.py:11:1"} : () -> ()
}) {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:100", "ttg.threads-per-warp" = 32 : i32, "ttng.two-ctas" = false} : () -> ()
