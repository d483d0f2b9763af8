# SPDX-License-Identifier: Apache-2.0
"""An acceptance-testing ledger for language models and agents."""

__version__ = "0.1.0"
