# What a policy can do to its host, an entry point for each, and one that behaves. f0 to f30 are written by the test.
package p

good := {"sum": input.a + input.b}

# Time.

endless := count([1 | some a in r; some b in r; some c in r; some d in r; a != b; b == c; c == d; d == a])

r := numbers.range(1, 1000)

cascade := f30(1)

hashes := count({x | some i in numbers.range(1, 5000); x := [huge, i]})

compares := count([1 | some i in numbers.range(1, 100000); huge == concat("", [half, half])])

calls := count([1 | some i in numbers.range(1, 100000); units.parse($"{i}e999999") == 0])

# Memory, of the module's and of Go's.

memory := count(numbers.range(1, 1000000000))

wide := [long | some _ in numbers.range(1, 1100)]

argument := object.subset({"wide": wide}, {})

patched := json.patch({}, array.concat([{"op": "add", "path": "a", "value": 1}], [x |
	some i in numbers.range(1, 40)
	x := {"op": "copy", "from": "", "path": sprintf("a%d", [i])}
]))

formatted := sprintf("%999999d", [input.a])

indexed := sprintf("%[1]v%[1]v", [input.a])

verbs := sprintf(concat("", ["%999d" | some _ in numbers.range(1, 2000)]), numbers.range(1, 2000))

digits := sprintf("%d", [json.unmarshal(concat("", ["12345678" | some _ in numbers.range(1, 1000)]))])

long := concat("", ["0123456789abcdef" | some _ in numbers.range(1, 4096)])

half := concat("", [long | some _ in numbers.range(1, 10)])

huge := concat("", [half, half])

# The stack, of the module's and of Go's.

deep := json.unmarshal(concat("", [brackets | some _ in numbers.range(1, 1000)]))

nested := [[json.unmarshal(concat("", [brackets, closing]))]]

brackets := concat("", ["[" | some _ in numbers.range(1, 1000)])

closing := concat("", ["]" | some _ in numbers.range(1, 1000)])

# Errors.

conflict := 1 if input.a

conflict := 2 if input.a

division := 1 / (input.a - input.a)

wrong := urlquery.encode(input.a)

swallowed := "still an answer" if not input.a / (input.a - input.a)
