-- `:Pilcrow` and its completion. What a command shows is put into a scratch buffer; no file's own buffer is ever opened or changed by it.
local M = {}

---The session of the commands: what was shown by `:Pilcrow read` can be edited by `:Pilcrow edit`.
M.session = 'neovim'

---@param message string
local function fail(message)
  vim.notify('pilcrow: ' .. message, vim.log.levels.ERROR)
end

---Shows a text in a scratch buffer of that name.
---@param name string
---@param text string
---@param filetype? string
---@return integer bufnr
local function show(name, text, filetype)
  local bufnr = vim.fn.bufadd(name)
  vim.bo[bufnr].buftype = 'nofile'
  vim.bo[bufnr].bufhidden = 'wipe'
  vim.bo[bufnr].swapfile = false
  vim.bo[bufnr].buflisted = false
  local window = vim.fn.bufwinid(bufnr)
  if window ~= -1 then
    vim.api.nvim_set_current_win(window)
  else
    vim.cmd.split()
    vim.api.nvim_win_set_buf(0, bufnr)
  end
  vim.bo[bufnr].modifiable = true
  vim.api.nvim_buf_set_lines(bufnr, 0, -1, false, vim.split(text, '\n', { plain = true }))
  vim.bo[bufnr].modifiable = false
  vim.bo[bufnr].modified = false
  vim.bo[bufnr].filetype = filetype or ''
  return bufnr
end

