-- The tools in chat panels: in stand-ins made after their documentation, and in the real ones where PILCROW_PANELS names a folder that holds them. No model is ever asked.
local tests = vim.fs.dirname(debug.getinfo(1, 'S').source:sub(2))
local T = dofile(tests .. '/harness.lua')
local pilcrow = require('pilcrow')

local real = dofile(tests .. '/real_panels.lua')

local function yes()
  return true
end

---@param name string
---@param kind string
---@param drive fun(opts?: table): table
local function cases(name, kind, drive)
  local prefix = name == 'mcphub' and '' or 'pilcrow_'
  local title = ('%s.nvim (%s): '):format(name, kind)

  T.case(title .. "the tools are the daemon's, with its words and schemas", {}, function()
    local panel = drive()
    local own = T.good(pilcrow.tools_sync()).tools
    local names = vim.tbl_map(function(tool)
      return prefix .. tool.name
    end, own)
    local has = panel.names()
    table.sort(names)
    table.sort(has)
    T.eq(has, names)
    for _, tool in ipairs(own) do
      local schema = panel.schema(prefix .. tool.name)
      T.eq(schema.description, tool.description)
      local required = schema.parameters.required
      table.sort(required)
      T.eq(required, vim.fn.sort(tool.inputSchema.required))
      for field, told in pairs(tool.inputSchema.properties) do
        -- avante knows one type for a field: that of a value which is given.
        local known = schema.parameters.properties[field].type
        local first = type(told.type) == 'table' and type(known) == 'string' and told.type[1]
        T.eq(known, first or told.type, field)
        T.eq(schema.parameters.properties[field].description, told.description, field)
      end
    end
  end)

  T.case(title .. 'reads an unsaved buffer, edits it after asking, and tells errors', { ['a.txt'] = 'a\nb\n' }, function(root)
    local bufnr = T.open('a.txt')
    T.types(bufnr, 2, 'unsaved')
    local panel = drive()
    local text = panel.call(prefix .. 'read', { path = 'a.txt' }, yes)
    T.has(text, '1:a\n2:unsaved')
    T.has(panel.call(prefix .. 'read', { path = 'gone.txt' }, yes), 'File not found: gone.txt')
    local many = panel.call(prefix .. 'read_many', { paths = { 'a.txt', 'gone.txt' } }, yes)
    T.has(many, '2:unsaved')
    T.has(many, 'File not found')
    local tag = text:match('#(%x+)')
    local questions = {}
    local function ask(allowed)
      return function(question)
        questions[#questions + 1] = question
        return allowed
      end
    end
    local patch = { patch = ('¶a.txt#%s\nreplace 1:\n+A\n'):format(tag) }
    T.has(panel.call(prefix .. 'edit', patch, ask(false)), 'declined')
    T.eq(T.lines(bufnr), { 'a', 'unsaved' })
    T.has(panel.call(prefix .. 'edit', patch, ask(true)), '1:A')
    T.eq(T.lines(bufnr), { 'A', 'unsaved' })
    T.has(panel.call(prefix .. 'edit', { patch = '¶a.txt#0000\nreplace 1:\n+B\n' }, ask(true)), '#0000')
    T.has(panel.call(prefix .. 'write', { path = 'new.txt', text = 'n\n' }, ask(true)), '1:n')
    T.eq(T.bytes(root .. '/new.txt'), 'n\n')
    T.has(panel.call(prefix .. 'write', { path = 'new.txt', text = 'm\n' }, ask(true)), 'new.txt')
    T.eq(T.bytes(root .. '/new.txt'), 'n\n')
    T.eq(#questions, 5)
    if prefix ~= '' then
      T.eq({ questions[1], questions[4] }, { 'Edit a.txt?', 'Write new.txt?' })
    end
  end)

  T.case(title .. 'does not ask where the user wants no questions', {}, function(root)
    local panel = drive({ confirm_edits = false })
    panel.call(prefix .. 'write', { path = 'new.txt', text = 'n\n' }, function()
      error('it asked')
    end)
    T.eq(T.bytes(root .. '/new.txt'), 'n\n')
  end)
end

local panels = { 'codecompanion', 'mcphub', 'avante' }

for _, name in ipairs(panels) do
  cases(name, 'stand-in', dofile(('%s/stand_ins/%s.lua'):format(tests, name)).setup)
end

T.case('without the daemon there are no tools, and the panel is told why', {}, function()
  local done, why = pcall(require('pilcrow.avante').tools)
  T.eq(done, false)
  T.has(why, 'is not an executable file')
end, { cmd = { '/nowhere/pilcrow' } })

for _, name in ipairs(panels) do
  if real.has(name) then
    cases(name, 'real', real[name])
  end
end

T.finish()
