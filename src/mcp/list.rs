//! The tools as `tools/list` gives them: those of the engine, with what agents are to know of each.

use std::sync::Arc;

use anyhow::anyhow;
use rmcp::model::{MetaObject, Tool as ListedTool, ToolAnnotations};
use serde_json::{Value, json};

use crate::protocol::tools::Tool;

/// What a tool does. The engine lists them in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolKind {
    Read,
    ReadMany,
    Search,
    Edit,
    Write,
}

const KINDS: [ToolKind; 5] = [
    ToolKind::Read,
    ToolKind::ReadMany,
    ToolKind::Search,
    ToolKind::Edit,
    ToolKind::Write,
];

impl ToolKind {
    /// Its name for `--tools`, which the dialect may have another one for.
    pub fn name(self) -> &'static str {
        match self {
            ToolKind::Read => "read",
            ToolKind::ReadMany => "read_many",
            ToolKind::Search => "search",
            ToolKind::Edit => "edit",
            ToolKind::Write => "write",
        }
    }

    fn title(self) -> &'static str {
        match self {
            ToolKind::Read => "Read",
            ToolKind::ReadMany => "Read several",
            ToolKind::Search => "Search",
            ToolKind::Edit => "Edit",
            ToolKind::Write => "Write",
        }
    }

    /// Whether it changes nothing.
    pub fn only_reads(self) -> bool {
        matches!(self, ToolKind::Read | ToolKind::ReadMany | ToolKind::Search)
    }
}

/// The same for the whole life of the process.
#[derive(Debug)]
pub struct ToolList {
    tools: Vec<(ToolKind, Tool)>,
}

impl ToolList {
    /// Those of the engine that are `wanted`, or all.
    ///
    /// # Errors
    ///
    /// Where one is wanted that there is not.
    pub fn new(tools: Vec<Tool>, wanted: Option<&[String]>) -> anyhow::Result<ToolList> {
        let mut tools: Vec<(ToolKind, Tool)> = KINDS.into_iter().zip(tools).collect();
        if let Some(wanted) = wanted {
            let is_called = |(kind, tool): &(ToolKind, Tool), name: &String| {
                tool.name == name || kind.name() == name
            };
            for name in wanted {
                if !tools.iter().any(|tool| is_called(tool, name)) {
                    let names: Vec<&str> = tools.iter().map(|(_, tool)| tool.name).collect();
                    let names = names.join(", ");
                    return Err(anyhow!(
                        "There is no tool '{name}' here. There are {names}."
                    ));
                }
            }
            tools.retain(|tool| wanted.iter().any(|name| is_called(tool, name)));
        }
        Ok(ToolList { tools })
    }

    /// The tool of that name.
    pub fn find(&self, name: &str) -> Option<(ToolKind, &Tool)> {
        let found = self.tools.iter().find(|(_, tool)| tool.name == name)?;
        Some((found.0, &found.1))
    }

    /// Whether files can be changed.
    pub fn edits(&self) -> bool {
        self.tools.iter().any(|(kind, _)| !kind.only_reads())
    }

    /// What `tools/list` gives. `web` says whether web addresses are read.
    pub fn listed(&self, web: bool) -> Vec<ListedTool> {
        let listed = self
            .tools
            .iter()
            .map(|(kind, tool)| listed(*kind, tool, web));
        listed.collect()
    }
}

/// Without it Claude Code puts an answer of over 50,000 characters into a file.
const MAX_RESULT: &str = "anthropic/maxResultSizeChars";

fn listed(kind: ToolKind, tool: &Tool, web: bool) -> ListedTool {
    let schema = match &tool.input_schema {
        Value::Object(schema) => schema.clone(),
        _ => Default::default(),
    };
    let read = kind.only_reads();
    let annotations = ToolAnnotations::from_raw(
        None,
        Some(read),
        (!read).then_some(true),
        Some(read),
        // What is searched is on this machine.
        Some(read && web && kind != ToolKind::Search),
    );
    let mut listed = ListedTool::new(tool.name, tool.description.clone(), Arc::new(schema));
    listed.title = Some(kind.title().to_owned());
    listed.annotations = Some(annotations);
    let mut meta = MetaObject::new();
    meta.insert(MAX_RESULT.to_owned(), json!(500_000));
    listed.meta = Some(meta);
    listed
}
