# METADATA
# title: The meaning of a long task
# description: >-
#   what the guards of a commit and of a rehydration found. A boundary without meaning has none of it; a section that is
#   there is looked at whole
package gate.longtask

import data.gate.longtask.commit
import data.gate.longtask.items
import data.gate.longtask.live
import data.gate.longtask.locators
import data.gate.longtask.pair
import data.gate.longtask.section

# METADATA
# title: The findings of every guard of long tasks
# scope: document
raised := union({commit.findings, items.findings, locators.findings}) if section.committing

else := union({pair.findings, locators.findings, live.findings}) if section.rehydrating

else := section.findings
