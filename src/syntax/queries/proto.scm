(comment) @comment
(import) @import

[(message) (enum) (service) (rpc)] @definition
[(field) (enum_field) (map_field) (oneof) (oneof_field)] @declaration
