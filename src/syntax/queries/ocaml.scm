(value_definition) @body.rest
(method_definition) @body.rest

(comment) @comment
(open_module) @import
