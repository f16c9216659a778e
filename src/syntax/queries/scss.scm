(media_statement (block) @container)
(supports_statement (block) @container)
(rule_set (block) @literal)
(at_rule (block) @literal)
(include_statement (block) @literal)
(keyframes_statement (keyframe_block_list) @literal)
(mixin_statement (block) @body)
(function_statement (block) @body)
(declaration (list_value)) @literal.rest

[(comment) (js_comment)] @comment
[(import_statement) (use_statement) (forward_statement)] @import

[(mixin_statement) (function_statement)] @definition
[(rule_set) (keyframes_statement)] @declaration
