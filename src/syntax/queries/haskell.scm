[(function) (bind)] @body.rest

(haddock) @doc
(comment) @comment
(import) @import

(declarations [(function) (bind) (class) (instance) (data_type) (newtype)] @definition)
(class_declarations (function) @definition)
(instance_declarations (function) @definition)
(declarations [(signature) (type_synonym) (pattern_synonym)] @declaration)
(class_declarations (signature) @declaration)
