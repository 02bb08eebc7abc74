// triton 3.9.0, sm_90
#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#blocked1 = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 128, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
"builtin.module"() ({
  "tt.func"() <{arg_attrs = [{tt.divisibility = 16 : i32}, {tt.divisibility = 16 : i32}, {tt.divisibility = 16 : i32}, {}, {tt.divisibility = 16 : i32}, {tt.divisibility = 16 : i32}, {tt.divisibility = 16 : i32}], function_type = (!tt.ptr<f16>, !tt.ptr<f16>, !tt.ptr<f16>, i32, i32, i32, i32) -> (), sym_name = "gemm_pointers", sym_visibility = "public"}> ({
  ^bb0(%a_ptr: !tt.ptr<f16>, %b_ptr: !tt.ptr<f16>, %c_ptr: !tt.ptr<f16>, %depth: i32, %a_stride: i32, %b_stride: i32, %c_stride: i32):
    %0 = "arith.constant"() <{value = dense<64> : tensor<128x64xi32, #blocked>}> : () -> tensor<128x64xi32, #blocked>
    %1 = "arith.constant"() <{value = 64 : i32}> : () -> i32
    %2 = "arith.constant"() <{value = 128 : i32}> : () -> i32
    %3 = "arith.constant"() <{value = 0 : i32}> {sched.location = "gemm.py:57:5"} : () -> i32
    %c = "arith.constant"() <{value = dense<0.000000e+00> : tensor<128x128xf32, #mma>}> {sched.location = "gemm.py:56:9", sched.name = "c"} : () -> tensor<128x128xf32, #mma>
    %rows = "tt.get_program_id"() <{axis = 0 : i32}> {sched.location = "gemm.py:51:12", sched.name = "rows"} : () -> i32
    %rows_0 = "arith.muli"(%rows, %2) <{overflowFlags = #arith.overflow<none>}> {sched.location = "gemm.py:51:12", sched.name = "rows"} : (i32, i32) -> i32
    %rows_1 = "tt.make_range"() <{end = 128 : i32, start = 0 : i32}> {sched.location = "gemm.py:51:35", sched.name = "rows"} : () -> tensor<128xi32, #ttg.slice<{dim = 1, parent = #blocked}>>
    %rows_2 = "tt.make_range"() <{end = 128 : i32, start = 0 : i32}> {sched.location = "gemm.py:51:35", sched.name = "rows"} : () -> tensor<128xi32, #ttg.slice<{dim = 1, parent = #blocked1}>>
    %rows_3 = "tt.make_range"() <{end = 128 : i32, start = 0 : i32}> {sched.location = "gemm.py:51:35", sched.name = "rows"} : () -> tensor<128xi32, #ttg.slice<{dim = 0, parent = #blocked1}>>
    %rows_4 = "tt.splat"(%rows_0) {sched.location = "gemm.py:51:12", sched.name = "rows"} : (i32) -> tensor<128xi32, #ttg.slice<{dim = 1, parent = #blocked}>>
    %rows_5 = "tt.splat"(%rows_0) {sched.location = "gemm.py:51:12", sched.name = "rows"} : (i32) -> tensor<128xi32, #ttg.slice<{dim = 1, parent = #blocked1}>>
    %rows_6 = "arith.addi"(%rows_4, %rows_1) <{overflowFlags = #arith.overflow<none>}> {sched.location = "gemm.py:51:12", sched.name = "rows"} : (tensor<128xi32, #ttg.slice<{dim = 1, parent = #blocked}>>, tensor<128xi32, #ttg.slice<{dim = 1, parent = #blocked}>>) -> tensor<128xi32, #ttg.slice<{dim = 1, parent = #blocked}>>
    %rows_7 = "arith.addi"(%rows_5, %rows_2) <{overflowFlags = #arith.overflow<none>}> {sched.location = "gemm.py:51:12", sched.name = "rows"} : (tensor<128xi32, #ttg.slice<{dim = 1, parent = #blocked1}>>, tensor<128xi32, #ttg.slice<{dim = 1, parent = #blocked1}>>) -> tensor<128xi32, #ttg.slice<{dim = 1, parent = #blocked1}>>
    %columns = "tt.get_program_id"() <{axis = 1 : i32}> {sched.location = "gemm.py:52:15", sched.name = "columns"} : () -> i32
    %columns_8 = "arith.muli"(%columns, %2) <{overflowFlags = #arith.overflow<none>}> {sched.location = "gemm.py:52:15", sched.name = "columns"} : (i32, i32) -> i32
    %columns_9 = "tt.splat"(%columns_8) {sched.location = "gemm.py:52:15", sched.name = "columns"} : (i32) -> tensor<128xi32, #ttg.slice<{dim = 0, parent = #blocked1}>>
    %columns_10 = "arith.addi"(%columns_9, %rows_3) <{overflowFlags = #arith.overflow<none>}> {sched.location = "gemm.py:52:15", sched.name = "columns"} : (tensor<128xi32, #ttg.slice<{dim = 0, parent = #blocked1}>>, tensor<128xi32, #ttg.slice<{dim = 0, parent = #blocked1}>>) -> tensor<128xi32, #ttg.slice<{dim = 0, parent = #blocked1}>>
    %a_tile = "tt.expand_dims"(%rows_6) <{axis = 1 : i32}> {sched.location = "gemm.py:54:22", sched.name = "a_tile"} : (tensor<128xi32, #ttg.slice<{dim = 1, parent = #blocked}>>) -> tensor<128x1xi32, #blocked>
    %a_tile_11 = "tt.expand_dims"(%rows_7) <{axis = 1 : i32}> {sched.location = "gemm.py:54:22", sched.name = "a_tile"} : (tensor<128xi32, #ttg.slice<{dim = 1, parent = #blocked1}>>) -> tensor<128x1xi32, #blocked1>
    %a_tile_12 = "tt.splat"(%a_stride) {sched.location = "gemm.py:54:22", sched.name = "a_tile"} : (i32) -> tensor<128x1xi32, #blocked>
    %a_tile_13 = "arith.muli"(%a_tile, %a_tile_12) <{overflowFlags = #arith.overflow<none>}> {sched.location = "gemm.py:54:22", sched.name = "a_tile"} : (tensor<128x1xi32, #blocked>, tensor<128x1xi32, #blocked>) -> tensor<128x1xi32, #blocked>
    %a_tile_14 = "tt.splat"(%a_ptr) {sched.location = "gemm.py:54:14", sched.name = "a_tile"} : (!tt.ptr<f16>) -> tensor<128x1x!tt.ptr<f16>, #blocked>
    %a_tile_15 = "tt.addptr"(%a_tile_14, %a_tile_13) {sched.location = "gemm.py:54:14", sched.name = "a_tile"} : (tensor<128x1x!tt.ptr<f16>, #blocked>, tensor<128x1xi32, #blocked>) -> tensor<128x1x!tt.ptr<f16>, #blocked>
    %a_tile_16 = "tt.make_range"() <{end = 64 : i32, start = 0 : i32}> {sched.location = "gemm.py:54:49", sched.name = "a_tile"} : () -> tensor<64xi32, #ttg.slice<{dim = 0, parent = #blocked}>>
    %a_tile_17 = "tt.expand_dims"(%a_tile_16) <{axis = 0 : i32}> {sched.location = "gemm.py:54:49", sched.name = "a_tile"} : (tensor<64xi32, #ttg.slice<{dim = 0, parent = #blocked}>>) -> tensor<1x64xi32, #blocked>
    %a_tile_18 = "tt.broadcast"(%a_tile_15) {sched.location = "gemm.py:54:14", sched.name = "a_tile"} : (tensor<128x1x!tt.ptr<f16>, #blocked>) -> tensor<128x64x!tt.ptr<f16>, #blocked>
    %a_tile_19 = "tt.broadcast"(%a_tile_17) {sched.location = "gemm.py:54:14", sched.name = "a_tile"} : (tensor<1x64xi32, #blocked>) -> tensor<128x64xi32, #blocked>
    %a_tile_20 = "tt.addptr"(%a_tile_18, %a_tile_19) {sched.location = "gemm.py:54:14", sched.name = "a_tile"} : (tensor<128x64x!tt.ptr<f16>, #blocked>, tensor<128x64xi32, #blocked>) -> tensor<128x64x!tt.ptr<f16>, #blocked>
    %b_tile = "tt.make_range"() <{end = 64 : i32, start = 0 : i32}> {sched.location = "gemm.py:55:22", sched.name = "b_tile"} : () -> tensor<64xi32, #ttg.slice<{dim = 1, parent = #blocked1}>>
    %b_tile_21 = "tt.expand_dims"(%b_tile) <{axis = 1 : i32}> {sched.location = "gemm.py:55:22", sched.name = "b_tile"} : (tensor<64xi32, #ttg.slice<{dim = 1, parent = #blocked1}>>) -> tensor<64x1xi32, #blocked1>
    %b_tile_22 = "tt.splat"(%b_stride) {sched.location = "gemm.py:55:22", sched.name = "b_tile"} : (i32) -> tensor<64x1xi32, #blocked1>
    %b_tile_23 = "arith.muli"(%b_tile_21, %b_tile_22) <{overflowFlags = #arith.overflow<none>}> {sched.location = "gemm.py:55:22", sched.name = "b_tile"} : (tensor<64x1xi32, #blocked1>, tensor<64x1xi32, #blocked1>) -> tensor<64x1xi32, #blocked1>
    %b_tile_24 = "tt.splat"(%b_ptr) {sched.location = "gemm.py:55:14", sched.name = "b_tile"} : (!tt.ptr<f16>) -> tensor<64x1x!tt.ptr<f16>, #blocked1>
    %b_tile_25 = "tt.addptr"(%b_tile_24, %b_tile_23) {sched.location = "gemm.py:55:14", sched.name = "b_tile"} : (tensor<64x1x!tt.ptr<f16>, #blocked1>, tensor<64x1xi32, #blocked1>) -> tensor<64x1x!tt.ptr<f16>, #blocked1>
    %b_tile_26 = "tt.expand_dims"(%columns_10) <{axis = 0 : i32}> {sched.location = "gemm.py:55:50", sched.name = "b_tile"} : (tensor<128xi32, #ttg.slice<{dim = 0, parent = #blocked1}>>) -> tensor<1x128xi32, #blocked1>
    %b_tile_27 = "tt.broadcast"(%b_tile_25) {sched.location = "gemm.py:55:14", sched.name = "b_tile"} : (tensor<64x1x!tt.ptr<f16>, #blocked1>) -> tensor<64x128x!tt.ptr<f16>, #blocked1>
    %b_tile_28 = "tt.broadcast"(%b_tile_26) {sched.location = "gemm.py:55:14", sched.name = "b_tile"} : (tensor<1x128xi32, #blocked1>) -> tensor<64x128xi32, #blocked1>
    %b_tile_29 = "tt.addptr"(%b_tile_27, %b_tile_28) {sched.location = "gemm.py:55:14", sched.name = "b_tile"} : (tensor<64x128x!tt.ptr<f16>, #blocked1>, tensor<64x128xi32, #blocked1>) -> tensor<64x128x!tt.ptr<f16>, #blocked1>
    %b_tile_30 = "arith.muli"(%b_stride, %1) <{overflowFlags = #arith.overflow<none>}> {sched.location = "gemm.py:62:19", sched.name = "b_tile"} : (i32, i32) -> i32
    %b_tile_31 = "tt.splat"(%b_tile_30) {sched.location = "gemm.py:62:9", sched.name = "b_tile"} : (i32) -> tensor<64x128xi32, #blocked1>
    %c_32:3 = "scf.for"(%3, %depth, %1, %c, %a_tile_20, %b_tile_29) ({
    ^bb0(%k: i32, %c_33: tensor<128x128xf32, #mma>, %a_tile_34: tensor<128x64x!tt.ptr<f16>, #blocked>, %b_tile_35: tensor<64x128x!tt.ptr<f16>, #blocked1>):
      %a = "tt.load"(%a_tile_34) <{isVolatile = false, operandSegmentSizes = array<i32: 1, 0, 0>}> {sched.location = "gemm.py:58:13", sched.name = "a", sched.stage = 0 : i32, sched.cluster = 3 : i32, sched.slots = 3 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 4 : i32} : (tensor<128x64x!tt.ptr<f16>, #blocked>) -> tensor<128x64xf16, #blocked>
      %a_36 = "ttg.local_alloc"(%a) {sched.location = "gemm.py:58:13", sched.name = "a", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128x64xf16, #blocked>) -> !ttg.memdesc<128x64xf16, #shared, #smem>
      %b = "tt.load"(%b_tile_35) <{isVolatile = false, operandSegmentSizes = array<i32: 1, 0, 0>}> {sched.location = "gemm.py:59:13", sched.name = "b", sched.stage = 0 : i32, sched.cluster = 3 : i32, sched.slots = 3 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 4 : i32} : (tensor<64x128x!tt.ptr<f16>, #blocked1>) -> tensor<64x128xf16, #blocked1>
      %b_37 = "ttg.local_alloc"(%b) {sched.location = "gemm.py:59:13", sched.name = "b", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x128xf16, #blocked1>) -> !ttg.memdesc<64x128xf16, #shared, #smem>
      %c_38 = "ttng.warp_group_dot"(%a_36, %b_37, %c_33) <{inputPrecision = 0 : i32, isAsync = false, maxNumImpreciseAcc = 0 : i32}> {sched.location = "gemm.py:60:13", sched.name = "c", sched.stage = 2 : i32, sched.cluster = 0 : i32, sched.wait_stage = 3 : i32, sched.wait_before = 5 : i32} : (!ttg.memdesc<128x64xf16, #shared, #smem>, !ttg.memdesc<64x128xf16, #shared, #smem>, tensor<128x128xf32, #mma>) -> tensor<128x128xf32, #mma>
      %a_tile_39 = "tt.addptr"(%a_tile_34, %0) {sched.location = "gemm.py:61:9", sched.name = "a_tile", sched.stage = 1 : i32, sched.cluster = 2 : i32} : (tensor<128x64x!tt.ptr<f16>, #blocked>, tensor<128x64xi32, #blocked>) -> tensor<128x64x!tt.ptr<f16>, #blocked>
      %b_tile_40 = "tt.addptr"(%b_tile_35, %b_tile_31) {sched.location = "gemm.py:62:9", sched.name = "b_tile", sched.stage = 1 : i32, sched.cluster = 2 : i32} : (tensor<64x128x!tt.ptr<f16>, #blocked1>, tensor<64x128xi32, #blocked1>) -> tensor<64x128x!tt.ptr<f16>, #blocked1>
      "scf.yield"(%c_38, %a_tile_39, %b_tile_40) : (tensor<128x128xf32, #mma>, tensor<128x64x!tt.ptr<f16>, #blocked>, tensor<64x128x!tt.ptr<f16>, #blocked1>) -> ()
    }) {sched.location = "gemm.py:57:5", sched.name = "k"} : (i32, i32, i32, tensor<128x128xf32, #mma>, tensor<128x64x!tt.ptr<f16>, #blocked>, tensor<64x128x!tt.ptr<f16>, #blocked1>) -> (tensor<128x128xf32, #mma>, tensor<128x64x!tt.ptr<f16>, #blocked>, tensor<64x128x!tt.ptr<f16>, #blocked1>)
    %4 = "tt.splat"(%c_stride) {sched.location = "gemm.py:63:22"} : (i32) -> tensor<128x1xi32, #blocked1>
    %5 = "arith.muli"(%a_tile_11, %4) <{overflowFlags = #arith.overflow<none>}> {sched.location = "gemm.py:63:22"} : (tensor<128x1xi32, #blocked1>, tensor<128x1xi32, #blocked1>) -> tensor<128x1xi32, #blocked1>
    %6 = "tt.splat"(%c_ptr) {sched.location = "gemm.py:63:14"} : (!tt.ptr<f16>) -> tensor<128x1x!tt.ptr<f16>, #blocked1>
    %7 = "tt.addptr"(%6, %5) {sched.location = "gemm.py:63:14"} : (tensor<128x1x!tt.ptr<f16>, #blocked1>, tensor<128x1xi32, #blocked1>) -> tensor<128x1x!tt.ptr<f16>, #blocked1>
    %8 = "tt.broadcast"(%7) {sched.location = "gemm.py:63:14"} : (tensor<128x1x!tt.ptr<f16>, #blocked1>) -> tensor<128x128x!tt.ptr<f16>, #blocked1>
    %9 = "tt.broadcast"(%b_tile_26) {sched.location = "gemm.py:63:14"} : (tensor<1x128xi32, #blocked1>) -> tensor<128x128xi32, #blocked1>
    %10 = "tt.addptr"(%8, %9) {sched.location = "gemm.py:63:14"} : (tensor<128x128x!tt.ptr<f16>, #blocked1>, tensor<128x128xi32, #blocked1>) -> tensor<128x128x!tt.ptr<f16>, #blocked1>
    %11 = "arith.truncf"(%c_32#0) {sched.location = "gemm.py:63:67"} : (tensor<128x128xf32, #mma>) -> tensor<128x128xf16, #mma>
    %12 = "ttg.convert_layout"(%11) {sched.trivial = false, sched.location = "gemm.py:63:5"} : (tensor<128x128xf16, #mma>) -> tensor<128x128xf16, #blocked1>
    "tt.store"(%10, %12) {sched.location = "gemm.py:63:5"} : (tensor<128x128x!tt.ptr<f16>, #blocked1>, tensor<128x128xf16, #blocked1>) -> ()
    "tt.return"() : () -> ()
  }) {noinline = false, sched.location = "gemm.py:46:1"} : () -> ()
}) {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32, "ttng.two-ctas" = false} : () -> ()
