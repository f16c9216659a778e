(block_mapping_pair value: [(block_node) (flow_node)] @literal)
(block_sequence_item [(block_node) (flow_node)] @literal)

(comment) @comment
(block_mapping_pair) @declaration
