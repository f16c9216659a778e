-- A stand-in for codecompanion.nvim: what its documentation says of extensions and tools, and nothing else. It never mends what a tool gets wrong.
local M = {}

---Loads the extension as codecompanion.nvim's `setup` does.
---@param opts? table
function M.setup(opts)
  package.loaded['codecompanion.config'] = { interactions = { chat = { tools = { opts = {}, groups = {} } } } }
  require('codecompanion._extensions.pilcrow').setup(opts or {})
  local said = {}
  local chat = {
    id = 1,
    add_tool_output = function(_, tool, for_llm, for_user)
      assert(type(for_llm) == 'string')
      said[#said + 1] = { tool = tool.name, text = for_llm, user = for_user or for_llm }
    end,
  }
  local registered = package.loaded['codecompanion.config'].interactions.chat.tools
  return {
    names = function()
      return vim.deepcopy(registered.groups.pilcrow.tools)
    end,
    schema = function(name)
      return registered[name].callback().schema['function']
    end,
    ---Runs a call; `asked` decides where approval is required.
    call = function(name, args, asked)
      local tool = vim.deepcopy(registered[name].callback())
      tool.name, tool.args, tool.opts = name, args, registered[name].opts
      local meta = { tools = { chat = chat } }
      if tool.opts.require_approval_before and not asked(tool.output.prompt(tool, meta)) then
        tool.output.rejected(tool, meta)
      else
        tool.cmds[1]({ chat = chat }, args, {
          output_cb = function(message)
            tool.output[message.status](tool, { message.data }, meta)
          end,
        })
      end
      local before = #said
      vim.wait(10000, function()
        return #said > before or (before > 0 and said[before].tool == name and not said[before].taken)
      end, 5)
      local last = assert(said[#said], 'the tool did not answer')
      last.taken = true
      return last.text
    end,
  }
end

return M
