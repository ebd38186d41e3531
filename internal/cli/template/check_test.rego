package tiergate.checks.{{.ID}}_test

import data.tiergate.checks.{{.ID}} as check

test_pass if count(check.violations) == 0 with input.engine as {"id": "chat"}

test_fail if {
	some violation in check.violations with input.engine as {}
	violation.message == "the engine has no id"
}