---A path as it was typed: a file below the working directory is meant even where the workspace is above it.
---@param path string
---@return string
local function from_cwd(path)
  local bare = path
  while bare do
    if vim.uv.fs_stat(bare) then
      return vim.fn.fnamemodify(bare, ':p'):gsub('/$', '') .. path:sub(#bare + 1)
    end
    bare = bare:match('^(.+):[^:]*$')
  end
  return path
end

---What `:Pilcrow read` reads without a path: the file of this buffer, or the range of it.
---@param args vim.api.keyset.create_user_command.command_args
---@return string?
local function this_file(args)
  local path = require('pilcrow.documents').path(0)
  if path and args.range > 0 then
    return ('%s:%d-%d'):format(path, args.line1, args.line2)
  end
  return path
end

---@param result pilcrow.ReadResult
---@return string
local function filetype_of(result)
  local details = result.details
  if details.kind ~= 'file' or not details.resolvedPath then
    return ''
  end
  -- Some names are told apart by what the file holds: `.ts` may be a translation.
  local rows = {}
  for row in require('pilcrow').text(result):gmatch('[^\n]+') do
    rows[#rows + 1] = row:match('^%d+:(.*)$')
  end
  local bufnr = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_lines(bufnr, 0, -1, false, rows)
  local filetype = vim.filetype.match({ filename = details.resolvedPath, buf = bufnr })
  vim.api.nvim_buf_delete(bufnr, { force = true })
  return filetype or ''
end

---@type table<string, fun(args: table, rest: string)>
local commands = {}

function commands.read(args, rest)
  local path = rest ~= '' and from_cwd(rest) or this_file(args)
  if not path then
    return fail('this buffer has no file; :Pilcrow read takes a path')
  end
  require('pilcrow').read(path, { session = M.session }, function(failure, result)
    if failure then
      return fail(failure.message)
    end
    show('pilcrow://read/' .. (rest ~= '' and rest or vim.fn.fnamemodify(path, ':~:.')), require('pilcrow').text(result), filetype_of(result))
  end)
end

---What was found, as a list to jump through.
---@param result pilcrow.SearchResult
---@param root string
local function quickfix_of(result, root)
  local items = {}
  for _, file in ipairs(result.details.files) do
    for _, span in ipairs(file.lines or {}) do
      local path = file.resolvedPath or vim.fs.joinpath(root, file.path)
      items[#items + 1] = { filename = path, lnum = span.start, end_lnum = span['end'] }
    end
  end
  return items
end

function commands.search(_, rest)
  if rest == '' then
    return fail(':Pilcrow search takes a pattern')
  end
  require('pilcrow').search(rest, { session = M.session }, function(failure, result)
    if failure then
      return fail(failure.message)
    end
    local root = require('pilcrow.daemon').root_of(nil)
    vim.fn.setqflist({}, ' ', { title = 'Pilcrow search ' .. rest, items = quickfix_of(result, root) })
    show('pilcrow://search', require('pilcrow').text(result))
  end)
end

---The text of a patch: a file's, a register's, or this buffer's.
---@param args table
---@param rest string
---@return string? patch
---@return string? why
local function patch_of(args, rest)
  local register = rest:match('^@(.)$')
  if register then
    return vim.fn.getreg(register)
  end
  if rest ~= '' then
    local file, why = io.open(vim.fn.expand(rest), 'r')
    if not file then
      return nil, why
    end
    local text = file:read('*a')
    file:close()
    return text
  end
  local first, last = 1, -1
  if args.range > 0 then
    first, last = args.line1, args.line2
  end
  return table.concat(vim.api.nvim_buf_get_lines(0, first - 1, last, false), '\n') .. '\n'
end

---@param result pilcrow.EditResult
---@return string
local function diff_of(result)
  return vim.iter(result.details.files):map(function(file)
    return (file.diff:gsub('\n$', ''))
  end):join('\n')
end

function commands.edit(args, rest)
  local bare, found = rest:gsub('%-%-dry%-run%s*', '')
  local dry = found > 0
  local patch, why = patch_of(args, vim.trim(bare))
  if not patch then
    return fail(why or 'there is no patch')
  end
  require('pilcrow').edit(patch, { session = M.session, dryRun = dry or nil }, function(failure, result)
    if failure then
      return fail(failure.message)
    end
    if dry then
      return show('pilcrow://edit', diff_of(result), 'diff')
    end
    for _, file in ipairs(result.details.files) do
      local where = file.persisted and 'written' or 'changed in its buffer, not saved'
      vim.notify(('pilcrow: %s %s (#%s)'):format(file.path, where, file.tag))
    end
  end)
end

function commands.status()
  require('pilcrow').status(function(failure, status)
    if failure then
      return fail(failure.message)
    end
    show('pilcrow://status', vim.inspect(status), 'lua')
  end)
end

function commands.log()
  require('pilcrow').status(function(failure, status)
    if failure then
      return fail(failure.message)
    end
    local newest, at
    for name, kind in vim.fs.dir(status.log or '') do
      local stat = kind == 'file' and vim.uv.fs_stat(vim.fs.joinpath(status.log, name))
      if stat and (not at or stat.mtime.sec > at) then
        newest, at = vim.fs.joinpath(status.log, name), stat.mtime.sec
      end
    end
    if not newest then
      return fail(('there is no log in %s'):format(status.log or 'any folder'))
    end
    vim.cmd('botright split')
    vim.cmd('view ' .. vim.fn.fnameescape(newest))
    vim.bo.bufhidden = 'wipe'
    vim.cmd('normal! G')
  end)
end

function commands.restart()
  require('pilcrow.daemon').restart(nil, function(failure)
    if failure then
      return fail(failure.message)
    end
    vim.notify('pilcrow: restarted')
  end)
end

---@param args vim.api.keyset.create_user_command.command_args
function M.run(args)
  local name, rest = args.args:match('^(%S+)%s*(.-)%s*$')
  if not commands[name] then
    return fail(("there is no ':Pilcrow %s'; there are %s"):format(name, table.concat(M.names(), ', ')))
  end
  commands[name](args, rest)
end

---@return string[]
function M.names()
  local names = vim.tbl_keys(commands)
  table.sort(names)
  return names
end

---@param words string[]
---@param lead string
local function beginning(words, lead)
  return vim.tbl_filter(function(word)
    return vim.startswith(word, lead)
  end, words)
end

---@param lead string
---@param line string
---@return string[]
function M.complete(lead, line)
  local before = line:match('Pilcrow!?%s+(.*)$') or ''
  before = before:sub(1, #before - #lead)
  local name = before:match('^(%S+)%s')
  if not name then
    return beginning(M.names(), lead)
  end
  if name == 'read' then
    local path = lead:match('^(.-):[^/]*$')
    if path and vim.uv.fs_stat(path) then
      return beginning({ path .. ':raw', path .. ':full', path .. ':conflicts', path .. ':-20' }, lead)
    end
    return vim.fn.getcompletion(lead, 'file')
  end
  if name == 'edit' then
    local words = before:match('%-%-dry%-run') and {} or { '--dry-run' }
    local registers = { '@"', '@+', '@*' }
    return vim.list_extend(beginning(vim.list_extend(words, registers), lead), vim.fn.getcompletion(lead, 'file'))
  end
  return {}
end

return M
