(function_declaration body: (block) @body)
(arguments (function_definition body: (block) @callback))
(function_definition body: (block) @body)

(table_constructor) @literal
(string) @literal

(comment) @comment

(function_declaration) @definition
(assignment_statement (expression_list value: (function_definition))) @definition
(field value: (function_definition)) @definition
[(assignment_statement) (variable_declaration)] @declaration
