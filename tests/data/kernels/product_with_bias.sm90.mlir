// triton 3.9.0, sm_90
#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#blocked1 = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#blocked2 = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 128, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
"builtin.module"() ({
  "tt.func"() <{arg_attrs = [{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {tt.divisibility = 16 : i32}, {}], function_type = (!tt.tensordesc<64x64xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<64x128xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<64x128xf16, #shared>, i32, i32, i64, i64, !tt.ptr<f32>, i32) -> (), sym_name = "product_with_bias", sym_visibility = "public"}> ({
  ^bb0(%a_desc: !tt.tensordesc<64x64xf16, #shared>, %a_desc.shape.0: i32, %a_desc.shape.1: i32, %a_desc.stride.0: i64, %a_desc.stride.1: i64, %b_desc: !tt.tensordesc<64x128xf16, #shared>, %b_desc.shape.0: i32, %b_desc.shape.1: i32, %b_desc.stride.0: i64, %b_desc.stride.1: i64, %c_desc: !tt.tensordesc<64x128xf16, #shared>, %c_desc.shape.0: i32, %c_desc.shape.1: i32, %c_desc.stride.0: i64, %c_desc.stride.1: i64, %bias_ptr: !tt.ptr<f32>, %depth: i32):
    %0 = "arith.constant"() <{value = 64 : i32}> : () -> i32
    %column = "arith.constant"() <{value = 128 : i32}> {sched.location = "others.py:13:14", sched.name = "column"} : () -> i32
    %1 = "arith.constant"() <{value = 0 : i32}> {sched.location = "others.py:15:5"} : () -> i32
    %2 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<64x128xf32, #mma>}> : () -> tensor<64x128xf32, #mma>
    %row = "tt.get_program_id"() <{axis = 0 : i32}> {sched.location = "others.py:12:11", sched.name = "row"} : () -> i32
    %row_0 = "arith.muli"(%row, %0) <{overflowFlags = #arith.overflow<none>}> {sched.location = "others.py:12:11", sched.name = "row"} : (i32, i32) -> i32
    %column_1 = "tt.get_program_id"() <{axis = 1 : i32}> {sched.location = "others.py:13:14", sched.name = "column"} : () -> i32
    %column_2 = "arith.muli"(%column_1, %column) <{overflowFlags = #arith.overflow<none>}> {sched.location = "others.py:13:14", sched.name = "column"} : (i32, i32) -> i32
    %c = "scf.for"(%1, %depth, %0, %2) ({
    ^bb0(%k: i32, %c_12: tensor<64x128xf32, #mma>):
      %a = "tt.descriptor_load"(%a_desc, %row_0, %k) {sched.location = "others.py:16:13", sched.name = "a", sched.stage = 0 : i32, sched.cluster = 2 : i32} : (!tt.tensordesc<64x64xf16, #shared>, i32, i32) -> tensor<64x64xf16, #blocked>
      %a_13 = "ttg.local_alloc"(%a) {sched.location = "others.py:16:13", sched.name = "a", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
      %b = "tt.descriptor_load"(%b_desc, %k, %column_2) {sched.location = "others.py:17:13", sched.name = "b", sched.stage = 0 : i32, sched.cluster = 2 : i32} : (!tt.tensordesc<64x128xf16, #shared>, i32, i32) -> tensor<64x128xf16, #blocked1>
      %b_14 = "ttg.local_alloc"(%b) {sched.location = "others.py:17:13", sched.name = "b", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x128xf16, #blocked1>) -> !ttg.memdesc<64x128xf16, #shared, #smem>
      %c_15 = "ttng.warp_group_dot"(%a_13, %b_14, %c_12) <{inputPrecision = 0 : i32, isAsync = false, maxNumImpreciseAcc = 0 : i32}> {sched.location = "others.py:18:13", sched.name = "c", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (!ttg.memdesc<64x64xf16, #shared, #smem>, !ttg.memdesc<64x128xf16, #shared, #smem>, tensor<64x128xf32, #mma>) -> tensor<64x128xf32, #mma>
      "scf.yield"(%c_15) : (tensor<64x128xf32, #mma>) -> ()
    }) {sched.location = "others.py:15:5", sched.name = "k"} : (i32, i32, i32, tensor<64x128xf32, #mma>) -> tensor<64x128xf32, #mma>
    %bias = "tt.addptr"(%bias_ptr, %column_2) {sched.location = "others.py:19:20", sched.name = "bias"} : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
    %bias_3 = "tt.make_range"() <{end = 128 : i32, start = 0 : i32}> {sched.location = "others.py:19:40", sched.name = "bias"} : () -> tensor<128xi32, #blocked2>
    %bias_4 = "tt.splat"(%bias) {sched.location = "others.py:19:20", sched.name = "bias"} : (!tt.ptr<f32>) -> tensor<128x!tt.ptr<f32>, #blocked2>
    %bias_5 = "tt.addptr"(%bias_4, %bias_3) {sched.location = "others.py:19:20", sched.name = "bias"} : (tensor<128x!tt.ptr<f32>, #blocked2>, tensor<128xi32, #blocked2>) -> tensor<128x!tt.ptr<f32>, #blocked2>
    %bias_6 = "tt.load"(%bias_5) <{isVolatile = false, operandSegmentSizes = array<i32: 1, 0, 0>}> {sched.location = "others.py:19:12", sched.name = "bias"} : (tensor<128x!tt.ptr<f32>, #blocked2>) -> tensor<128xf32, #blocked2>
    %c_7 = "ttg.convert_layout"(%bias_6) {sched.trivial = false, sched.location = "others.py:20:20", sched.name = "c"} : (tensor<128xf32, #blocked2>) -> tensor<128xf32, #ttg.slice<{dim = 0, parent = #mma}>>
    %c_8 = "tt.expand_dims"(%c_7) <{axis = 0 : i32}> {sched.location = "others.py:20:24", sched.name = "c"} : (tensor<128xf32, #ttg.slice<{dim = 0, parent = #mma}>>) -> tensor<1x128xf32, #mma>
    %c_9 = "tt.broadcast"(%c_8) {sched.location = "others.py:20:20", sched.name = "c"} : (tensor<1x128xf32, #mma>) -> tensor<64x128xf32, #mma>
    %c_10 = "arith.addf"(%c, %c_9) <{fastmath = #arith.fastmath<none>}> {sched.location = "others.py:20:20", sched.name = "c"} : (tensor<64x128xf32, #mma>, tensor<64x128xf32, #mma>) -> tensor<64x128xf32, #mma>
    %c_11 = "arith.maxnumf"(%c_10, %2) <{fastmath = #arith.fastmath<none>}> {sched.location = "others.py:20:9", sched.name = "c"} : (tensor<64x128xf32, #mma>, tensor<64x128xf32, #mma>) -> tensor<64x128xf32, #mma>
    %3 = "arith.truncf"(%c_11) {sched.location = "others.py:21:33"} : (tensor<64x128xf32, #mma>) -> tensor<64x128xf16, #mma>
    %4 = "ttg.convert_layout"(%3) {sched.trivial = false, sched.location = "others.py:21:5"} : (tensor<64x128xf16, #mma>) -> tensor<64x128xf16, #blocked1>
    "tt.descriptor_store"(%c_desc, %4, %row_0, %column_2) {sched.location = "others.py:21:5"} : (!tt.tensordesc<64x128xf16, #shared>, tensor<64x128xf16, #blocked1>, i32, i32) -> ()
    "tt.return"() : () -> ()
  }) {noinline = false, sched.location = "others.py:8:1"} : () -> ()
}) {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32, "ttng.two-ctas" = false} : () -> ()
