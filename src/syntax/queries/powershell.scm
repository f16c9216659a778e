(function_statement (script_block (script_block_body) @body))
(class_method_definition (script_block (script_block_body) @body))

[(hash_literal_expression) (array_expression)] @literal

(comment) @comment

[(function_statement) (class_statement) (enum_statement) (class_method_definition)] @definition
(class_property_definition) @declaration
