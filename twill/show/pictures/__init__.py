"""Pictures of schedules: graph, timeline, reservation table, roles, differences."""
