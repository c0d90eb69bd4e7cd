"""From predictions to one long table: no training, no model, no text is needed from here on.

`predictions` and `gold` read what the heavy stages left in Git. `metrics`, `decoding` and `errors` turn one
classifier's answers into numbers, `cell_scores` does so for an experiment, `root_cell` and `plots` for the root of the
graph. `results` and `gains` write the two tables that every table, figure and page queries; `longtable` reads them.
`text_quality` measures texts and models; its stages leave small files of numbers.
"""
