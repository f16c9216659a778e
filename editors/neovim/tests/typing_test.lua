-- Much typing by chance, with edits in between: the daemon reads what the buffer holds, and an edit lands where it is meant. The seed is never hidden.
local T = dofile(vim.fs.dirname(debug.getinfo(1, 'S').source:sub(2)) .. '/harness.lua')
local pilcrow = require('pilcrow')

local words = { '', 'a', 'é', '😀 x', '\ttab', 'long ' .. ('x'):rep(50), 'über', '  ', '日本' }

---@param bufnr integer
local function random_place(bufnr)
  local row = math.random(0, vim.api.nvim_buf_line_count(bufnr) - 1)
  local line = vim.api.nvim_buf_get_lines(bufnr, row, row + 1, true)[1]
  return row, vim.str_byteindex(line, 'utf-32', math.random(0, vim.str_utfindex(line, 'utf-32')), false)
end

local function random_rows()
  local rows = {}
  for _ = 1, math.random(1, 3) do
    rows[#rows + 1] = words[math.random(#words)]
  end
  return rows
end

---@type fun(bufnr: integer)[]
local doings = {
  function(bufnr)
    local row, col = random_place(bufnr)
    vim.api.nvim_buf_set_text(bufnr, row, col, row, col, random_rows())
  end,
  function(bufnr)
    local row, col = random_place(bufnr)
    local other, other_col = random_place(bufnr)
    if other < row or (other == row and other_col < col) then
      row, col, other, other_col = other, other_col, row, col
    end
    vim.api.nvim_buf_set_text(bufnr, row, col, other, other_col, random_rows())
  end,
  function(bufnr)
    local row = random_place(bufnr)
    vim.api.nvim_buf_set_lines(bufnr, row, row + math.random(0, 1), true, random_rows())
  end,
  function(bufnr)
    vim.api.nvim_buf_set_lines(bufnr, -1, -1, true, random_rows())
  end,
  function()
    vim.cmd('silent! undo')
  end,
  function()
    vim.cmd('silent! redo')
  end,
  function(bufnr)
    local row = random_place(bufnr)
    vim.cmd(('silent! %dmove %d'):format(row + 1, random_place(bufnr)))
  end,
  function()
    vim.cmd('silent! %delete')
  end,
  function()
    vim.cmd('silent! %substitute/x/yy/e')
  end,
  function()
    vim.cmd('silent write')
  end,
  function()
    vim.cmd('silent edit!')
    vim.bo.fixendofline = false
  end,
  function(bufnr)
    -- Nobody listens for a while.
    require('pilcrow.daemon').detach(bufnr)
    T.types(bufnr, 1, 'alone')
    require('pilcrow.daemon').attach(bufnr)
  end,
}

---What the buffer would be saved as.
---@param bufnr integer
---@param lines? string[] other lines than its own
local function text_of(bufnr, lines)
  if not lines and require('pilcrow.documents').is_blank(bufnr) then
    return ''
  end
  local line_end = vim.bo[bufnr].fileformat == 'dos' and '\r\n' or '\n'
  return table.concat(lines or T.lines(bufnr), line_end) .. (vim.bo[bufnr].endofline and line_end or '')
end

local whole = { budget = { lines = 20000, bytes = 1000000 } }
local seed = tonumber(vim.env.PILCROW_SEED) or os.time()

for name, bytes in pairs({ ['LF'] = 'a\nb\nc\n', ['CRLF'] = 'a\r\nb\r\nc\r\n', ['no last newline'] = 'a\nb\nc' }) do
  T.case(('typing and edits by chance, %s (PILCROW_SEED=%d)'):format(name, seed), { ['a.txt'] = bytes }, function()
    math.randomseed(seed)
    local bufnr = T.open('a.txt')
    vim.bo[bufnr].fixendofline = false
    for round = 1, 60 do
      for _ = 1, math.random(1, 6) do
        vim.api.nvim_buf_call(bufnr, function()
          vim.cmd('let &l:undolevels = &l:undolevels')
        end)
        local doing = math.random(#doings)
        -- What is harsh is rare.
        doings[doing >= 8 and math.random(4) ~= 1 and 1 or doing](bufnr)
      end
      local raw = T.good(pilcrow.read_sync('a.txt:raw', whole))
      T.eq(pilcrow.text(raw), text_of(bufnr), 'read in round ' .. round)
      local read = T.good(pilcrow.read_sync('a.txt', whole))
      local count = read.details.totalLines
      if count > 0 then
        local line = math.random(count)
        local lines = T.lines(bufnr)
        local had_end = vim.bo[bufnr].endofline
        local tag = T.tag(read)
        local edited, failure = pilcrow.edit_sync(('¶a.txt#%s\nreplace %d:\n+new %d\n+é\n'):format(tag, line, round))
        T.good(edited, failure)
        lines[line] = 'new ' .. round
        table.insert(lines, line + 1, 'é')
        local has_end = vim.bo[bufnr].endofline
        vim.bo[bufnr].endofline = had_end
        local expected = text_of(bufnr, lines)
        vim.bo[bufnr].endofline = has_end
        T.eq(text_of(bufnr), expected, 'edit in round ' .. round)
      end
    end
  end)
end

T.finish()
