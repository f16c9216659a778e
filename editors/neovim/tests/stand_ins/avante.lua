-- A stand-in for avante.nvim: `custom_tools`, `func` and `on_complete`, as documented. It never looks into the plugin.
local M = {}

function M.setup(opts)
  package.loaded['avante.llm_tools.helpers'] = nil
  local tools = require('pilcrow.avante').tools(opts)
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
      local parameters = { type = 'object', properties = {}, required = {} }
      for _, field in ipairs(tool.param.fields) do
        parameters.properties[field.name] = { type = field.type, description = field.description }
        if not field.optional then
          table.insert(parameters.required, field.name)
        end
      end
      return { name = name, description = tool.description, parameters = parameters }
    end,
    call = function(name, args, asked)
      local own = vim.fn.confirm
      vim.fn.confirm = function(question)
        return asked(question) and 1 or 2
      end
      local answer
      local returned = find(name).func(args, {
        on_log = function() end,
        on_complete = function(result, why)
          answer = result or why
        end,
      })
      assert(returned == nil, 'a tool with on_complete returns nothing')
      vim.wait(10000, function()
        return answer
      end, 5)
      vim.fn.confirm = own
      return assert(answer, 'the tool did not answer')
    end,
  }
end

return M
