// triton 3.9.0, sm_90
#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#blocked1 = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [1, 32], warpsPerCTA = [2, 2], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 128, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
"builtin.module"() ({
  "tt.func"() <{arg_attrs = [{tt.divisibility = 16 : i32}, {tt.divisibility = 16 : i32}, {tt.divisibility = 16 : i32}, {tt.divisibility = 16 : i32}, {tt.divisibility = 16 : i32}, {tt.divisibility = 16 : i32}, {tt.divisibility = 16 : i32}], function_type = (!tt.ptr<f16>, !tt.ptr<f16>, !tt.ptr<f16>, i32, i32, i32, i32) -> (), sym_name = "product_by_strides", sym_visibility = "public"}> ({
  ^bb0(%a_ptr: !tt.ptr<f16>, %b_ptr: !tt.ptr<f16>, %c_ptr: !tt.ptr<f16>, %depth: i32, %rows: i32, %a_row: i32, %a_column: i32):
    %0 = "arith.constant"() <{value = dense<8192> : tensor<64x128xi32, #blocked>}> : () -> tensor<64x128xi32, #blocked>
    %1 = "arith.constant"() <{value = dense<128> : tensor<64x1xi32, #blocked>}> : () -> tensor<64x1xi32, #blocked>
    %2 = "arith.constant"() <{value = 64 : i32}> : () -> i32
    %3 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<64x128xf16, #blocked>}> : () -> tensor<64x128xf16, #blocked>
    %4 = "arith.constant"() <{value = 0 : i32}> {sched.location = "others.py:116:5"} : () -> i32
    %5 = "arith.constant"() <{value = 1 : i32}> {sched.location = "others.py:116:5"} : () -> i32
    %6 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<64x64xf16, #blocked1>}> : () -> tensor<64x64xf16, #blocked1>
    %at = "arith.constant"() <{value = 8192 : i32}> {sched.location = "others.py:122:10", sched.name = "at"} : () -> i32
    %7 = "arith.constant"() <{value = 63 : i32}> {sched.location = "others.py:116:23"} : () -> i32
    %c = "arith.constant"() <{value = dense<0.000000e+00> : tensor<64x128xf32, #mma>}> {sched.location = "others.py:115:9", sched.name = "c"} : () -> tensor<64x128xf32, #mma>
    %row = "tt.get_program_id"() <{axis = 0 : i32}> {sched.location = "others.py:106:12", sched.name = "row"} : () -> i32
    %row_0 = "arith.muli"(%row, %2) <{overflowFlags = #arith.overflow<none>}> {sched.location = "others.py:106:12", sched.name = "row"} : (i32, i32) -> i32
    %row_1 = "tt.make_range"() <{end = 64 : i32, start = 0 : i32}> {sched.location = "others.py:106:35", sched.name = "row"} : () -> tensor<64xi32, #ttg.slice<{dim = 1, parent = #blocked1}>>
    %row_2 = "tt.splat"(%row_0) {sched.location = "others.py:106:12", sched.name = "row"} : (i32) -> tensor<64xi32, #ttg.slice<{dim = 1, parent = #blocked1}>>
    %row_3 = "arith.addi"(%row_2, %row_1) <{overflowFlags = #arith.overflow<none>}> {sched.location = "others.py:106:12", sched.name = "row"} : (tensor<64xi32, #ttg.slice<{dim = 1, parent = #blocked1}>>, tensor<64xi32, #ttg.slice<{dim = 1, parent = #blocked1}>>) -> tensor<64xi32, #ttg.slice<{dim = 1, parent = #blocked1}>>
    %row_4 = "tt.splat"(%rows) {sched.location = "others.py:106:11", sched.name = "row"} : (i32) -> tensor<64xi32, #ttg.slice<{dim = 1, parent = #blocked1}>>
    %row_5 = "arith.remsi"(%row_3, %row_4) {sched.location = "others.py:106:11", sched.name = "row"} : (tensor<64xi32, #ttg.slice<{dim = 1, parent = #blocked1}>>, tensor<64xi32, #ttg.slice<{dim = 1, parent = #blocked1}>>) -> tensor<64xi32, #ttg.slice<{dim = 1, parent = #blocked1}>>
    %at_6 = "tt.expand_dims"(%row_5) <{axis = 1 : i32}> {sched.location = "others.py:110:10", sched.name = "at"} : (tensor<64xi32, #ttg.slice<{dim = 1, parent = #blocked1}>>) -> tensor<64x1xi32, #blocked1>
    %at_7 = "tt.splat"(%a_row) {sched.location = "others.py:110:10", sched.name = "at"} : (i32) -> tensor<64x1xi32, #blocked1>
    %at_8 = "arith.muli"(%at_6, %at_7) <{overflowFlags = #arith.overflow<none>}> {sched.location = "others.py:110:10", sched.name = "at"} : (tensor<64x1xi32, #blocked1>, tensor<64x1xi32, #blocked1>) -> tensor<64x1xi32, #blocked1>
    %a_ptrs = "tt.splat"(%a_ptr) {sched.location = "others.py:113:14", sched.name = "a_ptrs"} : (!tt.ptr<f16>) -> tensor<64x1x!tt.ptr<f16>, #blocked1>
    %a_ptrs_9 = "tt.addptr"(%a_ptrs, %at_8) {sched.location = "others.py:113:14", sched.name = "a_ptrs"} : (tensor<64x1x!tt.ptr<f16>, #blocked1>, tensor<64x1xi32, #blocked1>) -> tensor<64x1x!tt.ptr<f16>, #blocked1>
    %a_ptrs_10 = "tt.make_range"() <{end = 64 : i32, start = 0 : i32}> {sched.location = "others.py:113:27", sched.name = "a_ptrs"} : () -> tensor<64xi32, #ttg.slice<{dim = 0, parent = #blocked1}>>
    %a_ptrs_11 = "tt.expand_dims"(%a_ptrs_10) <{axis = 0 : i32}> {sched.location = "others.py:113:27", sched.name = "a_ptrs"} : (tensor<64xi32, #ttg.slice<{dim = 0, parent = #blocked1}>>) -> tensor<1x64xi32, #blocked1>
    %a_ptrs_12 = "tt.splat"(%a_column) {sched.location = "others.py:113:27", sched.name = "a_ptrs"} : (i32) -> tensor<1x64xi32, #blocked1>
    %a_ptrs_13 = "arith.muli"(%a_ptrs_11, %a_ptrs_12) <{overflowFlags = #arith.overflow<none>}> {sched.location = "others.py:113:27", sched.name = "a_ptrs"} : (tensor<1x64xi32, #blocked1>, tensor<1x64xi32, #blocked1>) -> tensor<1x64xi32, #blocked1>
    %a_ptrs_14 = "tt.broadcast"(%a_ptrs_9) {sched.location = "others.py:113:14", sched.name = "a_ptrs"} : (tensor<64x1x!tt.ptr<f16>, #blocked1>) -> tensor<64x64x!tt.ptr<f16>, #blocked1>
    %a_ptrs_15 = "tt.broadcast"(%a_ptrs_13) {sched.location = "others.py:113:14", sched.name = "a_ptrs"} : (tensor<1x64xi32, #blocked1>) -> tensor<64x64xi32, #blocked1>
    %a_ptrs_16 = "tt.addptr"(%a_ptrs_14, %a_ptrs_15) {sched.location = "others.py:113:14", sched.name = "a_ptrs"} : (tensor<64x64x!tt.ptr<f16>, #blocked1>, tensor<64x64xi32, #blocked1>) -> tensor<64x64x!tt.ptr<f16>, #blocked1>
    %b_ptrs = "tt.make_range"() <{end = 64 : i32, start = 0 : i32}> {sched.location = "others.py:114:22", sched.name = "b_ptrs"} : () -> tensor<64xi32, #ttg.slice<{dim = 1, parent = #blocked}>>
    %b_ptrs_17 = "tt.expand_dims"(%b_ptrs) <{axis = 1 : i32}> {sched.location = "others.py:114:22", sched.name = "b_ptrs"} : (tensor<64xi32, #ttg.slice<{dim = 1, parent = #blocked}>>) -> tensor<64x1xi32, #blocked>
    %b_ptrs_18 = "arith.muli"(%b_ptrs_17, %1) <{overflowFlags = #arith.overflow<none>}> {sched.location = "others.py:114:22", sched.name = "b_ptrs"} : (tensor<64x1xi32, #blocked>, tensor<64x1xi32, #blocked>) -> tensor<64x1xi32, #blocked>
    %b_ptrs_19 = "tt.splat"(%b_ptr) {sched.location = "others.py:114:14", sched.name = "b_ptrs"} : (!tt.ptr<f16>) -> tensor<64x1x!tt.ptr<f16>, #blocked>
    %b_ptrs_20 = "tt.addptr"(%b_ptrs_19, %b_ptrs_18) {sched.location = "others.py:114:14", sched.name = "b_ptrs"} : (tensor<64x1x!tt.ptr<f16>, #blocked>, tensor<64x1xi32, #blocked>) -> tensor<64x1x!tt.ptr<f16>, #blocked>
    %b_ptrs_21 = "tt.make_range"() <{end = 128 : i32, start = 0 : i32}> {sched.location = "others.py:114:40", sched.name = "b_ptrs"} : () -> tensor<128xi32, #ttg.slice<{dim = 0, parent = #blocked}>>
    %b_ptrs_22 = "tt.expand_dims"(%b_ptrs_21) <{axis = 0 : i32}> {sched.location = "others.py:114:40", sched.name = "b_ptrs"} : (tensor<128xi32, #ttg.slice<{dim = 0, parent = #blocked}>>) -> tensor<1x128xi32, #blocked>
    %b_ptrs_23 = "tt.broadcast"(%b_ptrs_20) {sched.location = "others.py:114:14", sched.name = "b_ptrs"} : (tensor<64x1x!tt.ptr<f16>, #blocked>) -> tensor<64x128x!tt.ptr<f16>, #blocked>
    %b_ptrs_24 = "tt.broadcast"(%b_ptrs_22) {sched.location = "others.py:114:14", sched.name = "b_ptrs"} : (tensor<1x128xi32, #blocked>) -> tensor<64x128xi32, #blocked>
    %b_ptrs_25 = "tt.addptr"(%b_ptrs_23, %b_ptrs_24) {sched.location = "others.py:114:14", sched.name = "b_ptrs"} : (tensor<64x128x!tt.ptr<f16>, #blocked>, tensor<64x128xi32, #blocked>) -> tensor<64x128x!tt.ptr<f16>, #blocked>
    %8 = "arith.addi"(%depth, %7) <{overflowFlags = #arith.overflow<none>}> {sched.location = "others.py:116:23"} : (i32, i32) -> i32
    %9 = "arith.divsi"(%8, %2) {sched.location = "others.py:116:23"} : (i32, i32) -> i32
    %a_ptrs_26 = "arith.muli"(%a_column, %2) <{overflowFlags = #arith.overflow<none>}> {sched.location = "others.py:120:19", sched.name = "a_ptrs"} : (i32, i32) -> i32
    %a_ptrs_27 = "tt.splat"(%a_ptrs_26) {sched.location = "others.py:120:9", sched.name = "a_ptrs"} : (i32) -> tensor<64x64xi32, #blocked1>
    %c_28:3 = "scf.for"(%4, %9, %5, %a_ptrs_16, %c, %b_ptrs_25) ({
    ^bb0(%k: i32, %a_ptrs_34: tensor<64x64x!tt.ptr<f16>, #blocked1>, %c_35: tensor<64x128xf32, #mma>, %b_ptrs_36: tensor<64x128x!tt.ptr<f16>, #blocked>):
      %a = "arith.muli"(%k, %2) <{overflowFlags = #arith.overflow<none>}> {sched.location = "others.py:117:56", sched.name = "a", sched.stage = 0 : i32, sched.cluster = 3 : i32} : (i32, i32) -> i32
      %a_37 = "arith.subi"(%depth, %a) <{overflowFlags = #arith.overflow<none>}> {sched.location = "others.py:117:48", sched.name = "a", sched.stage = 0 : i32, sched.cluster = 3 : i32} : (i32, i32) -> i32
      %a_38 = "tt.splat"(%a_37) {sched.location = "others.py:117:34", sched.name = "a", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (i32) -> tensor<1x64xi32, #blocked1>
      %a_39 = "arith.cmpi"(%a_ptrs_11, %a_38) <{predicate = 2 : i64}> {sched.location = "others.py:117:34", sched.name = "a", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<1x64xi32, #blocked1>, tensor<1x64xi32, #blocked1>) -> tensor<1x64xi1, #blocked1>
      %a_40 = "tt.broadcast"(%a_39) {sched.location = "others.py:117:13", sched.name = "a", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<1x64xi1, #blocked1>) -> tensor<64x64xi1, #blocked1>
      %a_41 = "tt.load"(%a_ptrs_34, %a_40, %6) <{isVolatile = false, operandSegmentSizes = array<i32: 1, 1, 1>}> {sched.location = "others.py:117:13", sched.name = "a", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64x!tt.ptr<f16>, #blocked1>, tensor<64x64xi1, #blocked1>, tensor<64x64xf16, #blocked1>) -> tensor<64x64xf16, #blocked1>
      %a_42 = "ttg.local_alloc"(%a_41) {sched.location = "others.py:117:13", sched.name = "a", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xf16, #blocked1>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
      %b = "tt.splat"(%a_37) {sched.location = "others.py:118:34", sched.name = "b", sched.stage = 0 : i32, sched.cluster = 3 : i32} : (i32) -> tensor<64x1xi32, #blocked>
      %b_43 = "arith.cmpi"(%b, %b_ptrs_17) <{predicate = 4 : i64}> {sched.location = "others.py:118:34", sched.name = "b", sched.stage = 0 : i32, sched.cluster = 3 : i32} : (tensor<64x1xi32, #blocked>, tensor<64x1xi32, #blocked>) -> tensor<64x1xi1, #blocked>
      %b_44 = "tt.broadcast"(%b_43) {sched.location = "others.py:118:13", sched.name = "b", sched.stage = 0 : i32, sched.cluster = 3 : i32} : (tensor<64x1xi1, #blocked>) -> tensor<64x128xi1, #blocked>
      %b_45 = "tt.load"(%b_ptrs_36, %b_44, %3) <{isVolatile = false, operandSegmentSizes = array<i32: 1, 1, 1>}> {sched.location = "others.py:118:13", sched.name = "b", sched.stage = 0 : i32, sched.cluster = 3 : i32, sched.slots = 3 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 12 : i32} : (tensor<64x128x!tt.ptr<f16>, #blocked>, tensor<64x128xi1, #blocked>, tensor<64x128xf16, #blocked>) -> tensor<64x128xf16, #blocked>
      %b_46 = "ttg.local_alloc"(%b_45) {sched.location = "others.py:118:13", sched.name = "b", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x128xf16, #blocked>) -> !ttg.memdesc<64x128xf16, #shared, #smem>
      %c_47 = "ttng.warp_group_dot"(%a_42, %b_46, %c_35) <{inputPrecision = 0 : i32, isAsync = false, maxNumImpreciseAcc = 0 : i32}> {sched.location = "others.py:119:13", sched.name = "c", sched.stage = 2 : i32, sched.cluster = 0 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 13 : i32} : (!ttg.memdesc<64x64xf16, #shared, #smem>, !ttg.memdesc<64x128xf16, #shared, #smem>, tensor<64x128xf32, #mma>) -> tensor<64x128xf32, #mma>
      %a_ptrs_48 = "tt.addptr"(%a_ptrs_34, %a_ptrs_27) {sched.location = "others.py:120:9", sched.name = "a_ptrs", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64x!tt.ptr<f16>, #blocked1>, tensor<64x64xi32, #blocked1>) -> tensor<64x64x!tt.ptr<f16>, #blocked1>
      %b_ptrs_49 = "tt.addptr"(%b_ptrs_36, %0) {sched.location = "others.py:121:9", sched.name = "b_ptrs", sched.stage = 1 : i32, sched.cluster = 2 : i32} : (tensor<64x128x!tt.ptr<f16>, #blocked>, tensor<64x128xi32, #blocked>) -> tensor<64x128x!tt.ptr<f16>, #blocked>
      "scf.yield"(%a_ptrs_48, %c_47, %b_ptrs_49) : (tensor<64x64x!tt.ptr<f16>, #blocked1>, tensor<64x128xf32, #mma>, tensor<64x128x!tt.ptr<f16>, #blocked>) -> ()
    }) {sched.location = "others.py:116:5", sched.name = "k"} : (i32, i32, i32, tensor<64x64x!tt.ptr<f16>, #blocked1>, tensor<64x128xf32, #mma>, tensor<64x128x!tt.ptr<f16>, #blocked>) -> (tensor<64x64x!tt.ptr<f16>, #blocked1>, tensor<64x128xf32, #mma>, tensor<64x128x!tt.ptr<f16>, #blocked>)
    %at_29 = "arith.muli"(%row, %at) <{overflowFlags = #arith.overflow<none>}> {sched.location = "others.py:122:10", sched.name = "at"} : (i32, i32) -> i32
    %at_30 = "tt.splat"(%at_29) {sched.location = "others.py:122:10", sched.name = "at"} : (i32) -> tensor<64x1xi32, #blocked>
    %at_31 = "arith.addi"(%at_30, %b_ptrs_18) <{overflowFlags = #arith.overflow<none>}> {sched.location = "others.py:122:10", sched.name = "at"} : (tensor<64x1xi32, #blocked>, tensor<64x1xi32, #blocked>) -> tensor<64x1xi32, #blocked>
    %at_32 = "tt.broadcast"(%at_31) {sched.location = "others.py:122:10", sched.name = "at"} : (tensor<64x1xi32, #blocked>) -> tensor<64x128xi32, #blocked>
    %at_33 = "arith.addi"(%at_32, %b_ptrs_24) <{overflowFlags = #arith.overflow<none>}> {sched.location = "others.py:122:10", sched.name = "at"} : (tensor<64x128xi32, #blocked>, tensor<64x128xi32, #blocked>) -> tensor<64x128xi32, #blocked>
    %10 = "tt.splat"(%c_ptr) {sched.location = "others.py:123:14"} : (!tt.ptr<f16>) -> tensor<64x128x!tt.ptr<f16>, #blocked>
    %11 = "tt.addptr"(%10, %at_33) {sched.location = "others.py:123:14"} : (tensor<64x128x!tt.ptr<f16>, #blocked>, tensor<64x128xi32, #blocked>) -> tensor<64x128x!tt.ptr<f16>, #blocked>
    %12 = "arith.truncf"(%c_28#1) {sched.location = "others.py:123:26"} : (tensor<64x128xf32, #mma>) -> tensor<64x128xf16, #mma>
    %13 = "ttg.convert_layout"(%12) {sched.trivial = false, sched.location = "others.py:123:5"} : (tensor<64x128xf16, #mma>) -> tensor<64x128xf16, #blocked>
    "tt.store"(%11, %13) {sched.location = "others.py:123:5"} : (tensor<64x128x!tt.ptr<f16>, #blocked>, tensor<64x128xf16, #blocked>) -> ()
    "tt.return"() : () -> ()
  }) {noinline = false, sched.location = "others.py:88:1"} : () -> ()
}) {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32, "ttng.two-ctas" = false} : () -> ()
