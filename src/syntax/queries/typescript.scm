(import_alias) @import

[(interface_declaration) (enum_declaration) (abstract_class_declaration) (function_signature) (abstract_method_signature)] @definition
(public_field_definition value: [(arrow_function) (function_expression)]) @definition
