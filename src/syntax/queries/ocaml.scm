(value_definition) @body.rest
(method_definition) @body.rest

(comment) @comment
(open_module) @import

(value_definition (let_binding (parameter))) @definition
[(value_specification) (type_definition) (class_definition) (method_definition)] @definition
[(value_definition) (module_definition) (module_type_definition) (exception_definition) (external)] @declaration
[(method_specification) (class_type_definition)] @declaration
