; A type behind a macro (`struct EXPORT Name {`) is taken for a function without parameters: its members stay.
(function_definition
  declarator: [(function_declarator) (pointer_declarator) (parenthesized_declarator) (attributed_declarator) (reference_declarator) (operator_cast)]
  body: (compound_statement) @body)
(function_definition (try_statement) @body)
(argument_list (lambda_expression body: (compound_statement) @callback))
(lambda_expression body: (compound_statement) @body)

(preproc_function_def value: (preproc_arg) @body)
(initializer_list) @literal
[(string_literal) (raw_string_literal) (concatenated_string)] @literal

(comment) @comment
[(preproc_include) (using_declaration)] @import

(function_definition) @definition
[(class_specifier body: (_)) (struct_specifier body: (_)) (union_specifier body: (_)) (enum_specifier body: (_))] @definition
[(declaration) (type_definition) (preproc_def) (preproc_function_def) (field_declaration) (enumerator)] @declaration
[(namespace_definition) (alias_declaration) (concept_definition)] @declaration
