[(function) (bind)] @body.rest

(haddock) @doc
(comment) @comment
(import) @import
