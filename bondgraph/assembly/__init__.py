"""Assembly: turn a `Model` and its causality into a `System`, typed statements over named values, still unsorted."""
