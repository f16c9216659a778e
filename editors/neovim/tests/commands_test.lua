-- `:Pilcrow`, its completion, `:checkhealth` and `:help`. No test here looks at how they are made, only at what a person sees.
local T = dofile(vim.fs.dirname(debug.getinfo(1, 'S').source:sub(2)) .. '/harness.lua')
local pilcrow = require('pilcrow')

---Runs a command and waits for the scratch buffer it opens, or fills anew.
local function shown(command, name)
  local before = { vim.api.nvim_get_current_buf(), vim.b.changedtick }
  vim.cmd(command)
  return T.wait(function()
    local bufnr = vim.api.nvim_get_current_buf()
    local is_new = not vim.deep_equal(before, { bufnr, vim.b.changedtick })
    return is_new and vim.api.nvim_buf_get_name(bufnr):find(name, 1, true) and bufnr
  end, 'a buffer called ' .. name)
end

local function note(part)
  return T.wait(function()
    return vim.iter(T.notes()):find(function(text)
      return text:find(part, 1, true)
    end)
  end, 'the note ' .. part)
end

local function complete(line)
  return vim.fn.getcompletion(line, 'cmdline')
end

T.case(':Pilcrow read shows what a model sees, with the right file type', { ['src/a.lua'] = 'local a = 1\nlocal b = 2\n' }, function()
  local bufnr = shown('Pilcrow read src/a.lua', 'pilcrow://read/src/a.lua')
  T.ok(T.lines(bufnr)[1]:match('^¶src/a.lua#%x+$'), T.lines(bufnr)[1])
  T.eq(T.lines(bufnr)[2], '1:local a = 1')
  local bo = vim.bo[bufnr]
  T.eq({ bo.filetype, bo.buftype, bo.modifiable, bo.modified, bo.swapfile }, { 'lua', 'nofile', false, false, false })
  T.eq(T.client(bufnr), nil)
  -- Once more into the same buffer, and a selector.
  local windows = #vim.api.nvim_list_wins()
  T.eq(shown('Pilcrow read src/a.lua', 'pilcrow://read/src/a.lua'), bufnr)
  T.eq(#vim.api.nvim_list_wins(), windows)
  local part = shown('Pilcrow read src/a.lua:2:raw', ':2:raw')
  T.eq(T.lines(part)[1], 'local b = 2')
end)

T.case('a file type that takes a look into the file is found', { ['a.ts'] = 'const a = 1\n', ['b.ts'] = '<?xml version="1.0"?>\n' }, function()
  T.eq(vim.bo[shown('Pilcrow read a.ts', 'read/a.ts')].filetype, 'typescript')
  T.eq(vim.bo[shown('Pilcrow read b.ts', 'read/b.ts')].filetype, 'xml')
end)

T.case(':Pilcrow read reads this file, or a range of it, or a folder', { ['a.txt'] = ('row\n'):rep(20), ['sub/b.txt'] = 'b\n' }, function()
  T.open('a.txt')
  T.types(0, 1, 'unsaved')
  T.eq(T.lines(shown('Pilcrow read', 'pilcrow://read/'))[2], '1:unsaved')
  vim.cmd('wincmd p')
  T.eq(#vim.tbl_filter(function(line)
    return line:match('^%d+:row$')
  end, T.lines(shown('5,6Pilcrow read', ':5-6'))), 6)
  vim.cmd('wincmd p')
  local folder = shown('Pilcrow read sub', 'pilcrow://read/sub')
  T.has(table.concat(T.lines(folder), '\n'), 'b.txt')
  T.eq(vim.bo[folder].filetype, '')
  vim.cmd.cd('sub')
  -- A path is meant as it is typed here.
  T.has(table.concat(T.lines(shown('Pilcrow read b.txt', 'read/b.txt')), '\n'), '1:b')
end)

T.case(':Pilcrow search shows what is found, and fills the quickfix list', { ['a.txt'] = 'x\nneedle\n', ['b.txt'] = 'needles\n' }, function(root)
  local bufnr = shown('Pilcrow search needle', 'pilcrow://search')
  T.has(table.concat(T.lines(bufnr), '\n'), '2:needle')
  local items = vim.tbl_map(function(item)
    return { vim.fs.basename(vim.api.nvim_buf_get_name(item.bufnr)), item.lnum }
  end, vim.fn.getqflist())
  T.eq(items, { { 'a.txt', 2 }, { 'b.txt', 1 } })
  vim.cmd('Pilcrow search')
  note('takes a pattern')
end)

