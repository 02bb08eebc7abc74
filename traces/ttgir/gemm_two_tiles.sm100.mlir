// triton 3.9.0, sm_100
#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#blocked1 = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [1, 32], warpsPerCTA = [4, 1], order = [1, 0]}>
#linear = #ttg.linear<{register = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [0, 64], [0, 128]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp = [[32, 0], [64, 0]], block = []}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
#tmem = #ttng.tensor_memory_encoding<blockM = 128, blockN = 256, colStride = 1>
"builtin.module"() ({
  "tt.func"() <{function_type = (!tt.tensordesc<128x64xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<64x256xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<128x256xf16, #shared>, i32, i32, i64, i64, i32) -> (), sym_name = "gemm_two_tiles", sym_visibility = "public"}> ({
  ^bb0(%a_desc: !tt.tensordesc<128x64xf16, #shared>, %a_desc.shape.0: i32, %a_desc.shape.1: i32, %a_desc.stride.0: i64, %a_desc.stride.1: i64, %b_desc: !tt.tensordesc<64x256xf16, #shared>, %b_desc.shape.0: i32, %b_desc.shape.1: i32, %b_desc.stride.0: i64, %b_desc.stride.1: i64, %c_desc: !tt.tensordesc<128x256xf16, #shared>, %c_desc.shape.0: i32, %c_desc.shape.1: i32, %c_desc.stride.0: i64, %c_desc.stride.1: i64, %depth: i32):
    %0 = "arith.constant"() <{value = false}> : () -> i1
    %1 = "arith.constant"() <{value = true}> : () -> i1
    %2 = "arith.constant"() <{value = 256 : i32}> : () -> i32
    %3 = "arith.constant"() <{value = 128 : i32}> : () -> i32
    %4 = "arith.constant"() <{value = 0 : i32}> {sched.location = "gemm.py:35:5"} : () -> i32
    %5 = "arith.constant"() <{value = 64 : i32}> {sched.location = "gemm.py:35:5"} : () -> i32
    %6 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<128x256xf32, #linear>}> : () -> tensor<128x256xf32, #linear>
    %row = "tt.get_program_id"() <{axis = 0 : i32}> {sched.location = "gemm.py:31:11", sched.name = "row"} : () -> i32
    %row_0 = "arith.muli"(%row, %2) <{overflowFlags = #arith.overflow<none>}> {sched.location = "gemm.py:31:11", sched.name = "row"} : (i32, i32) -> i32
    %column = "tt.get_program_id"() <{axis = 1 : i32}> {sched.location = "gemm.py:32:14", sched.name = "column"} : () -> i32
    %column_1 = "arith.muli"(%column, %2) <{overflowFlags = #arith.overflow<none>}> {sched.location = "gemm.py:32:14", sched.name = "column"} : (i32, i32) -> i32
    %a1 = "arith.addi"(%row_0, %3) <{overflowFlags = #arith.overflow<none>}> {sched.location = "gemm.py:37:27", sched.name = "a1"} : (i32, i32) -> i32
    %c0:2 = "ttng.tmem_alloc"() {sched.location = "gemm.py:39:14", sched.name = "c0"} : () -> (!ttg.memdesc<128x256xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token)
    %c1:2 = "ttng.tmem_alloc"() {sched.location = "gemm.py:40:14", sched.name = "c1"} : () -> (!ttg.memdesc<128x256xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token)
    %c1_2 = "ttng.tmem_store"(%c1#0, %c1#1, %6, %1) {sched.location = "gemm.py:40:14", sched.name = "c1"} : (!ttg.memdesc<128x256xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token, tensor<128x256xf32, #linear>, i1) -> !ttg.async.token
    %c0_3 = "ttng.tmem_store"(%c0#0, %c0#1, %6, %1) {sched.location = "gemm.py:39:14", sched.name = "c0"} : (!ttg.memdesc<128x256xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token, tensor<128x256xf32, #linear>, i1) -> !ttg.async.token
    %c1_4:3 = "scf.for"(%4, %depth, %5, %0, %c0_3, %c1_2) ({
    ^bb0(%k: i32, %c0_7: i1, %c0_8: !ttg.async.token, %c1_9: !ttg.async.token):
      %a0 = "tt.descriptor_load"(%a_desc, %row_0, %k) {sched.location = "gemm.py:36:14", sched.name = "a0", sched.stage = 0 : i32, sched.cluster = 2 : i32, sched.slots = 3 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 6 : i32} : (!tt.tensordesc<128x64xf16, #shared>, i32, i32) -> tensor<128x64xf16, #blocked>
      %a0_10 = "ttg.local_alloc"(%a0) {sched.location = "gemm.py:36:14", sched.name = "a0", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128x64xf16, #blocked>) -> !ttg.memdesc<128x64xf16, #shared, #smem>
      %a1_11 = "tt.descriptor_load"(%a_desc, %a1, %k) {sched.location = "gemm.py:37:14", sched.name = "a1", sched.stage = 0 : i32, sched.cluster = 2 : i32, sched.slots = 3 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 6 : i32} : (!tt.tensordesc<128x64xf16, #shared>, i32, i32) -> tensor<128x64xf16, #blocked>
      %a1_12 = "ttg.local_alloc"(%a1_11) {sched.location = "gemm.py:37:14", sched.name = "a1", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128x64xf16, #blocked>) -> !ttg.memdesc<128x64xf16, #shared, #smem>
      %b = "tt.descriptor_load"(%b_desc, %k, %column_1) {sched.location = "gemm.py:38:13", sched.name = "b", sched.stage = 0 : i32, sched.cluster = 2 : i32, sched.slots = 3 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 6 : i32} : (!tt.tensordesc<64x256xf16, #shared>, i32, i32) -> tensor<64x256xf16, #blocked1>
      %b_13 = "ttg.local_alloc"(%b) {sched.location = "gemm.py:38:13", sched.name = "b", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x256xf16, #blocked1>) -> !ttg.memdesc<64x256xf16, #shared, #smem>
      %c0_14 = "ttng.tc_gen5_mma"(%a0_10, %b_13, %c0#0, %c0_8, %c0_7, %1) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0>}> {sched.location = "gemm.py:39:14", sched.name = "c0", sched.stage = 2 : i32, sched.cluster = 0 : i32, sched.wait_stage = 3 : i32, sched.wait_before = 7 : i32} : (!ttg.memdesc<128x64xf16, #shared, #smem>, !ttg.memdesc<64x256xf16, #shared, #smem>, !ttg.memdesc<128x256xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token, i1, i1) -> !ttg.async.token
      %c1_15 = "ttng.tc_gen5_mma"(%a1_12, %b_13, %c1#0, %c1_9, %c0_7, %1) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0>}> {sched.location = "gemm.py:40:14", sched.name = "c1", sched.stage = 2 : i32, sched.cluster = 0 : i32, sched.wait_stage = 3 : i32, sched.wait_before = 0 : i32} : (!ttg.memdesc<128x64xf16, #shared, #smem>, !ttg.memdesc<64x256xf16, #shared, #smem>, !ttg.memdesc<128x256xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token, i1, i1) -> !ttg.async.token
      "scf.yield"(%1, %c0_14, %c1_15) : (i1, !ttg.async.token, !ttg.async.token) -> ()
    }) {sched.location = "gemm.py:35:5", sched.name = "k"} : (i32, i32, i32, i1, !ttg.async.token, !ttg.async.token) -> (i1, !ttg.async.token, !ttg.async.token)
    %c0_5:2 = "ttng.tmem_load"(%c0#0, %c1_4#1) <{resultSegmentSizes = array<i32: 1, 1, 0>}> {sched.location = "gemm.py:39:14", sched.name = "c0"} : (!ttg.memdesc<128x256xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token) -> (tensor<128x256xf32, #linear>, !ttg.async.token)
    %c1_6:2 = "ttng.tmem_load"(%c1#0, %c1_4#2) <{resultSegmentSizes = array<i32: 1, 1, 0>}> {sched.location = "gemm.py:40:14", sched.name = "c1"} : (!ttg.memdesc<128x256xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token) -> (tensor<128x256xf32, #linear>, !ttg.async.token)
    %7 = "arith.truncf"(%c0_5#0) {sched.location = "gemm.py:41:33"} : (tensor<128x256xf32, #linear>) -> tensor<128x256xf16, #linear>
    %8 = "ttg.convert_layout"(%7) {sched.trivial = false, sched.location = "gemm.py:41:5"} : (tensor<128x256xf16, #linear>) -> tensor<128x256xf16, #blocked1>
    "tt.descriptor_store"(%c_desc, %8, %row_0, %column_1) {sched.location = "gemm.py:41:5"} : (!tt.tensordesc<128x256xf16, #shared>, tensor<128x256xf16, #blocked1>, i32, i32) -> ()
    %9 = "arith.addi"(%row_0, %3) <{overflowFlags = #arith.overflow<none>}> {sched.location = "gemm.py:42:19"} : (i32, i32) -> i32
    %10 = "arith.truncf"(%c1_6#0) {sched.location = "gemm.py:42:37"} : (tensor<128x256xf32, #linear>) -> tensor<128x256xf16, #linear>
    %11 = "ttg.convert_layout"(%10) {sched.trivial = false, sched.location = "gemm.py:42:5"} : (tensor<128x256xf16, #linear>) -> tensor<128x256xf16, #blocked1>
    "tt.descriptor_store"(%c_desc, %11, %9, %column_1) {sched.location = "gemm.py:42:5"} : (!tt.tensordesc<128x256xf16, #shared>, tensor<128x256xf16, #blocked1>, i32, i32) -> ()
    "tt.return"() : () -> ()
  }) {noinline = false, sched.location = "gemm.py:26:1"} : () -> ()
}) {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:100", "ttg.threads-per-warp" = 32 : i32, "ttng.two-ctas" = false} : () -> ()
