(function_declaration body: (block) @body)
(method_declaration body: (block) @body)
(argument_list (func_literal body: (block) @callback))
(func_literal body: (block) @body)

(literal_value) @literal
(raw_string_literal) @literal

(comment) @doc
(import_declaration) @import

[(function_declaration) (method_declaration)] @definition
(type_spec type: [(struct_type) (interface_type)]) @definition
[(type_spec) (type_alias) (const_spec) (var_spec) (method_elem)] @declaration
(type_spec type: (struct_type (field_declaration_list (field_declaration) @declaration)))
