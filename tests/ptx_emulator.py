"""Translator of LLVM's PTX to C, instruction by instruction, with which GPU code runs on any machine, bit for bit.

Threads run one after another, so times are not GPU times; an instruction without a row in the tables is refused.
"""

from __future__ import annotations

import ctypes
import hashlib
import re
import subprocess
from pathlib import Path

HEAD = r"""
#include <math.h>
#include <stdint.h>
#include <string.h>
typedef uint64_t u64; typedef int64_t s64; typedef uint32_t u32; typedef int32_t s32;
typedef uint16_t u16; typedef int16_t s16; typedef uint8_t u8; typedef int8_t s8;
static inline double D(u64 x) { double y; memcpy(&y, &x, 8); return y; }
static inline u64 B(double x) { u64 y; memcpy(&y, &x, 8); return y; }
#define MEMORY(n) \
    static inline u##n L##n(u64 a) { u##n v; memcpy(&v, (void *)(uintptr_t)a, n / 8); return v; } \
    static inline void S##n(u64 a, u##n v) { memcpy((void *)(uintptr_t)a, &v, n / 8); }
MEMORY(8) MEMORY(16) MEMORY(32) MEMORY(64)
static inline double MIN(double x, double y)
{ if (x != x) return y; if (y != y) return x; if (x == y) return signbit(x) ? x : y; return x < y ? x : y; }
static inline double MAX(double x, double y)
{ if (x != x) return y; if (y != y) return x; if (x == y) return signbit(x) ? y : x; return x > y ? x : y; }
static inline s64 TO_S64(double x)
{ return x != x ? INT64_MIN : x >= 0x1p63 ? INT64_MAX : x <= -0x1p63 ? INT64_MIN : (s64)x; }
static u32 tid, ctaid, ntid;
"""

LAUNCH = """
void launch(u64 block_address, u32 grid, u32 block)
{
    ntid = block;
    for (ctaid = 0; ctaid < grid; ctaid++)
        for (tid = 0; tid < block; tid++)
            %s((u8 *)&block_address, 0);
}
"""

_ARITHMETIC = {"add": "+", "sub": "-", "mul": "*", "div": "/", "and": "&", "or": "|", "xor": "^"}
_REALS = {
    **{name: f"{{0}} {_ARITHMETIC[name]} {{1}}" for name in ("add", "sub", "mul", "div")},
    "min": "MIN({0}, {1})",
    "max": "MAX({0}, {1})",
    "sqrt": "sqrt({0})",
    "rcp": "1.0 / {0}",
    "fma": "fma({0}, {1}, {2})",
    "copysign": "copysign({1}, {0})",
}
_ROUNDINGS = {"rmi": "floor", "rpi": "ceil", "rzi": "trunc", "rni": "rint"}
_ORDERED = {"eq": "==", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_UNORDERED = {"equ": "!({0} < {1} || {0} > {1})", "neu": "{0} != {1}", "ltu": "!({0} >= {1})", "leu": "!({0} > {1})"}
_UNORDERED |= {"gtu": "!({0} <= {1})", "geu": "!({0} < {1})", "ne": "({0} < {1} || {0} > {1})"}
_UNORDERED |= {"nan": "({0} != {0} || {1} != {1})", "num": "({0} == {0} && {1} == {1})"}
_SIGNS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "lo": "<", "ls": "<=", "hi": ">", "hs": ">="}
_REGISTERS = {"%tid.x": "tid", "%ctaid.x": "ctaid", "%ntid.x": "ntid"}
_WIDTH = {"pred": 8, "b16": 16, "b32": 32, "b64": 64}


