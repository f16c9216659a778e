; A type behind a macro (`struct EXPORT Name {`) is taken for a function without parameters: its members stay.
(function_definition
  declarator: [(function_declarator) (pointer_declarator) (parenthesized_declarator) (attributed_declarator)]
  body: (compound_statement) @body)

(preproc_function_def value: (preproc_arg) @body)
(initializer_list) @literal
[(string_literal) (concatenated_string)] @literal

(comment) @comment
(preproc_include) @import

(function_definition) @definition
[(struct_specifier body: (_)) (union_specifier body: (_)) (enum_specifier body: (_))] @definition
[(declaration) (type_definition) (preproc_def) (preproc_function_def) (field_declaration) (enumerator)] @declaration
