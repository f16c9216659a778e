(class_definition body: (block . (expression_statement (string)) @doc))
(function_definition body: (block . (expression_statement (string)) @doc))
(module . (expression_statement (string)) @doc)

(function_definition body: (block) @body)

(assignment right: (call arguments: (argument_list) @literal))
(expression_statement (call arguments: (argument_list) @literal))
[(dictionary) (list) (set) (tuple) (string) (concatenated_string)] @literal
[(dictionary_comprehension) (list_comprehension) (set_comprehension)] @literal

(decorator) @attribute
(comment) @comment
[(import_statement) (import_from_statement) (future_import_statement)] @import

[(class_definition) (function_definition)] @definition
[(assignment) (type_alias_statement)] @declaration
