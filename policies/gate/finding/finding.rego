# METADATA
# title: Findings and the precedence of verdicts
# description: the one constructor of findings, the closed set of verdicts, and what a person can do about a code
package gate.finding

# METADATA
# title: The closed set of verdicts
# description: strictest first; the index is the rank
precedence := [
	"deny",
	"continuity_validation_failed",
	"blocked_on_reconciliation",
	"require_approval",
	"reauthorization_required",
	"allow",
]

# METADATA
# title: Codes of a mismatch of identity
# description: a caller who is not who the run belongs to learns nothing beyond these
identity_codes := {"tenant_mismatch", "principal_mismatch", "agent_mismatch", "session_mismatch"}

# METADATA
# title: Constructor of findings
# description: >-
#   every argument is a literal at every call, because an undefined argument would erase the finding; checked
#   over the parsed policies
new(code, verdict, rule, requirement, source) := {
	"code": code,
	"verdict": verdict,
	"rule": rule,
	"requirement": requirement,
	"source": source,
}

# METADATA
# title: Rank of a verdict
# description: a verdict outside the closed set ranks as deny
rank(verdict) := _index[verdict] if verdict in verdicts

else := 0

# METADATA
# title: Strictest verdict of a set of findings
# description: no findings at all is a deny
strictest(findings) := "allow" if {f.verdict | some f in findings} == {"allow"}

else := precedence[min({rank(f.verdict) | some f in findings} | _least(findings))]

_least(findings) := set() if count(findings) > 0

else := {0}

# METADATA
# title: The closed set of verdicts, as a set
verdicts := {v | some v in precedence}

_index := {verdict: i | some i, verdict in precedence}
