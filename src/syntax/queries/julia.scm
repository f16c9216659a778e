(source_file (string_literal) @doc)
(module_definition (string_literal) @doc)

[(function_definition) (macro_definition)] @body.rest

(assignment (call_expression (argument_list) @literal))
[(vector_expression) (matrix_expression) (tuple_expression) (string_literal)] @literal

[(line_comment) (block_comment)] @comment
[(using_statement) (import_statement)] @import

[(function_definition) (macro_definition) (struct_definition) (abstract_definition)] @definition
[(module_definition) (assignment)] @declaration
