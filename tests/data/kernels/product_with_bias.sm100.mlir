// triton 3.9.0, sm_100
#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#blocked1 = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#blocked2 = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#linear = #ttg.linear<{register = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [0, 64]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp = [[32, 0], [64, 0]], block = []}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
#tmem = #ttng.tensor_memory_encoding<blockM = 128, blockN = 128, colStride = 1>
"builtin.module"() ({
  "tt.func"() <{arg_attrs = [{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {tt.divisibility = 16 : i32}, {}], function_type = (!tt.tensordesc<128x64xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<64x128xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<128x128xf16, #shared>, i32, i32, i64, i64, !tt.ptr<f32>, i32) -> (), sym_name = "product_with_bias", sym_visibility = "public"}> ({
  ^bb0(%a_desc: !tt.tensordesc<128x64xf16, #shared>, %a_desc.shape.0: i32, %a_desc.shape.1: i32, %a_desc.stride.0: i64, %a_desc.stride.1: i64, %b_desc: !tt.tensordesc<64x128xf16, #shared>, %b_desc.shape.0: i32, %b_desc.shape.1: i32, %b_desc.stride.0: i64, %b_desc.stride.1: i64, %c_desc: !tt.tensordesc<128x128xf16, #shared>, %c_desc.shape.0: i32, %c_desc.shape.1: i32, %c_desc.stride.0: i64, %c_desc.stride.1: i64, %bias_ptr: !tt.ptr<f32>, %depth: i32):
    %c = "arith.constant"() <{value = false}> {sched.location = "others.py:18:13", sched.name = "c"} : () -> i1
    %0 = "arith.constant"() <{value = true}> : () -> i1
    %1 = "arith.constant"() <{value = 128 : i32}> : () -> i32
    %2 = "arith.constant"() <{value = 64 : i32}> {sched.location = "others.py:15:5"} : () -> i32
    %3 = "arith.constant"() <{value = 0 : i32}> {sched.location = "others.py:15:5"} : () -> i32
    %4 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<128x128xf32, #linear>}> : () -> tensor<128x128xf32, #linear>
    %row = "tt.get_program_id"() <{axis = 0 : i32}> {sched.location = "others.py:12:11", sched.name = "row"} : () -> i32
    %row_0 = "arith.muli"(%row, %1) <{overflowFlags = #arith.overflow<none>}> {sched.location = "others.py:12:11", sched.name = "row"} : (i32, i32) -> i32
    %column = "tt.get_program_id"() <{axis = 1 : i32}> {sched.location = "others.py:13:14", sched.name = "column"} : () -> i32
    %column_1 = "arith.muli"(%column, %1) <{overflowFlags = #arith.overflow<none>}> {sched.location = "others.py:13:14", sched.name = "column"} : (i32, i32) -> i32
    %c_2:2 = "ttng.tmem_alloc"() {sched.location = "others.py:18:13", sched.name = "c"} : () -> (!ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token)
    %c_3 = "ttng.tmem_store"(%c_2#0, %c_2#1, %4, %0) {sched.location = "others.py:18:13", sched.name = "c"} : (!ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token, tensor<128x128xf32, #linear>, i1) -> !ttg.async.token
    %c_4:2 = "scf.for"(%3, %depth, %2, %c, %c_3) ({
    ^bb0(%k: i32, %c_15: i1, %c_16: !ttg.async.token):
      %a = "tt.descriptor_load"(%a_desc, %row_0, %k) {sched.location = "others.py:16:13", sched.name = "a", sched.stage = 0 : i32, sched.cluster = 2 : i32} : (!tt.tensordesc<128x64xf16, #shared>, i32, i32) -> tensor<128x64xf16, #blocked>
      %a_17 = "ttg.local_alloc"(%a) {sched.location = "others.py:16:13", sched.name = "a", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128x64xf16, #blocked>) -> !ttg.memdesc<128x64xf16, #shared, #smem>
      %b = "tt.descriptor_load"(%b_desc, %k, %column_1) {sched.location = "others.py:17:13", sched.name = "b", sched.stage = 0 : i32, sched.cluster = 2 : i32} : (!tt.tensordesc<64x128xf16, #shared>, i32, i32) -> tensor<64x128xf16, #blocked1>
      %b_18 = "ttg.local_alloc"(%b) {sched.location = "others.py:17:13", sched.name = "b", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x128xf16, #blocked1>) -> !ttg.memdesc<64x128xf16, #shared, #smem>
      %c_19 = "ttng.tc_gen5_mma"(%a_17, %b_18, %c_2#0, %c_16, %c_15, %0) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0>}> {sched.location = "others.py:18:13", sched.name = "c", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (!ttg.memdesc<128x64xf16, #shared, #smem>, !ttg.memdesc<64x128xf16, #shared, #smem>, !ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token, i1, i1) -> !ttg.async.token
      "scf.yield"(%0, %c_19) : (i1, !ttg.async.token) -> ()
    }) {sched.location = "others.py:15:5", sched.name = "k"} : (i32, i32, i32, i1, !ttg.async.token) -> (i1, !ttg.async.token)
    %c_5:2 = "ttng.tmem_load"(%c_2#0, %c_4#1) <{resultSegmentSizes = array<i32: 1, 1, 0>}> {sched.location = "others.py:18:13", sched.name = "c"} : (!ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token) -> (tensor<128x128xf32, #linear>, !ttg.async.token)
    %bias = "tt.addptr"(%bias_ptr, %column_1) {sched.location = "others.py:19:20", sched.name = "bias"} : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
    %bias_6 = "tt.make_range"() <{end = 128 : i32, start = 0 : i32}> {sched.location = "others.py:19:40", sched.name = "bias"} : () -> tensor<128xi32, #blocked2>
    %bias_7 = "tt.splat"(%bias) {sched.location = "others.py:19:20", sched.name = "bias"} : (!tt.ptr<f32>) -> tensor<128x!tt.ptr<f32>, #blocked2>
    %bias_8 = "tt.addptr"(%bias_7, %bias_6) {sched.location = "others.py:19:20", sched.name = "bias"} : (tensor<128x!tt.ptr<f32>, #blocked2>, tensor<128xi32, #blocked2>) -> tensor<128x!tt.ptr<f32>, #blocked2>
    %bias_9 = "tt.load"(%bias_8) <{isVolatile = false, operandSegmentSizes = array<i32: 1, 0, 0>}> {sched.location = "others.py:19:12", sched.name = "bias"} : (tensor<128x!tt.ptr<f32>, #blocked2>) -> tensor<128xf32, #blocked2>
    %c_10 = "ttg.convert_layout"(%bias_9) {sched.trivial = false, sched.location = "others.py:20:20", sched.name = "c"} : (tensor<128xf32, #blocked2>) -> tensor<128xf32, #ttg.slice<{dim = 0, parent = #linear}>>
    %c_11 = "tt.expand_dims"(%c_10) <{axis = 0 : i32}> {sched.location = "others.py:20:24", sched.name = "c"} : (tensor<128xf32, #ttg.slice<{dim = 0, parent = #linear}>>) -> tensor<1x128xf32, #linear>
    %c_12 = "tt.broadcast"(%c_11) {sched.location = "others.py:20:20", sched.name = "c"} : (tensor<1x128xf32, #linear>) -> tensor<128x128xf32, #linear>
    %c_13 = "arith.addf"(%c_5#0, %c_12) <{fastmath = #arith.fastmath<none>}> {sched.location = "others.py:20:20", sched.name = "c"} : (tensor<128x128xf32, #linear>, tensor<128x128xf32, #linear>) -> tensor<128x128xf32, #linear>
    %c_14 = "arith.maxnumf"(%c_13, %4) <{fastmath = #arith.fastmath<none>}> {sched.location = "others.py:20:9", sched.name = "c"} : (tensor<128x128xf32, #linear>, tensor<128x128xf32, #linear>) -> tensor<128x128xf32, #linear>
    %5 = "arith.truncf"(%c_14) {sched.location = "others.py:21:33"} : (tensor<128x128xf32, #linear>) -> tensor<128x128xf16, #linear>
    %6 = "ttg.convert_layout"(%5) {sched.trivial = false, sched.location = "others.py:21:5"} : (tensor<128x128xf16, #linear>) -> tensor<128x128xf16, #blocked1>
    "tt.descriptor_store"(%c_desc, %6, %row_0, %column_1) {sched.location = "others.py:21:5"} : (!tt.tensordesc<128x128xf16, #shared>, tensor<128x128xf16, #blocked1>, i32, i32) -> ()
    "tt.return"() : () -> ()
  }) {noinline = false, sched.location = "others.py:8:1"} : () -> ()
}) {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:100", "ttg.threads-per-warp" = 32 : i32, "ttng.two-ctas" = false} : () -> ()
