"""LLVM IR, as it is emitted → operations as C has them.

Branches whose conditions are known, and what becomes unreachable, are left out. Several
instructions that C says in one word become one operation::

    select (a < b), a, b                     → min a b
    shuffle (insert x, 0), 0 0 0 0           → splat x
    (0, 1, 2, 3) < splat n                   → the first n lanes
    gather (base + splat g * (0, 1, 2, 3))   → a strided load
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from polygym.codegen.c.kernel.folding import folded
from polygym.codegen.c.kernel.names import RESERVED
from polygym.codegen.c.kernel.promotion import promote_scalars
from polygym.codegen.c.kernel.value_numbering import ValueNumbering
from polygym.codegen.c.kernel.values import (
    LONG,
    POINTER,
    TRUTH,
    VOID,
    Argument,
    BasicBlock,
    Constant,
    Kind,
    LiftedFunction,
    Operation,
    Phi,
    Value,
)

_MATH = ("sqrt", "fabs", "floor", "ceil", "trunc", "round", "rint", "copysign")


def kind_of(type_: Any) -> Kind:
    """Return the kind of values of an LLVM type; masks get theirs from what they are made of."""
    if isinstance(type_, ir.VectorType):
        element = kind_of(type_.element)
        return Kind(element.base, element.bits, type_.count)
    if isinstance(type_, ir.IntType):
        return Kind("i", type_.width)
    if isinstance(type_, ir.PointerType):
        return POINTER
    bits = {ir.DoubleType: 64, ir.FloatType: 32, ir.HalfType: 16}.get(type(type_))
    return VOID if bits is None else Kind("f", bits)


def lift(
    function: Any, name: str, names: dict[str, str], pointees: dict[str, str]
) -> LiftedFunction:
    """Return a function of an LLVM module; ``names`` are those of functions, in C."""
    return _Lifter(function, name, names, pointees).run()


class _Lifter:
    def __init__(
        self, function: Any, name: str, names: dict[str, str], pointees: dict[str, str]
    ) -> None:
        self.function, self.names = function, names
        self.values: dict[int, Value] = {}
        self.kept: list[Any] = []  # so that ids stay unique
        self.blocks: dict[Any, BasicBlock] = {}
        self.numbering = ValueNumbering()
        self.waiting: list[tuple[Phi, Any]] = []
        self.result = LiftedFunction(
            name, [], [], not isinstance(function.function_type.return_type, ir.VoidType)
        )
        hints = [getattr(argument, "hint", "") for argument in function.args]
        taken = {hint for hint in hints if hint in pointees}
        for position, argument in enumerate(function.args):
            hint = hints[position] or f"argument_{position}"
            pointee = ""
            if isinstance(argument.type, ir.PointerType):
                element = getattr(argument, "element", None)
                pointee = pointees.get(hint, "char" if element is None else "int")
            if hint not in pointees or not isinstance(argument.type, ir.PointerType):
                while hint in taken or hint in RESERVED:
                    hint += "_"
            taken.add(hint)
            lifted = Argument(kind_of(argument.type), hint, pointee)
            self.result.arguments.append(lifted)
            self.values[id(argument)] = lifted

    def run(self) -> LiftedFunction:
        """Lift all blocks that can be reached."""
        order = _reverse_postorder(self.function.blocks[0])
        edges: set[tuple[Any, Any]] = set()
        reached = {order[0]}
        position = {block: place for place, block in enumerate(order)}
        for block in order:
            if block not in reached:
                continue
            self.current = BasicBlock(len(self.result.blocks))
            self.blocks[block] = self.current
            self.numbering.begin_block()
            self.result.blocks.append(self.current)
            for instruction in block.instructions:
                if isinstance(instruction, ir.PhiInstr):
                    self._phi(instruction, block, edges, position)
                elif not instruction_is_terminator(instruction):
                    self.values[id(instruction)] = self._instruction(instruction)
            for target in self._terminator(block.terminator):
                edges.add((block, target))
                reached.add(target)
        for phi, instruction in self.waiting:
            for value, source in instruction.incomings:
                if (source, instruction.parent) in edges:
                    phi.incoming[self.blocks[source]] = self.value(value)
        for block in order:
            if block in self.blocks:
                self.blocks[block].targets = [
                    self.blocks[target] for target in self._targets.get(block, ())
                ]
        promote_scalars(self.result)
        remove_dead(self.result)
        return self.result

    def _terminator(self, instruction: Any) -> list[Any]:
        """Note where control goes after a block; return the targets."""
        if not hasattr(self, "_targets"):
            self._targets: dict[Any, list[Any]] = {}
        block = instruction.parent
        targets: list[Any] = []
        if isinstance(instruction, ir.Ret):
            if instruction.operands:
                self.current.condition = self.value(instruction.operands[0])
        elif len(instruction.operands) == 1:
            targets = [instruction.operands[0]]
        else:
            condition = self.value(instruction.operands[0])
            targets = list(instruction.operands[1:])
            if isinstance(condition, Constant):
                targets = [targets[0] if condition.value else targets[1]]
            elif targets[0] is targets[1]:
                targets = targets[:1]
            else:
                self.current.condition = condition
        self._targets[block] = targets
        return targets

    def _phi(
        self, instruction: Any, block: Any, edges: set[tuple[Any, Any]], position: dict[Any, int]
    ) -> None:
        is_loop = any(
            position[source] >= position[block]
            for _, source in instruction.incomings
            if source in position
        )
        if not is_loop:
            live = [value for value, source in instruction.incomings if (source, block) in edges]
            values = [self.value(value) for value in live]
            if all(_are_same(value, values[0]) for value in values):
                self.values[id(instruction)] = values[0]
                return
        operation = Operation("phi", kind_of(instruction.type), [], self.current)
        operation.hint = instruction.name if not instruction.name.startswith(".") else ""
        phi = Phi(operation)
        self.current.phis.append(phi)
        self.values[id(instruction)] = operation
        self.waiting.append((phi, instruction))

    def value(self, value: Any) -> Value:
        """Return the value that stands for one of LLVM's."""
        lifted = self.values.get(id(value))
        if lifted is None:
            assert isinstance(value, (ir.Constant, ir.GlobalVariable)), value
            lifted = self._constant(value)
            self.values[id(value)] = lifted
            self.kept.append(value)
        return lifted

    def _constant(self, value: Any) -> Value:
        if isinstance(value, ir.GlobalVariable):
            elements = tuple(element.constant for element in value.initializer.constant)
            kind = kind_of(value.initializer.type.element)
            name = value.name.split(".")[0] + "_initial"
            self.result.tables[name] = (str(value.initializer.type.element), elements)
            return Operation("table", POINTER, [], self.current, (name, kind), name)
        kind = kind_of(value.type)
        if value.constant is ir.Undefined:
            return Constant(kind, None)
        if kind.lanes is not None:
            if value.constant is None:
                return Constant(kind, (0,) * kind.lanes)
            numbers = tuple(
                number.constant if isinstance(number, ir.Constant) else number
                for number in value.constant
            )
            if all(number is ir.Undefined for number in numbers):
                return Constant(kind, None)
            return Constant(kind, tuple(_signed(kind, 0 if n is None else n) for n in numbers))
        number = _signed(kind, value.constant)
        if kind.is_truth:
            return Constant(kind, int(bool(number)))
        return Constant(kind, 0 if number is None and kind is not POINTER else number)

    def emit(self, name: str, kind: Kind, *operands: Value, data: Any = None) -> Value:
        """Return the value of an operation: a constant where it is one."""
        simple = folded(name, kind, operands, data)
        if simple is not None:
            return simple
        operation = Operation(name, kind, list(operands), self.current, data)
        earlier = self.numbering.earlier(operation)
        if earlier is not None:
            return earlier
        self.current.operations.append(operation)
        return operation

    def _instruction(self, instruction: Any) -> Value:
        name = instruction.opname
        if isinstance(instruction, ir.CallInstr):
            return self._call(instruction)
        if isinstance(instruction, ir.AllocaInstr):
            count = instruction.operands[0].constant if instruction.operands else None
            element = instruction.allocated_type
            alloca = Operation("alloca", POINTER, [], self.current, (kind_of(element), count))
            alloca.hint = instruction.name
            self.current.operations.append(alloca)
            return alloca
        operands = [self.value(operand) for operand in instruction.operands]
        kind = kind_of(instruction.type)
        match name:
            case "load":
                return self._hinted("load", kind, operands, kind.scalar)
            case "store":
                return self._hinted("store", VOID, operands, operands[0].kind.scalar)
            case "getelementptr":
                element = kind_of(instruction.source_etype)
                result = self.emit("address", kind, *operands, data=element)
                if isinstance(result, Operation):
                    result.hint = getattr(instruction, "hint", "")
                return result
            case "icmp" | "fcmp":
                return self._comparison(name, instruction.op, operands)
            case "select":
                return self._select(kind, operands)
            case "shufflevector":
                return self._shuffle(kind, operands, instruction.operands[2])
            case "insertelement":
                vector, value, place = operands
                assert isinstance(place, Constant)
                result = self.emit("insert", kind, vector, value, data=place.value)
                lanes = self._all_lanes(result)
                return result if lanes is None else self.emit("lanes", kind, *lanes)
            case "extractelement":
                return self._extract(operands[0], operands[1])
            case "atomicrmw":
                return self.emit("publish", VOID, *operands)
            case "and" | "or" | "xor" if kind.bits == 1 and kind.lanes is not None:
                return self._mask_operation(name, operands)
            case _ if isinstance(instruction, ir.instructions.CastInstr):
                return self._cast(name, kind, operands[0])
            case _:
                wraps = "nsw" not in instruction.flags and not hasattr(instruction, "is_place")
                return self.emit(name, kind, *operands, data=wraps)

    def _all_lanes(self, vector: Value) -> list[Value] | None:
        """Return the numbers of a vector that has been made lane by lane, None before the last."""
        lanes: list[Value] = []
        if vector.kind.base == "p":
            return None
        while isinstance(vector, Operation) and vector.name == "insert":
            lanes.insert(0, vector.operands[1])
            vector = vector.operands[0]
        return lanes if len(lanes) == vector.kind.lanes else None

    def _hinted(self, name: str, kind: Kind, operands: list[Value], data: Any) -> Value:
        result = self.emit(name, kind, *operands, data=data)
        if isinstance(result, Operation) and name == "load":
            result.hint = root_name(operands[0])
        return result

    def _comparison(self, name: str, predicate: str, operands: list[Value]) -> Value:
        left, right = operands
        if left.kind.lanes is None:
            return self.emit(name, TRUTH, left, right, data=predicate)
        is_count = isinstance(left, Constant) and left.value == tuple(range(left.kind.lanes))
        same = self._uniform(right)
        if is_count and same is not None and predicate in ("slt", "sle"):
            if predicate == "sle":
                same = self.emit("add", LONG, same, Constant(LONG, 1), data=False)
            return self.emit("first_lanes", Kind("m", 0, left.kind.lanes), same)
        return self.emit(name, left.kind.mask, left, right, data=predicate)

    def _uniform(self, value: Value) -> Value | None:
        """Return the one number in all lanes of a vector, None if they are not known to agree."""
        if isinstance(value, Operation) and value.name == "splat":
            return value.operands[0]
        if isinstance(value, Constant) and value.uniform is not None:
            return Constant(value.kind.scalar, value.uniform)
        return None

    def _mask(self, value: Value, bits: int) -> Value:
        """Return a mask with lanes of so many bits."""
        lanes = value.kind.lanes
        kind = Kind("m", bits, lanes)
        if isinstance(value, Constant):
            numbers = value.value or (0,) * (lanes or 0)
            return Constant(kind, tuple(-int(bool(number)) for number in numbers))
        if value.kind == kind:
            return value
        if isinstance(value, Operation) and value.name == "first_lanes":
            return self.emit("first_mask", kind, value.operands[0])
        return self.emit("convert_mask", kind, value)

    def _first(self, value: Value) -> Value | None:
        """Return how many lanes a mask has, where these are the first ones."""
        if isinstance(value, Operation) and value.name == "first_lanes":
            return value.operands[0]
        if isinstance(value, Constant) and value.value is not None:
            flags = [bool(number) for number in value.value]
            count = sum(flags)
            if all(flags[:count]):
                return Constant(LONG, count)
        return None

    def _mask_operation(self, name: str, operands: list[Value]) -> Value:
        bits = max(operand.kind.bits if operand.kind.base == "m" else 0 for operand in operands)
        kind = Kind("m", bits or 64, operands[0].kind.lanes)
        return self.emit(name, kind, *(self._mask(o, kind.bits) for o in operands), data=False)

    def _select(self, kind: Kind, operands: list[Value]) -> Value:
        condition, then, otherwise = operands
        if isinstance(condition, Constant) and condition.kind.is_truth:
            return then if condition.value else otherwise
        if kind.bits == 1 and kind.lanes is not None:
            return self._select_mask(condition, then, otherwise)
        if condition.kind.lanes is not None:
            first = self._first(condition)
            if first is not None:
                return self.emit("select_first", kind, first, then, otherwise)
            order = self._vector_order(condition, then, otherwise)
            if order is not None:
                return self.emit(*order[:2], *order[2:])
            return self.emit("select", kind, self._mask(condition, kind.bits), then, otherwise)
        if kind == LONG and isinstance(condition, Operation) and condition.name == "icmp":
            first, second = condition.operands
            is_same = _are_same(first, then) and _are_same(second, otherwise)
            order = {"slt": "min", "sgt": "max"}.get(condition.data)
            if order is not None and is_same:
                return self.emit(order, kind, then, otherwise)
        return self.emit("select", kind, condition, then, otherwise)

    def _vector_order(self, condition: Value, then: Value, otherwise: Value) -> Any:
        """Return a selection of lanes as the minimum or the maximum that it is, None otherwise.

        Of floats the minimum of a and b is ``a < b ? a : b``, whatever is no number.
        """
        if not isinstance(condition, Operation) or condition.name not in ("icmp", "fcmp"):
            return None
        signs = {"slt": "lesser", "sle": "lesser", "sgt": "greater", "sge": "greater"}
        if condition.name == "fcmp":
            signs = {"olt": "lesser", "ogt": "greater"}
        elif then.kind.bits != 32:
            return None
        own = signs.get(condition.data)
        first, second = condition.operands
        if own is None or first.kind != then.kind:
            return None
        if _are_same(first, then) and _are_same(second, otherwise):
            return (own, then.kind, then, otherwise)
        return None

    def _select_mask(self, condition: Value, then: Value, otherwise: Value) -> Value:
        """Return one mask or another one."""
        if condition.kind.lanes is None:
            first, second = self._first(then), self._first(otherwise)
            if first is not None and second is not None:
                count = self.emit("select", LONG, condition, first, second)
                return self.emit("first_lanes", Kind("m", 0, then.kind.lanes), count)
            bits = max(value.kind.bits for value in (then, otherwise) if value.kind.base == "m")
            masks = [self._mask(value, bits or 64) for value in (then, otherwise)]
            return self.emit("select", Kind("m", bits or 64, then.kind.lanes), condition, *masks)
        bits = max(
            (value.kind.bits for value in (condition, then, otherwise) if value.kind.base == "m"),
            default=64,
        )
        kind = Kind("m", bits or 64, then.kind.lanes)
        masks = [self._mask(value, kind.bits) for value in (condition, then, otherwise)]
        return self.emit("select", kind, *masks)

    def _shuffle(self, kind: Kind, operands: list[Value], order: Any) -> Value:
        places = tuple(
            place.constant if isinstance(place, ir.Constant) else place for place in order.constant
        )
        first, second = operands[0], operands[1]
        if isinstance(first, Operation) and first.name == "insert" and not any(places):
            if first.data == 0 and isinstance(first.operands[0], Constant):
                return self.emit("splat", kind, first.operands[1])
        if first.kind.base in "im" and (first.kind.bits == 1 or first.kind.base == "m"):
            first = self._mask(first, first.kind.bits if first.kind.bits > 1 else 64)
            kind = Kind("m", first.kind.bits, kind.lanes)
        if isinstance(second, Constant) and second.value is None:
            return self.emit("shuffle", kind, first, data=places)
        return self.emit("shuffle", kind, first, second, data=places)

    def _extract(self, vector: Value, place: Value) -> Value:
        assert isinstance(place, Constant)
        first = self._first(vector) if vector.kind.base == "m" else None
        if first is not None:
            return self.emit("icmp", TRUTH, Constant(LONG, place.value), first, data="slt")
        if vector.kind.base == "m":
            lane = self.emit("extract", vector.kind.scalar, vector, data=place.value)
            return self.emit("icmp", TRUTH, lane, Constant(vector.kind.scalar, 0), data="ne")
        if isinstance(vector, Operation) and vector.name == "splat":
            return vector.operands[0]
        return self.emit("extract", vector.kind.scalar, vector, data=place.value)

    def _cast(self, name: str, kind: Kind, value: Value) -> Value:
        if name == "zext" and kind.lanes is not None and value.kind.base == "m":
            mask = self._mask(value, kind.bits)
            units = Constant(kind, (1,) * kind.lanes)
            return self.emit("and", kind, self.emit("bitcast", kind, mask), units, data=False)
        return self.emit(name, kind, value)

    def _call(self, instruction: Any) -> Value:
        callee = instruction.callee
        arguments = [self.value(argument) for argument in instruction.args]
        kind = kind_of(instruction.type)
        if callee.name in self.names:
            parallel = getattr(instruction, "parallel_loop", None)
            own = "call" if parallel is None else "parallel_call"
            target = (self.names[callee.name], parallel)
            return self.emit(own, kind, *arguments, data=(*target, callee))
        name = callee.name
        parts = name.split(".")
        if parts[0] == "llvm":
            return self._intrinsic(parts, kind, arguments)
        helpers = {
            "polygym_allocate": "allocate",
            "polygym_reserve": "reserve",
            "free": "free",
            "polygym_threads": "threads",
            "polygym_stream": "stream",
        }
        if parts[0] in helpers:
            result = self.emit(helpers[parts[0]], kind, *arguments)
            if isinstance(result, Operation):
                result.hint = instruction.name or ("memory" if kind is POINTER else "")
            return result
        return self.emit("function", kind, *arguments, data=name)

    def _intrinsic(self, parts: list[str], kind: Kind, arguments: list[Value]) -> Value:
        match parts[1:]:
            case ["fmuladd", *_]:
                return self._fused(kind, arguments)
            case ["fma", *_]:
                return self.emit("exact_fma", kind, *arguments)
            case [("fptosi" | "fptoui") as own, "sat", *_]:
                return self.emit("saturate", kind, *arguments, data=own == "fptosi")
            case ["masked", "load", *_]:
                pointer, _, mask, _ = arguments
                return self._masked("load", kind, [pointer], mask)
            case ["masked", "store", *_]:
                value, pointer, _, mask = arguments
                return self._masked("store", VOID, [value, pointer], mask)
            case ["masked", "gather", *_]:
                return self._gather(kind, arguments[0], arguments[2])
            case ["masked", "scatter", *_]:
                return self._scatter(arguments[0], arguments[1], arguments[3])
            case ["prefetch", *_]:
                return self.emit("prefetch", VOID, arguments[0])
            case ["trap"]:
                return self.emit("trap", VOID)
            case ["memcpy", *_]:
                return self.emit("copy_memory", VOID, *arguments[:3])
            case ["x86", "sse", "sfence"]:
                return self.emit("fence", VOID)
            case ["vector", "reduce", "or", *_]:
                bits = arguments[0].kind.bits
                return self.emit("any_lane", TRUTH, self._mask(arguments[0], bits or 64))
            case [name, *_] if name in _MATH:
                return self.emit("math", kind, *arguments, data=name)
            case _:
                raise NotImplementedError(".".join(parts))

    def _fused(self, kind: Kind, operands: list[Value]) -> Value:
        """Return a b + c; c - a b, a b - c and -a b - c are operations of their own."""
        first, second, third = operands
        name = "fma"
        if isinstance(first, Operation) and first.name == "fneg":
            first, name = first.operands[0], "fnma"
        if isinstance(third, Operation) and third.name == "fneg":
            third, name = third.operands[0], {"fma": "fms", "fnma": "fnms"}[name]
        return self.emit(name, kind, first, second, third)

    def _masked(self, name: str, kind: Kind, operands: list[Value], mask: Value) -> Value:
        """Return a load or a store of those lanes that a mask has."""
        whole = operands[0].kind if name == "store" else kind
        first = self._first(mask)
        if first is None:
            last, how = self._mask(mask, whole.bits), "mask"
        else:
            last, how = first, "first"
            if isinstance(first, Constant) and first.value >= (whole.lanes or 1):
                return self._hinted(name, kind, operands, whole.scalar)
        result = self.emit(f"masked_{name}", kind, *operands, last, data=(how, whole))
        if isinstance(result, Operation):
            result.hint = root_name(operands[-1])
        return result

    def _places(self, pointers: Value) -> tuple[str, list[Value], Kind]:
        """Return how the addresses of lanes come about, of which values."""
        assert isinstance(pointers, Operation)
        if pointers.name == "address":
            base, offsets = pointers.operands
            growth = self._growth(offsets)
            if growth is not None:
                return "strided", [base, growth], pointers.data
            return "offsets", [base, offsets], pointers.data
        addresses: list[Value] = []
        element = Kind("i", 8)
        while isinstance(pointers, Operation) and pointers.name == "insert":
            address = pointers.operands[1]
            addresses.insert(0, address)
            if isinstance(address, Operation) and address.name == "address":
                element = address.data
            pointers = pointers.operands[0]
        return "scattered", addresses, element

    def _growth(self, offsets: Value) -> Value | None:
        """Return by how much offsets grow from lane to lane, from 0 on; None if otherwise."""
        if isinstance(offsets, Constant) and isinstance(offsets.value, tuple):
            step = offsets.value[1] if len(offsets.value) > 1 else 0
            if offsets.value == tuple(step * k for k in range(len(offsets.value))):
                return Constant(LONG, step)
        if isinstance(offsets, Operation) and offsets.name == "mul":
            wide, count = offsets.operands
            if isinstance(count, Constant) and count.value == tuple(range(len(count.value))):
                return self._uniform(wide)
        return None

    def _mask_of(self, mask: Value, kind: Kind) -> tuple[str, list[Value]]:
        first = self._first(mask)
        if first is None:
            return "mask", [self._mask(mask, kind.bits)]
        if isinstance(first, Constant) and first.value >= (kind.lanes or 1):
            return "all", []
        return "first", [first]

    def _gather(self, kind: Kind, pointers: Value, mask: Value) -> Value:
        how, operands, element = self._places(pointers)
        which, more = self._mask_of(mask, kind)
        name = {"strided": "strided_load", "offsets": "gather", "scattered": "scattered_load"}[how]
        result = self.emit(name, kind, *operands, *more, data=(which, kind, element))
        if isinstance(result, Operation):
            result.hint = root_name(operands[0])
        return result

    def _scatter(self, value: Value, pointers: Value, mask: Value) -> Value:
        how, operands, element = self._places(pointers)
        which, more = self._mask_of(mask, value.kind)
        name = {"strided": "strided_store", "offsets": "scatter", "scattered": "scattered_store"}
        data = (which, value.kind, element)
        return self.emit(name[how], VOID, value, *operands, *more, data=data)


