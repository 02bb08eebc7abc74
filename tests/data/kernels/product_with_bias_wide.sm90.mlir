// triton 3.9.0, sm_90
#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [8, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [8, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
"builtin.module"() ({
  "tt.func"() <{arg_attrs = [{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {tt.divisibility = 16 : i32}, {}], function_type = (!tt.tensordesc<128x64xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<64x64xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<128x64xf16, #shared>, i32, i32, i64, i64, !tt.ptr<f32>, i32) -> (), sym_name = "product_with_bias", sym_visibility = "public"}> ({
  ^bb0(%a_desc: !tt.tensordesc<128x64xf16, #shared>, %a_desc.shape.0: i32, %a_desc.shape.1: i32, %a_desc.stride.0: i64, %a_desc.stride.1: i64, %b_desc: !tt.tensordesc<64x64xf16, #shared>, %b_desc.shape.0: i32, %b_desc.shape.1: i32, %b_desc.stride.0: i64, %b_desc.stride.1: i64, %c_desc: !tt.tensordesc<128x64xf16, #shared>, %c_desc.shape.0: i32, %c_desc.shape.1: i32, %c_desc.stride.0: i64, %c_desc.stride.1: i64, %bias_ptr: !tt.ptr<f32>, %depth: i32):
    %row = "arith.constant"() <{value = 128 : i32}> {sched.location = "others.py:12:11", sched.name = "row"} : () -> i32
    %0 = "arith.constant"() <{value = 64 : i32}> : () -> i32
    %1 = "arith.constant"() <{value = 0 : i32}> {sched.location = "others.py:15:5"} : () -> i32
    %2 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<128x64xf32, #mma>}> : () -> tensor<128x64xf32, #mma>
    %row_0 = "tt.get_program_id"() <{axis = 0 : i32}> {sched.location = "others.py:12:11", sched.name = "row"} : () -> i32
    %row_1 = "arith.muli"(%row_0, %row) <{overflowFlags = #arith.overflow<none>}> {sched.location = "others.py:12:11", sched.name = "row"} : (i32, i32) -> i32
    %column = "tt.get_program_id"() <{axis = 1 : i32}> {sched.location = "others.py:13:14", sched.name = "column"} : () -> i32
    %column_2 = "arith.muli"(%column, %0) <{overflowFlags = #arith.overflow<none>}> {sched.location = "others.py:13:14", sched.name = "column"} : (i32, i32) -> i32
    %c = "scf.for"(%1, %depth, %0, %2) ({
    ^bb0(%k: i32, %c_11: tensor<128x64xf32, #mma>):
      %a = "tt.descriptor_load"(%a_desc, %row_1, %k) {sched.location = "others.py:16:13", sched.name = "a", sched.stage = 0 : i32, sched.cluster = 2 : i32, sched.slots = 3 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 4 : i32} : (!tt.tensordesc<128x64xf16, #shared>, i32, i32) -> tensor<128x64xf16, #blocked>
      %a_12 = "ttg.local_alloc"(%a) {sched.location = "others.py:16:13", sched.name = "a", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128x64xf16, #blocked>) -> !ttg.memdesc<128x64xf16, #shared, #smem>
      %b = "tt.descriptor_load"(%b_desc, %k, %column_2) {sched.location = "others.py:17:13", sched.name = "b", sched.stage = 0 : i32, sched.cluster = 2 : i32, sched.slots = 3 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 4 : i32} : (!tt.tensordesc<64x64xf16, #shared>, i32, i32) -> tensor<64x64xf16, #blocked>
      %b_13 = "ttg.local_alloc"(%b) {sched.location = "others.py:17:13", sched.name = "b", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
      %c_14 = "ttng.warp_group_dot"(%a_12, %b_13, %c_11) <{inputPrecision = 0 : i32, isAsync = false, maxNumImpreciseAcc = 0 : i32}> {sched.location = "others.py:18:13", sched.name = "c", sched.stage = 2 : i32, sched.cluster = 0 : i32, sched.wait_stage = 3 : i32, sched.wait_before = 0 : i32} : (!ttg.memdesc<128x64xf16, #shared, #smem>, !ttg.memdesc<64x64xf16, #shared, #smem>, tensor<128x64xf32, #mma>) -> tensor<128x64xf32, #mma>
      "scf.yield"(%c_14) : (tensor<128x64xf32, #mma>) -> ()
    }) {sched.location = "others.py:15:5", sched.name = "k"} : (i32, i32, i32, tensor<128x64xf32, #mma>) -> tensor<128x64xf32, #mma>
    %bias = "tt.addptr"(%bias_ptr, %column_2) {sched.location = "others.py:19:20", sched.name = "bias"} : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
    %bias_3 = "tt.make_range"() <{end = 64 : i32, start = 0 : i32}> {sched.location = "others.py:19:40", sched.name = "bias"} : () -> tensor<64xi32, #ttg.slice<{dim = 0, parent = #mma}>>
    %bias_4 = "tt.splat"(%bias) {sched.location = "others.py:19:20", sched.name = "bias"} : (!tt.ptr<f32>) -> tensor<64x!tt.ptr<f32>, #ttg.slice<{dim = 0, parent = #mma}>>
    %bias_5 = "tt.addptr"(%bias_4, %bias_3) {sched.location = "others.py:19:20", sched.name = "bias"} : (tensor<64x!tt.ptr<f32>, #ttg.slice<{dim = 0, parent = #mma}>>, tensor<64xi32, #ttg.slice<{dim = 0, parent = #mma}>>) -> tensor<64x!tt.ptr<f32>, #ttg.slice<{dim = 0, parent = #mma}>>
    %bias_6 = "tt.load"(%bias_5) <{isVolatile = false, operandSegmentSizes = array<i32: 1, 0, 0>}> {sched.location = "others.py:19:12", sched.name = "bias"} : (tensor<64x!tt.ptr<f32>, #ttg.slice<{dim = 0, parent = #mma}>>) -> tensor<64xf32, #ttg.slice<{dim = 0, parent = #mma}>>
    %c_7 = "tt.expand_dims"(%bias_6) <{axis = 0 : i32}> {sched.location = "others.py:20:24", sched.name = "c"} : (tensor<64xf32, #ttg.slice<{dim = 0, parent = #mma}>>) -> tensor<1x64xf32, #mma>
    %c_8 = "tt.broadcast"(%c_7) {sched.location = "others.py:20:20", sched.name = "c"} : (tensor<1x64xf32, #mma>) -> tensor<128x64xf32, #mma>
    %c_9 = "arith.addf"(%c, %c_8) <{fastmath = #arith.fastmath<none>}> {sched.location = "others.py:20:20", sched.name = "c"} : (tensor<128x64xf32, #mma>, tensor<128x64xf32, #mma>) -> tensor<128x64xf32, #mma>
    %c_10 = "arith.maxnumf"(%c_9, %2) <{fastmath = #arith.fastmath<none>}> {sched.location = "others.py:20:9", sched.name = "c"} : (tensor<128x64xf32, #mma>, tensor<128x64xf32, #mma>) -> tensor<128x64xf32, #mma>
    %3 = "arith.truncf"(%c_10) {sched.location = "others.py:21:33"} : (tensor<128x64xf32, #mma>) -> tensor<128x64xf16, #mma>
    %4 = "ttg.convert_layout"(%3) {sched.trivial = false, sched.location = "others.py:21:5"} : (tensor<128x64xf16, #mma>) -> tensor<128x64xf16, #blocked>
    "tt.descriptor_store"(%c_desc, %4, %row_1, %column_2) {sched.location = "others.py:21:5"} : (!tt.tensordesc<128x64xf16, #shared>, tensor<128x64xf16, #blocked>, i32, i32) -> ()
    "tt.return"() : () -> ()
  }) {noinline = false, sched.location = "others.py:8:1"} : () -> ()
}) {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 8 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32, "ttng.two-ctas" = false} : () -> ()
