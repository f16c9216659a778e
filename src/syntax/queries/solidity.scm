(function_body) @body

(comment) @comment
(import_directive) @import

[(contract_declaration) (interface_declaration) (library_declaration) (struct_declaration) (enum_declaration)] @definition
[(function_definition) (modifier_definition) (constructor_definition) (fallback_receive_definition)] @definition
[(state_variable_declaration) (constant_variable_declaration) (event_definition) (error_declaration) (user_defined_type_definition)] @declaration
