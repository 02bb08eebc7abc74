// triton 3.9.0, sm_90
#blocked = #ttg.blocked<{sizePerThread = [1, 16], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#blocked1 = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 128, 32]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 8}>
#shared1 = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#shared2 = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 8}>
#smem = #ttg.shared_memory
"builtin.module"() ({
  "tt.func"() <{arg_attrs = [{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {tt.divisibility = 16 : i32}, {tt.divisibility = 16 : i32}, {}, {}], function_type = (!tt.tensordesc<64x128xf8E4M3FN, #shared>, i32, i32, i64, i64, !tt.tensordesc<128x128xf8E4M3FN, #shared>, i32, i32, i64, i64, !tt.tensordesc<64x128xbf16, #shared1>, i32, i32, i64, i64, !tt.ptr<f32>, !tt.ptr<f32>, i32, i32) -> (), sym_name = "gemm_block_scaled", sym_visibility = "public"}> ({
  ^bb0(%a_desc: !tt.tensordesc<64x128xf8E4M3FN, #shared>, %a_desc.shape.0: i32, %a_desc.shape.1: i32, %a_desc.stride.0: i64, %a_desc.stride.1: i64, %b_desc: !tt.tensordesc<128x128xf8E4M3FN, #shared>, %b_desc.shape.0: i32, %b_desc.shape.1: i32, %b_desc.stride.0: i64, %b_desc.stride.1: i64, %c_desc: !tt.tensordesc<64x128xbf16, #shared1>, %c_desc.shape.0: i32, %c_desc.shape.1: i32, %c_desc.stride.0: i64, %c_desc.stride.1: i64, %a_scale_ptr: !tt.ptr<f32>, %b_scale_ptr: !tt.ptr<f32>, %depth: i32, %blocks: i32):
    %row = "arith.constant"() <{value = 64 : i32}> {sched.location = "gemm_block_scaled.py:17:11", sched.name = "row"} : () -> i32
    %0 = "arith.constant"() <{value = 128 : i32}> : () -> i32
    %1 = "arith.constant"() <{value = 0 : i32}> {sched.location = "gemm_block_scaled.py:21:5"} : () -> i32
    %2 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<64x128xf32, #mma>}> : () -> tensor<64x128xf32, #mma>
    %row_0 = "tt.get_program_id"() <{axis = 0 : i32}> {sched.location = "gemm_block_scaled.py:17:11", sched.name = "row"} : () -> i32
    %row_1 = "arith.muli"(%row_0, %row) <{overflowFlags = #arith.overflow<none>}> {sched.location = "gemm_block_scaled.py:17:11", sched.name = "row"} : (i32, i32) -> i32
    %column = "tt.get_program_id"() <{axis = 1 : i32}> {sched.location = "gemm_block_scaled.py:18:14", sched.name = "column"} : () -> i32
    %column_2 = "arith.muli"(%column, %0) <{overflowFlags = #arith.overflow<none>}> {sched.location = "gemm_block_scaled.py:18:14", sched.name = "column"} : (i32, i32) -> i32
    %rows = "tt.make_range"() <{end = 64 : i32, start = 0 : i32}> {sched.location = "gemm_block_scaled.py:19:18", sched.name = "rows"} : () -> tensor<64xi32, #ttg.slice<{dim = 1, parent = #mma}>>
    %rows_3 = "tt.splat"(%row_1) {sched.location = "gemm_block_scaled.py:19:12", sched.name = "rows"} : (i32) -> tensor<64xi32, #ttg.slice<{dim = 1, parent = #mma}>>
    %rows_4 = "arith.addi"(%rows_3, %rows) <{overflowFlags = #arith.overflow<none>}> {sched.location = "gemm_block_scaled.py:19:12", sched.name = "rows"} : (tensor<64xi32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64xi32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<64xi32, #ttg.slice<{dim = 1, parent = #mma}>>
    %a_scale = "tt.splat"(%blocks) {sched.location = "gemm_block_scaled.py:24:41", sched.name = "a_scale"} : (i32) -> tensor<64xi32, #ttg.slice<{dim = 1, parent = #mma}>>
    %a_scale_5 = "arith.muli"(%rows_4, %a_scale) <{overflowFlags = #arith.overflow<none>}> {sched.location = "gemm_block_scaled.py:24:41", sched.name = "a_scale"} : (tensor<64xi32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64xi32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<64xi32, #ttg.slice<{dim = 1, parent = #mma}>>
    %a_scale_6 = "tt.splat"(%a_scale_ptr) {sched.location = "gemm_block_scaled.py:24:27", sched.name = "a_scale"} : (!tt.ptr<f32>) -> tensor<64x!tt.ptr<f32>, #ttg.slice<{dim = 1, parent = #mma}>>
    %a_scale_7 = "tt.addptr"(%a_scale_6, %a_scale_5) {sched.location = "gemm_block_scaled.py:24:27", sched.name = "a_scale"} : (tensor<64x!tt.ptr<f32>, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64xi32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<64x!tt.ptr<f32>, #ttg.slice<{dim = 1, parent = #mma}>>
    %b_scale = "arith.divsi"(%column_2, %0) {sched.location = "gemm_block_scaled.py:25:41", sched.name = "b_scale"} : (i32, i32) -> i32
    %b_scale_8 = "arith.muli"(%b_scale, %blocks) <{overflowFlags = #arith.overflow<none>}> {sched.location = "gemm_block_scaled.py:25:41", sched.name = "b_scale"} : (i32, i32) -> i32
    %b_scale_9 = "tt.addptr"(%b_scale_ptr, %b_scale_8) {sched.location = "gemm_block_scaled.py:25:27", sched.name = "b_scale"} : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
    %c = "scf.for"(%1, %depth, %0, %2) ({
    ^bb0(%k: i32, %c_10: tensor<64x128xf32, #mma>):
      %a = "tt.descriptor_load"(%a_desc, %row_1, %k) {sched.location = "gemm_block_scaled.py:22:13", sched.name = "a", sched.stage = 0 : i32, sched.cluster = 2 : i32, sched.slots = 3 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 4 : i32} : (!tt.tensordesc<64x128xf8E4M3FN, #shared>, i32, i32) -> tensor<64x128xf8E4M3FN, #blocked>
      %a_11 = "ttg.local_alloc"(%a) {sched.location = "gemm_block_scaled.py:22:13", sched.name = "a", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x128xf8E4M3FN, #blocked>) -> !ttg.memdesc<64x128xf8E4M3FN, #shared, #smem>
      %b = "tt.descriptor_load"(%b_desc, %column_2, %k) {sched.location = "gemm_block_scaled.py:23:13", sched.name = "b", sched.stage = 0 : i32, sched.cluster = 2 : i32, sched.slots = 3 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 4 : i32} : (!tt.tensordesc<128x128xf8E4M3FN, #shared>, i32, i32) -> tensor<128x128xf8E4M3FN, #blocked>
      %a_scale_12 = "arith.divsi"(%k, %0) {sched.location = "gemm_block_scaled.py:24:57", sched.name = "a_scale", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (i32, i32) -> i32
      %a_scale_13 = "tt.splat"(%a_scale_12) {sched.location = "gemm_block_scaled.py:24:27", sched.name = "a_scale", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (i32) -> tensor<64xi32, #ttg.slice<{dim = 1, parent = #mma}>>
      %a_scale_14 = "tt.addptr"(%a_scale_7, %a_scale_13) {sched.location = "gemm_block_scaled.py:24:27", sched.name = "a_scale", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x!tt.ptr<f32>, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64xi32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<64x!tt.ptr<f32>, #ttg.slice<{dim = 1, parent = #mma}>>
      %a_scale_15 = "tt.load"(%a_scale_14) <{isVolatile = false, operandSegmentSizes = array<i32: 1, 0, 0>}> {sched.location = "gemm_block_scaled.py:24:19", sched.name = "a_scale", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x!tt.ptr<f32>, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %b_scale_16 = "tt.addptr"(%b_scale_9, %a_scale_12) {sched.location = "gemm_block_scaled.py:25:27", sched.name = "b_scale", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
      %b_scale_17 = "tt.load"(%b_scale_16) <{isVolatile = false, operandSegmentSizes = array<i32: 1, 0, 0>}> {sched.location = "gemm_block_scaled.py:25:19", sched.name = "b_scale", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (!tt.ptr<f32>) -> f32
      %product = "ttg.local_alloc"(%b) {sched.location = "gemm_block_scaled.py:26:29", sched.name = "product", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128x128xf8E4M3FN, #blocked>) -> !ttg.memdesc<128x128xf8E4M3FN, #shared, #smem>
      %product_18 = "ttg.memdesc_trans"(%product) <{order = array<i32: 1, 0>}> {sched.location = "gemm_block_scaled.py:26:29", sched.name = "product", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (!ttg.memdesc<128x128xf8E4M3FN, #shared, #smem>) -> !ttg.memdesc<128x128xf8E4M3FN, #shared2, #smem>
      %product_19 = "ttng.warp_group_dot"(%a_11, %product_18, %2) <{inputPrecision = 0 : i32, isAsync = false, maxNumImpreciseAcc = 1073741824 : i32}> {sched.location = "gemm_block_scaled.py:26:19", sched.name = "product", sched.stage = 2 : i32, sched.cluster = 0 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 12 : i32} : (!ttg.memdesc<64x128xf8E4M3FN, #shared, #smem>, !ttg.memdesc<128x128xf8E4M3FN, #shared2, #smem>, tensor<64x128xf32, #mma>) -> tensor<64x128xf32, #mma>
      %c_20 = "tt.splat"(%b_scale_17) {sched.location = "gemm_block_scaled.py:27:25", sched.name = "c", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (f32) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %c_21 = "arith.mulf"(%a_scale_15, %c_20) <{fastmath = #arith.fastmath<none>}> {sched.location = "gemm_block_scaled.py:27:25", sched.name = "c", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %c_22 = "tt.expand_dims"(%c_21) <{axis = 1 : i32}> {sched.location = "gemm_block_scaled.py:27:24", sched.name = "c", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<64x1xf32, #mma>
      %c_23 = "tt.broadcast"(%c_22) {sched.location = "gemm_block_scaled.py:27:14", sched.name = "c", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x1xf32, #mma>) -> tensor<64x128xf32, #mma>
      %c_24 = "arith.mulf"(%product_19, %c_23) <{fastmath = #arith.fastmath<none>}> {sched.location = "gemm_block_scaled.py:27:14", sched.name = "c", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x128xf32, #mma>, tensor<64x128xf32, #mma>) -> tensor<64x128xf32, #mma>
      %c_25 = "arith.addf"(%c_10, %c_24) <{fastmath = #arith.fastmath<none>}> {sched.location = "gemm_block_scaled.py:27:9", sched.name = "c", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x128xf32, #mma>, tensor<64x128xf32, #mma>) -> tensor<64x128xf32, #mma>
      "scf.yield"(%c_25) : (tensor<64x128xf32, #mma>) -> ()
    }) {sched.location = "gemm_block_scaled.py:21:5", sched.name = "k"} : (i32, i32, i32, tensor<64x128xf32, #mma>) -> tensor<64x128xf32, #mma>
    %3 = "arith.truncf"(%c) {sched.location = "gemm_block_scaled.py:28:33"} : (tensor<64x128xf32, #mma>) -> tensor<64x128xbf16, #mma>
    %4 = "ttg.convert_layout"(%3) {sched.trivial = false, sched.location = "gemm_block_scaled.py:28:5"} : (tensor<64x128xbf16, #mma>) -> tensor<64x128xbf16, #blocked1>
    "tt.descriptor_store"(%c_desc, %4, %row_1, %column_2) {sched.location = "gemm_block_scaled.py:28:5"} : (!tt.tensordesc<64x128xbf16, #shared1>, tensor<64x128xbf16, #blocked1>, i32, i32) -> ()
    "tt.return"() : () -> ()
  }) {noinline = false, sched.location = "gemm_block_scaled.py:13:1"} : () -> ()
}) {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32, "ttng.two-ctas" = false} : () -> ()
