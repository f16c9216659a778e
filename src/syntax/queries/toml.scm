[(table) (table_array_element)] @literal.rest
[(array) (inline_table) (string)] @literal

(comment) @comment
