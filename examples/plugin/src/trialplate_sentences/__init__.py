# SPDX-License-Identifier: Apache-2.0
"""A plugin of all four kinds; each module holds one, and is imported only when a plan names it."""
