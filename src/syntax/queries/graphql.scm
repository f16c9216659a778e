(description) @doc
(comment) @comment
(operation_definition (selection_set) @literal)
(fragment_definition (selection_set) @literal)