class Emulated:
    def __init__(self, ptx: str, folder: Path, flags: str = "-O1"):
        text = c_text(ptx)
        path = folder / f"ptx_{hashlib.sha256((flags + text).encode()).hexdigest()[:24]}.so"
        if not path.exists():
            source, made = path.with_suffix(".c"), path.with_suffix(".new")
            source.write_text(text)
            exact = ["-ffp-contract=off", "-fno-strict-aliasing", "-w", "-shared", "-fPIC"]
            subprocess.run(["gcc", *flags.split(), *exact, str(source), "-o", str(made), "-lm"], check=True)
            made.replace(path)
        self._launch = ctypes.CDLL(str(path)).launch

    def launch(self, block_address: int, grid: int, block: int) -> None:
        self._launch(ctypes.c_uint64(block_address), ctypes.c_uint32(grid), ctypes.c_uint32(block))


def c_text(ptx: str) -> str:
    body = re.sub(r"//[^\n]*", "", ptx)
    memory = [_array(*found) for found in _ARRAY.findall(body)]
    prototypes, functions = list[str](), list[str]()
    for match in _FUNCTION.finditer(body):
        name, parameters, end = match[1], _PARAMETER.findall(match[2]), match[3]
        if end == ";":
            continue
        arguments = ", ".join([*(f"const u8 *{_named(each)}" for each in parameters), "u8 *func_retval0"])
        head = f"static void {_named(name)}({arguments})"
        prototypes.append(f"{head};")
        functions.append(f"{head}\n{{\n{_function(body[match.end() : body.find(chr(10) + '}', match.end())])}\n}}\n")
    entry = re.search(r"\.visible \.entry (\w+)", body)
    assert entry is not None
    return "\n".join([HEAD, *memory, *prototypes, *functions, LAUNCH % _named(entry[1])])


_ARRAY = re.compile(
    r"^(?:\.visible )?\.(?:global|const|shared)\s+\.align \d+ \.b(\d+) (\S+?)\[(\d+)\](?: = \{([^}]*)\})?;", re.MULTILINE
)
_FUNCTION = re.compile(
    r"^(?:\.visible )?\.(?:func|entry)\s*(?:\([^()]*\))?\s*([\w$.]+)\s*\(([^)]*)\)\s*[^{;]*([{;])", re.MULTILINE
)
_PARAMETER = re.compile(r"\.param [^,]*?([\w$]+)\s*(?:,|$)")


def _array(bits: str, name: str, length: str, content: str) -> str:
    first = f" = {{{content}}}" if content else ""
    return f"static u{bits} {_named(name)}[{length}] __attribute__((aligned(16))){first};"


def _function(body: str) -> str:
    targets = {m[1]: [_named(t.strip()) for t in m[2].split(",")] for m in _TARGETS.finditer(body)}
    body = _TARGETS.sub("", body)
    lines = list[str]()
    for raw in body.split("\n"):
        line = raw.strip()
        if not line or line.startswith((".loc\t", ".loc ", ".pragma")):
            continue
        lines.append("  " + _line(line, targets))
    return "\n".join(lines)


_TARGETS = re.compile(r"(\$L_brx_\d+):\s*\.branchtargets([^;]*);")


def _line(line: str, targets: dict[str, list[str]]) -> str:
    if declared := re.fullmatch(r"\.reg \.(\w+)\s+%(\w+)<(\d+)>;", line):
        return f"u{_WIDTH[declared[1]]} " + ", ".join(f"{declared[2]}{k}" for k in range(int(declared[3]))) + ";"
    if declared := re.fullmatch(r"\.reg \.b64\s+%(\w+);", line):
        return f"u64 {declared[1]};"
    if declared := re.fullmatch(r"\.(local|param|shared)\s+(?:\.align \d+\s+)?\.b(\d+)\s+(\w+)(?:\[(\d+)\])?;", line):
        length, static = declared[4] or int(declared[2]) // 8, "static " if declared[1] == "shared" else ""
        return f"{static}u8 {declared[3]}[{length}] __attribute__((aligned(16)));"
    if label := re.fullmatch(r"(\$L\w+):", line):
        return f"{_named(label[1])}:;"
    if line[0] in "{}":
        return line[0]
    guard = ""
    if guarded := re.match(r"@(!?)%(\w+)\s+(.*)", line):
        guard, line = f"if ({guarded[1]}{guarded[2]}) ", guarded[3]
    operation, _, rest = re.sub(r"\s+", " ", line.rstrip(";")).partition(" ")
    return guard + _statement(operation, rest.strip(), targets)


