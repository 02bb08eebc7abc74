// triton 3.9.0, sm_100
#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#blocked1 = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#linear = #ttg.linear<{register = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [0, 64]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp = [[32, 0], [64, 0]], block = []}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
#tmem = #ttng.tensor_memory_encoding<blockM = 128, blockN = 128, colStride = 1>
"builtin.module"() ({
  "tt.func"() <{function_type = (!tt.tensordesc<128x64xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<64x128xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<64x128xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<128x128xf16, #shared>, i32, i32, i64, i64, i32) -> (), sym_name = "gemm_geglu", sym_visibility = "public"}> ({
  ^bb0(%a_desc: !tt.tensordesc<128x64xf16, #shared>, %a_desc.shape.0: i32, %a_desc.shape.1: i32, %a_desc.stride.0: i64, %a_desc.stride.1: i64, %gate_desc: !tt.tensordesc<64x128xf16, #shared>, %gate_desc.shape.0: i32, %gate_desc.shape.1: i32, %gate_desc.stride.0: i64, %gate_desc.stride.1: i64, %up_desc: !tt.tensordesc<64x128xf16, #shared>, %up_desc.shape.0: i32, %up_desc.shape.1: i32, %up_desc.stride.0: i64, %up_desc.stride.1: i64, %c_desc: !tt.tensordesc<128x128xf16, #shared>, %c_desc.shape.0: i32, %c_desc.shape.1: i32, %c_desc.stride.0: i64, %c_desc.stride.1: i64, %depth: i32):
    %0 = "arith.constant"() <{value = false}> : () -> i1
    %1 = "arith.constant"() <{value = true}> : () -> i1
    %2 = "arith.constant"() <{value = 128 : i32}> : () -> i32
    %3 = "arith.constant"() <{value = 0 : i32}> {sched.location = "gemm.py:94:5"} : () -> i32
    %4 = "arith.constant"() <{value = 64 : i32}> {sched.location = "gemm.py:94:5"} : () -> i32
    %5 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<128x128xf32, #linear>}> : () -> tensor<128x128xf32, #linear>
    %c = "arith.constant"() <{value = dense<1.000000e+00> : tensor<128x128xf32, #linear>}> {sched.location = "gemm.py:100:20", sched.name = "c"} : () -> tensor<128x128xf32, #linear>
    %c_0 = "arith.constant"() <{value = dense<0.707106769> : tensor<128x128xf32, #linear>}> {sched.location = "gemm.py:100:31", sched.name = "c"} : () -> tensor<128x128xf32, #linear>
    %c_1 = "arith.constant"() <{value = dense<5.000000e-01> : tensor<128x128xf32, #linear>}> {sched.location = "gemm.py:100:9", sched.name = "c"} : () -> tensor<128x128xf32, #linear>
    %row = "tt.get_program_id"() <{axis = 0 : i32}> {sched.location = "gemm.py:90:11", sched.name = "row"} : () -> i32
    %row_2 = "arith.muli"(%row, %2) <{overflowFlags = #arith.overflow<none>}> {sched.location = "gemm.py:90:11", sched.name = "row"} : (i32, i32) -> i32
    %column = "tt.get_program_id"() <{axis = 1 : i32}> {sched.location = "gemm.py:91:14", sched.name = "column"} : () -> i32
    %column_3 = "arith.muli"(%column, %2) <{overflowFlags = #arith.overflow<none>}> {sched.location = "gemm.py:91:14", sched.name = "column"} : (i32, i32) -> i32
    %g:2 = "ttng.tmem_alloc"() {sched.location = "gemm.py:98:13", sched.name = "g"} : () -> (!ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token)
    %u:2 = "ttng.tmem_alloc"() {sched.location = "gemm.py:99:13", sched.name = "u"} : () -> (!ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token)
    %u_4 = "ttng.tmem_store"(%u#0, %u#1, %5, %1) {sched.location = "gemm.py:99:13", sched.name = "u"} : (!ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token, tensor<128x128xf32, #linear>, i1) -> !ttg.async.token
    %g_5 = "ttng.tmem_store"(%g#0, %g#1, %5, %1) {sched.location = "gemm.py:98:13", sched.name = "g"} : (!ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token, tensor<128x128xf32, #linear>, i1) -> !ttg.async.token
    %u_6:3 = "scf.for"(%3, %depth, %4, %0, %g_5, %u_4) ({
    ^bb0(%k: i32, %g_15: i1, %g_16: !ttg.async.token, %u_17: !ttg.async.token):
      %a = "tt.descriptor_load"(%a_desc, %row_2, %k) {sched.location = "gemm.py:95:13", sched.name = "a", sched.stage = 0 : i32, sched.cluster = 2 : i32, sched.slots = 3 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 6 : i32} : (!tt.tensordesc<128x64xf16, #shared>, i32, i32) -> tensor<128x64xf16, #blocked>
      %a_18 = "ttg.local_alloc"(%a) {sched.location = "gemm.py:95:13", sched.name = "a", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128x64xf16, #blocked>) -> !ttg.memdesc<128x64xf16, #shared, #smem>
      %gate = "tt.descriptor_load"(%gate_desc, %k, %column_3) {sched.location = "gemm.py:96:16", sched.name = "gate", sched.stage = 0 : i32, sched.cluster = 2 : i32, sched.slots = 3 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 6 : i32} : (!tt.tensordesc<64x128xf16, #shared>, i32, i32) -> tensor<64x128xf16, #blocked1>
      %gate_19 = "ttg.local_alloc"(%gate) {sched.location = "gemm.py:96:16", sched.name = "gate", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x128xf16, #blocked1>) -> !ttg.memdesc<64x128xf16, #shared, #smem>
      %up = "tt.descriptor_load"(%up_desc, %k, %column_3) {sched.location = "gemm.py:97:14", sched.name = "up", sched.stage = 0 : i32, sched.cluster = 2 : i32, sched.slots = 3 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 6 : i32} : (!tt.tensordesc<64x128xf16, #shared>, i32, i32) -> tensor<64x128xf16, #blocked1>
      %up_20 = "ttg.local_alloc"(%up) {sched.location = "gemm.py:97:14", sched.name = "up", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x128xf16, #blocked1>) -> !ttg.memdesc<64x128xf16, #shared, #smem>
      %g_21 = "ttng.tc_gen5_mma"(%a_18, %gate_19, %g#0, %g_16, %g_15, %1) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0>}> {sched.location = "gemm.py:98:13", sched.name = "g", sched.stage = 2 : i32, sched.cluster = 0 : i32, sched.wait_stage = 3 : i32, sched.wait_before = 7 : i32} : (!ttg.memdesc<128x64xf16, #shared, #smem>, !ttg.memdesc<64x128xf16, #shared, #smem>, !ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token, i1, i1) -> !ttg.async.token
      %u_22 = "ttng.tc_gen5_mma"(%a_18, %up_20, %u#0, %u_17, %g_15, %1) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0>}> {sched.location = "gemm.py:99:13", sched.name = "u", sched.stage = 2 : i32, sched.cluster = 0 : i32, sched.wait_stage = 3 : i32, sched.wait_before = 0 : i32} : (!ttg.memdesc<128x64xf16, #shared, #smem>, !ttg.memdesc<64x128xf16, #shared, #smem>, !ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token, i1, i1) -> !ttg.async.token
      "scf.yield"(%1, %g_21, %u_22) : (i1, !ttg.async.token, !ttg.async.token) -> ()
    }) {sched.location = "gemm.py:94:5", sched.name = "k"} : (i32, i32, i32, i1, !ttg.async.token, !ttg.async.token) -> (i1, !ttg.async.token, !ttg.async.token)
    %g_7:2 = "ttng.tmem_load"(%g#0, %u_6#1) <{resultSegmentSizes = array<i32: 1, 1, 0>}> {sched.location = "gemm.py:98:13", sched.name = "g"} : (!ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token) -> (tensor<128x128xf32, #linear>, !ttg.async.token)
    %u_8:2 = "ttng.tmem_load"(%u#0, %u_6#2) <{resultSegmentSizes = array<i32: 1, 1, 0>}> {sched.location = "gemm.py:99:13", sched.name = "u"} : (!ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token) -> (tensor<128x128xf32, #linear>, !ttg.async.token)
    %c_9 = "arith.mulf"(%g_7#0, %c_1) <{fastmath = #arith.fastmath<none>}> {sched.location = "gemm.py:100:9", sched.name = "c"} : (tensor<128x128xf32, #linear>, tensor<128x128xf32, #linear>) -> tensor<128x128xf32, #linear>
    %c_10 = "arith.mulf"(%g_7#0, %c_0) <{fastmath = #arith.fastmath<none>}> {sched.location = "gemm.py:100:31", sched.name = "c"} : (tensor<128x128xf32, #linear>, tensor<128x128xf32, #linear>) -> tensor<128x128xf32, #linear>
    %c_11 = "math.erf"(%c_10) <{fastmath = #arith.fastmath<none>}> {sched.location = "gemm.py:100:24", sched.name = "c"} : (tensor<128x128xf32, #linear>) -> tensor<128x128xf32, #linear>
    %c_12 = "arith.addf"(%c_11, %c) <{fastmath = #arith.fastmath<none>}> {sched.location = "gemm.py:100:20", sched.name = "c"} : (tensor<128x128xf32, #linear>, tensor<128x128xf32, #linear>) -> tensor<128x128xf32, #linear>
    %c_13 = "arith.mulf"(%c_9, %c_12) <{fastmath = #arith.fastmath<none>}> {sched.location = "gemm.py:100:9", sched.name = "c"} : (tensor<128x128xf32, #linear>, tensor<128x128xf32, #linear>) -> tensor<128x128xf32, #linear>
    %c_14 = "arith.mulf"(%c_13, %u_8#0) <{fastmath = #arith.fastmath<none>}> {sched.location = "gemm.py:100:9", sched.name = "c"} : (tensor<128x128xf32, #linear>, tensor<128x128xf32, #linear>) -> tensor<128x128xf32, #linear>
    %6 = "arith.truncf"(%c_14) {sched.location = "gemm.py:101:33"} : (tensor<128x128xf32, #linear>) -> tensor<128x128xf16, #linear>
    %7 = "ttg.convert_layout"(%6) {sched.trivial = false, sched.location = "gemm.py:101:5"} : (tensor<128x128xf16, #linear>) -> tensor<128x128xf16, #blocked1>
    "tt.descriptor_store"(%c_desc, %7, %row_2, %column_3) {sched.location = "gemm.py:101:5"} : (!tt.tensordesc<128x128xf16, #shared>, tensor<128x128xf16, #blocked1>, i32, i32) -> ()
    "tt.return"() : () -> ()
  }) {noinline = false, sched.location = "gemm.py:85:1"} : () -> ()
}) {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:100", "ttg.threads-per-warp" = 32 : i32, "ttng.two-ctas" = false} : () -> ()
