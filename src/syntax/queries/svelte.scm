[(element) (script_element) (style_element)] @markup
[(if_statement) (each_statement) (await_statement) (key_statement)] @markup

(comment) @comment
