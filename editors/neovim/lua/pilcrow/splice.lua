-- Puts the text edits of one `workspace/applyEdit` into a buffer. It never changes a buffer of which it has not first placed every edit.
local M = {}

---One replacement in the buffer's own rows and bytes; `whole` are rows, without columns.
---@class pilcrow.Splice
---@field whole boolean
---@field ends? boolean whether the last line, which had no end, has one now
---@field row integer
---@field col integer
---@field end_row integer
---@field end_col integer
---@field text string[]

---@param text string
---@param fileformat string
---@return string[]
local function rows_of(text, fileformat)
  local rows = vim.split(text, fileformat == 'mac' and '\r' or '\n', { plain = true })
  if fileformat == 'dos' then
    -- The CR belongs to the line's end, which this buffer does not hold; the last row has none.
    for number = 1, #rows - 1 do
      rows[number] = rows[number]:gsub('\r$', '')
    end
  end
  return rows
end

---@param line string
---@param character integer
---@param encoding string
---@return integer
local function byte_of(line, character, encoding)
  if encoding == 'utf-8' then
    return math.min(character, #line)
  end
  return vim.str_byteindex(line, encoding, character, false)
end

---Whether a buffer's file can hold a text: Neovim would save what it cannot as another character.
---@param text string
---@param bo vim.bo
---@return boolean
local function is_encodable(text, bo)
  local encoding = bo.fileencoding
  if encoding == '' or encoding:match('^utf%-') or encoding:match('^ucs%-[24]') or not text:find('[\128-\255]') then
    return true
  end
  return vim.fn.iconv(vim.fn.iconv(text, 'utf-8', encoding), encoding, 'utf-8') == text
end

---Where an edit goes; an error says why it cannot be placed.
---@param edit lsp.TextEdit
---@param lines string[]
---@param encoding string
---@param bo vim.bo
---@return pilcrow.Splice? splice
---@return string? why
local function place(edit, lines, encoding, bo)
  if not is_encodable(edit.newText, bo) then
    return nil, ("it has characters that 'fileencoding' %s lacks"):format(bo.fileencoding)
  end
  local from, to = edit.range.start, edit.range['end']
  local rows = rows_of(edit.newText, bo.fileformat)
  local count = #lines
  if from.line > count or to.line > count then
    return nil, ('line %d of %d'):format(math.max(from.line, to.line) + 1, count)
  end
  local ends_line = rows[#rows] == ''
  local is_to_the_end = to.line == count - 1 and byte_of(lines[count], to.character, encoding) == #lines[count]
  if is_to_the_end and ends_line and not bo.endofline and (from.character > 0 or from.line > 0) then
    -- The text ends with a newline now: the buffer says so without an empty row, which would be saved as one more line.
    rows[#rows] = nil
    local is_whole = from.character == 0
    return {
      whole = is_whole,
      ends = true,
      row = from.line,
      col = byte_of(lines[from.line + 1], from.character, encoding),
      end_row = is_whole and count or count - 1,
      end_col = #lines[count],
      text = rows,
    }
  end
  if to.line < count then
    return {
      whole = false,
      row = from.line,
      col = byte_of(lines[from.line + 1], from.character, encoding),
      end_row = to.line,
      end_col = byte_of(lines[to.line + 1], to.character, encoding),
      text = rows,
    }
  end
  -- It reaches the place after the last line's end, which is no row of the buffer.
  if not bo.endofline then
    return nil, 'the last line has no end'
  end
  local last = lines[count]
  if from.line == count or (from.character == 0 and edit.newText == '') then
    if not ends_line then
      return nil, "it would take the last line's end away"
    end
    rows[#rows] = nil
    return { whole = true, row = from.line, col = 0, end_row = count, end_col = 0, text = rows }
  end
  if not ends_line or #rows == 1 then
    return nil, "it would take the last line's end away"
  end
  rows[#rows] = nil
  return {
    whole = false,
    row = from.line,
    col = byte_of(lines[from.line + 1], from.character, encoding),
    end_row = count - 1,
    end_col = #last,
    text = rows,
  }
end

---Edits of a buffer without a line, which nonetheless has a row: all of them make its first text.
---@param order { edit: lsp.TextEdit }[] the last first
---@param bo vim.bo
---@return pilcrow.Splice[]? splices
---@return string? why
local function place_in_nothing(order, bo)
  local text = ''
  for _, item in ipairs(order) do
    text = item.edit.newText .. text
    if item.edit.range['end'].line > 0 or item.edit.range['end'].character > 0 then
      return nil, 'the buffer is empty'
    end
  end
  local rows = rows_of(text, bo.fileformat)
  if not is_encodable(text, bo) or rows[#rows] ~= '' then
    return nil, is_encodable(text, bo) and 'its last line would have no end' or 'it has characters that the file lacks'
  end
  rows[#rows] = nil
  return { { whole = true, ends = true, row = 0, col = 0, end_row = 1, end_col = 0, text = rows } }
end

---Places all edits; nothing is changed.
---@param bufnr integer
---@param edits lsp.TextEdit[]
---@param encoding string how the daemon counts characters
---@return pilcrow.Splice[]? splices the last first
---@return string? why
function M.plan(bufnr, edits, encoding)
  local bo = vim.bo[bufnr]
  local lines = vim.api.nvim_buf_get_lines(bufnr, 0, -1, true)
  local order = {}
  for index, edit in ipairs(edits) do
    order[index] = { index = index, edit = edit, at = edit.range.start }
  end
  table.sort(order, function(one, other)
    if one.at.line ~= other.at.line then
      return one.at.line > other.at.line
    end
    if one.at.character ~= other.at.character then
      return one.at.character > other.at.character
    end
    return one.index > other.index
  end)
  if require('pilcrow.documents').is_blank(bufnr) then
    return place_in_nothing(order, bo)
  end
  local splices = {}
  local above
  for _, item in ipairs(order) do
    local to = item.edit.range['end']
    if above and (to.line > above.line or (to.line == above.line and to.character > above.character)) then
      return nil, 'two edits overlap'
    end
    above = item.at
    local splice, why = place(item.edit, lines, encoding, bo)
    if not splice then
      return nil, why
    end
    splices[#splices + 1] = splice
  end
  return splices
end

---Makes what comes next an undo step of its own.
---@param bufnr integer
local function break_undo(bufnr)
  vim.api.nvim_buf_call(bufnr, function()
    vim.cmd('let &l:undolevels = &l:undolevels')
  end)
end

---Carries planned splices out, as one undo step.
---@param bufnr integer
---@param splices pilcrow.Splice[]
function M.carry_out(bufnr, splices)
  break_undo(bufnr)
  for _, splice in ipairs(splices) do
    if splice.ends then
      vim.bo[bufnr].endofline = true
    end
    if splice.whole then
      vim.api.nvim_buf_set_lines(bufnr, splice.row, splice.end_row, true, splice.text)
    else
      vim.api.nvim_buf_set_text(bufnr, splice.row, splice.col, splice.end_row, splice.end_col, splice.text)
    end
  end
  break_undo(bufnr)
end

return M
