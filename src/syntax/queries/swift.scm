(function_declaration body: (function_body) @body)
(init_declaration body: (function_body) @body)
(deinit_declaration body: (function_body) @body)
(computed_property) @body
(subscript_declaration (computed_property) @body)
(willset_didset_block) @body
(call_suffix (lambda_literal) @callback)
(lambda_literal) @body

[(array_literal) (dictionary_literal) (multi_line_string_literal) (raw_string_literal)] @literal

(attribute) @attribute
[(comment) (multiline_comment)] @comment
(import_declaration) @import

[(class_declaration) (protocol_declaration) (function_declaration) (protocol_function_declaration) (init_declaration) (deinit_declaration)] @definition
[(property_declaration) (typealias_declaration) (enum_entry) (protocol_property_declaration) (associatedtype_declaration) (subscript_declaration)] @declaration