T.case(':Pilcrow edit applies a patch from a buffer, a range, a register and a file', { ['a.txt'] = 'a\nb\nc\n' }, function(root)
  local function header()
    return T.lines(shown('Pilcrow read a.txt', 'read/a.txt'))[1]
  end
  local first = header()
  vim.cmd.enew()
  vim.api.nvim_buf_set_lines(0, 0, -1, true, { first, 'replace 1:', '+A' })
  vim.cmd('Pilcrow edit')
  note('a.txt written')
  T.eq(T.bytes(root .. '/a.txt'), 'A\nb\nc\n')
  vim.api.nvim_buf_set_lines(0, 0, -1, true, { 'a note', header and '' or '', 'replace 2:', '+B' })
  local patch = vim.api.nvim_get_current_buf()
  local second = header()
  vim.api.nvim_buf_set_lines(patch, 1, 2, true, { second })
  vim.api.nvim_set_current_buf(patch)
  vim.cmd('2,4Pilcrow edit')
  T.wait(function()
    return T.bytes(root .. '/a.txt') == 'A\nB\nc\n'
  end, 'the edit by a range')
  vim.fn.setreg('p', header() .. '\ndelete 3\n')
  vim.cmd('Pilcrow edit @p')
  T.wait(function()
    return T.bytes(root .. '/a.txt') == 'A\nB\n'
  end, 'the edit by a register')
  T.put(root .. '/fix.patch', header() .. '\ninsert tail:\n+end\n')
  local diff = shown('Pilcrow edit --dry-run fix.patch', 'pilcrow://edit')
  T.eq(vim.bo[diff].filetype, 'diff')
  T.has(table.concat(T.lines(diff), '\n'), '+end')
  T.eq(T.bytes(root .. '/a.txt'), 'A\nB\n')
  vim.cmd('Pilcrow edit fix.patch')
  T.wait(function()
    return T.bytes(root .. '/a.txt') == 'A\nB\nend\n'
  end, 'the edit by a file')
end)

T.case('what a command cannot do is said', { ['a.txt'] = 'a\n' }, function()
  vim.cmd('Pilcrow read gone.txt')
  note('File not found: gone.txt')
  vim.cmd('Pilcrow fly')
  note("there is no ':Pilcrow fly'; there are edit, log, read, restart, search, status")
  vim.cmd('Pilcrow edit nowhere.patch')
  note('nowhere.patch')
  vim.cmd.enew()
  vim.cmd('Pilcrow read')
  note('this buffer has no file')
end)

T.case(':Pilcrow status, log and restart', { ['a.txt'] = 'a\n' }, function(root)
  local bufnr = T.open('a.txt')
  local status = shown('Pilcrow status', 'pilcrow://status')
  T.has(table.concat(T.lines(status), '\n'), root)
  shown('Pilcrow log', vim.env.XDG_STATE_HOME .. '/pilcrow')
  T.eq(vim.bo.readonly, true)
  local before = T.daemons()
  vim.cmd('Pilcrow restart')
  note('restarted')
  T.wait(function()
    return T.client(bufnr) and #T.daemons() == 1
  end, 'the new daemon')
  T.ok(not vim.deep_equal(T.daemons(), before))
end)

T.case('completion', { ['src/main.rs'] = '', ['srv.txt'] = '', ['fix.patch'] = '' }, function()
  T.eq(complete('Pilcrow '), { 'edit', 'log', 'read', 'restart', 'search', 'status' })
  T.eq(complete('Pilcrow re'), { 'read', 'restart' })
  T.eq(complete('Pilcrow read sr'), { 'src/', 'srv.txt' })
  T.eq(complete('Pilcrow read srv.txt:'), { 'srv.txt:raw', 'srv.txt:full', 'srv.txt:conflicts', 'srv.txt:-20' })
  T.eq(complete('Pilcrow read srv.txt:r'), { 'srv.txt:raw' })
  T.eq(complete('1,2Pilcrow edit --'), { '--dry-run' })
  T.eq(complete('Pilcrow edit --dry-run f'), { 'fix.patch' })
  T.eq(complete('Pilcrow edit @'), { '@"', '@+', '@*' })
  T.eq(complete('Pilcrow status '), {})
end)

---@return string
local function health()
  vim.cmd('silent checkhealth pilcrow')
  local text = table.concat(T.lines(vim.api.nvim_get_current_buf()), '\n')
  vim.cmd('bwipeout!')
  return text
end

