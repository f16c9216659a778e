-- A stand-in for mcphub.nvim: `add_tool` and the answers of its native servers, as documented. It never forgives a tool that is not as documented.
local M = {}

function M.setup(opts)
  local tools = {}
  package.loaded.mcphub = {
    add_tool = function(server, tool)
      assert(server == 'pilcrow' and type(tool.name) == 'string' and type(tool.handler) == 'function')
      tools[#tools + 1] = tool
    end,
  }
  require('pilcrow.mcphub').setup(opts)
  local function find(name)
    return assert(vim.iter(tools):find(function(tool)
      return tool.name == name
    end))
  end
  return {
    names = function()
      return vim.tbl_map(function(tool)
        return tool.name
      end, tools)
    end,
    schema = function(name)
      local tool = find(name)
      return { name = name, description = tool.description(), parameters = tool.inputSchema() }
    end,
    call = function(name, args, asked)
      local tool = find(name)
      if tool.needs_confirmation_window and not asked(name) then
        return 'declined'
      end
      local answer
      local content = {}
      local response = {}
      function response:text(text)
        content[#content + 1] = { type = 'text', text = text }
        return self
      end
      function response:send()
        answer = { content = content }
      end
      function response:error(message)
        answer = { isError = true, content = { { type = 'text', text = message } } }
      end
      tool.handler({ params = args }, response)
      vim.wait(10000, function()
        return answer
      end, 5)
      return assert(answer, 'the tool did not answer').content[1].text
    end,
  }
end

return M
