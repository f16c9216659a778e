(media_statement (block) @container)
(supports_statement (block) @container)
(rule_set (block) @literal)
(at_rule (block) @literal)
(keyframes_statement (keyframe_block_list) @literal)

(comment) @comment
(import_statement) @import
[(rule_set) (keyframes_statement)] @declaration
