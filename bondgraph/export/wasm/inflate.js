const digits = new Map();
for (let code = 33; code < 127; code++) if (!'"\\<'.includes(String.fromCharCode(code))) digits.set(String.fromCharCode(code), digits.size);
// Bytes packed in a string: zlib data, with 13 bits in two digits, and six in a single digit at the end.
async function inflate(text) {
  const bytes = new Uint8Array(text.length);
  let bits = 0, count = 0, length = 0;
  for (let k = 0; k < text.length; k += 2) {
    const pair = k + 1 < text.length, value = digits.get(text[k]);
    bits = pair ? (bits << 13) | (digits.size * value + digits.get(text[k + 1])) : (bits << 6) | value;
    for (count += pair ? 13 : 6; count >= 8; bits &= (1 << count) - 1) bytes[length++] = bits >> (count -= 8);
  }
  const packed = new Blob([bytes.subarray(0, length)]);
  return new Uint8Array(await new Response(packed.stream().pipeThrough(new DecompressionStream("deflate"))).arrayBuffer());
}
