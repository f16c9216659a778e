(description) @doc
(comment) @comment
(operation_definition (selection_set) @literal)
(fragment_definition (selection_set) @literal)

[(object_type_definition) (interface_type_definition) (enum_type_definition) (input_object_type_definition) (union_type_definition)] @definition
[(scalar_type_definition) (directive_definition) (operation_definition) (fragment_definition)] @declaration
[(field_definition) (enum_value_definition)] @declaration
(input_fields_definition (input_value_definition) @declaration)
