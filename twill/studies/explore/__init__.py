"""The page: schedules side by side, linked by selection, and results of studies; one file.

`results` says what it has of each, `page` writes it; `pictures`, `graph` and `steady` draw.
"""

from twill.studies.explore.results import sections

__all__ = ["sections"]