T.case(':checkhealth of what is well', { ['a.txt'] = 'a\n' }, function(root)
  T.has(health(), 'No daemon is running')
  T.open('a.txt')
  local text = health()
  T.has(text, 'OK Neovim')
  T.has(text, 'OK pilcrow ')
  T.has(text, root .. ': pilcrow ')
  T.has(text, 'documents: 1')
  T.ok(not text:find('ERROR') and not text:find('WARNING'), text)
end)

T.case(':checkhealth of a missing binary names the mend', {}, function()
  local text = health()
  T.has(text, "ERROR '/nowhere/pilcrow' is not an executable file")
  T.has(text, 'cargo install')
  T.has(text, 'cmd = { "/path/to/pilcrow"')
end, { cmd = { '/nowhere/pilcrow', 'serve', '--stdio' } })

T.case(':checkhealth of another program of that name', {}, function()
  T.has(health(), "does not say that it is Pilcrow")
end, { cmd = { 'true' } })

T.case(':checkhealth of settings that are wrong, and of a handler that is taken', { ['a.txt'] = 'a\n' }, function()
  local bufnr = T.open('a.txt')
  T.client(bufnr).handlers['workspace/applyEdit'] = vim.lsp.handlers['workspace/applyEdit']
  pilcrow.status_sync()
  local text = health()
  T.has(text, 'another handler answers workspace/applyEdit')
  T.has(text, 'Take `handlers` out')
end)

T.case(':help', {}, function()
  local copy = vim.fn.tempname()
  vim.fn.mkdir(copy .. '/doc', 'p')
  T.put(copy .. '/doc/pilcrow.txt', T.bytes(T.plugin .. '/doc/pilcrow.txt'))
  vim.cmd.helptags(copy .. '/doc')
  vim.opt.runtimepath:prepend(copy)
  for _, tag in ipairs({ 'pilcrow', ':Pilcrow', ':Pilcrow-edit', 'pilcrow.read()', 'PilcrowSnapshotChanged', 'pilcrow-health' }) do
    vim.cmd.help(tag)
    T.eq(vim.bo.filetype, 'help')
    T.has(vim.api.nvim_buf_get_name(0), 'pilcrow.txt')
    T.has(vim.api.nvim_get_current_line(), '*' .. tag .. '*')
    vim.cmd.helpclose()
  end
  vim.opt.runtimepath:remove(copy)
  local text = T.bytes(T.plugin .. '/doc/pilcrow.txt')
  for tag in text:gmatch('|([^|%s]*[pP]ilcrow[^|%s]*)|') do
    T.has(text, '*' .. tag .. '*')
  end
  for line in vim.gsplit(text, '\n') do
    T.ok(vim.fn.strdisplaywidth(line) <= 80, line)
  end
  -- Every option, every call and every command is told of.
  for option in pairs(require('pilcrow.config').defaults) do
    T.has(text, option)
  end
  for name in pairs(pilcrow) do
    T.has(text, name == 'setup' and 'setup' or (name:find('close_session') and 'close' or name))
  end
  for _, name in ipairs(require('pilcrow.commands').names()) do
    T.has(text, 'Pilcrow ' .. name)
  end
end)

T.case('the plugin is loaded once, and only its command at the start', {}, function(root)
  local script = root .. '/child.lua'
  T.put(script, ([[
    vim.opt.runtimepath:prepend(%q)
    for _ = 1, 2 do vim.cmd.runtime('plugin/pilcrow.lua') end
    local loaded = vim.tbl_filter(function(name) return name:match('^pilcrow') end, vim.tbl_keys(package.loaded))
    io.stdout:write(tostring(vim.g.loaded_pilcrow) .. ' ' .. #loaded .. ' ' .. vim.fn.exists(':Pilcrow'))
  ]]):format(T.plugin))
  local done = vim.system({ vim.v.progpath, '--clean', '--headless', '-n', '-l', script }, { text = true }):wait(T.guard)
  T.eq(done.stdout, 'true 0 2', done.stderr)
end)

T.case('every Lua file says what lives there and what never happens there', {}, function()
  local files = vim.fs.find(function(name)
    return name:match('%.lua$') ~= nil
  end, { path = T.plugin, limit = math.huge, type = 'file' })
  T.ok(#files > 15)
  for _, path in ipairs(files) do
    local lines = vim.split(T.bytes(path), '\n')
    local first = lines[1] == '---@meta' and lines[2] or lines[1]
    T.ok(first:match('^%-%- ') and (first:match('never') or first:match('nothing') or first:match('[Nn]o [%l`]+')), path)
    T.ok(#lines <= 600, path)
  end
end)

T.finish()
