-- The extension for codecompanion.nvim: `extensions = { pilcrow = {} }`. It never starts a daemon before a chat asks for a tool.
local tools = require('pilcrow.tools')

local M = {}

---The session of a chat.
---@param chat table
local function session_of(chat)
  return 'codecompanion-' .. tostring(chat and (chat.id or chat.bufnr) or 'chat')
end

---@param kind string the daemon's name of the tool
---@return table tool as codecompanion.nvim has it
local function tool_of(kind)
  local tool = tools.list()[kind]
  if not tool then
    error(("pilcrow: the daemon has no tool '%s'"):format(kind), 0)
  end
  local name = 'pilcrow_' .. kind
  local function text_of(output)
    return vim.iter(output):flatten():join('\n')
  end
  return {
    name = name,
    cmds = {
      function(self, args, opts)
        tools.run(kind, args, { session = session_of(self.chat) }, function(text, is_error)
          opts.output_cb({ status = is_error and 'error' or 'success', data = text })
        end)
      end,
    },
    schema = {
      type = 'function',
      ['function'] = { name = name, description = tool.description, parameters = tool.inputSchema },
    },
    output = {
      prompt = function(self)
        return tools.question(kind, self.args)
      end,
      success = function(self, output, meta)
        -- The model gets the text, the person one line.
        meta.tools.chat:add_tool_output(self, text_of(output), tools.summary(kind, self.args))
      end,
      error = function(self, output, meta)
        meta.tools.chat:add_tool_output(self, text_of(output))
      end,
      rejected = function(self, meta)
        meta.tools.chat:add_tool_output(self, 'The user declined this; nothing was changed.')
      end,
    },
  }
end

---@param opts? { confirm_edits?: boolean }
function M.setup(opts)
  local confirm = vim.F.if_nil((opts or {}).confirm_edits, require('pilcrow.config').options.confirm_edits)
  local config = require('codecompanion.config')
  local chat = (config.interactions or config.strategies).chat
  local names = {}
  for _, kind in ipairs(tools.names) do
    local name = 'pilcrow_' .. kind
    names[#names + 1] = name
    chat.tools[name] = {
      description = tools.changes_files(kind) and 'Changes files, by Pilcrow' or 'Reads files, by Pilcrow',
      callback = function()
        return tool_of(kind)
      end,
      opts = { require_approval_before = confirm and tools.changes_files(kind) },
    }
  end
  chat.tools.groups = chat.tools.groups or {}
  chat.tools.groups.pilcrow = {
    description = 'Read and edit files, unsaved buffers too',
    tools = names,
    opts = { collapse_tools = true },
  }
end

M.exports = {
  ---The tool of a name, as codecompanion.nvim has it.
  tool = tool_of,
}

return M