def _statement(operation: str, rest: str, targets: dict[str, list[str]]) -> str:
    name, *kinds = operation.split(".")
    if name == "bra":
        return f"goto {_named(rest)};"
    if name == "brx":
        register, table = (each.strip() for each in rest.split(","))
        cases = " ".join(f"case {k}: goto {target};" for k, target in enumerate(targets[table]))
        return f"switch ({_value(register)}) {{ {cases} }} __builtin_trap();"
    if name == "ret":
        return "return;"
    if name == "call":
        found = re.fullmatch(r"(?:\((\w+)\), )?([\w$.]+)(?:, \(([^)]*)\))?", rest)
        assert found is not None, rest
        given = [each.strip() for each in (found[3] or "").split(",") if each.strip()]
        return f"{_named(found[2])}({', '.join([*given, found[1] or '0'])});"
    if name in ("ld", "st"):
        return _moved(name, kinds, rest)
    result, *operands = _split(rest)
    if name == "atom":
        place = f"*(u64 *)(uintptr_t)({_address(operands[0])})"
        return f"{{ u64 old = {place}; {place} += {_value(operands[1])}; {_value(result)} = old; }}"
    if name == "setp":
        return f"{_value(result)} = {_compared(kinds, [_value(each) for each in operands])};"
    if name == "mov":
        return f"{_value(result)} = {_REGISTERS.get(operands[0]) or _value(operands[0])};"
    return f"{_value(result)} = {_computed(name, kinds, [_value(each) for each in operands])};"


def _moved(name: str, kinds: list[str], rest: str) -> str:
    bits = int(kinds[-1][1:])
    place = re.search(r"\[([^\]]*)\]", rest)
    assert place is not None, rest
    values = [_value(each.strip()) for each in rest.replace(place[0], "").strip(" ,").strip("{}").split(",")]
    signed = f"(s{bits})" if kinds[-1][0] == "s" else ""
    at = [f"{_address(place[0])} + {k * bits // 8}" for k in range(len(values))]
    if name == "ld":
        return " ".join(f"{value} = {signed}L{bits}({each});" for value, each in zip(values, at, strict=True))
    return " ".join(f"S{bits}({each}, {value});" for value, each in zip(values, at, strict=True))


def _address(place: str) -> str:
    base, _, offset = place.strip("[]").partition("+")
    first = base.strip()
    return f"{_value(first) if first.startswith('%') else f'(u64)(uintptr_t){_named(first)}'} + ({offset or 0})"


def _compared(kinds: list[str], x: list[str]) -> str:
    how, kind = kinds[0], kinds[-1]
    if kind == "f64":
        form = f"{{0}} {_ORDERED[how]} {{1}}" if how in _ORDERED else _UNORDERED[how]
        return form.format(*(f"D({each})" for each in x))
    kind = kind if kind[0] in "su" else f"u{kind[1:]}"
    return f"({kind}){x[0]} {_SIGNS[how]} ({kind}){x[1]}"


def _computed(name: str, kinds: list[str], x: list[str]) -> str:
    kind = kinds[-1]
    if name == "selp":
        return f"{x[2]} ? {x[0]} : {x[1]}"
    if name == "cvta":
        return x[0]
    if name == "cvt":
        return _converted(kinds, x[0])
    if kind == "f64":
        if name in ("add", "sub", "mul", "div", "sqrt", "rcp", "fma"):
            assert "rn" in kinds, f"{name} may be fused"
        if name == "neg":
            return f"{x[0]} ^ 0x8000000000000000ull"
        if name == "abs":
            return f"{x[0]} & 0x7fffffffffffffffull"
        return f"B({_REALS[name].format(*(f'D({each})' for each in x))})"
    if name == "not":
        return f"{'!' if kind == 'pred' else '~'}{x[0]}"
    if name in ("and", "or", "xor"):
        return f"{x[0]} {_ARITHMETIC[name]} {x[1]}"
    return _integers(name, kinds, x)


