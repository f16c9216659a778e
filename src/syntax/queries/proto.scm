(comment) @comment
(import) @import

[(message) (enum) (service) (rpc)] @definition
