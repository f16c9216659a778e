-- The tools for mcphub.nvim, as the native server `pilcrow`. No daemon is started before a tool's schema or work is asked for.
local tools = require('pilcrow.tools')

local M = {}

---@param result? table
---@param res table mcphub's answer
---@param text string
local function put(result, res, text)
  local blocks = result and result.content
  if not blocks then
    return res:text(text)
  end
  for _, block in ipairs(blocks) do
    if block.type == 'image' then
      res:image(block.data, block.mimeType)
    elseif block.type == 'resource' then
      res:resource(block.resource)
    else
      res:text(block.text)
    end
  end
end

---The hubs that have the tools.
local served = setmetatable({}, { __mode = 'k' })

---Adds the tools to mcphub.nvim, once; to be called after its own `setup`.
---@param opts? { session?: string, confirm_edits?: boolean }
function M.setup(opts)
  opts = opts or {}
  local session = opts.session or 'mcphub'
  local confirm = vim.F.if_nil(opts.confirm_edits, require('pilcrow.config').options.confirm_edits)
  local hub = require('mcphub')
  if served[hub] then
    return
  end
  served[hub] = true
  for _, kind in ipairs(tools.names) do
    hub.add_tool('pilcrow', {
      name = kind,
      description = function()
        return tools.list()[kind].description
      end,
      inputSchema = function()
        return tools.list()[kind].inputSchema
      end,
      needs_confirmation_window = confirm and tools.changes_files(kind),
      handler = function(req, res)
        tools.run(kind, req.params or {}, { session = session }, function(text, is_error, result)
          if is_error then
            return res:error(text)
          end
          put(result, res, text)
          res:send()
        end)
      end,
    })
  end
end

return M
