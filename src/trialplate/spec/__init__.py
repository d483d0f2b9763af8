# SPDX-License-Identifier: Apache-2.0
"""What authors write: reading it strictly, and freezing it into a plan. pydantic and PyYAML live only here."""