def root_name(pointer: Value) -> str:
    """Return the name of the array to which a pointer belongs, if it has one."""
    while isinstance(pointer, Operation):
        if pointer.hint:
            return pointer.hint
        if pointer.name != "address":
            return ""
        pointer = pointer.operands[0]
    return pointer.name if isinstance(pointer, Argument) else ""


def _signed(kind: Kind, number: Any) -> Any:
    """Return the signed number of an integer's bits; another number as it is."""
    if kind.base != "i" or kind.bits < 2 or number is None:
        return number
    half = 1 << (kind.bits - 1)
    return (number + half) % (2 * half) - half


def _are_same(value: Value, other: Value) -> bool:
    """Whether two values are known to be the same; 0 and -0 are not."""
    if isinstance(value, Constant) and isinstance(other, Constant):
        return (value.kind, repr(value.value)) == (other.kind, repr(other.value))
    return value is other


def instruction_is_terminator(instruction: Any) -> bool:
    """Whether a block ends with an instruction."""
    return isinstance(instruction, (ir.instructions.Terminator, ir.instructions.Unreachable))


def _reverse_postorder(first: Any) -> list[Any]:
    """Return the blocks that can be reached, each after those that lead to it, but for loops."""
    seen, order = {first}, []
    stack: list[tuple[Any, Any]] = [(first, iter(_successors(first)))]
    while stack:
        block, left = stack[-1]
        for target in left:
            if target not in seen:
                seen.add(target)
                stack.append((target, iter(_successors(target))))
                break
        else:
            order.append(block)
            stack.pop()
    return order[::-1]


def _successors(block: Any) -> list[Any]:
    terminator = block.terminator
    if isinstance(terminator, ir.Ret):
        return []
    return [target for target in terminator.operands if isinstance(target, ir.Block)][::-1]


def remove_dead(function: LiftedFunction) -> None:
    """Remove operations that have no effect and whose values nobody uses."""
    from polygym.codegen.c.kernel.values import EFFECTS

    phis = {phi.operation: phi for block in function.blocks for phi in block.phis}
    left: list[Value] = []
    for block in function.blocks:
        left += [operation for operation in block.operations if operation.name in EFFECTS]
        left += [] if block.condition is None else [block.condition]
    live: set[Operation] = set()
    while left:
        value = left.pop()
        if not isinstance(value, Operation) or value in live:
            continue
        live.add(value)
        left += phis[value].incoming.values() if value in phis else value.operands
    used = {o for operation in live for o in operation.operands if isinstance(o, Operation)}
    for phi in phis.values():
        if phi.operation in live:
            used |= {v for v in phi.incoming.values() if isinstance(v, Operation)}
    for block in function.blocks:
        block.phis = [phi for phi in block.phis if phi.operation in live]
        block.operations = [
            o for o in block.operations if o in live and (o.name != "alloca" or o in used)
        ]
