(function_definition body: (compound_statement) @body)
(function_definition body: (subshell) @body)

[(array) (heredoc_body) (string) (raw_string)] @literal

(comment) @comment

(function_definition) @definition
(variable_assignment) @declaration
