"""The label stage: what students learn from."""
