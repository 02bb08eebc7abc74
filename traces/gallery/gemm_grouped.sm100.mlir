// triton 3.9.0, sm_100
#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#blocked1 = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [1, 32], warpsPerCTA = [4, 1], order = [1, 0]}>
#linear = #ttg.linear<{register = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [0, 64], [0, 128]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp = [[32, 0], [64, 0]], block = []}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
#tmem = #ttng.tensor_memory_encoding<blockM = 128, blockN = 256, colStride = 1>
"builtin.module"() ({
  "tt.func"() <{arg_attrs = [{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {tt.divisibility = 16 : i32}, {}], function_type = (!tt.tensordesc<128x64xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<64x256xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<128x256xf16, #shared>, i32, i32, i64, i64, !tt.ptr<i32>, i32) -> (), sym_name = "gemm_grouped", sym_visibility = "public"}> ({
  ^bb0(%a_desc: !tt.tensordesc<128x64xf16, #shared>, %a_desc.shape.0: i32, %a_desc.shape.1: i32, %a_desc.stride.0: i64, %a_desc.stride.1: i64, %b_desc: !tt.tensordesc<64x256xf16, #shared>, %b_desc.shape.0: i32, %b_desc.shape.1: i32, %b_desc.stride.0: i64, %b_desc.stride.1: i64, %c_desc: !tt.tensordesc<128x256xf16, #shared>, %c_desc.shape.0: i32, %c_desc.shape.1: i32, %c_desc.stride.0: i64, %c_desc.stride.1: i64, %expert_ptr: !tt.ptr<i32>, %depth: i32):
    %c = "arith.constant"() <{value = false}> {sched.location = "gemm_grouped.py:23:13", sched.name = "c"} : () -> i1
    %0 = "arith.constant"() <{value = true}> : () -> i1
    %column = "arith.constant"() <{value = 256 : i32}> {sched.location = "gemm_grouped.py:17:14", sched.name = "column"} : () -> i32
    %1 = "arith.constant"() <{value = 128 : i32}> : () -> i32
    %2 = "arith.constant"() <{value = 0 : i32}> {sched.location = "gemm_grouped.py:20:5"} : () -> i32
    %3 = "arith.constant"() <{value = 64 : i32}> {sched.location = "gemm_grouped.py:20:5"} : () -> i32
    %c_0 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<128x256xf32, #linear>}> {sched.location = "gemm_grouped.py:19:9", sched.name = "c"} : () -> tensor<128x256xf32, #linear>
    %tile = "tt.get_program_id"() <{axis = 0 : i32}> {sched.location = "gemm_grouped.py:16:12", sched.name = "tile"} : () -> i32
    %column_1 = "tt.get_program_id"() <{axis = 1 : i32}> {sched.location = "gemm_grouped.py:17:14", sched.name = "column"} : () -> i32
    %column_2 = "arith.muli"(%column_1, %column) <{overflowFlags = #arith.overflow<none>}> {sched.location = "gemm_grouped.py:17:14", sched.name = "column"} : (i32, i32) -> i32
    %first = "tt.addptr"(%expert_ptr, %tile) {sched.location = "gemm_grouped.py:18:21", sched.name = "first"} : (!tt.ptr<i32>, i32) -> !tt.ptr<i32>
    %first_3 = "tt.load"(%first) <{isVolatile = false, operandSegmentSizes = array<i32: 1, 0, 0>}> {sched.location = "gemm_grouped.py:18:13", sched.name = "first"} : (!tt.ptr<i32>) -> i32
    %first_4 = "arith.muli"(%first_3, %depth) <{overflowFlags = #arith.overflow<none>}> {sched.location = "gemm_grouped.py:18:13", sched.name = "first"} : (i32, i32) -> i32
    %a = "arith.muli"(%tile, %1) <{overflowFlags = #arith.overflow<none>}> {sched.location = "gemm_grouped.py:21:26", sched.name = "a"} : (i32, i32) -> i32
    %c_5:2 = "ttng.tmem_alloc"() {sched.location = "gemm_grouped.py:23:13", sched.name = "c"} : () -> (!ttg.memdesc<128x256xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token)
    %c_6 = "ttng.tmem_store"(%c_5#0, %c_5#1, %c_0, %0) {sched.location = "gemm_grouped.py:23:13", sched.name = "c"} : (!ttg.memdesc<128x256xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token, tensor<128x256xf32, #linear>, i1) -> !ttg.async.token
    %c_7:2 = "scf.for"(%2, %depth, %3, %c, %c_6) ({
    ^bb0(%k: i32, %c_9: i1, %c_10: !ttg.async.token):
      %a_11 = "tt.descriptor_load"(%a_desc, %a, %k) {sched.location = "gemm_grouped.py:21:13", sched.name = "a", sched.stage = 0 : i32, sched.cluster = 2 : i32, sched.slots = 3 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 5 : i32} : (!tt.tensordesc<128x64xf16, #shared>, i32, i32) -> tensor<128x64xf16, #blocked>
      %a_12 = "ttg.local_alloc"(%a_11) {sched.location = "gemm_grouped.py:21:13", sched.name = "a", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128x64xf16, #blocked>) -> !ttg.memdesc<128x64xf16, #shared, #smem>
      %b = "arith.addi"(%first_4, %k) <{overflowFlags = #arith.overflow<none>}> {sched.location = "gemm_grouped.py:22:26", sched.name = "b", sched.stage = 0 : i32, sched.cluster = 2 : i32} : (i32, i32) -> i32
      %b_13 = "tt.descriptor_load"(%b_desc, %b, %column_2) {sched.location = "gemm_grouped.py:22:13", sched.name = "b", sched.stage = 0 : i32, sched.cluster = 2 : i32, sched.slots = 3 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 5 : i32} : (!tt.tensordesc<64x256xf16, #shared>, i32, i32) -> tensor<64x256xf16, #blocked1>
      %b_14 = "ttg.local_alloc"(%b_13) {sched.location = "gemm_grouped.py:22:13", sched.name = "b", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x256xf16, #blocked1>) -> !ttg.memdesc<64x256xf16, #shared, #smem>
      %c_15 = "ttng.tc_gen5_mma"(%a_12, %b_14, %c_5#0, %c_10, %c_9, %0) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0>}> {sched.location = "gemm_grouped.py:23:13", sched.name = "c", sched.stage = 2 : i32, sched.cluster = 0 : i32, sched.wait_stage = 3 : i32, sched.wait_before = 0 : i32} : (!ttg.memdesc<128x64xf16, #shared, #smem>, !ttg.memdesc<64x256xf16, #shared, #smem>, !ttg.memdesc<128x256xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token, i1, i1) -> !ttg.async.token
      "scf.yield"(%0, %c_15) : (i1, !ttg.async.token) -> ()
    }) {sched.location = "gemm_grouped.py:20:5", sched.name = "k"} : (i32, i32, i32, i1, !ttg.async.token) -> (i1, !ttg.async.token)
    %c_8:2 = "ttng.tmem_load"(%c_5#0, %c_7#1) <{resultSegmentSizes = array<i32: 1, 1, 0>}> {sched.location = "gemm_grouped.py:23:13", sched.name = "c"} : (!ttg.memdesc<128x256xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token) -> (tensor<128x256xf32, #linear>, !ttg.async.token)
    %4 = "arith.muli"(%tile, %1) <{overflowFlags = #arith.overflow<none>}> {sched.location = "gemm_grouped.py:24:19"} : (i32, i32) -> i32
    %5 = "arith.truncf"(%c_8#0) {sched.location = "gemm_grouped.py:24:38"} : (tensor<128x256xf32, #linear>) -> tensor<128x256xf16, #linear>
    %6 = "ttg.convert_layout"(%5) {sched.trivial = false, sched.location = "gemm_grouped.py:24:5"} : (tensor<128x256xf16, #linear>) -> tensor<128x256xf16, #blocked1>
    "tt.descriptor_store"(%c_desc, %6, %4, %column_2) {sched.location = "gemm_grouped.py:24:5"} : (!tt.tensordesc<128x256xf16, #shared>, tensor<128x256xf16, #blocked1>, i32, i32) -> ()
    "tt.return"() : () -> ()
  }) {noinline = false, sched.location = "gemm_grouped.py:12:1"} : () -> ()
}) {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:100", "ttg.threads-per-warp" = 32 : i32, "ttng.two-ctas" = false} : () -> ()
