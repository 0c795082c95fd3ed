"""Steps in; what they solve for, and why one has no answer, in the words of the model, out."""
