"""What everything stands on: records, schemas, seeds, numerics, pages. Nothing here knows a model or a corpus."""
