(function_definition body: (compound_statement) @body)

(preproc_function_def value: (preproc_arg) @body)
(initializer_list) @literal
[(string_literal) (concatenated_string)] @literal

(comment) @comment
(preproc_include) @import
