(function_item body: (block) @body)
(macro_definition) @body
(arguments (closure_expression body: (block) @callback))
(closure_expression body: (block) @body)
(async_block (block) @body)

(array_expression) @literal
(field_initializer_list) @literal
(string_literal) @literal
(raw_string_literal) @literal
(macro_invocation (token_tree) @literal)

[(attribute_item) (inner_attribute_item)] @attribute
(line_comment) @comment
(block_comment) @comment
[(use_declaration) (extern_crate_declaration)] @import

[(function_item) (function_signature_item) (macro_definition)] @definition
[(struct_item) (enum_item) (union_item) (trait_item) (impl_item)] @definition
[(const_item) (static_item) (type_item) (associated_type) (mod_item body: (_)) (field_declaration) (enum_variant)] @declaration
