// triton 3.9.0, sm_90
#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#blocked1 = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 128, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
"builtin.module"() ({
  "tt.func"() <{arg_attrs = [{tt.divisibility = 16 : i32}, {tt.divisibility = 16 : i32}, {tt.divisibility = 16 : i32}, {tt.divisibility = 16 : i32}, {tt.divisibility = 16 : i32}], function_type = (!tt.ptr<f16>, !tt.ptr<f16>, !tt.ptr<f16>, i32, i32) -> (), sym_name = "masked_gemm", sym_visibility = "public"}> ({
  ^bb0(%a_ptr: !tt.ptr<f16>, %b_ptr: !tt.ptr<f16>, %c_ptr: !tt.ptr<f16>, %k: i32, %stride: i32):
    %0 = "arith.constant"() <{value = dense<128> : tensor<64x1xi32, #blocked>}> : () -> tensor<64x1xi32, #blocked>
    %1 = "arith.constant"() <{value = 64 : i32}> : () -> i32
    %2 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<64x64xf16, #blocked1>}> : () -> tensor<64x64xf16, #blocked1>
    %3 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<64x128xf16, #blocked>}> : () -> tensor<64x128xf16, #blocked>
    %4 = "arith.constant"() <{value = 0 : i32}> {sched.location = "others.py:92:5"} : () -> i32
    %5 = "arith.constant"() <{value = 1 : i32}> {sched.location = "others.py:92:5"} : () -> i32
    %6 = "arith.constant"() <{value = 63 : i32}> {sched.location = "others.py:92:23"} : () -> i32
    %acc = "arith.constant"() <{value = dense<0.000000e+00> : tensor<64x128xf32, #mma>}> {sched.location = "others.py:91:11", sched.name = "acc"} : () -> tensor<64x128xf32, #mma>
    %7 = "tt.make_range"() <{end = 64 : i32, start = 0 : i32}> {sched.location = "others.py:90:22"} : () -> tensor<64xi32, #ttg.slice<{dim = 0, parent = #blocked1}>>
    %8 = "tt.make_range"() <{end = 64 : i32, start = 0 : i32}> {sched.location = "others.py:90:22"} : () -> tensor<64xi32, #ttg.slice<{dim = 1, parent = #blocked}>>
    %9 = "arith.addi"(%k, %6) <{overflowFlags = #arith.overflow<none>}> {sched.location = "others.py:92:23"} : (i32, i32) -> i32
    %10 = "arith.divsi"(%9, %1) {sched.location = "others.py:92:23"} : (i32, i32) -> i32
    %a = "tt.make_range"() <{end = 64 : i32, start = 0 : i32}> {sched.location = "others.py:94:29", sched.name = "a"} : () -> tensor<64xi32, #ttg.slice<{dim = 1, parent = #blocked1}>>
    %a_0 = "tt.expand_dims"(%a) <{axis = 1 : i32}> {sched.location = "others.py:94:29", sched.name = "a"} : (tensor<64xi32, #ttg.slice<{dim = 1, parent = #blocked1}>>) -> tensor<64x1xi32, #blocked1>
    %a_1 = "tt.splat"(%stride) {sched.location = "others.py:94:29", sched.name = "a"} : (i32) -> tensor<64x1xi32, #blocked1>
    %a_2 = "arith.muli"(%a_0, %a_1) <{overflowFlags = #arith.overflow<none>}> {sched.location = "others.py:94:29", sched.name = "a"} : (tensor<64x1xi32, #blocked1>, tensor<64x1xi32, #blocked1>) -> tensor<64x1xi32, #blocked1>
    %a_3 = "tt.splat"(%a_ptr) {sched.location = "others.py:94:21", sched.name = "a"} : (!tt.ptr<f16>) -> tensor<64x1x!tt.ptr<f16>, #blocked1>
    %a_4 = "tt.addptr"(%a_3, %a_2) {sched.location = "others.py:94:21", sched.name = "a"} : (tensor<64x1x!tt.ptr<f16>, #blocked1>, tensor<64x1xi32, #blocked1>) -> tensor<64x1x!tt.ptr<f16>, #blocked1>
    %a_5 = "tt.expand_dims"(%7) <{axis = 0 : i32}> {sched.location = "others.py:94:62", sched.name = "a"} : (tensor<64xi32, #ttg.slice<{dim = 0, parent = #blocked1}>>) -> tensor<1x64xi32, #blocked1>
    %a_6 = "tt.broadcast"(%a_5) {sched.location = "others.py:94:21", sched.name = "a"} : (tensor<1x64xi32, #blocked1>) -> tensor<64x64xi32, #blocked1>
    %b = "tt.splat"(%b_ptr) {sched.location = "others.py:95:21", sched.name = "b"} : (!tt.ptr<f16>) -> tensor<64x1x!tt.ptr<f16>, #blocked>
    %b_7 = "tt.make_range"() <{end = 128 : i32, start = 0 : i32}> {sched.location = "others.py:95:57", sched.name = "b"} : () -> tensor<128xi32, #ttg.slice<{dim = 0, parent = #blocked}>>
    %b_8 = "tt.expand_dims"(%b_7) <{axis = 0 : i32}> {sched.location = "others.py:95:57", sched.name = "b"} : (tensor<128xi32, #ttg.slice<{dim = 0, parent = #blocked}>>) -> tensor<1x128xi32, #blocked>
    %b_9 = "tt.broadcast"(%b_8) {sched.location = "others.py:95:21", sched.name = "b"} : (tensor<1x128xi32, #blocked>) -> tensor<64x128xi32, #blocked>
    %acc_10 = "scf.for"(%4, %10, %5, %acc) ({
    ^bb0(%i: i32, %acc_11: tensor<64x128xf32, #mma>):
      %left = "arith.muli"(%i, %1) <{overflowFlags = #arith.overflow<none>}> {sched.location = "others.py:93:25", sched.name = "left", sched.stage = 0 : i32, sched.cluster = 2 : i32} : (i32, i32) -> i32
      %left_12 = "arith.subi"(%k, %left) <{overflowFlags = #arith.overflow<none>}> {sched.location = "others.py:93:21", sched.name = "left", sched.stage = 0 : i32, sched.cluster = 2 : i32} : (i32, i32) -> i32
      %left_13 = "tt.splat"(%left_12) {sched.location = "others.py:93:16", sched.name = "left", sched.stage = 0 : i32, sched.cluster = 2 : i32} : (i32) -> tensor<64xi32, #ttg.slice<{dim = 0, parent = #blocked1}>>
      %left_14 = "tt.splat"(%left_12) {sched.location = "others.py:93:16", sched.name = "left", sched.stage = 0 : i32, sched.cluster = 2 : i32} : (i32) -> tensor<64xi32, #ttg.slice<{dim = 1, parent = #blocked}>>
      %left_15 = "arith.cmpi"(%7, %left_13) <{predicate = 2 : i64}> {sched.location = "others.py:93:16", sched.name = "left", sched.stage = 0 : i32, sched.cluster = 2 : i32} : (tensor<64xi32, #ttg.slice<{dim = 0, parent = #blocked1}>>, tensor<64xi32, #ttg.slice<{dim = 0, parent = #blocked1}>>) -> tensor<64xi1, #ttg.slice<{dim = 0, parent = #blocked1}>>
      %left_16 = "arith.cmpi"(%8, %left_14) <{predicate = 2 : i64}> {sched.location = "others.py:93:16", sched.name = "left", sched.stage = 0 : i32, sched.cluster = 2 : i32} : (tensor<64xi32, #ttg.slice<{dim = 1, parent = #blocked}>>, tensor<64xi32, #ttg.slice<{dim = 1, parent = #blocked}>>) -> tensor<64xi1, #ttg.slice<{dim = 1, parent = #blocked}>>
      %a_17 = "tt.expand_dims"(%left_15) <{axis = 0 : i32}> {sched.location = "others.py:94:80", sched.name = "a", sched.stage = 0 : i32, sched.cluster = 2 : i32} : (tensor<64xi1, #ttg.slice<{dim = 0, parent = #blocked1}>>) -> tensor<1x64xi1, #blocked1>
      %a_18 = "tt.splat"(%left) {sched.location = "others.py:94:21", sched.name = "a", sched.stage = 0 : i32, sched.cluster = 2 : i32} : (i32) -> tensor<64x1xi32, #blocked1>
      %a_19 = "tt.addptr"(%a_4, %a_18) {sched.location = "others.py:94:21", sched.name = "a", sched.stage = 0 : i32, sched.cluster = 2 : i32} : (tensor<64x1x!tt.ptr<f16>, #blocked1>, tensor<64x1xi32, #blocked1>) -> tensor<64x1x!tt.ptr<f16>, #blocked1>
      %a_20 = "tt.broadcast"(%a_19) {sched.location = "others.py:94:21", sched.name = "a", sched.stage = 0 : i32, sched.cluster = 2 : i32} : (tensor<64x1x!tt.ptr<f16>, #blocked1>) -> tensor<64x64x!tt.ptr<f16>, #blocked1>
      %a_21 = "tt.addptr"(%a_20, %a_6) {sched.location = "others.py:94:21", sched.name = "a", sched.stage = 0 : i32, sched.cluster = 2 : i32} : (tensor<64x64x!tt.ptr<f16>, #blocked1>, tensor<64x64xi32, #blocked1>) -> tensor<64x64x!tt.ptr<f16>, #blocked1>
      %a_22 = "tt.broadcast"(%a_17) {sched.location = "others.py:94:13", sched.name = "a", sched.stage = 0 : i32, sched.cluster = 2 : i32} : (tensor<1x64xi1, #blocked1>) -> tensor<64x64xi1, #blocked1>
      %a_23 = "tt.load"(%a_21, %a_22, %2) <{isVolatile = false, operandSegmentSizes = array<i32: 1, 1, 1>}> {sched.location = "others.py:94:13", sched.name = "a", sched.stage = 0 : i32, sched.cluster = 2 : i32, sched.slots = 3 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 25 : i32} : (tensor<64x64x!tt.ptr<f16>, #blocked1>, tensor<64x64xi1, #blocked1>, tensor<64x64xf16, #blocked1>) -> tensor<64x64xf16, #blocked1>
      %a_24 = "ttg.local_alloc"(%a_23) {sched.location = "others.py:94:13", sched.name = "a", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xf16, #blocked1>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
      %b_25 = "tt.expand_dims"(%left_16) <{axis = 1 : i32}> {sched.location = "others.py:95:77", sched.name = "b", sched.stage = 0 : i32, sched.cluster = 2 : i32} : (tensor<64xi1, #ttg.slice<{dim = 1, parent = #blocked}>>) -> tensor<64x1xi1, #blocked>
      %b_26 = "tt.splat"(%left) {sched.location = "others.py:95:30", sched.name = "b", sched.stage = 0 : i32, sched.cluster = 2 : i32} : (i32) -> tensor<64xi32, #ttg.slice<{dim = 1, parent = #blocked}>>
      %b_27 = "arith.addi"(%b_26, %8) <{overflowFlags = #arith.overflow<none>}> {sched.location = "others.py:95:30", sched.name = "b", sched.stage = 0 : i32, sched.cluster = 2 : i32} : (tensor<64xi32, #ttg.slice<{dim = 1, parent = #blocked}>>, tensor<64xi32, #ttg.slice<{dim = 1, parent = #blocked}>>) -> tensor<64xi32, #ttg.slice<{dim = 1, parent = #blocked}>>
      %b_28 = "tt.expand_dims"(%b_27) <{axis = 1 : i32}> {sched.location = "others.py:95:29", sched.name = "b", sched.stage = 0 : i32, sched.cluster = 2 : i32} : (tensor<64xi32, #ttg.slice<{dim = 1, parent = #blocked}>>) -> tensor<64x1xi32, #blocked>
      %b_29 = "arith.muli"(%b_28, %0) <{overflowFlags = #arith.overflow<none>}> {sched.location = "others.py:95:29", sched.name = "b", sched.stage = 0 : i32, sched.cluster = 2 : i32} : (tensor<64x1xi32, #blocked>, tensor<64x1xi32, #blocked>) -> tensor<64x1xi32, #blocked>
      %b_30 = "tt.addptr"(%b, %b_29) {sched.location = "others.py:95:21", sched.name = "b", sched.stage = 0 : i32, sched.cluster = 2 : i32} : (tensor<64x1x!tt.ptr<f16>, #blocked>, tensor<64x1xi32, #blocked>) -> tensor<64x1x!tt.ptr<f16>, #blocked>
      %b_31 = "tt.broadcast"(%b_30) {sched.location = "others.py:95:21", sched.name = "b", sched.stage = 0 : i32, sched.cluster = 2 : i32} : (tensor<64x1x!tt.ptr<f16>, #blocked>) -> tensor<64x128x!tt.ptr<f16>, #blocked>
      %b_32 = "tt.addptr"(%b_31, %b_9) {sched.location = "others.py:95:21", sched.name = "b", sched.stage = 0 : i32, sched.cluster = 2 : i32} : (tensor<64x128x!tt.ptr<f16>, #blocked>, tensor<64x128xi32, #blocked>) -> tensor<64x128x!tt.ptr<f16>, #blocked>
      %b_33 = "tt.broadcast"(%b_25) {sched.location = "others.py:95:13", sched.name = "b", sched.stage = 0 : i32, sched.cluster = 2 : i32} : (tensor<64x1xi1, #blocked>) -> tensor<64x128xi1, #blocked>
      %b_34 = "tt.load"(%b_32, %b_33, %3) <{isVolatile = false, operandSegmentSizes = array<i32: 1, 1, 1>}> {sched.location = "others.py:95:13", sched.name = "b", sched.stage = 0 : i32, sched.cluster = 2 : i32, sched.slots = 3 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 25 : i32} : (tensor<64x128x!tt.ptr<f16>, #blocked>, tensor<64x128xi1, #blocked>, tensor<64x128xf16, #blocked>) -> tensor<64x128xf16, #blocked>
      %b_35 = "ttg.local_alloc"(%b_34) {sched.location = "others.py:95:13", sched.name = "b", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x128xf16, #blocked>) -> !ttg.memdesc<64x128xf16, #shared, #smem>
      %acc_36 = "ttng.warp_group_dot"(%a_24, %b_35, %acc_11) <{inputPrecision = 0 : i32, isAsync = false, maxNumImpreciseAcc = 0 : i32}> {sched.location = "others.py:96:15", sched.name = "acc", sched.stage = 2 : i32, sched.cluster = 0 : i32, sched.wait_stage = 3 : i32, sched.wait_before = 2 : i32} : (!ttg.memdesc<64x64xf16, #shared, #smem>, !ttg.memdesc<64x128xf16, #shared, #smem>, tensor<64x128xf32, #mma>) -> tensor<64x128xf32, #mma>
      "scf.yield"(%acc_36) : (tensor<64x128xf32, #mma>) -> ()
    }) {sched.location = "others.py:92:5", sched.name = "i"} : (i32, i32, i32, tensor<64x128xf32, #mma>) -> tensor<64x128xf32, #mma>
    %11 = "tt.expand_dims"(%8) <{axis = 1 : i32}> {sched.location = "others.py:97:22"} : (tensor<64xi32, #ttg.slice<{dim = 1, parent = #blocked}>>) -> tensor<64x1xi32, #blocked>
    %12 = "arith.muli"(%11, %0) <{overflowFlags = #arith.overflow<none>}> {sched.location = "others.py:97:22"} : (tensor<64x1xi32, #blocked>, tensor<64x1xi32, #blocked>) -> tensor<64x1xi32, #blocked>
    %13 = "tt.splat"(%c_ptr) {sched.location = "others.py:97:14"} : (!tt.ptr<f16>) -> tensor<64x1x!tt.ptr<f16>, #blocked>
    %14 = "tt.addptr"(%13, %12) {sched.location = "others.py:97:14"} : (tensor<64x1x!tt.ptr<f16>, #blocked>, tensor<64x1xi32, #blocked>) -> tensor<64x1x!tt.ptr<f16>, #blocked>
    %15 = "tt.make_range"() <{end = 128 : i32, start = 0 : i32}> {sched.location = "others.py:97:42"} : () -> tensor<128xi32, #ttg.slice<{dim = 0, parent = #blocked}>>
    %16 = "tt.expand_dims"(%15) <{axis = 0 : i32}> {sched.location = "others.py:97:42"} : (tensor<128xi32, #ttg.slice<{dim = 0, parent = #blocked}>>) -> tensor<1x128xi32, #blocked>
    %17 = "tt.broadcast"(%14) {sched.location = "others.py:97:14"} : (tensor<64x1x!tt.ptr<f16>, #blocked>) -> tensor<64x128x!tt.ptr<f16>, #blocked>
    %18 = "tt.broadcast"(%16) {sched.location = "others.py:97:14"} : (tensor<1x128xi32, #blocked>) -> tensor<64x128xi32, #blocked>
    %19 = "tt.addptr"(%17, %18) {sched.location = "others.py:97:14"} : (tensor<64x128x!tt.ptr<f16>, #blocked>, tensor<64x128xi32, #blocked>) -> tensor<64x128x!tt.ptr<f16>, #blocked>
    %20 = "arith.truncf"(%acc_10) {sched.location = "others.py:97:57"} : (tensor<64x128xf32, #mma>) -> tensor<64x128xf16, #mma>
    %21 = "ttg.convert_layout"(%20) {sched.trivial = false, sched.location = "others.py:97:5"} : (tensor<64x128xf16, #mma>) -> tensor<64x128xf16, #blocked>
    "tt.store"(%19, %21) {sched.location = "others.py:97:5"} : (tensor<64x128x!tt.ptr<f16>, #blocked>, tensor<64x128xf16, #blocked>) -> ()
    "tt.return"() : () -> ()
  }) {noinline = false, sched.location = "others.py:88:1"} : () -> ()
}) {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32, "ttng.two-ctas" = false} : () -> ()
