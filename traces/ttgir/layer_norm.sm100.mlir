// triton 3.9.0, sm_100
#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [1, 32], warpsPerCTA = [2, 2], order = [1, 0]}>
#blocked1 = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
"builtin.module"() ({
  "tt.func"() <{arg_attrs = [{tt.divisibility = 16 : i32}, {tt.divisibility = 16 : i32}, {tt.divisibility = 16 : i32}, {tt.divisibility = 16 : i32}, {tt.divisibility = 16 : i32}, {}], function_type = (!tt.ptr<f16>, !tt.ptr<f16>, !tt.ptr<f16>, !tt.ptr<f16>, i32, f32) -> (), sym_name = "layer_norm", sym_visibility = "public"}> ({
  ^bb0(%x_ptr: !tt.ptr<f16>, %y_ptr: !tt.ptr<f16>, %weight_ptr: !tt.ptr<f16>, %bias_ptr: !tt.ptr<f16>, %columns: i32, %epsilon: f32):
    %rows = "arith.constant"() <{value = 16 : i32}> {sched.location = "layer_norm.py:12:12", sched.name = "rows"} : () -> i32
    %0 = "arith.constant"() <{value = 0 : i32}> : () -> i32
    %1 = "arith.constant"() <{value = 512 : i32}> : () -> i32
    %2 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<16xf32, #ttg.slice<{dim = 1, parent = #blocked}>>}> : () -> tensor<16xf32, #ttg.slice<{dim = 1, parent = #blocked}>>
    %rows_0 = "tt.get_program_id"() <{axis = 0 : i32}> {sched.location = "layer_norm.py:12:12", sched.name = "rows"} : () -> i32
    %rows_1 = "arith.muli"(%rows_0, %rows) <{overflowFlags = #arith.overflow<none>}> {sched.location = "layer_norm.py:12:12", sched.name = "rows"} : (i32, i32) -> i32
    %rows_2 = "tt.make_range"() <{end = 16 : i32, start = 0 : i32}> {sched.location = "layer_norm.py:12:35", sched.name = "rows"} : () -> tensor<16xi32, #ttg.slice<{dim = 1, parent = #blocked}>>
    %rows_3 = "tt.splat"(%rows_1) {sched.location = "layer_norm.py:12:12", sched.name = "rows"} : (i32) -> tensor<16xi32, #ttg.slice<{dim = 1, parent = #blocked}>>
    %rows_4 = "arith.addi"(%rows_3, %rows_2) <{overflowFlags = #arith.overflow<none>}> {sched.location = "layer_norm.py:12:12", sched.name = "rows"} : (tensor<16xi32, #ttg.slice<{dim = 1, parent = #blocked}>>, tensor<16xi32, #ttg.slice<{dim = 1, parent = #blocked}>>) -> tensor<16xi32, #ttg.slice<{dim = 1, parent = #blocked}>>
    %places = "tt.expand_dims"(%rows_4) <{axis = 1 : i32}> {sched.location = "layer_norm.py:16:18", sched.name = "places"} : (tensor<16xi32, #ttg.slice<{dim = 1, parent = #blocked}>>) -> tensor<16x1xi32, #blocked>
    %places_5 = "tt.splat"(%columns) {sched.location = "layer_norm.py:16:18", sched.name = "places"} : (i32) -> tensor<16x1xi32, #blocked>
    %places_6 = "arith.muli"(%places, %places_5) <{overflowFlags = #arith.overflow<none>}> {sched.location = "layer_norm.py:16:18", sched.name = "places"} : (tensor<16x1xi32, #blocked>, tensor<16x1xi32, #blocked>) -> tensor<16x1xi32, #blocked>
    %places_7 = "tt.make_range"() <{end = 512 : i32, start = 0 : i32}> {sched.location = "layer_norm.py:16:52", sched.name = "places"} : () -> tensor<512xi32, #ttg.slice<{dim = 0, parent = #blocked}>>
    %places_8 = "tt.expand_dims"(%places_7) <{axis = 0 : i32}> {sched.location = "layer_norm.py:16:52", sched.name = "places"} : (tensor<512xi32, #ttg.slice<{dim = 0, parent = #blocked}>>) -> tensor<1x512xi32, #blocked>
    %places_9 = "tt.broadcast"(%places_8) {sched.location = "layer_norm.py:16:18", sched.name = "places"} : (tensor<1x512xi32, #blocked>) -> tensor<16x512xi32, #blocked>
    %x = "tt.splat"(%x_ptr) {sched.location = "layer_norm.py:17:21", sched.name = "x"} : (!tt.ptr<f16>) -> tensor<16x512x!tt.ptr<f16>, #blocked>
    %squares:2 = "scf.for"(%0, %columns, %1, %2, %2) ({
    ^bb0(%start: i32, %sums: tensor<16xf32, #ttg.slice<{dim = 1, parent = #blocked}>>, %squares_52: tensor<16xf32, #ttg.slice<{dim = 1, parent = #blocked}>>):
      %places_53 = "tt.splat"(%start) {sched.location = "layer_norm.py:16:18", sched.name = "places"} : (i32) -> tensor<16x1xi32, #blocked>
      %places_54 = "arith.addi"(%places_6, %places_53) <{overflowFlags = #arith.overflow<none>}> {sched.location = "layer_norm.py:16:18", sched.name = "places"} : (tensor<16x1xi32, #blocked>, tensor<16x1xi32, #blocked>) -> tensor<16x1xi32, #blocked>
      %places_55 = "tt.broadcast"(%places_54) {sched.location = "layer_norm.py:16:18", sched.name = "places"} : (tensor<16x1xi32, #blocked>) -> tensor<16x512xi32, #blocked>
      %places_56 = "arith.addi"(%places_55, %places_9) <{overflowFlags = #arith.overflow<none>}> {sched.location = "layer_norm.py:16:18", sched.name = "places"} : (tensor<16x512xi32, #blocked>, tensor<16x512xi32, #blocked>) -> tensor<16x512xi32, #blocked>
      %x_57 = "tt.addptr"(%x, %places_56) {sched.location = "layer_norm.py:17:21", sched.name = "x"} : (tensor<16x512x!tt.ptr<f16>, #blocked>, tensor<16x512xi32, #blocked>) -> tensor<16x512x!tt.ptr<f16>, #blocked>
      %x_58 = "tt.load"(%x_57) <{isVolatile = false, operandSegmentSizes = array<i32: 1, 0, 0>}> {sched.location = "layer_norm.py:17:13", sched.name = "x"} : (tensor<16x512x!tt.ptr<f16>, #blocked>) -> tensor<16x512xf16, #blocked>
      %x_59 = "arith.extf"(%x_58) {sched.location = "layer_norm.py:17:13", sched.name = "x"} : (tensor<16x512xf16, #blocked>) -> tensor<16x512xf32, #blocked>
      %sums_60 = "tt.reduce"(%x_59) <{axis = 1 : i32}> ({
      ^bb0(%sums_68: f32, %sums_69: f32):
        %sums_70 = "arith.addf"(%sums_68, %sums_69) <{fastmath = #arith.fastmath<none>}> {sched.location = "layer_norm.py:18:17", sched.name = "sums"} : (f32, f32) -> f32
        "tt.reduce.return"(%sums_70) : (f32) -> ()
      }) {sched.location = "layer_norm.py:18:17", sched.name = "sums"} : (tensor<16x512xf32, #blocked>) -> tensor<16xf32, #ttg.slice<{dim = 1, parent = #blocked}>>
      %sums_61 = "arith.addf"(%sums, %sums_60) <{fastmath = #arith.fastmath<none>}> {sched.location = "layer_norm.py:18:9", sched.name = "sums"} : (tensor<16xf32, #ttg.slice<{dim = 1, parent = #blocked}>>, tensor<16xf32, #ttg.slice<{dim = 1, parent = #blocked}>>) -> tensor<16xf32, #ttg.slice<{dim = 1, parent = #blocked}>>
      %squares_62 = "arith.mulf"(%x_59, %x_59) <{fastmath = #arith.fastmath<none>}> {sched.location = "layer_norm.py:19:27", sched.name = "squares"} : (tensor<16x512xf32, #blocked>, tensor<16x512xf32, #blocked>) -> tensor<16x512xf32, #blocked>
      %squares_63 = "tt.reduce"(%squares_62) <{axis = 1 : i32}> ({
      ^bb0(%squares_65: f32, %squares_66: f32):
        %squares_67 = "arith.addf"(%squares_65, %squares_66) <{fastmath = #arith.fastmath<none>}> {sched.location = "layer_norm.py:19:20", sched.name = "squares"} : (f32, f32) -> f32
        "tt.reduce.return"(%squares_67) : (f32) -> ()
      }) {sched.location = "layer_norm.py:19:20", sched.name = "squares"} : (tensor<16x512xf32, #blocked>) -> tensor<16xf32, #ttg.slice<{dim = 1, parent = #blocked}>>
      %squares_64 = "arith.addf"(%squares_52, %squares_63) <{fastmath = #arith.fastmath<none>}> {sched.location = "layer_norm.py:19:9", sched.name = "squares"} : (tensor<16xf32, #ttg.slice<{dim = 1, parent = #blocked}>>, tensor<16xf32, #ttg.slice<{dim = 1, parent = #blocked}>>) -> tensor<16xf32, #ttg.slice<{dim = 1, parent = #blocked}>>
      "scf.yield"(%sums_61, %squares_64) : (tensor<16xf32, #ttg.slice<{dim = 1, parent = #blocked}>>, tensor<16xf32, #ttg.slice<{dim = 1, parent = #blocked}>>) -> ()
    }) {sched.location = "layer_norm.py:15:5", sched.name = "start"} : (i32, i32, i32, tensor<16xf32, #ttg.slice<{dim = 1, parent = #blocked}>>, tensor<16xf32, #ttg.slice<{dim = 1, parent = #blocked}>>) -> (tensor<16xf32, #ttg.slice<{dim = 1, parent = #blocked}>>, tensor<16xf32, #ttg.slice<{dim = 1, parent = #blocked}>>)
    %mean = "arith.sitofp"(%columns) {sched.location = "layer_norm.py:20:12", sched.name = "mean"} : (i32) -> f32
    %mean_10 = "tt.splat"(%mean) {sched.location = "layer_norm.py:20:12", sched.name = "mean"} : (f32) -> tensor<16xf32, #ttg.slice<{dim = 1, parent = #blocked}>>
    %mean_11 = "arith.divf"(%squares#0, %mean_10) <{fastmath = #arith.fastmath<none>}> {sched.location = "layer_norm.py:20:12", sched.name = "mean"} : (tensor<16xf32, #ttg.slice<{dim = 1, parent = #blocked}>>, tensor<16xf32, #ttg.slice<{dim = 1, parent = #blocked}>>) -> tensor<16xf32, #ttg.slice<{dim = 1, parent = #blocked}>>
    %inverse = "arith.divf"(%squares#1, %mean_10) <{fastmath = #arith.fastmath<none>}> {sched.location = "layer_norm.py:21:24", sched.name = "inverse"} : (tensor<16xf32, #ttg.slice<{dim = 1, parent = #blocked}>>, tensor<16xf32, #ttg.slice<{dim = 1, parent = #blocked}>>) -> tensor<16xf32, #ttg.slice<{dim = 1, parent = #blocked}>>
    %inverse_12 = "arith.mulf"(%mean_11, %mean_11) <{fastmath = #arith.fastmath<none>}> {sched.location = "layer_norm.py:21:44", sched.name = "inverse"} : (tensor<16xf32, #ttg.slice<{dim = 1, parent = #blocked}>>, tensor<16xf32, #ttg.slice<{dim = 1, parent = #blocked}>>) -> tensor<16xf32, #ttg.slice<{dim = 1, parent = #blocked}>>
    %inverse_13 = "arith.subf"(%inverse, %inverse_12) <{fastmath = #arith.fastmath<none>}> {sched.location = "layer_norm.py:21:24", sched.name = "inverse"} : (tensor<16xf32, #ttg.slice<{dim = 1, parent = #blocked}>>, tensor<16xf32, #ttg.slice<{dim = 1, parent = #blocked}>>) -> tensor<16xf32, #ttg.slice<{dim = 1, parent = #blocked}>>
    %inverse_14 = "tt.splat"(%epsilon) {sched.location = "layer_norm.py:21:24", sched.name = "inverse"} : (f32) -> tensor<16xf32, #ttg.slice<{dim = 1, parent = #blocked}>>
    %inverse_15 = "arith.addf"(%inverse_13, %inverse_14) <{fastmath = #arith.fastmath<none>}> {sched.location = "layer_norm.py:21:24", sched.name = "inverse"} : (tensor<16xf32, #ttg.slice<{dim = 1, parent = #blocked}>>, tensor<16xf32, #ttg.slice<{dim = 1, parent = #blocked}>>) -> tensor<16xf32, #ttg.slice<{dim = 1, parent = #blocked}>>
    %inverse_16 = "math.rsqrt"(%inverse_15) <{fastmath = #arith.fastmath<none>}> {sched.location = "layer_norm.py:21:15", sched.name = "inverse"} : (tensor<16xf32, #ttg.slice<{dim = 1, parent = #blocked}>>) -> tensor<16xf32, #ttg.slice<{dim = 1, parent = #blocked}>>
    %block = "tt.make_range"() <{end = 512 : i32, start = 0 : i32}> {sched.location = "layer_norm.py:23:25", sched.name = "block"} : () -> tensor<512xi32, #blocked1>
    %block_17 = "tt.make_range"() <{end = 512 : i32, start = 0 : i32}> {sched.location = "layer_norm.py:23:25", sched.name = "block"} : () -> tensor<512xi32, #ttg.slice<{dim = 0, parent = #blocked}>>
    %places_18 = "tt.expand_dims"(%rows_4) <{axis = 1 : i32}> {sched.location = "layer_norm.py:24:18", sched.name = "places"} : (tensor<16xi32, #ttg.slice<{dim = 1, parent = #blocked}>>) -> tensor<16x1xi32, #blocked>
    %places_19 = "tt.splat"(%columns) {sched.location = "layer_norm.py:24:18", sched.name = "places"} : (i32) -> tensor<16x1xi32, #blocked>
    %places_20 = "arith.muli"(%places_18, %places_19) <{overflowFlags = #arith.overflow<none>}> {sched.location = "layer_norm.py:24:18", sched.name = "places"} : (tensor<16x1xi32, #blocked>, tensor<16x1xi32, #blocked>) -> tensor<16x1xi32, #blocked>
    %places_21 = "tt.broadcast"(%places_20) {sched.location = "layer_norm.py:24:18", sched.name = "places"} : (tensor<16x1xi32, #blocked>) -> tensor<16x512xi32, #blocked>
    %weight = "tt.splat"(%weight_ptr) {sched.location = "layer_norm.py:25:26", sched.name = "weight"} : (!tt.ptr<f16>) -> tensor<512x!tt.ptr<f16>, #blocked1>
    %bias = "tt.splat"(%bias_ptr) {sched.location = "layer_norm.py:26:24", sched.name = "bias"} : (!tt.ptr<f16>) -> tensor<512x!tt.ptr<f16>, #blocked1>
    %x_22 = "tt.splat"(%x_ptr) {sched.location = "layer_norm.py:27:21", sched.name = "x"} : (!tt.ptr<f16>) -> tensor<16x512x!tt.ptr<f16>, #blocked>
    %y = "tt.expand_dims"(%mean_11) <{axis = 1 : i32}> {sched.location = "layer_norm.py:28:18", sched.name = "y"} : (tensor<16xf32, #ttg.slice<{dim = 1, parent = #blocked}>>) -> tensor<16x1xf32, #blocked>
    %y_23 = "tt.broadcast"(%y) {sched.location = "layer_norm.py:28:14", sched.name = "y"} : (tensor<16x1xf32, #blocked>) -> tensor<16x512xf32, #blocked>
    %y_24 = "tt.expand_dims"(%inverse_16) <{axis = 1 : i32}> {sched.location = "layer_norm.py:28:35", sched.name = "y"} : (tensor<16xf32, #ttg.slice<{dim = 1, parent = #blocked}>>) -> tensor<16x1xf32, #blocked>
    %y_25 = "tt.broadcast"(%y_24) {sched.location = "layer_norm.py:28:13", sched.name = "y"} : (tensor<16x1xf32, #blocked>) -> tensor<16x512xf32, #blocked>
    %3 = "tt.splat"(%y_ptr) {sched.location = "layer_norm.py:29:18"} : (!tt.ptr<f16>) -> tensor<16x512x!tt.ptr<f16>, #blocked>
    "scf.for"(%0, %columns, %1) ({
    ^bb0(%again: i32):
      %block_26 = "tt.splat"(%again) {sched.location = "layer_norm.py:23:17", sched.name = "block"} : (i32) -> tensor<512xi32, #blocked1>
      %block_27 = "tt.splat"(%again) {sched.location = "layer_norm.py:23:17", sched.name = "block"} : (i32) -> tensor<512xi32, #ttg.slice<{dim = 0, parent = #blocked}>>
      %block_28 = "arith.addi"(%block_26, %block) <{overflowFlags = #arith.overflow<none>}> {sched.location = "layer_norm.py:23:17", sched.name = "block"} : (tensor<512xi32, #blocked1>, tensor<512xi32, #blocked1>) -> tensor<512xi32, #blocked1>
      %block_29 = "arith.addi"(%block_27, %block_17) <{overflowFlags = #arith.overflow<none>}> {sched.location = "layer_norm.py:23:17", sched.name = "block"} : (tensor<512xi32, #ttg.slice<{dim = 0, parent = #blocked}>>, tensor<512xi32, #ttg.slice<{dim = 0, parent = #blocked}>>) -> tensor<512xi32, #ttg.slice<{dim = 0, parent = #blocked}>>
      %places_30 = "tt.expand_dims"(%block_29) <{axis = 0 : i32}> {sched.location = "layer_norm.py:24:44", sched.name = "places"} : (tensor<512xi32, #ttg.slice<{dim = 0, parent = #blocked}>>) -> tensor<1x512xi32, #blocked>
      %places_31 = "tt.broadcast"(%places_30) {sched.location = "layer_norm.py:24:18", sched.name = "places"} : (tensor<1x512xi32, #blocked>) -> tensor<16x512xi32, #blocked>
      %places_32 = "arith.addi"(%places_21, %places_31) <{overflowFlags = #arith.overflow<none>}> {sched.location = "layer_norm.py:24:18", sched.name = "places"} : (tensor<16x512xi32, #blocked>, tensor<16x512xi32, #blocked>) -> tensor<16x512xi32, #blocked>
      %weight_33 = "tt.addptr"(%weight, %block_28) {sched.location = "layer_norm.py:25:26", sched.name = "weight"} : (tensor<512x!tt.ptr<f16>, #blocked1>, tensor<512xi32, #blocked1>) -> tensor<512x!tt.ptr<f16>, #blocked1>
      %weight_34 = "tt.load"(%weight_33) <{isVolatile = false, operandSegmentSizes = array<i32: 1, 0, 0>}> {sched.location = "layer_norm.py:25:18", sched.name = "weight"} : (tensor<512x!tt.ptr<f16>, #blocked1>) -> tensor<512xf16, #blocked1>
      %weight_35 = "arith.extf"(%weight_34) {sched.location = "layer_norm.py:25:18", sched.name = "weight"} : (tensor<512xf16, #blocked1>) -> tensor<512xf32, #blocked1>
      %bias_36 = "tt.addptr"(%bias, %block_28) {sched.location = "layer_norm.py:26:24", sched.name = "bias"} : (tensor<512x!tt.ptr<f16>, #blocked1>, tensor<512xi32, #blocked1>) -> tensor<512x!tt.ptr<f16>, #blocked1>
      %bias_37 = "tt.load"(%bias_36) <{isVolatile = false, operandSegmentSizes = array<i32: 1, 0, 0>}> {sched.location = "layer_norm.py:26:16", sched.name = "bias"} : (tensor<512x!tt.ptr<f16>, #blocked1>) -> tensor<512xf16, #blocked1>
      %bias_38 = "arith.extf"(%bias_37) {sched.location = "layer_norm.py:26:16", sched.name = "bias"} : (tensor<512xf16, #blocked1>) -> tensor<512xf32, #blocked1>
      %x_39 = "tt.addptr"(%x_22, %places_32) {sched.location = "layer_norm.py:27:21", sched.name = "x"} : (tensor<16x512x!tt.ptr<f16>, #blocked>, tensor<16x512xi32, #blocked>) -> tensor<16x512x!tt.ptr<f16>, #blocked>
      %x_40 = "tt.load"(%x_39) <{isVolatile = false, operandSegmentSizes = array<i32: 1, 0, 0>}> {sched.location = "layer_norm.py:27:13", sched.name = "x"} : (tensor<16x512x!tt.ptr<f16>, #blocked>) -> tensor<16x512xf16, #blocked>
      %x_41 = "arith.extf"(%x_40) {sched.location = "layer_norm.py:27:13", sched.name = "x"} : (tensor<16x512xf16, #blocked>) -> tensor<16x512xf32, #blocked>
      %y_42 = "arith.subf"(%x_41, %y_23) <{fastmath = #arith.fastmath<none>}> {sched.location = "layer_norm.py:28:14", sched.name = "y"} : (tensor<16x512xf32, #blocked>, tensor<16x512xf32, #blocked>) -> tensor<16x512xf32, #blocked>
      %y_43 = "arith.mulf"(%y_42, %y_25) <{fastmath = #arith.fastmath<none>}> {sched.location = "layer_norm.py:28:13", sched.name = "y"} : (tensor<16x512xf32, #blocked>, tensor<16x512xf32, #blocked>) -> tensor<16x512xf32, #blocked>
      %y_44 = "ttg.convert_layout"(%weight_35) {sched.trivial = false, sched.location = "layer_norm.py:28:54", sched.name = "y"} : (tensor<512xf32, #blocked1>) -> tensor<512xf32, #ttg.slice<{dim = 0, parent = #blocked}>>
      %y_45 = "tt.expand_dims"(%y_44) <{axis = 0 : i32}> {sched.location = "layer_norm.py:28:54", sched.name = "y"} : (tensor<512xf32, #ttg.slice<{dim = 0, parent = #blocked}>>) -> tensor<1x512xf32, #blocked>
      %y_46 = "tt.broadcast"(%y_45) {sched.location = "layer_norm.py:28:13", sched.name = "y"} : (tensor<1x512xf32, #blocked>) -> tensor<16x512xf32, #blocked>
      %y_47 = "arith.mulf"(%y_43, %y_46) <{fastmath = #arith.fastmath<none>}> {sched.location = "layer_norm.py:28:13", sched.name = "y"} : (tensor<16x512xf32, #blocked>, tensor<16x512xf32, #blocked>) -> tensor<16x512xf32, #blocked>
      %y_48 = "ttg.convert_layout"(%bias_38) {sched.trivial = false, sched.location = "layer_norm.py:28:72", sched.name = "y"} : (tensor<512xf32, #blocked1>) -> tensor<512xf32, #ttg.slice<{dim = 0, parent = #blocked}>>
      %y_49 = "tt.expand_dims"(%y_48) <{axis = 0 : i32}> {sched.location = "layer_norm.py:28:72", sched.name = "y"} : (tensor<512xf32, #ttg.slice<{dim = 0, parent = #blocked}>>) -> tensor<1x512xf32, #blocked>
      %y_50 = "tt.broadcast"(%y_49) {sched.location = "layer_norm.py:28:13", sched.name = "y"} : (tensor<1x512xf32, #blocked>) -> tensor<16x512xf32, #blocked>
      %y_51 = "arith.addf"(%y_47, %y_50) <{fastmath = #arith.fastmath<none>}> {sched.location = "layer_norm.py:28:13", sched.name = "y"} : (tensor<16x512xf32, #blocked>, tensor<16x512xf32, #blocked>) -> tensor<16x512xf32, #blocked>
      %4 = "tt.addptr"(%3, %places_32) {sched.location = "layer_norm.py:29:18"} : (tensor<16x512x!tt.ptr<f16>, #blocked>, tensor<16x512xi32, #blocked>) -> tensor<16x512x!tt.ptr<f16>, #blocked>
      %5 = "arith.truncf"(%y_51) {sched.location = "layer_norm.py:29:34"} : (tensor<16x512xf32, #blocked>) -> tensor<16x512xf16, #blocked>
      "tt.store"(%4, %5) {sched.location = "layer_norm.py:29:9"} : (tensor<16x512x!tt.ptr<f16>, #blocked>, tensor<16x512xf16, #blocked>) -> ()
      "scf.yield"() : () -> ()
    }) {sched.location = "layer_norm.py:22:5", sched.name = "again"} : (i32, i32, i32) -> ()
    "tt.return"() : () -> ()
  }) {noinline = false, sched.location = "layer_norm.py:8:1"} : () -> ()
}) {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:100", "ttg.threads-per-warp" = 32 : i32, "ttng.two-ctas" = false} : () -> ()
