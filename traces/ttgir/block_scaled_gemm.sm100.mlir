// triton 3.9.0, sm_100
#blocked = #ttg.blocked<{sizePerThread = [1, 16], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#blocked1 = #ttg.blocked<{sizePerThread = [1, 1, 1, 1, 4], threadsPerWarp = [1, 1, 1, 1, 32], warpsPerCTA = [1, 1, 1, 2, 2], order = [4, 3, 2, 1, 0]}>
#blocked2 = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#linear = #ttg.linear<{register = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [0, 64]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp = [[32, 0], [64, 0]], block = []}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 8}>
#shared1 = #ttg.nvmma_shared<{swizzlingByteWidth = 0, transposed = false, elementBitWidth = 8, rank = 5}>
#shared2 = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#shared3 = #ttg.shared_linear<{offset = [[0, 0, 0, 0, 1], [0, 0, 0, 0, 2], [0, 0, 0, 0, 4], [0, 0, 0, 0, 8], [0, 0, 0, 0, 16], [0, 0, 0, 0, 32], [0, 0, 0, 0, 64], [0, 0, 0, 0, 128], [0, 0, 0, 1, 0]]}, alignment = 128>
#shared4 = #ttg.shared_linear<{offset = [[0, 0, 0, 0, 1], [0, 0, 0, 0, 2], [0, 0, 0, 1, 0], [0, 0, 0, 2, 0], [0, 0, 1, 0, 0], [0, 0, 2, 0, 0], [0, 0, 4, 0, 0], [0, 0, 8, 0, 0], [0, 0, 16, 0, 0]]}, alignment = 128>
#shared5 = #ttg.shared_linear<{offset = [[0, 0, 0, 0, 1], [0, 0, 0, 0, 2], [0, 1, 0, 0, 0], [0, 2, 0, 0, 0], [0, 0, 1, 0, 0], [0, 0, 2, 0, 0], [0, 0, 4, 0, 0], [0, 0, 8, 0, 0], [0, 0, 16, 0, 0]]}, alignment = 128>
#shared6 = #ttg.shared_linear<{offset = [[0, 1], [0, 2], [32, 0], [64, 0], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0]]}, alignment = 128>
#shared7 = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 8}>
#smem = #ttg.shared_memory
#tmem = #ttng.tensor_memory_encoding<blockM = 128, blockN = 128, colStride = 1>
"builtin.module"() ({
  "tt.func"() <{function_type = (!tt.tensordesc<128x128xf8E4M3FN, #shared>, i32, i32, i64, i64, !tt.tensordesc<128x128xf8E4M3FN, #shared>, i32, i32, i64, i64, !tt.tensordesc<1x1x1x2x256xui8, #shared1>, i32, i32, i32, i32, i32, i64, i64, i64, i64, i64, !tt.tensordesc<1x1x1x2x256xui8, #shared1>, i32, i32, i32, i32, i32, i64, i64, i64, i64, i64, !tt.tensordesc<128x128xf16, #shared2>, i32, i32, i64, i64, i32) -> (), sym_name = "block_scaled_gemm", sym_visibility = "public"}> ({
  ^bb0(%a_desc: !tt.tensordesc<128x128xf8E4M3FN, #shared>, %a_desc.shape.0: i32, %a_desc.shape.1: i32, %a_desc.stride.0: i64, %a_desc.stride.1: i64, %b_desc: !tt.tensordesc<128x128xf8E4M3FN, #shared>, %b_desc.shape.0: i32, %b_desc.shape.1: i32, %b_desc.stride.0: i64, %b_desc.stride.1: i64, %a_scale_desc: !tt.tensordesc<1x1x1x2x256xui8, #shared1>, %a_scale_desc.shape.0: i32, %a_scale_desc.shape.1: i32, %a_scale_desc.shape.2: i32, %a_scale_desc.shape.3: i32, %a_scale_desc.shape.4: i32, %a_scale_desc.stride.0: i64, %a_scale_desc.stride.1: i64, %a_scale_desc.stride.2: i64, %a_scale_desc.stride.3: i64, %a_scale_desc.stride.4: i64, %b_scale_desc: !tt.tensordesc<1x1x1x2x256xui8, #shared1>, %b_scale_desc.shape.0: i32, %b_scale_desc.shape.1: i32, %b_scale_desc.shape.2: i32, %b_scale_desc.shape.3: i32, %b_scale_desc.shape.4: i32, %b_scale_desc.stride.0: i64, %b_scale_desc.stride.1: i64, %b_scale_desc.stride.2: i64, %b_scale_desc.stride.3: i64, %b_scale_desc.stride.4: i64, %c_desc: !tt.tensordesc<128x128xf16, #shared2>, %c_desc.shape.0: i32, %c_desc.shape.1: i32, %c_desc.stride.0: i64, %c_desc.stride.1: i64, %depth: i32):
    %c = "arith.constant"() <{value = false}> {sched.location = "block_scaled_gemm.py:34:13", sched.name = "c"} : () -> i1
    %0 = "arith.constant"() <{value = 128 : i32}> : () -> i32
    %1 = "arith.constant"() <{value = 0 : i32}> : () -> i32
    %2 = "arith.constant"() <{value = true}> : () -> i1
    %c_0 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<128x128xf32, #linear>}> {sched.location = "block_scaled_gemm.py:26:9", sched.name = "c"} : () -> tensor<128x128xf32, #linear>
    %row = "tt.get_program_id"() <{axis = 0 : i32}> {sched.location = "block_scaled_gemm.py:24:11", sched.name = "row"} : () -> i32
    %row_1 = "arith.muli"(%row, %0) <{overflowFlags = #arith.overflow<none>}> {sched.location = "block_scaled_gemm.py:24:11", sched.name = "row"} : (i32, i32) -> i32
    %column = "tt.get_program_id"() <{axis = 1 : i32}> {sched.location = "block_scaled_gemm.py:25:14", sched.name = "column"} : () -> i32
    %column_2 = "arith.muli"(%column, %0) <{overflowFlags = #arith.overflow<none>}> {sched.location = "block_scaled_gemm.py:25:14", sched.name = "column"} : (i32, i32) -> i32
    %a_packed = "arith.divsi"(%row_1, %0) {sched.location = "block_scaled_gemm.py:30:42", sched.name = "a_packed"} : (i32, i32) -> i32
    %b_packed = "arith.divsi"(%column_2, %0) {sched.location = "block_scaled_gemm.py:31:42", sched.name = "b_packed"} : (i32, i32) -> i32
    %c_3:2 = "ttng.tmem_alloc"() {sched.location = "block_scaled_gemm.py:34:13", sched.name = "c"} : () -> (!ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token)
    %c_4 = "ttng.tmem_store"(%c_3#0, %c_3#1, %c_0, %2) {sched.location = "block_scaled_gemm.py:34:13", sched.name = "c"} : (!ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token, tensor<128x128xf32, #linear>, i1) -> !ttg.async.token
    %c_5:2 = "scf.for"(%1, %depth, %0, %c, %c_4) ({
    ^bb0(%k: i32, %c_7: i1, %c_8: !ttg.async.token):
      %a = "tt.descriptor_load"(%a_desc, %row_1, %k) {sched.location = "block_scaled_gemm.py:28:13", sched.name = "a", sched.stage = 0 : i32, sched.cluster = 2 : i32} : (!tt.tensordesc<128x128xf8E4M3FN, #shared>, i32, i32) -> tensor<128x128xf8E4M3FN, #blocked>
      %a_9 = "ttg.local_alloc"(%a) {sched.location = "block_scaled_gemm.py:28:13", sched.name = "a", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128x128xf8E4M3FN, #blocked>) -> !ttg.memdesc<128x128xf8E4M3FN, #shared, #smem>
      %b = "tt.descriptor_load"(%b_desc, %column_2, %k) {sched.location = "block_scaled_gemm.py:29:13", sched.name = "b", sched.stage = 0 : i32, sched.cluster = 2 : i32} : (!tt.tensordesc<128x128xf8E4M3FN, #shared>, i32, i32) -> tensor<128x128xf8E4M3FN, #blocked>
      %a_packed_10 = "arith.divsi"(%k, %0) {sched.location = "block_scaled_gemm.py:30:54", sched.name = "a_packed", sched.stage = 0 : i32, sched.cluster = 2 : i32} : (i32, i32) -> i32
      %a_packed_11 = "tt.descriptor_load"(%a_scale_desc, %1, %a_packed, %a_packed_10, %1, %1) {sched.location = "block_scaled_gemm.py:30:20", sched.name = "a_packed", sched.stage = 0 : i32, sched.cluster = 2 : i32} : (!tt.tensordesc<1x1x1x2x256xui8, #shared1>, i32, i32, i32, i32, i32) -> tensor<1x1x1x2x256xi8, #blocked1>
      %b_packed_12 = "tt.descriptor_load"(%b_scale_desc, %1, %b_packed, %a_packed_10, %1, %1) {sched.location = "block_scaled_gemm.py:31:20", sched.name = "b_packed", sched.stage = 0 : i32, sched.cluster = 2 : i32} : (!tt.tensordesc<1x1x1x2x256xui8, #shared1>, i32, i32, i32, i32, i32) -> tensor<1x1x1x2x256xi8, #blocked1>
      %a_scale = "ttg.local_alloc"(%a_packed_11) {sched.location = "block_scaled_gemm.py:32:19", sched.name = "a_scale", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<1x1x1x2x256xi8, #blocked1>) -> !ttg.memdesc<1x1x1x2x256xi8, #shared3, #smem>
      %scale = "ttg.memdesc_reshape"(%a_scale) {sched.location = "block_scaled_gemm.py:32:19", sched.name = "a_scale", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (!ttg.memdesc<1x1x1x2x256xi8, #shared3, #smem>) -> !ttg.memdesc<1x1x32x4x4xi8, #shared4, #smem>
      %a_scale_13 = "ttg.memdesc_trans"(%scale) <{order = array<i32: 0, 3, 2, 1, 4>}> {sched.location = "block_scaled_gemm.py:32:19", sched.name = "a_scale", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (!ttg.memdesc<1x1x32x4x4xi8, #shared4, #smem>) -> !ttg.memdesc<1x4x32x1x4xi8, #shared5, #smem>
      %a_scale_14 = "ttg.memdesc_reshape"(%a_scale_13) {sched.location = "block_scaled_gemm.py:32:19", sched.name = "a_scale", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (!ttg.memdesc<1x4x32x1x4xi8, #shared5, #smem>) -> !ttg.memdesc<128x4xi8, #shared6, #smem>
      %b_scale = "ttg.local_alloc"(%b_packed_12) {sched.location = "block_scaled_gemm.py:33:19", sched.name = "b_scale", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<1x1x1x2x256xi8, #blocked1>) -> !ttg.memdesc<1x1x1x2x256xi8, #shared3, #smem>
      %scale_15 = "ttg.memdesc_reshape"(%b_scale) {sched.location = "block_scaled_gemm.py:33:19", sched.name = "b_scale", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (!ttg.memdesc<1x1x1x2x256xi8, #shared3, #smem>) -> !ttg.memdesc<1x1x32x4x4xi8, #shared4, #smem>
      %b_scale_16 = "ttg.memdesc_trans"(%scale_15) <{order = array<i32: 0, 3, 2, 1, 4>}> {sched.location = "block_scaled_gemm.py:33:19", sched.name = "b_scale", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (!ttg.memdesc<1x1x32x4x4xi8, #shared4, #smem>) -> !ttg.memdesc<1x4x32x1x4xi8, #shared5, #smem>
      %b_scale_17 = "ttg.memdesc_reshape"(%b_scale_16) {sched.location = "block_scaled_gemm.py:33:19", sched.name = "b_scale", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (!ttg.memdesc<1x4x32x1x4xi8, #shared5, #smem>) -> !ttg.memdesc<128x4xi8, #shared6, #smem>
      %c_18 = "ttg.local_alloc"(%b) {sched.location = "block_scaled_gemm.py:34:47", sched.name = "c", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128x128xf8E4M3FN, #blocked>) -> !ttg.memdesc<128x128xf8E4M3FN, #shared, #smem>
      %c_19 = "ttg.memdesc_trans"(%c_18) <{order = array<i32: 1, 0>}> {sched.location = "block_scaled_gemm.py:34:47", sched.name = "c", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (!ttg.memdesc<128x128xf8E4M3FN, #shared, #smem>) -> !ttg.memdesc<128x128xf8E4M3FN, #shared7, #smem>
      %c_20 = "ttng.tc_gen5_mma_scaled"(%a_9, %c_19, %c_3#0, %c_8, %a_scale_14, %b_scale_17, %c_7, %2) <{a_type = 0 : i32, b_type = 0 : i32, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 1, 1, 0, 0>}> {sched.location = "block_scaled_gemm.py:34:13", sched.name = "c", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (!ttg.memdesc<128x128xf8E4M3FN, #shared, #smem>, !ttg.memdesc<128x128xf8E4M3FN, #shared7, #smem>, !ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token, !ttg.memdesc<128x4xi8, #shared6, #smem>, !ttg.memdesc<128x4xi8, #shared6, #smem>, i1, i1) -> !ttg.async.token
      "scf.yield"(%2, %c_20) : (i1, !ttg.async.token) -> ()
    }) {sched.location = "block_scaled_gemm.py:27:5", sched.name = "k"} : (i32, i32, i32, i1, !ttg.async.token) -> (i1, !ttg.async.token)
    %c_6:2 = "ttng.tmem_load"(%c_3#0, %c_5#1) <{resultSegmentSizes = array<i32: 1, 1, 0>}> {sched.location = "block_scaled_gemm.py:34:13", sched.name = "c"} : (!ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token) -> (tensor<128x128xf32, #linear>, !ttg.async.token)
    %3 = "arith.truncf"(%c_6#0) {sched.location = "block_scaled_gemm.py:35:33"} : (tensor<128x128xf32, #linear>) -> tensor<128x128xf16, #linear>
    %4 = "ttg.convert_layout"(%3) {sched.trivial = false, sched.location = "block_scaled_gemm.py:35:5"} : (tensor<128x128xf16, #linear>) -> tensor<128x128xf16, #blocked2>
    "tt.descriptor_store"(%c_desc, %4, %row_1, %column_2) {sched.location = "block_scaled_gemm.py:35:5"} : (!tt.tensordesc<128x128xf16, #shared2>, tensor<128x128xf16, #blocked2>, i32, i32) -> ()
    "tt.return"() : () -> ()
  }) {noinline = false, sched.location = "block_scaled_gemm.py:20:1"} : () -> ()
}) {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:100", "ttg.threads-per-warp" = 32 : i32, "ttng.two-ctas" = false} : () -> ()
