(import_alias) @import

[(interface_declaration) (enum_declaration) (abstract_class_declaration) (function_signature) (abstract_method_signature)] @definition
(class_body (method_signature) @definition)
(public_field_definition value: [(arrow_function) (function_expression)]) @definition
[(type_alias_declaration) (internal_module) (module) (enum_assignment) (public_field_definition)] @declaration
(enum_body name: [(property_identifier) (string) (private_property_identifier)] @declaration)
(interface_body [(property_signature) (method_signature)] @declaration)
(type_alias_declaration value: (object_type [(property_signature) (method_signature)] @declaration))
