"""The report page: results of studies as one HTML file that needs nothing else.

`content` reads what a folder holds, `steady` runs schedules once more for their steady state,
`timeline` and `stalls` draw it, `page` fills the template.
"""
