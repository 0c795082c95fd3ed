"""Assembly: a `Model` and its causality in; a `System`, typed statements over named values, still unsorted, out."""
