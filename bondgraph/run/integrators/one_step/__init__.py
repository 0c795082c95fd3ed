"""What methods of one step share: one in; the loop around its steps in machine code, with samples, events and clocks, out."""
