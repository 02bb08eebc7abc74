// triton 3.9.0, sm_100
#blocked = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#blocked1 = #ttg.blocked<{sizePerThread = [1, 16], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#blocked2 = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#linear = #ttg.linear<{register = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [0, 64]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp = [[32, 0], [64, 0]], block = []}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 8}>
#shared1 = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#shared2 = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 8}>
#smem = #ttg.shared_memory
#tmem = #ttng.tensor_memory_encoding<blockM = 128, blockN = 128, colStride = 1>
"builtin.module"() ({
  "tt.func"() <{arg_attrs = [{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {tt.divisibility = 16 : i32}, {tt.divisibility = 16 : i32}, {}, {}], function_type = (!tt.tensordesc<128x128xf8E4M3FN, #shared>, i32, i32, i64, i64, !tt.tensordesc<128x128xf8E4M3FN, #shared>, i32, i32, i64, i64, !tt.tensordesc<128x128xbf16, #shared1>, i32, i32, i64, i64, !tt.ptr<f32>, !tt.ptr<f32>, i32, i32) -> (), sym_name = "gemm_block_scaled", sym_visibility = "public"}> ({
  ^bb0(%a_desc: !tt.tensordesc<128x128xf8E4M3FN, #shared>, %a_desc.shape.0: i32, %a_desc.shape.1: i32, %a_desc.stride.0: i64, %a_desc.stride.1: i64, %b_desc: !tt.tensordesc<128x128xf8E4M3FN, #shared>, %b_desc.shape.0: i32, %b_desc.shape.1: i32, %b_desc.stride.0: i64, %b_desc.stride.1: i64, %c_desc: !tt.tensordesc<128x128xbf16, #shared1>, %c_desc.shape.0: i32, %c_desc.shape.1: i32, %c_desc.stride.0: i64, %c_desc.stride.1: i64, %a_scale_ptr: !tt.ptr<f32>, %b_scale_ptr: !tt.ptr<f32>, %depth: i32, %blocks: i32):
    %product = "arith.constant"() <{value = false}> {sched.location = "gemm_block_scaled.py:26:19", sched.name = "product"} : () -> i1
    %0 = "arith.constant"() <{value = true}> : () -> i1
    %1 = "arith.constant"() <{value = 128 : i32}> : () -> i32
    %2 = "arith.constant"() <{value = 0 : i32}> {sched.location = "gemm_block_scaled.py:21:5"} : () -> i32
    %3 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<128x128xf32, #linear>}> : () -> tensor<128x128xf32, #linear>
    %row = "tt.get_program_id"() <{axis = 0 : i32}> {sched.location = "gemm_block_scaled.py:17:11", sched.name = "row"} : () -> i32
    %row_0 = "arith.muli"(%row, %1) <{overflowFlags = #arith.overflow<none>}> {sched.location = "gemm_block_scaled.py:17:11", sched.name = "row"} : (i32, i32) -> i32
    %column = "tt.get_program_id"() <{axis = 1 : i32}> {sched.location = "gemm_block_scaled.py:18:14", sched.name = "column"} : () -> i32
    %column_1 = "arith.muli"(%column, %1) <{overflowFlags = #arith.overflow<none>}> {sched.location = "gemm_block_scaled.py:18:14", sched.name = "column"} : (i32, i32) -> i32
    %rows = "tt.make_range"() <{end = 128 : i32, start = 0 : i32}> {sched.location = "gemm_block_scaled.py:19:18", sched.name = "rows"} : () -> tensor<128xi32, #blocked>
    %rows_2 = "tt.splat"(%row_0) {sched.location = "gemm_block_scaled.py:19:12", sched.name = "rows"} : (i32) -> tensor<128xi32, #blocked>
    %rows_3 = "arith.addi"(%rows_2, %rows) <{overflowFlags = #arith.overflow<none>}> {sched.location = "gemm_block_scaled.py:19:12", sched.name = "rows"} : (tensor<128xi32, #blocked>, tensor<128xi32, #blocked>) -> tensor<128xi32, #blocked>
    %a_scale = "tt.splat"(%blocks) {sched.location = "gemm_block_scaled.py:24:41", sched.name = "a_scale"} : (i32) -> tensor<128xi32, #blocked>
    %a_scale_4 = "arith.muli"(%rows_3, %a_scale) <{overflowFlags = #arith.overflow<none>}> {sched.location = "gemm_block_scaled.py:24:41", sched.name = "a_scale"} : (tensor<128xi32, #blocked>, tensor<128xi32, #blocked>) -> tensor<128xi32, #blocked>
    %a_scale_5 = "tt.splat"(%a_scale_ptr) {sched.location = "gemm_block_scaled.py:24:27", sched.name = "a_scale"} : (!tt.ptr<f32>) -> tensor<128x!tt.ptr<f32>, #blocked>
    %a_scale_6 = "tt.addptr"(%a_scale_5, %a_scale_4) {sched.location = "gemm_block_scaled.py:24:27", sched.name = "a_scale"} : (tensor<128x!tt.ptr<f32>, #blocked>, tensor<128xi32, #blocked>) -> tensor<128x!tt.ptr<f32>, #blocked>
    %b_scale = "arith.divsi"(%column_1, %1) {sched.location = "gemm_block_scaled.py:25:41", sched.name = "b_scale"} : (i32, i32) -> i32
    %b_scale_7 = "arith.muli"(%b_scale, %blocks) <{overflowFlags = #arith.overflow<none>}> {sched.location = "gemm_block_scaled.py:25:41", sched.name = "b_scale"} : (i32, i32) -> i32
    %b_scale_8 = "tt.addptr"(%b_scale_ptr, %b_scale_7) {sched.location = "gemm_block_scaled.py:25:27", sched.name = "b_scale"} : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
    %product_9:2 = "ttng.tmem_alloc"() {sched.location = "gemm_block_scaled.py:26:19", sched.name = "product"} : () -> (!ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token)
    %c:2 = "scf.for"(%2, %depth, %1, %3, %product_9#1) ({
    ^bb0(%k: i32, %c_10: tensor<128x128xf32, #linear>, %product_11: !ttg.async.token):
      %a = "tt.descriptor_load"(%a_desc, %row_0, %k) {sched.location = "gemm_block_scaled.py:22:13", sched.name = "a", sched.stage = 0 : i32, sched.cluster = 3 : i32, sched.slots = 3 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 10 : i32} : (!tt.tensordesc<128x128xf8E4M3FN, #shared>, i32, i32) -> tensor<128x128xf8E4M3FN, #blocked1>
      %a_12 = "ttg.local_alloc"(%a) {sched.location = "gemm_block_scaled.py:22:13", sched.name = "a", sched.stage = 2 : i32, sched.cluster = 1 : i32} : (tensor<128x128xf8E4M3FN, #blocked1>) -> !ttg.memdesc<128x128xf8E4M3FN, #shared, #smem>
      %b = "tt.descriptor_load"(%b_desc, %column_1, %k) {sched.location = "gemm_block_scaled.py:23:13", sched.name = "b", sched.stage = 0 : i32, sched.cluster = 3 : i32, sched.slots = 3 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 10 : i32} : (!tt.tensordesc<128x128xf8E4M3FN, #shared>, i32, i32) -> tensor<128x128xf8E4M3FN, #blocked1>
      %a_scale_13 = "arith.divsi"(%k, %1) {sched.location = "gemm_block_scaled.py:24:57", sched.name = "a_scale", sched.stage = 3 : i32, sched.cluster = 0 : i32} : (i32, i32) -> i32
      %a_scale_14 = "tt.splat"(%a_scale_13) {sched.location = "gemm_block_scaled.py:24:27", sched.name = "a_scale", sched.stage = 3 : i32, sched.cluster = 0 : i32} : (i32) -> tensor<128xi32, #blocked>
      %a_scale_15 = "tt.addptr"(%a_scale_6, %a_scale_14) {sched.location = "gemm_block_scaled.py:24:27", sched.name = "a_scale", sched.stage = 3 : i32, sched.cluster = 0 : i32} : (tensor<128x!tt.ptr<f32>, #blocked>, tensor<128xi32, #blocked>) -> tensor<128x!tt.ptr<f32>, #blocked>
      %a_scale_16 = "tt.load"(%a_scale_15) <{isVolatile = false, operandSegmentSizes = array<i32: 1, 0, 0>}> {sched.location = "gemm_block_scaled.py:24:19", sched.name = "a_scale", sched.stage = 3 : i32, sched.cluster = 0 : i32} : (tensor<128x!tt.ptr<f32>, #blocked>) -> tensor<128xf32, #blocked>
      %b_scale_17 = "tt.addptr"(%b_scale_8, %a_scale_13) {sched.location = "gemm_block_scaled.py:25:27", sched.name = "b_scale", sched.stage = 3 : i32, sched.cluster = 0 : i32} : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
      %b_scale_18 = "tt.load"(%b_scale_17) <{isVolatile = false, operandSegmentSizes = array<i32: 1, 0, 0>}> {sched.location = "gemm_block_scaled.py:25:19", sched.name = "b_scale", sched.stage = 3 : i32, sched.cluster = 0 : i32} : (!tt.ptr<f32>) -> f32
      %product_19 = "ttg.local_alloc"(%b) {sched.location = "gemm_block_scaled.py:26:29", sched.name = "product", sched.stage = 2 : i32, sched.cluster = 1 : i32} : (tensor<128x128xf8E4M3FN, #blocked1>) -> !ttg.memdesc<128x128xf8E4M3FN, #shared, #smem>
      %product_20 = "ttg.memdesc_trans"(%product_19) <{order = array<i32: 1, 0>}> {sched.location = "gemm_block_scaled.py:26:29", sched.name = "product", sched.stage = 2 : i32, sched.cluster = 1 : i32} : (!ttg.memdesc<128x128xf8E4M3FN, #shared, #smem>) -> !ttg.memdesc<128x128xf8E4M3FN, #shared2, #smem>
      %product_21 = "ttng.tc_gen5_mma"(%a_12, %product_20, %product_9#0, %product_11, %product, %0) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0>}> {sched.location = "gemm_block_scaled.py:26:19", sched.name = "product", sched.stage = 2 : i32, sched.cluster = 1 : i32, sched.wait_stage = 3 : i32, sched.wait_before = 17 : i32} : (!ttg.memdesc<128x128xf8E4M3FN, #shared, #smem>, !ttg.memdesc<128x128xf8E4M3FN, #shared2, #smem>, !ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token, i1, i1) -> !ttg.async.token
      %c_22 = "tt.splat"(%b_scale_18) {sched.location = "gemm_block_scaled.py:27:25", sched.name = "c", sched.stage = 3 : i32, sched.cluster = 0 : i32} : (f32) -> tensor<128xf32, #blocked>
      %c_23 = "arith.mulf"(%a_scale_16, %c_22) <{fastmath = #arith.fastmath<none>}> {sched.location = "gemm_block_scaled.py:27:25", sched.name = "c", sched.stage = 3 : i32, sched.cluster = 0 : i32} : (tensor<128xf32, #blocked>, tensor<128xf32, #blocked>) -> tensor<128xf32, #blocked>
      %c_24 = "ttg.convert_layout"(%c_23) {sched.trivial = true, sched.location = "gemm_block_scaled.py:27:14", sched.name = "c", sched.stage = 3 : i32, sched.cluster = 0 : i32} : (tensor<128xf32, #blocked>) -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #linear}>>
      %c_25 = "tt.expand_dims"(%c_24) <{axis = 1 : i32}> {sched.location = "gemm_block_scaled.py:27:24", sched.name = "c", sched.stage = 3 : i32, sched.cluster = 0 : i32} : (tensor<128xf32, #ttg.slice<{dim = 1, parent = #linear}>>) -> tensor<128x1xf32, #linear>
      %c_26 = "tt.broadcast"(%c_25) {sched.location = "gemm_block_scaled.py:27:14", sched.name = "c", sched.stage = 3 : i32, sched.cluster = 0 : i32} : (tensor<128x1xf32, #linear>) -> tensor<128x128xf32, #linear>
      %product_27:2 = "ttng.tmem_load"(%product_9#0, %product_21) <{resultSegmentSizes = array<i32: 1, 1, 0>}> {sched.location = "gemm_block_scaled.py:26:19", sched.name = "product", sched.stage = 3 : i32, sched.cluster = 0 : i32} : (!ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token) -> (tensor<128x128xf32, #linear>, !ttg.async.token)
      %c_28 = "arith.mulf"(%product_27#0, %c_26) <{fastmath = #arith.fastmath<none>}> {sched.location = "gemm_block_scaled.py:27:14", sched.name = "c", sched.stage = 3 : i32, sched.cluster = 0 : i32} : (tensor<128x128xf32, #linear>, tensor<128x128xf32, #linear>) -> tensor<128x128xf32, #linear>
      %c_29 = "arith.addf"(%c_10, %c_28) <{fastmath = #arith.fastmath<none>}> {sched.location = "gemm_block_scaled.py:27:9", sched.name = "c", sched.stage = 3 : i32, sched.cluster = 0 : i32} : (tensor<128x128xf32, #linear>, tensor<128x128xf32, #linear>) -> tensor<128x128xf32, #linear>
      "scf.yield"(%c_29, %product_27#1) : (tensor<128x128xf32, #linear>, !ttg.async.token) -> ()
    }) {sched.location = "gemm_block_scaled.py:21:5", sched.name = "k"} : (i32, i32, i32, tensor<128x128xf32, #linear>, !ttg.async.token) -> (tensor<128x128xf32, #linear>, !ttg.async.token)
    %4 = "arith.truncf"(%c#0) {sched.location = "gemm_block_scaled.py:28:33"} : (tensor<128x128xf32, #linear>) -> tensor<128x128xbf16, #linear>
    %5 = "ttg.convert_layout"(%4) {sched.trivial = false, sched.location = "gemm_block_scaled.py:28:5"} : (tensor<128x128xbf16, #linear>) -> tensor<128x128xbf16, #blocked2>
    "tt.descriptor_store"(%c_desc, %5, %row_0, %column_1) {sched.location = "gemm_block_scaled.py:28:5"} : (!tt.tensordesc<128x128xbf16, #shared1>, tensor<128x128xbf16, #blocked2>, i32, i32) -> ()
    "tt.return"() : () -> ()
  }) {noinline = false, sched.location = "gemm_block_scaled.py:13:1"} : () -> ()
}) {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:100", "ttg.threads-per-warp" = 32 : i32, "ttng.two-ctas" = false} : () -> ()
