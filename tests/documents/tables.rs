//! Separated values as tables; the same files as text are read elsewhere.

use serde_json::json;

use super::{daemon, refusal, rows, text};
use crate::client::Daemon;
use crate::tree::Tree;

#[test]
fn tables_of_separated_values() {
    let daemon = daemon();
    assert_eq!(
        text(&daemon, "table.csv:table"),
        rows(
            "| ship | berth | remark |
| --- | --- | --- |
| Aurora | 7 | left \\| right |
| Ceres | 12 | two<br>lines |
| Boréal |  | says \"ahoy\" |
| Hel | 3 | blanks |
| comma, inside | 4 | x |
| last | 5 | end |"
        )
    );
    assert_eq!(
        text(&daemon, "table-crlf.csv:table"),
        text(&daemon, "table.csv:table")
    );
    assert_eq!(
        text(&daemon, "table-latin1.csv:table"),
        rows("| ship | port |\n| --- | --- |\n| Boréal | Sète |")
    );
    assert_eq!(
        text(&daemon, "table-bom.csv:table"),
        rows("| ship | berth |\n| --- | --- |\n| Aurora | 7 |")
    );
    assert_eq!(
        text(&daemon, "table-semicolon.csv:table:3-3"),
        "2:| --- | --- |\n3:| Aurora | 12,5 |\n4:| Ceres | 8,0 |"
    );
    assert_eq!(
        text(&daemon, "table-tab.tsv:table"),
        rows("| ship | length |\n| --- | --- |\n| Aurora | 12.5 |\n| Ceres | 8 |")
    );
    assert_eq!(
        text(&daemon, "empty.csv:table"),
        "[No extractable text in empty.csv]"
    );
    let lines = "ship,berth,remark
Aurora,7,\"left | right\"
Ceres,12,\"two
lines\"
Boréal,,\"says \"\"ahoy\"\"\"
 Hel ,3,  blanks  
\"comma, inside\",4,x
last,5,end";
    assert_eq!(
        text(&daemon, "table.csv"),
        format!("¶table.csv#682C\n{}", rows(lines))
    );
    assert_eq!(
        text(&daemon, "one-column.csv:table"),
        rows("| ship |\n| --- |\n| Aurora |\n| Ceres |")
    );
    let ragged = "|  |  |  |  |  |
| --- | --- | --- | --- | --- |
| a |  |  |  |  |
| b | c |  |  |  |
| d | e | f |  |  |
| g | h | i | j | k |
| l |  |  |  |  |";
    assert_eq!(text(&daemon, "ragged.csv:table"), rows(ragged));
    assert_eq!(
        text(&daemon, "unclosed.csv:table"),
        rows("| ship | remark |\n| --- | --- |\n| Aurora | never closed Ceres,x |")
    );
    assert_eq!(refusal(&daemon, "table.csv:p1").kind(), "badSelector");
    assert_eq!(refusal(&daemon, "report.docx:table").kind(), "badSelector");
}

#[test]
fn unsaved_text_is_what_a_table_is_made_of() {
    let tree = Tree::new().file("a.csv", "x,y\n1,2\n");
    let daemon = Daemon::start(tree.path());
    let uri = format!("file://{}", tree.spelled("a.csv"));
    let document = json!({ "uri": uri, "languageId": "csv", "version": 1, "text": "x,y\n3,4\n" });
    daemon.notify("textDocument/didOpen", json!({ "textDocument": document }));
    assert_eq!(
        text(&daemon, "a.csv:table"),
        rows("| x | y |\n| --- | --- |\n| 3 | 4 |")
    );
}
