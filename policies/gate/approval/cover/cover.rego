# METADATA
# title: An approval that answers for the call
# description: >-
#   what a runtime control asks of a person is met by the one thing that counts as a person's word: a live, signed
#   approval of exactly this action under the capability's contract. Without a contract there is none to be had
package gate.approval.cover

import data.gate.approval
import data.gate.effect

# METADATA
# title: A person has approved exactly this action
# description: or it already happened under such an approval, and its receipt is the answer
covered if effect.replay

covered if {
	approval.needed
	count(approval.raised) == 0
}
