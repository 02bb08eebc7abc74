"""Audit of a machine file: what a valid file can still get wrong."""

from twill.studies.audit.checks import CHECKS, audit
from twill.studies.audit.subject import Finding, Subject, read_subject

__all__ = ["CHECKS", "Finding", "Subject", "audit", "read_subject"]
