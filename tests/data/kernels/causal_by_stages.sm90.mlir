// triton 3.9.0, sm_90
#blocked = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#blocked1 = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#shared1 = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 16}>
#smem = #ttg.shared_memory
"builtin.module"() ({
  "tt.func"() <{arg_attrs = [{}, {tt.divisibility = 16 : i32}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {tt.divisibility = 16 : i32}], function_type = (f32, !tt.ptr<f32>, i32, !tt.tensordesc<128x64xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<64x64xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<64x64xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<128x64xf16, #shared>, i32, i32, i64, i64, i32) -> (), sym_name = "causal_by_stages", sym_visibility = "public"}> ({
  ^bb0(%scale: f32, %logarithms: !tt.ptr<f32>, %heads: i32, %q_desc: !tt.tensordesc<128x64xf16, #shared>, %q_desc.shape.0: i32, %q_desc.shape.1: i32, %q_desc.stride.0: i64, %q_desc.stride.1: i64, %k_desc: !tt.tensordesc<64x64xf16, #shared>, %k_desc.shape.0: i32, %k_desc.shape.1: i32, %k_desc.stride.0: i64, %k_desc.stride.1: i64, %v_desc: !tt.tensordesc<64x64xf16, #shared>, %v_desc.shape.0: i32, %v_desc.shape.1: i32, %v_desc.stride.0: i64, %v_desc.stride.1: i64, %o_desc: !tt.tensordesc<128x64xf16, #shared>, %o_desc.shape.0: i32, %o_desc.shape.1: i32, %o_desc.stride.0: i64, %o_desc.stride.1: i64, %length: i32):
    %0 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<128x64xf32, #mma>}> : () -> tensor<128x64xf32, #mma>
    %sums = "arith.constant"() <{value = dense<1.000000e+00> : tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>}> {sched.location = "others.py:200:12", sched.name = "sums"} : () -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>
    %maxima = "arith.constant"() <{value = dense<0xFF800000> : tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>}> {sched.location = "others.py:199:14", sched.name = "maxima"} : () -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>
    %1 = "arith.constant"() <{value = 64 : i32}> : () -> i32
    %2 = "arith.constant"() <{value = 128 : i32}> : () -> i32
    %scale_0 = "arith.constant"() <{value = 1.44269502 : f32}> {sched.location = "others.py:202:5", sched.name = "scale"} : () -> f32
    %3 = "arith.constant"() <{value = 0 : i32}> : () -> i32
    %4 = "arith.constant"() <{value = 1 : i32}> {sched.location = "others.py:205:31"} : () -> i32
    %5 = "arith.constant"() <{value = dense<-1.000000e+06> : tensor<128x64xf32, #mma>}> {sched.location = "others.py:205:31"} : () -> tensor<128x64xf32, #mma>
    %6 = "tt.get_program_id"() <{axis = 0 : i32}> {sched.location = "others.py:196:19"} : () -> i32
    %7 = "tt.get_program_id"() <{axis = 1 : i32}> {sched.location = "others.py:196:37"} : () -> i32
    %begin = "arith.divsi"(%7, %heads) {sched.location = "others.py:197:13", sched.name = "begin"} : (i32, i32) -> i32
    %begin_1 = "arith.muli"(%length, %heads) <{overflowFlags = #arith.overflow<none>}> {sched.location = "others.py:197:30", sched.name = "begin"} : (i32, i32) -> i32
    %begin_2 = "arith.muli"(%begin, %begin_1) <{overflowFlags = #arith.overflow<none>}> {sched.location = "others.py:197:13", sched.name = "begin"} : (i32, i32) -> i32
    %begin_3 = "arith.remsi"(%7, %heads) {sched.location = "others.py:197:48", sched.name = "begin"} : (i32, i32) -> i32
    %begin_4 = "arith.muli"(%begin_3, %length) <{overflowFlags = #arith.overflow<none>}> {sched.location = "others.py:197:48", sched.name = "begin"} : (i32, i32) -> i32
    %begin_5 = "arith.addi"(%begin_2, %begin_4) <{overflowFlags = #arith.overflow<none>}> {sched.location = "others.py:197:13", sched.name = "begin"} : (i32, i32) -> i32
    %queries = "arith.muli"(%6, %2) <{overflowFlags = #arith.overflow<none>}> {sched.location = "others.py:198:15", sched.name = "queries"} : (i32, i32) -> i32
    %queries_6 = "tt.make_range"() <{end = 128 : i32, start = 0 : i32}> {sched.location = "others.py:198:27", sched.name = "queries"} : () -> tensor<128xi32, #ttg.slice<{dim = 1, parent = #mma}>>
    %queries_7 = "tt.make_range"() <{end = 128 : i32, start = 0 : i32}> {sched.location = "others.py:198:27", sched.name = "queries"} : () -> tensor<128xi32, #blocked>
    %queries_8 = "tt.splat"(%queries) {sched.location = "others.py:198:15", sched.name = "queries"} : (i32) -> tensor<128xi32, #ttg.slice<{dim = 1, parent = #mma}>>
    %queries_9 = "tt.splat"(%queries) {sched.location = "others.py:198:15", sched.name = "queries"} : (i32) -> tensor<128xi32, #blocked>
    %queries_10 = "arith.addi"(%queries_8, %queries_6) <{overflowFlags = #arith.overflow<none>}> {sched.location = "others.py:198:15", sched.name = "queries"} : (tensor<128xi32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<128xi32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<128xi32, #ttg.slice<{dim = 1, parent = #mma}>>
    %queries_11 = "arith.addi"(%queries_9, %queries_7) <{overflowFlags = #arith.overflow<none>}> {sched.location = "others.py:198:15", sched.name = "queries"} : (tensor<128xi32, #blocked>, tensor<128xi32, #blocked>) -> tensor<128xi32, #blocked>
    %scale_12 = "arith.mulf"(%scale, %scale_0) <{fastmath = #arith.fastmath<none>}> {sched.location = "others.py:202:5", sched.name = "scale"} : (f32, f32) -> f32
    %q = "arith.addi"(%begin_5, %queries) <{overflowFlags = #arith.overflow<none>}> {sched.location = "others.py:203:22", sched.name = "q"} : (i32, i32) -> i32
    %q_13 = "tt.descriptor_load"(%q_desc, %q, %3) {sched.location = "others.py:203:9", sched.name = "q"} : (!tt.tensordesc<128x64xf16, #shared>, i32, i32) -> tensor<128x64xf16, #blocked1>
    %q_14 = "ttg.local_alloc"(%q_13) {sched.location = "others.py:203:9", sched.name = "q"} : (tensor<128x64xf16, #blocked1>) -> !ttg.memdesc<128x64xf16, #shared, #smem>
    %larger = "tt.splat"(%scale_12) {sched.location = "others.py:205:31"} : (f32) -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>
    %s = "tt.splat"(%scale_12) {sched.location = "others.py:205:31"} : (f32) -> tensor<128x64xf32, #mma>
    %row:4 = "scf.for"(%3, %queries, %1, %0, %sums, %maxima, %begin_5) ({
    ^bb0(%start: i32, %total: tensor<128x64xf32, #mma>, %sums_58: tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>, %maxima_59: tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>, %row_60: i32):
      %s_61 = "tt.descriptor_load"(%k_desc, %row_60, %3) {sched.location = "others.py:205:31", sched.stage = 0 : i32, sched.cluster = 3 : i32} : (!tt.tensordesc<64x64xf16, #shared>, i32, i32) -> tensor<64x64xf16, #blocked1>
      %s_62 = "ttg.local_alloc"(%s_61) {sched.location = "others.py:205:31", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xf16, #blocked1>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
      %s_63 = "ttg.memdesc_trans"(%s_62) <{order = array<i32: 1, 0>}> {sched.location = "others.py:205:31", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (!ttg.memdesc<64x64xf16, #shared, #smem>) -> !ttg.memdesc<64x64xf16, #shared1, #smem>
      %s_64 = "ttng.warp_group_dot"(%q_14, %s_63, %0) <{inputPrecision = 0 : i32, isAsync = false, maxNumImpreciseAcc = 0 : i32}> {sched.location = "others.py:205:31", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (!ttg.memdesc<128x64xf16, #shared, #smem>, !ttg.memdesc<64x64xf16, #shared1, #smem>, tensor<128x64xf32, #mma>) -> tensor<128x64xf32, #mma>
      %larger_65 = "tt.reduce"(%s_64) <{axis = 1 : i32}> ({
      ^bb0(%larger_87: f32, %larger_88: f32):
        %larger_89 = "arith.maxnumf"(%larger_87, %larger_88) <{fastmath = #arith.fastmath<none>}> {sched.location = "others.py:205:31"} : (f32, f32) -> f32
        "tt.reduce.return"(%larger_89) : (f32) -> ()
      }) {sched.location = "others.py:205:31", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128x64xf32, #mma>) -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %larger_66 = "arith.mulf"(%larger_65, %larger) <{fastmath = #arith.fastmath<none>}> {sched.location = "others.py:205:31", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %larger_67 = "arith.maxnumf"(%maxima_59, %larger_66) <{fastmath = #arith.fastmath<none>}> {sched.location = "others.py:205:31", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %s_68 = "arith.mulf"(%s_64, %s) <{fastmath = #arith.fastmath<none>}> {sched.location = "others.py:205:31", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128x64xf32, #mma>, tensor<128x64xf32, #mma>) -> tensor<128x64xf32, #mma>
      %s_69 = "tt.expand_dims"(%larger_67) <{axis = 1 : i32}> {sched.location = "others.py:205:31", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<128x1xf32, #mma>
      %s_70 = "tt.broadcast"(%s_69) {sched.location = "others.py:205:31", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128x1xf32, #mma>) -> tensor<128x64xf32, #mma>
      %s_71 = "arith.subf"(%s_68, %s_70) <{fastmath = #arith.fastmath<none>}> {sched.location = "others.py:205:31", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128x64xf32, #mma>, tensor<128x64xf32, #mma>) -> tensor<128x64xf32, #mma>
      %p = "math.exp2"(%s_71) <{fastmath = #arith.fastmath<none>}> {sched.location = "others.py:205:31", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128x64xf32, #mma>) -> tensor<128x64xf32, #mma>
      %rescaling = "arith.subf"(%maxima_59, %larger_67) <{fastmath = #arith.fastmath<none>}> {sched.location = "others.py:205:31", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %rescaling_72 = "math.exp2"(%rescaling) <{fastmath = #arith.fastmath<none>}> {sched.location = "others.py:205:31", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %sums_73 = "arith.mulf"(%sums_58, %rescaling_72) <{fastmath = #arith.fastmath<none>}> {sched.location = "others.py:205:31", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %sums_74 = "tt.reduce"(%p) <{axis = 1 : i32}> ({
      ^bb0(%sums_84: f32, %sums_85: f32):
        %sums_86 = "arith.addf"(%sums_84, %sums_85) <{fastmath = #arith.fastmath<none>}> {sched.location = "others.py:205:31"} : (f32, f32) -> f32
        "tt.reduce.return"(%sums_86) : (f32) -> ()
      }) {sched.location = "others.py:205:31", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128x64xf32, #mma>) -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %sums_75 = "arith.addf"(%sums_73, %sums_74) <{fastmath = #arith.fastmath<none>}> {sched.location = "others.py:205:31", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %v = "tt.descriptor_load"(%v_desc, %row_60, %3) {sched.location = "others.py:205:31", sched.stage = 0 : i32, sched.cluster = 3 : i32} : (!tt.tensordesc<64x64xf16, #shared>, i32, i32) -> tensor<64x64xf16, #blocked1>
      %v_76 = "ttg.local_alloc"(%v) {sched.location = "others.py:205:31", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xf16, #blocked1>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
      %total_77 = "arith.truncf"(%p) {sched.location = "others.py:205:31", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128x64xf32, #mma>) -> tensor<128x64xf16, #mma>
      %total_78 = "tt.expand_dims"(%rescaling_72) <{axis = 1 : i32}> {sched.location = "others.py:205:31", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<128x1xf32, #mma>
      %total_79 = "tt.broadcast"(%total_78) {sched.location = "others.py:205:31", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128x1xf32, #mma>) -> tensor<128x64xf32, #mma>
      %total_80 = "arith.mulf"(%total, %total_79) <{fastmath = #arith.fastmath<none>}> {sched.location = "others.py:205:31", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128x64xf32, #mma>, tensor<128x64xf32, #mma>) -> tensor<128x64xf32, #mma>
      %total_81 = "ttg.convert_layout"(%total_77) {sched.trivial = true, sched.location = "others.py:205:31", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128x64xf16, #mma>) -> tensor<128x64xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>
      %total_82 = "ttng.warp_group_dot"(%total_81, %v_76, %total_80) <{inputPrecision = 0 : i32, isAsync = false, maxNumImpreciseAcc = 0 : i32}> {sched.location = "others.py:205:31", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128x64xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>, !ttg.memdesc<64x64xf16, #shared, #smem>, tensor<128x64xf32, #mma>) -> tensor<128x64xf32, #mma>
      %row_83 = "arith.addi"(%row_60, %1) <{overflowFlags = #arith.overflow<none>}> {sched.location = "others.py:205:31", sched.stage = 1 : i32, sched.cluster = 2 : i32} : (i32, i32) -> i32
      "scf.yield"(%total_82, %sums_75, %larger_67, %row_83) : (tensor<128x64xf32, #mma>, tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>, i32) -> ()
    }) {sched.location = "others.py:205:31"} : (i32, i32, i32, tensor<128x64xf32, #mma>, tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>, i32) -> (tensor<128x64xf32, #mma>, tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>, i32)
    %8 = "arith.muli"(%6, %2) <{overflowFlags = #arith.overflow<none>}> {tt.divisibility = dense<128> : tensor<1xi32>, sched.location = "others.py:205:31"} : (i32, i32) -> i32
    %9 = "arith.addi"(%6, %4) <{overflowFlags = #arith.overflow<none>}> {sched.location = "others.py:205:31"} : (i32, i32) -> i32
    %10 = "arith.muli"(%9, %2) <{overflowFlags = #arith.overflow<none>}> {sched.location = "others.py:205:31"} : (i32, i32) -> i32
    %row_15 = "arith.addi"(%begin_5, %8) <{overflowFlags = #arith.overflow<none>}> {sched.location = "others.py:205:31"} : (i32, i32) -> i32
    %seen = "tt.expand_dims"(%queries_10) <{axis = 1 : i32}> {sched.location = "others.py:205:31"} : (tensor<128xi32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<128x1xi32, #mma>
    %seen_16 = "tt.make_range"() <{end = 64 : i32, start = 0 : i32}> {sched.location = "others.py:205:31"} : () -> tensor<64xi32, #ttg.slice<{dim = 0, parent = #mma}>>
    %seen_17 = "tt.expand_dims"(%seen_16) <{axis = 0 : i32}> {sched.location = "others.py:205:31"} : (tensor<64xi32, #ttg.slice<{dim = 0, parent = #mma}>>) -> tensor<1x64xi32, #mma>
    %seen_18 = "tt.broadcast"(%seen) {sched.location = "others.py:205:31"} : (tensor<128x1xi32, #mma>) -> tensor<128x64xi32, #mma>
    %s_19 = "tt.splat"(%scale_12) {sched.location = "others.py:205:31"} : (f32) -> tensor<128x64xf32, #mma>
    %row_20:4 = "scf.for"(%8, %10, %1, %row#0, %row#1, %row#2, %row_15) ({
    ^bb0(%start: i32, %total: tensor<128x64xf32, #mma>, %sums_21: tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>, %maxima_22: tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>, %row_23: i32):
      %s_24 = "tt.descriptor_load"(%k_desc, %row_23, %3) {sched.location = "others.py:205:31", sched.stage = 0 : i32, sched.cluster = 3 : i32} : (!tt.tensordesc<64x64xf16, #shared>, i32, i32) -> tensor<64x64xf16, #blocked1>
      %s_25 = "ttg.local_alloc"(%s_24) {sched.location = "others.py:205:31", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xf16, #blocked1>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
      %s_26 = "ttg.memdesc_trans"(%s_25) <{order = array<i32: 1, 0>}> {sched.location = "others.py:205:31", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (!ttg.memdesc<64x64xf16, #shared, #smem>) -> !ttg.memdesc<64x64xf16, #shared1, #smem>
      %s_27 = "ttng.warp_group_dot"(%q_14, %s_26, %0) <{inputPrecision = 0 : i32, isAsync = false, maxNumImpreciseAcc = 0 : i32}> {sched.location = "others.py:205:31", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (!ttg.memdesc<128x64xf16, #shared, #smem>, !ttg.memdesc<64x64xf16, #shared1, #smem>, tensor<128x64xf32, #mma>) -> tensor<128x64xf32, #mma>
      %seen_28 = "tt.splat"(%start) {sched.location = "others.py:205:31", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (i32) -> tensor<1x64xi32, #mma>
      %seen_29 = "arith.addi"(%seen_28, %seen_17) <{overflowFlags = #arith.overflow<none>}> {sched.location = "others.py:205:31", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<1x64xi32, #mma>, tensor<1x64xi32, #mma>) -> tensor<1x64xi32, #mma>
      %seen_30 = "tt.broadcast"(%seen_29) {sched.location = "others.py:205:31", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<1x64xi32, #mma>) -> tensor<128x64xi32, #mma>
      %seen_31 = "arith.cmpi"(%seen_18, %seen_30) <{predicate = 5 : i64}> {sched.location = "others.py:205:31", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128x64xi32, #mma>, tensor<128x64xi32, #mma>) -> tensor<128x64xi1, #mma>
      %s_32 = "arith.mulf"(%s_27, %s_19) <{fastmath = #arith.fastmath<none>}> {sched.location = "others.py:205:31", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128x64xf32, #mma>, tensor<128x64xf32, #mma>) -> tensor<128x64xf32, #mma>
      %s_33 = "arith.select"(%seen_31, %0, %5) {sched.location = "others.py:205:31", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128x64xi1, #mma>, tensor<128x64xf32, #mma>, tensor<128x64xf32, #mma>) -> tensor<128x64xf32, #mma>
      %s_34 = "arith.addf"(%s_32, %s_33) <{fastmath = #arith.fastmath<none>}> {sched.location = "others.py:205:31", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128x64xf32, #mma>, tensor<128x64xf32, #mma>) -> tensor<128x64xf32, #mma>
      %larger_35 = "tt.reduce"(%s_34) <{axis = 1 : i32}> ({
      ^bb0(%larger_55: f32, %larger_56: f32):
        %larger_57 = "arith.maxnumf"(%larger_55, %larger_56) <{fastmath = #arith.fastmath<none>}> {sched.location = "others.py:205:31"} : (f32, f32) -> f32
        "tt.reduce.return"(%larger_57) : (f32) -> ()
      }) {sched.location = "others.py:205:31", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128x64xf32, #mma>) -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %larger_36 = "arith.maxnumf"(%maxima_22, %larger_35) <{fastmath = #arith.fastmath<none>}> {sched.location = "others.py:205:31", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %s_37 = "tt.expand_dims"(%larger_36) <{axis = 1 : i32}> {sched.location = "others.py:205:31", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<128x1xf32, #mma>
      %s_38 = "tt.broadcast"(%s_37) {sched.location = "others.py:205:31", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128x1xf32, #mma>) -> tensor<128x64xf32, #mma>
      %s_39 = "arith.subf"(%s_34, %s_38) <{fastmath = #arith.fastmath<none>}> {sched.location = "others.py:205:31", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128x64xf32, #mma>, tensor<128x64xf32, #mma>) -> tensor<128x64xf32, #mma>
      %p = "math.exp2"(%s_39) <{fastmath = #arith.fastmath<none>}> {sched.location = "others.py:205:31", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128x64xf32, #mma>) -> tensor<128x64xf32, #mma>
      %rescaling = "arith.subf"(%maxima_22, %larger_36) <{fastmath = #arith.fastmath<none>}> {sched.location = "others.py:205:31", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %rescaling_40 = "math.exp2"(%rescaling) <{fastmath = #arith.fastmath<none>}> {sched.location = "others.py:205:31", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %sums_41 = "arith.mulf"(%sums_21, %rescaling_40) <{fastmath = #arith.fastmath<none>}> {sched.location = "others.py:205:31", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %sums_42 = "tt.reduce"(%p) <{axis = 1 : i32}> ({
      ^bb0(%sums_52: f32, %sums_53: f32):
        %sums_54 = "arith.addf"(%sums_52, %sums_53) <{fastmath = #arith.fastmath<none>}> {sched.location = "others.py:205:31"} : (f32, f32) -> f32
        "tt.reduce.return"(%sums_54) : (f32) -> ()
      }) {sched.location = "others.py:205:31", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128x64xf32, #mma>) -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %sums_43 = "arith.addf"(%sums_41, %sums_42) <{fastmath = #arith.fastmath<none>}> {sched.location = "others.py:205:31", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>
      %v = "tt.descriptor_load"(%v_desc, %row_23, %3) {sched.location = "others.py:205:31", sched.stage = 0 : i32, sched.cluster = 3 : i32} : (!tt.tensordesc<64x64xf16, #shared>, i32, i32) -> tensor<64x64xf16, #blocked1>
      %v_44 = "ttg.local_alloc"(%v) {sched.location = "others.py:205:31", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xf16, #blocked1>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
      %total_45 = "arith.truncf"(%p) {sched.location = "others.py:205:31", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128x64xf32, #mma>) -> tensor<128x64xf16, #mma>
      %total_46 = "tt.expand_dims"(%rescaling_40) <{axis = 1 : i32}> {sched.location = "others.py:205:31", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<128x1xf32, #mma>
      %total_47 = "tt.broadcast"(%total_46) {sched.location = "others.py:205:31", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128x1xf32, #mma>) -> tensor<128x64xf32, #mma>
      %total_48 = "arith.mulf"(%total, %total_47) <{fastmath = #arith.fastmath<none>}> {sched.location = "others.py:205:31", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128x64xf32, #mma>, tensor<128x64xf32, #mma>) -> tensor<128x64xf32, #mma>
      %total_49 = "ttg.convert_layout"(%total_45) {sched.trivial = true, sched.location = "others.py:205:31", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128x64xf16, #mma>) -> tensor<128x64xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>
      %total_50 = "ttng.warp_group_dot"(%total_49, %v_44, %total_48) <{inputPrecision = 0 : i32, isAsync = false, maxNumImpreciseAcc = 0 : i32}> {sched.location = "others.py:205:31", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128x64xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>, !ttg.memdesc<64x64xf16, #shared, #smem>, tensor<128x64xf32, #mma>) -> tensor<128x64xf32, #mma>
      %row_51 = "arith.addi"(%row_23, %1) <{overflowFlags = #arith.overflow<none>}> {sched.location = "others.py:205:31", sched.stage = 1 : i32, sched.cluster = 2 : i32} : (i32, i32) -> i32
      "scf.yield"(%total_50, %sums_43, %larger_36, %row_51) : (tensor<128x64xf32, #mma>, tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>, i32) -> ()
    }) {sched.location = "others.py:205:31"} : (i32, i32, i32, tensor<128x64xf32, #mma>, tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>, i32) -> (tensor<128x64xf32, #mma>, tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>, i32)
    %11 = "arith.muli"(%7, %length) <{overflowFlags = #arith.overflow<none>}> {sched.location = "others.py:220:27"} : (i32, i32) -> i32
    %12 = "tt.addptr"(%logarithms, %11) {sched.location = "others.py:220:14"} : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
    %13 = "tt.splat"(%12) {sched.location = "others.py:220:14"} : (!tt.ptr<f32>) -> tensor<128x!tt.ptr<f32>, #blocked>
    %14 = "tt.addptr"(%13, %queries_11) {sched.location = "others.py:220:14"} : (tensor<128x!tt.ptr<f32>, #blocked>, tensor<128xi32, #blocked>) -> tensor<128x!tt.ptr<f32>, #blocked>
    %15 = "math.log2"(%row_20#1) <{fastmath = #arith.fastmath<none>}> {sched.location = "others.py:220:61"} : (tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>
    %16 = "arith.addf"(%row_20#2, %15) <{fastmath = #arith.fastmath<none>}> {sched.location = "others.py:220:52"} : (tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>, tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>
    %17 = "ttg.convert_layout"(%16) {sched.trivial = false, sched.location = "others.py:220:5"} : (tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<128xf32, #blocked>
    "tt.store"(%14, %17) {sched.location = "others.py:220:5"} : (tensor<128x!tt.ptr<f32>, #blocked>, tensor<128xf32, #blocked>) -> ()
    %18 = "tt.expand_dims"(%row_20#1) <{axis = 1 : i32}> {sched.location = "others.py:221:51"} : (tensor<128xf32, #ttg.slice<{dim = 1, parent = #mma}>>) -> tensor<128x1xf32, #mma>
    %19 = "tt.broadcast"(%18) {sched.location = "others.py:221:43"} : (tensor<128x1xf32, #mma>) -> tensor<128x64xf32, #mma>
    %20 = "arith.divf"(%row_20#0, %19) <{fastmath = #arith.fastmath<none>}> {sched.location = "others.py:221:43"} : (tensor<128x64xf32, #mma>, tensor<128x64xf32, #mma>) -> tensor<128x64xf32, #mma>
    %21 = "arith.truncf"(%20) {sched.location = "others.py:221:42"} : (tensor<128x64xf32, #mma>) -> tensor<128x64xf16, #mma>
    %22 = "ttg.convert_layout"(%21) {sched.trivial = false, sched.location = "others.py:221:5"} : (tensor<128x64xf16, #mma>) -> tensor<128x64xf16, #blocked1>
    "tt.descriptor_store"(%o_desc, %22, %q, %3) {sched.location = "others.py:221:5"} : (!tt.tensordesc<128x64xf16, #shared>, tensor<128x64xf16, #blocked1>, i32, i32) -> ()
    "tt.return"() : () -> ()
  }) {noinline = false, sched.location = "others.py:182:1"} : () -> ()
}) {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32, "ttng.two-ctas" = false} : () -> ()
