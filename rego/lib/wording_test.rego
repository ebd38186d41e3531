package tiergate.wording_test

import data.tiergate.wording

test_sizes[text] if {
	some bytes, text in {
		"0": "0.0 GiB (0 bytes)",
		"1": "0.0 GiB (1 bytes)",
		"67108864": "0.1 GiB (67108864 bytes)",
		"1073741824": "1.0 GiB (1073741824 bytes)",
		"10684354560": "10.0 GiB (10684354560 bytes)",
		"109951162777600": "102400.0 GiB (109951162777600 bytes)",
		"9223372036854775807": "8589934592.0 GiB (9223372036854775807 bytes)",
	}
	wording.size(to_number(bytes)) == text
}

test_ranks[text] if {
	some text, list in {
		"rank 0": [0],
		"ranks 0-1": [0, 1],
		"ranks 0-3, 8, 10-11": [0, 1, 2, 3, 8, 10, 11],
	}
	wording.ranks(list) == text
}

test_many_ranks if {
	every_other := [rank | some rank in numbers.range(0, 35); rank % 2 == 0]
	text := wording.ranks(every_other)
	startswith(text, "ranks 0, 2, 4,")
	endswith(text, "28, 30 and 2 more runs")
}

test_nodes[text] if {
	some text, list in {
		"node a": ["a"],
		"nodes a, b": ["a", "b"],
		"nodes a, b, c, d, e, f, g, h": ["a", "b", "c", "d", "e", "f", "g", "h"],
		"nodes a, b, c, d, e, f, g, h and 2 more": ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"],
	}
	wording.nodes(list) == text
}

test_members[text] if {
	some text, object in {
		"\"x\"": {"key": "x"},
		"\"0123456789012345678901234567890123456789\"": {"key": "0123456789012345678901234567890123456789"},
		"\"0123456789012345678901234567890123456789...\"": {"key": "01234567890123456789012345678901234567890"},
		"7": {"key": 7},
		"false": {"key": false},
		"null": {"key": null},
		"an object": {"key": {}},
		"a list": {"key": [1]},
		"not set": {},
	}
	wording.member(object, "key") == text
}

test_no_object[kind] if {
	some kind, value in {"number": 5, "text": "x", "null": null, "list": [1]}
	wording.member(value, "key") == "not set"
}
