(function_body) @body

(comment) @comment
(import_directive) @import

[(contract_declaration) (interface_declaration) (library_declaration) (struct_declaration) (enum_declaration)] @definition
[(function_definition) (modifier_definition) (constructor_definition) (fallback_receive_definition)] @definition
