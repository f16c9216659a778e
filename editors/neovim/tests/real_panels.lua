-- Drivers of the real chat panels, from the folder that PILCROW_PANELS names; nothing is asked of any model, and nothing is installed here.
local M = {}

local folder = vim.env.PILCROW_PANELS

---Whether the sources of a panel are there.
---@param name string
function M.has(name)
  return folder ~= nil and vim.uv.fs_stat(('%s/%s.nvim/lua'):format(folder, name)) ~= nil
end

---Loads a panel afresh.
---@param name string
local function load(name)
  for module in pairs(package.loaded) do
    if module == name or vim.startswith(module, name .. '.') then
      package.loaded[module] = nil
    end
  end
  for _, plugin in ipairs({ 'plenary', name }) do
    vim.opt.runtimepath:append(('%s/%s.nvim'):format(folder, plugin))
  end
end

---An adapter that never gets an answer.
local function silent_adapter()
  return {
    name = 'silent',
    formatted_name = 'Silent',
    roles = { llm = 'assistant', user = 'user' },
    opts = { stream = false, tools = true },
    features = { text = true, tokens = false },
    url = 'http://127.0.0.1:9/',
    headers = {},
    parameters = {},
    schema = { model = { default = 'silent' } },
    handlers = {
      form_parameters = function()
        return {}
      end,
      form_messages = function()
        return {}
      end,
      is_complete = function()
        return false
      end,
      tools = {
        format_tool_calls = function(_, tools)
          return tools
        end,
        output_response = function(_, call, output)
          return {
            role = 'tool',
            tools = { call_id = call.id },
            content = output,
            _meta = { tag = call.id },
            opts = { visible = false },
          }
        end,
      },
    },
  }
end

function M.codecompanion(opts)
  load('codecompanion')
  require('codecompanion').setup({
    extensions = { pilcrow = { opts = opts } },
    adapters = { http = { silent = silent_adapter } },
    interactions = {
      chat = { adapter = 'silent', tools = { opts = { auto_submit_success = false, auto_submit_errors = false } } },
    },
  })
  local chat = require('codecompanion').chat()
  chat.tool_registry:add('pilcrow')
  local calls = 0
  return {
    names = function()
      return vim.deepcopy(require('codecompanion.config').interactions.chat.tools.groups.pilcrow.tools)
    end,
    schema = function(name)
      return chat.tool_registry.schemas[('<tool>%s</tool>'):format(name)]['function']
    end,
    call = function(name, args, asked)
      calls = calls + 1
      local id = 'call-' .. calls
      local waiting = false
      local listener = vim.api.nvim_create_autocmd('User', {
        pattern = 'CodeCompanionToolApprovalRequested',
        callback = function()
          waiting = true
        end,
      })
      chat.tools:execute(chat, { { id = id, ['function'] = { name = name, arguments = args } } })
      local function answer()
        return vim.iter(chat.messages):find(function(message)
          return message.role == 'tool' and message.tools and message.tools.call_id == id
        end)
      end
      vim.wait(10000, function()
        return waiting or answer()
      end, 5)
      if waiting then
        local lines = table.concat(vim.api.nvim_buf_get_lines(chat.bufnr, 0, -1, true), '\n')
        local question
        for one in lines:gmatch('Approval Required%*%*%s*(.-)%s*Please select') do
          question = one
        end
        local keys = require('codecompanion.interactions.chat.tools.labels').keymaps()
        vim.ui.input = function(_, done)
          done('')
        end
        vim.api.nvim_buf_call(chat.bufnr, function()
          vim.api.nvim_feedkeys(vim.keycode(asked(question) and keys.accept or keys.reject), 'x', false)
        end)
      end
      vim.wait(10000, answer, 5)
      vim.api.nvim_del_autocmd(listener)
      return assert(answer(), 'the tool did not answer').content
    end,
  }
end

function M.mcphub(opts)
  load('mcphub')
  require('pilcrow.mcphub').setup(opts)
  local server = assert(require('mcphub.native').is_native_server('pilcrow'))
  local function find(name)
    return vim.iter(server.capabilities.tools):find(function(tool)
      return tool.name == name
    end)
  end
  return {
    names = function()
      return vim.tbl_map(function(tool)
        return tool.name
      end, server.capabilities.tools)
    end,
    schema = function(name)
      local tool = find(name)
      return { name = name, description = tool.description(), parameters = tool.inputSchema() }
    end,
    call = function(name, args, asked)
      if find(name).needs_confirmation_window and not asked(name) then
        return 'declined'
      end
      local answer
      server:call_tool(name, args, {
        callback = function(result, why)
          answer = result or { result = { content = { { text = why } } } }
        end,
      })
      vim.wait(10000, function()
        return answer
      end, 5)
      return assert(answer, 'the tool did not answer').result.content[1].text
    end,
  }
end

function M.avante(opts)
  load('avante')
  require('avante.config').setup({
    custom_tools = function()
      return require('pilcrow.avante').tools(opts)
    end,
  })
  local all = require('avante.llm_tools')
  local tools = all.get_tools('', {})
  local helpers = require('avante.llm_tools.helpers')
  return {
    names = function()
      return vim.tbl_filter(function(name)
        return vim.startswith(name, 'pilcrow_')
      end, all.get_tool_names())
    end,
    schema = function(name)
      local tool = vim.iter(tools):find(function(one)
        return one.name == name
      end)
      return require('avante.providers.openai'):transform_tool(tool)['function']
    end,
    call = function(name, args, asked)
      -- Its sidebar is not open in a test; the question goes the way it would go there.
      local own = helpers.confirm
      helpers.confirm = function(question, callback)
        callback(asked(question))
      end
      local answer
      all.process_tool_use(tools, { name = name, id = '1', input = args }, {
        on_log = function() end,
        on_complete = function(result, why)
          answer = result or why
        end,
      })
      vim.wait(10000, function()
        return answer
      end, 5)
      helpers.confirm = own
      return assert(answer, 'the tool did not answer')
    end,
  }
end

return M
