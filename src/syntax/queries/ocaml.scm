(value_definition) @body.rest
(method_definition) @body.rest

(comment) @comment
(open_module) @import

(value_definition (let_binding (parameter))) @definition
[(value_specification) (type_definition) (class_definition) (method_definition)] @definition
