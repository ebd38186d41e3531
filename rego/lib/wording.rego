# How messages write ranks, nodes, sizes and values, so that an operator reads the same words in all of them.
package tiergate.wording

# ranks names a sorted list of ranks with its runs joined: "rank 3", "ranks 0-3, 8". After sixteen runs it counts the
# rest.
ranks(list) := $"rank {list[0]}" if {
	count(list) == 1
} else := $"ranks {concat(", ", spans)}" if {
	spans := runs(list)
	count(spans) <= 16
} else := $"ranks {concat(", ", array.slice(spans, 0, 16))} and {count(spans) - 16} more runs" if {
	spans := runs(list)
}

runs(list) := [run(first, lasts[i]) |
	known := {rank | some rank in list}
	lasts := [rank | some rank in list; not known[rank + 1]]
	firsts := [rank | some rank in list; not known[rank - 1]]
	some i, first in firsts
]

run(first, last) := $"{first}" if first == last

run(first, last) := $"{first}-{last}" if first != last

# nodes names nodes: "node gpu-a", "nodes gpu-a, gpu-b". After eight it counts the rest.
nodes(list) := $"node {list[0]}" if {
	count(list) == 1
} else := $"nodes {concat(", ", list)}" if {
	count(list) <= 8
} else := $"nodes {concat(", ", array.slice(list, 0, 8))} and {count(list) - 8} more"

# counted writes a number of things: "1 replica", "2 replicas".
counted(number, thing) := $"1 {thing}" if {
	number == 1
} else := $"{number} {thing}s"

# size writes bytes for people and exactly: "16.0 GiB (17179869184 bytes)".
size(bytes) := $"{floor(tenths / 10)}.{tenths % 10} GiB ({bytes} bytes)" if {
	tenths := round((bytes * 10) / 1073741824)
}

# value writes a JSON value that a user gave, strings quoted and cut, objects and lists by their kind alone.
value(given) := "an object" if {
	is_object(given)
} else := "a list" if {
	is_array(given)
} else := $"{given}" if {
	not is_string(given)
} else := $"\"{given}\"" if {
	count(given) <= 40
} else := $"\"{substring(given, 0, 40)}...\""

# member writes the value of a key of an object, which may be neither.
member(object, key) := value(object[key])

member(object, key) := "not set" if not has(object, key)

has(object, key) if object[key] == object[key]
