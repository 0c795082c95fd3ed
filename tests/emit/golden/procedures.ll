define internal void @largest(ptr %c) noinline {
entry.:
  %l1 = alloca double
  %l6 = alloca i64
  br label %start.
start.:
  %v2 = getelementptr double, ptr %l1, i64 0
  store double 0x0000000000000000, ptr %v2
  %v3 = getelementptr i64, ptr %c, i64 1
  %v4 = load i64, ptr %v3
  %v7 = getelementptr i64, ptr %l6, i64 0
  store i64 0, ptr %v7
  br label %head5
head5:
  %v8 = getelementptr i64, ptr %l6, i64 0
  %v9 = load i64, ptr %v8
  %v10 = icmp slt i64 %v9, %v4
  br i1 %v10, label %body5, label %done5
body5:
  %v11 = getelementptr double, ptr %l1, i64 0
  %v12 = load double, ptr %v11
  %v13 = getelementptr ptr, ptr %c, i64 0
  %v14 = load ptr, ptr %v13
  %v15 = getelementptr double, ptr %v14, i64 %v9
  %v16 = load double, ptr %v15
  %v17.other = fcmp ogt double %v16, %v12
  %v17.extreme = select i1 %v17.other, double %v16, double %v12
  %v17.nan = fcmp uno double %v12, %v12
  %v17 = select i1 %v17.nan, double %v16, double %v17.extreme
  %v18 = getelementptr double, ptr %l1, i64 0
  store double %v17, ptr %v18
  %v19 = getelementptr i64, ptr %l6, i64 0
  %v20 = load i64, ptr %v19
  %v21 = add i64 %v20, 1
  %v22 = getelementptr i64, ptr %l6, i64 0
  store i64 %v21, ptr %v22
  br label %head5
done5:
  %v23 = getelementptr double, ptr %l1, i64 0
  %v24 = load double, ptr %v23
  %v25 = getelementptr double, ptr %c, i64 2
  store double %v24, ptr %v25
  %v26 = getelementptr ptr, ptr %c, i64 3
  %v27 = load ptr, ptr %v26
  %v28 = icmp ne ptr %v27, null
  %v29 = getelementptr double, ptr %l1, i64 0
  %v30 = load double, ptr %v29
  %v31 = fcmp olt double %v30, 0x3FF8000000000000
  %v32 = xor i1 %v31, true
  %v33 = and i1 %v28, %v32
  br i1 %v33, label %then34, label %end34
then34:
  %v35 = getelementptr ptr, ptr %c, i64 3
  %v36 = load ptr, ptr %v35
  %v37 = call i32 %v36(ptr %l1, i32 3)
  br label %end34
end34:
  ret void
}

define i64 @halves(ptr %c, double %least) {
entry.:
  %l6 = alloca double
  %l8 = alloca i64
  br label %start.
start.:
  %v1 = fcmp ogt double %least, 0x0000000000000000
  %v2 = xor i1 %v1, true
  br i1 %v2, label %then3, label %end3
then3:
  ret i64 -1
end3:
  call void @largest(ptr %c)
  %v4 = getelementptr double, ptr %c, i64 2
  %v5 = load double, ptr %v4
  %v7 = getelementptr double, ptr %l6, i64 0
  store double %v5, ptr %v7
  %v9 = getelementptr i64, ptr %l8, i64 0
  store i64 0, ptr %v9
  br label %head10
head10:
  %v11 = getelementptr double, ptr %l6, i64 0
  %v12 = load double, ptr %v11
  %v13 = fcmp olt double %v12, %least
  br i1 %v13, label %then14, label %end14
then14:
  br label %done10
end14:
  %v15 = getelementptr double, ptr %l6, i64 0
  %v16 = load double, ptr %v15
  %v17 = fdiv double %v16, 0x4000000000000000
  %v18 = getelementptr double, ptr %l6, i64 0
  store double %v17, ptr %v18
  %v19 = getelementptr i64, ptr %l8, i64 0
  %v20 = load i64, ptr %v19
  %v21 = add i64 %v20, 1
  %v22 = getelementptr i64, ptr %l8, i64 0
  store i64 %v21, ptr %v22
  br label %head10
done10:
  %v23 = getelementptr i64, ptr %l8, i64 0
  %v24 = load i64, ptr %v23
  ret i64 %v24
}

declare double @llvm.sqrt.f64(double)

declare double @llvm.fabs.f64(double)

declare double @llvm.fma.f64(double, double, double)
