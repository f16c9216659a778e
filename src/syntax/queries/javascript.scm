(jsx_element) @literal
(field_definition value: [(arrow_function) (function_expression)]) @definition
(field_definition) @declaration