def _integers(name: str, kinds: list[str], x: list[str]) -> str:
    bits, sign = int(kinds[-1][1:]), kinds[-1][0]
    kind, unsigned = f"{'s' if sign == 's' else 'u'}{bits}", f"u{bits}"
    typed = [f"({kind}){each}" for each in x]
    if name in ("mul", "mad") and "wide" in kinds:
        wide = f"{kind[0]}{2 * bits}"
        product = f"({wide}){typed[0]} * ({wide}){typed[1]}"
        return product if name == "mul" else f"{product} + {x[2]}"
    if name == "mul" and "hi" in kinds:
        wide = "unsigned __int128" if kind[0] == "u" else "__int128"
        return f"(u64)((({wide}){typed[0]} * {typed[1]}) >> {bits})"
    if name in ("add", "sub", "mul"):
        return f"({unsigned}){x[0]} {_ARITHMETIC[name]} ({unsigned}){x[1]}"
    if name in ("div", "rem"):
        return f"{typed[0]} {'/' if name == 'div' else '%'} {typed[1]}"
    if name == "mad":
        return f"({unsigned}){x[0]} * ({unsigned}){x[1]} + ({unsigned}){x[2]}"
    if name == "neg":
        return f"-({unsigned}){x[0]}"
    if name in ("min", "max"):
        return f"{typed[0]} {'<' if name == 'min' else '>'} {typed[1]} ? {x[0]} : {x[1]}"
    if name == "shl":
        return f"(u32){x[1]} >= {bits} ? 0 : ({unsigned}){x[0]} << {x[1]}"
    if name == "shr":
        return f"({kind})({typed[0]} >> ((u32){x[1]} >= {bits} ? {bits - 1} : {x[1]}))"
    if name == "popc":
        return f"__builtin_popcountll({x[0]})"
    if name == "clz":
        return f"{x[0]} ? __builtin_clz{'ll' if bits == 64 else ''}({x[0]}) : {bits}"
    if name == "bfe" and kind[0] == "u":
        return f"(({unsigned}){x[0]} >> {x[1]}) & (((u64)1 << {x[2]}) - 1)"
    raise NotImplementedError(f"{name}.{'.'.join(kinds)}")


def _converted(kinds: list[str], x: str) -> str:
    to, of = kinds[-2:]
    how = next((_ROUNDINGS[each] for each in kinds if each in _ROUNDINGS), "")
    if to == of == "f64":
        return f"B({how}(D({x})))"
    if to == "f64":
        return f"B((double)({of}){x})"
    if of == "f64":
        assert to == "s64", kinds
        return f"TO_S64({how}(D({x})))"
    return f"({to})({of}){x}"


def _named(name: str) -> str:
    return name.replace("$", "_S_").replace(".", "_D_")


def _value(text: str) -> str:
    if text.startswith("%"):
        return text[1:]
    if text.startswith("0d"):
        return f"0x{text[2:]}ull"
    if re.fullmatch(r"-?\d+", text):
        return "INT64_MIN" if int(text) == -(2**63) else f"({text}{'ll' if abs(int(text)) > 2**31 - 1 else ''})"
    if re.fullmatch(r"0x[0-9A-Fa-f]+", text):
        return f"{text}ull"
    if re.fullmatch(r"[\w$.]+", text):
        return f"(u64)(uintptr_t){_named(text)}"
    raise NotImplementedError(text)


def _split(text: str) -> list[str]:
    return [each.strip() for each in re.split(r",(?![^{\[]*[}\]])", text)]
