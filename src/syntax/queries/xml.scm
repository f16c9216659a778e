(element) @markup

(Comment) @comment
