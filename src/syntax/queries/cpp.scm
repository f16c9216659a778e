(function_definition body: (compound_statement) @body)
(function_definition (try_statement) @body)
(argument_list (lambda_expression body: (compound_statement) @callback))
(lambda_expression body: (compound_statement) @body)

(preproc_function_def value: (preproc_arg) @body)
(initializer_list) @literal
[(string_literal) (raw_string_literal) (concatenated_string)] @literal

(comment) @comment
[(preproc_include) (using_declaration)] @import
