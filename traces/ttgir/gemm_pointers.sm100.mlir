// triton 3.9.0, sm_100
#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#blocked1 = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [1, 32], warpsPerCTA = [4, 1], order = [1, 0]}>
#linear = #ttg.linear<{register = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [0, 64], [0, 128]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp = [[32, 0], [64, 0]], block = []}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
#tmem = #ttng.tensor_memory_encoding<blockM = 128, blockN = 256, colStride = 1>
"builtin.module"() ({
  "tt.func"() <{arg_attrs = [{tt.divisibility = 16 : i32}, {tt.divisibility = 16 : i32}, {tt.divisibility = 16 : i32}, {}, {tt.divisibility = 16 : i32}, {tt.divisibility = 16 : i32}, {tt.divisibility = 16 : i32}], function_type = (!tt.ptr<f16>, !tt.ptr<f16>, !tt.ptr<f16>, i32, i32, i32, i32) -> (), sym_name = "gemm_pointers", sym_visibility = "public"}> ({
  ^bb0(%a_ptr: !tt.ptr<f16>, %b_ptr: !tt.ptr<f16>, %c_ptr: !tt.ptr<f16>, %depth: i32, %a_stride: i32, %b_stride: i32, %c_stride: i32):
    %c = "arith.constant"() <{value = false}> {sched.location = "gemm.py:60:13", sched.name = "c"} : () -> i1
    %0 = "arith.constant"() <{value = dense<64> : tensor<128x64xi32, #blocked>}> : () -> tensor<128x64xi32, #blocked>
    %1 = "arith.constant"() <{value = 64 : i32}> : () -> i32
    %columns = "arith.constant"() <{value = 256 : i32}> {sched.location = "gemm.py:52:15", sched.name = "columns"} : () -> i32
    %rows = "arith.constant"() <{value = 128 : i32}> {sched.location = "gemm.py:51:12", sched.name = "rows"} : () -> i32
    %2 = "arith.constant"() <{value = 0 : i32}> {sched.location = "gemm.py:57:5"} : () -> i32
    %3 = "arith.constant"() <{value = true}> : () -> i1
    %c_0 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<128x256xf32, #linear>}> {sched.location = "gemm.py:56:9", sched.name = "c"} : () -> tensor<128x256xf32, #linear>
    %rows_1 = "tt.get_program_id"() <{axis = 0 : i32}> {sched.location = "gemm.py:51:12", sched.name = "rows"} : () -> i32
    %rows_2 = "arith.muli"(%rows_1, %rows) <{overflowFlags = #arith.overflow<none>}> {sched.location = "gemm.py:51:12", sched.name = "rows"} : (i32, i32) -> i32
    %rows_3 = "tt.make_range"() <{end = 128 : i32, start = 0 : i32}> {sched.location = "gemm.py:51:35", sched.name = "rows"} : () -> tensor<128xi32, #ttg.slice<{dim = 1, parent = #blocked}>>
    %rows_4 = "tt.make_range"() <{end = 128 : i32, start = 0 : i32}> {sched.location = "gemm.py:51:35", sched.name = "rows"} : () -> tensor<128xi32, #ttg.slice<{dim = 1, parent = #blocked1}>>
    %rows_5 = "tt.splat"(%rows_2) {sched.location = "gemm.py:51:12", sched.name = "rows"} : (i32) -> tensor<128xi32, #ttg.slice<{dim = 1, parent = #blocked}>>
    %rows_6 = "tt.splat"(%rows_2) {sched.location = "gemm.py:51:12", sched.name = "rows"} : (i32) -> tensor<128xi32, #ttg.slice<{dim = 1, parent = #blocked1}>>
    %rows_7 = "arith.addi"(%rows_5, %rows_3) <{overflowFlags = #arith.overflow<none>}> {sched.location = "gemm.py:51:12", sched.name = "rows"} : (tensor<128xi32, #ttg.slice<{dim = 1, parent = #blocked}>>, tensor<128xi32, #ttg.slice<{dim = 1, parent = #blocked}>>) -> tensor<128xi32, #ttg.slice<{dim = 1, parent = #blocked}>>
    %rows_8 = "arith.addi"(%rows_6, %rows_4) <{overflowFlags = #arith.overflow<none>}> {sched.location = "gemm.py:51:12", sched.name = "rows"} : (tensor<128xi32, #ttg.slice<{dim = 1, parent = #blocked1}>>, tensor<128xi32, #ttg.slice<{dim = 1, parent = #blocked1}>>) -> tensor<128xi32, #ttg.slice<{dim = 1, parent = #blocked1}>>
    %columns_9 = "tt.get_program_id"() <{axis = 1 : i32}> {sched.location = "gemm.py:52:15", sched.name = "columns"} : () -> i32
    %columns_10 = "arith.muli"(%columns_9, %columns) <{overflowFlags = #arith.overflow<none>}> {sched.location = "gemm.py:52:15", sched.name = "columns"} : (i32, i32) -> i32
    %columns_11 = "tt.make_range"() <{end = 256 : i32, start = 0 : i32}> {sched.location = "gemm.py:52:38", sched.name = "columns"} : () -> tensor<256xi32, #ttg.slice<{dim = 0, parent = #blocked1}>>
    %columns_12 = "tt.splat"(%columns_10) {sched.location = "gemm.py:52:15", sched.name = "columns"} : (i32) -> tensor<256xi32, #ttg.slice<{dim = 0, parent = #blocked1}>>
    %columns_13 = "arith.addi"(%columns_12, %columns_11) <{overflowFlags = #arith.overflow<none>}> {sched.location = "gemm.py:52:15", sched.name = "columns"} : (tensor<256xi32, #ttg.slice<{dim = 0, parent = #blocked1}>>, tensor<256xi32, #ttg.slice<{dim = 0, parent = #blocked1}>>) -> tensor<256xi32, #ttg.slice<{dim = 0, parent = #blocked1}>>
    %a_tile = "tt.expand_dims"(%rows_7) <{axis = 1 : i32}> {sched.location = "gemm.py:54:22", sched.name = "a_tile"} : (tensor<128xi32, #ttg.slice<{dim = 1, parent = #blocked}>>) -> tensor<128x1xi32, #blocked>
    %a_tile_14 = "tt.expand_dims"(%rows_8) <{axis = 1 : i32}> {sched.location = "gemm.py:54:22", sched.name = "a_tile"} : (tensor<128xi32, #ttg.slice<{dim = 1, parent = #blocked1}>>) -> tensor<128x1xi32, #blocked1>
    %a_tile_15 = "tt.splat"(%a_stride) {sched.location = "gemm.py:54:22", sched.name = "a_tile"} : (i32) -> tensor<128x1xi32, #blocked>
    %a_tile_16 = "arith.muli"(%a_tile, %a_tile_15) <{overflowFlags = #arith.overflow<none>}> {sched.location = "gemm.py:54:22", sched.name = "a_tile"} : (tensor<128x1xi32, #blocked>, tensor<128x1xi32, #blocked>) -> tensor<128x1xi32, #blocked>
    %a_tile_17 = "tt.splat"(%a_ptr) {sched.location = "gemm.py:54:14", sched.name = "a_tile"} : (!tt.ptr<f16>) -> tensor<128x1x!tt.ptr<f16>, #blocked>
    %a_tile_18 = "tt.addptr"(%a_tile_17, %a_tile_16) {sched.location = "gemm.py:54:14", sched.name = "a_tile"} : (tensor<128x1x!tt.ptr<f16>, #blocked>, tensor<128x1xi32, #blocked>) -> tensor<128x1x!tt.ptr<f16>, #blocked>
    %a_tile_19 = "tt.make_range"() <{end = 64 : i32, start = 0 : i32}> {sched.location = "gemm.py:54:49", sched.name = "a_tile"} : () -> tensor<64xi32, #ttg.slice<{dim = 0, parent = #blocked}>>
    %a_tile_20 = "tt.expand_dims"(%a_tile_19) <{axis = 0 : i32}> {sched.location = "gemm.py:54:49", sched.name = "a_tile"} : (tensor<64xi32, #ttg.slice<{dim = 0, parent = #blocked}>>) -> tensor<1x64xi32, #blocked>
    %a_tile_21 = "tt.broadcast"(%a_tile_18) {sched.location = "gemm.py:54:14", sched.name = "a_tile"} : (tensor<128x1x!tt.ptr<f16>, #blocked>) -> tensor<128x64x!tt.ptr<f16>, #blocked>
    %a_tile_22 = "tt.broadcast"(%a_tile_20) {sched.location = "gemm.py:54:14", sched.name = "a_tile"} : (tensor<1x64xi32, #blocked>) -> tensor<128x64xi32, #blocked>
    %a_tile_23 = "tt.addptr"(%a_tile_21, %a_tile_22) {sched.location = "gemm.py:54:14", sched.name = "a_tile"} : (tensor<128x64x!tt.ptr<f16>, #blocked>, tensor<128x64xi32, #blocked>) -> tensor<128x64x!tt.ptr<f16>, #blocked>
    %b_tile = "tt.make_range"() <{end = 64 : i32, start = 0 : i32}> {sched.location = "gemm.py:55:22", sched.name = "b_tile"} : () -> tensor<64xi32, #ttg.slice<{dim = 1, parent = #blocked1}>>
    %b_tile_24 = "tt.expand_dims"(%b_tile) <{axis = 1 : i32}> {sched.location = "gemm.py:55:22", sched.name = "b_tile"} : (tensor<64xi32, #ttg.slice<{dim = 1, parent = #blocked1}>>) -> tensor<64x1xi32, #blocked1>
    %b_tile_25 = "tt.splat"(%b_stride) {sched.location = "gemm.py:55:22", sched.name = "b_tile"} : (i32) -> tensor<64x1xi32, #blocked1>
    %b_tile_26 = "arith.muli"(%b_tile_24, %b_tile_25) <{overflowFlags = #arith.overflow<none>}> {sched.location = "gemm.py:55:22", sched.name = "b_tile"} : (tensor<64x1xi32, #blocked1>, tensor<64x1xi32, #blocked1>) -> tensor<64x1xi32, #blocked1>
    %b_tile_27 = "tt.splat"(%b_ptr) {sched.location = "gemm.py:55:14", sched.name = "b_tile"} : (!tt.ptr<f16>) -> tensor<64x1x!tt.ptr<f16>, #blocked1>
    %b_tile_28 = "tt.addptr"(%b_tile_27, %b_tile_26) {sched.location = "gemm.py:55:14", sched.name = "b_tile"} : (tensor<64x1x!tt.ptr<f16>, #blocked1>, tensor<64x1xi32, #blocked1>) -> tensor<64x1x!tt.ptr<f16>, #blocked1>
    %b_tile_29 = "tt.expand_dims"(%columns_13) <{axis = 0 : i32}> {sched.location = "gemm.py:55:50", sched.name = "b_tile"} : (tensor<256xi32, #ttg.slice<{dim = 0, parent = #blocked1}>>) -> tensor<1x256xi32, #blocked1>
    %b_tile_30 = "tt.broadcast"(%b_tile_28) {sched.location = "gemm.py:55:14", sched.name = "b_tile"} : (tensor<64x1x!tt.ptr<f16>, #blocked1>) -> tensor<64x256x!tt.ptr<f16>, #blocked1>
    %b_tile_31 = "tt.broadcast"(%b_tile_29) {sched.location = "gemm.py:55:14", sched.name = "b_tile"} : (tensor<1x256xi32, #blocked1>) -> tensor<64x256xi32, #blocked1>
    %b_tile_32 = "tt.addptr"(%b_tile_30, %b_tile_31) {sched.location = "gemm.py:55:14", sched.name = "b_tile"} : (tensor<64x256x!tt.ptr<f16>, #blocked1>, tensor<64x256xi32, #blocked1>) -> tensor<64x256x!tt.ptr<f16>, #blocked1>
    %b_tile_33 = "arith.muli"(%b_stride, %1) <{overflowFlags = #arith.overflow<none>}> {sched.location = "gemm.py:62:19", sched.name = "b_tile"} : (i32, i32) -> i32
    %b_tile_34 = "tt.splat"(%b_tile_33) {sched.location = "gemm.py:62:9", sched.name = "b_tile"} : (i32) -> tensor<64x256xi32, #blocked1>
    %c_35:2 = "ttng.tmem_alloc"() {sched.location = "gemm.py:60:13", sched.name = "c"} : () -> (!ttg.memdesc<128x256xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token)
    %c_36 = "ttng.tmem_store"(%c_35#0, %c_35#1, %c_0, %3) {sched.location = "gemm.py:60:13", sched.name = "c"} : (!ttg.memdesc<128x256xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token, tensor<128x256xf32, #linear>, i1) -> !ttg.async.token
    %c_37:4 = "scf.for"(%2, %depth, %1, %a_tile_23, %b_tile_32, %c, %c_36) ({
    ^bb0(%k: i32, %a_tile_39: tensor<128x64x!tt.ptr<f16>, #blocked>, %b_tile_40: tensor<64x256x!tt.ptr<f16>, #blocked1>, %c_41: i1, %c_42: !ttg.async.token):
      %a = "tt.load"(%a_tile_39) <{isVolatile = false, operandSegmentSizes = array<i32: 1, 0, 0>}> {sched.location = "gemm.py:58:13", sched.name = "a", sched.stage = 0 : i32, sched.cluster = 3 : i32, sched.slots = 3 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 4 : i32} : (tensor<128x64x!tt.ptr<f16>, #blocked>) -> tensor<128x64xf16, #blocked>
      %a_43 = "ttg.local_alloc"(%a) {sched.location = "gemm.py:58:13", sched.name = "a", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128x64xf16, #blocked>) -> !ttg.memdesc<128x64xf16, #shared, #smem>
      %b = "tt.load"(%b_tile_40) <{isVolatile = false, operandSegmentSizes = array<i32: 1, 0, 0>}> {sched.location = "gemm.py:59:13", sched.name = "b", sched.stage = 0 : i32, sched.cluster = 3 : i32, sched.slots = 3 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 4 : i32} : (tensor<64x256x!tt.ptr<f16>, #blocked1>) -> tensor<64x256xf16, #blocked1>
      %b_44 = "ttg.local_alloc"(%b) {sched.location = "gemm.py:59:13", sched.name = "b", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x256xf16, #blocked1>) -> !ttg.memdesc<64x256xf16, #shared, #smem>
      %c_45 = "ttng.tc_gen5_mma"(%a_43, %b_44, %c_35#0, %c_42, %c_41, %3) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0>}> {sched.location = "gemm.py:60:13", sched.name = "c", sched.stage = 2 : i32, sched.cluster = 0 : i32, sched.wait_stage = 3 : i32, sched.wait_before = 5 : i32} : (!ttg.memdesc<128x64xf16, #shared, #smem>, !ttg.memdesc<64x256xf16, #shared, #smem>, !ttg.memdesc<128x256xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token, i1, i1) -> !ttg.async.token
      %a_tile_46 = "tt.addptr"(%a_tile_39, %0) {sched.location = "gemm.py:61:9", sched.name = "a_tile", sched.stage = 1 : i32, sched.cluster = 2 : i32} : (tensor<128x64x!tt.ptr<f16>, #blocked>, tensor<128x64xi32, #blocked>) -> tensor<128x64x!tt.ptr<f16>, #blocked>
      %b_tile_47 = "tt.addptr"(%b_tile_40, %b_tile_34) {sched.location = "gemm.py:62:9", sched.name = "b_tile", sched.stage = 1 : i32, sched.cluster = 2 : i32} : (tensor<64x256x!tt.ptr<f16>, #blocked1>, tensor<64x256xi32, #blocked1>) -> tensor<64x256x!tt.ptr<f16>, #blocked1>
      "scf.yield"(%a_tile_46, %b_tile_47, %3, %c_45) : (tensor<128x64x!tt.ptr<f16>, #blocked>, tensor<64x256x!tt.ptr<f16>, #blocked1>, i1, !ttg.async.token) -> ()
    }) {sched.location = "gemm.py:57:5", sched.name = "k"} : (i32, i32, i32, tensor<128x64x!tt.ptr<f16>, #blocked>, tensor<64x256x!tt.ptr<f16>, #blocked1>, i1, !ttg.async.token) -> (tensor<128x64x!tt.ptr<f16>, #blocked>, tensor<64x256x!tt.ptr<f16>, #blocked1>, i1, !ttg.async.token)
    %c_38:2 = "ttng.tmem_load"(%c_35#0, %c_37#3) <{resultSegmentSizes = array<i32: 1, 1, 0>}> {sched.location = "gemm.py:60:13", sched.name = "c"} : (!ttg.memdesc<128x256xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token) -> (tensor<128x256xf32, #linear>, !ttg.async.token)
    %4 = "tt.splat"(%c_stride) {sched.location = "gemm.py:63:22"} : (i32) -> tensor<128x1xi32, #blocked1>
    %5 = "arith.muli"(%a_tile_14, %4) <{overflowFlags = #arith.overflow<none>}> {sched.location = "gemm.py:63:22"} : (tensor<128x1xi32, #blocked1>, tensor<128x1xi32, #blocked1>) -> tensor<128x1xi32, #blocked1>
    %6 = "tt.splat"(%c_ptr) {sched.location = "gemm.py:63:14"} : (!tt.ptr<f16>) -> tensor<128x1x!tt.ptr<f16>, #blocked1>
    %7 = "tt.addptr"(%6, %5) {sched.location = "gemm.py:63:14"} : (tensor<128x1x!tt.ptr<f16>, #blocked1>, tensor<128x1xi32, #blocked1>) -> tensor<128x1x!tt.ptr<f16>, #blocked1>
    %8 = "tt.broadcast"(%7) {sched.location = "gemm.py:63:14"} : (tensor<128x1x!tt.ptr<f16>, #blocked1>) -> tensor<128x256x!tt.ptr<f16>, #blocked1>
    %9 = "tt.broadcast"(%b_tile_29) {sched.location = "gemm.py:63:14"} : (tensor<1x256xi32, #blocked1>) -> tensor<128x256xi32, #blocked1>
    %10 = "tt.addptr"(%8, %9) {sched.location = "gemm.py:63:14"} : (tensor<128x256x!tt.ptr<f16>, #blocked1>, tensor<128x256xi32, #blocked1>) -> tensor<128x256x!tt.ptr<f16>, #blocked1>
    %11 = "arith.truncf"(%c_38#0) {sched.location = "gemm.py:63:67"} : (tensor<128x256xf32, #linear>) -> tensor<128x256xf16, #linear>
    %12 = "ttg.convert_layout"(%11) {sched.trivial = false, sched.location = "gemm.py:63:5"} : (tensor<128x256xf16, #linear>) -> tensor<128x256xf16, #blocked1>
    "tt.store"(%10, %12) {sched.location = "gemm.py:63:5"} : (tensor<128x256x!tt.ptr<f16>, #blocked1>, tensor<128x256xf16, #blocked1>) -> ()
    "tt.return"() : () -> ()
  }) {noinline = false, sched.location = "gemm.py:46:1"} : () -> ()
}) {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:100", "ttg.threads-per-warp" = 32 : i32, "ttng.two-ctas" = false} : () -> ()
