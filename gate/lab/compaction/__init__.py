"""The compaction release gate: does a compactor keep the rules for five rounds, and do they still bind?"""
