[(table) (table_array_element)] @literal.rest
[(array) (inline_table) (string)] @literal

(comment) @comment
[(table) (table_array_element) (pair)] @declaration
