-- What an edit and a save leave on disk, byte for byte, of files that are not plain UTF-8 with LF. The expected bytes are never made by the editor.
local T = dofile(vim.fs.dirname(debug.getinfo(1, 'S').source:sub(2)) .. '/harness.lua')
local pilcrow = require('pilcrow')

---@param text string ASCII and Latin-1 as code points below 256
---@param big boolean
local function utf16(text, big)
  local bytes = {}
  for _, code in ipairs(vim.fn.str2list(text)) do
    local high, low = string.char(math.floor(code / 256)), string.char(code % 256)
    bytes[#bytes + 1] = big and high .. low or low .. high
  end
  return table.concat(bytes)
end

local BOM = '\239\187\191'

local files = {
  ['LF without a last newline'] = { 'a\nb\nc', 'a\nB é\nc', 'typed\nB é\nc' },
  ['CRLF'] = { 'a\r\nb\r\nc\r\n', 'a\r\nB é\r\nc\r\n', 'typed\r\nB é\r\nc\r\n', fileformat = 'dos' },
  ['CRLF without a last newline'] = { 'a\r\nb\r\nc', 'a\r\nB é\r\nc', 'typed\r\nB é\r\nc', fileformat = 'dos' },
  ['mixed line ends'] = { 'a\nb\r\nc\n', 'a\nB é\r\nc\n', 'typed\nB é\r\nc\n', fileformat = 'unix' },
  ['a BOM'] = { BOM .. 'a\nb\nc\n', BOM .. 'a\nB é\nc\n', BOM .. 'typed\nB é\nc\n', bomb = true },
  ['a BOM and CRLF'] = {
    BOM .. 'a\r\nb\r\nc\r\n',
    BOM .. 'a\r\nB é\r\nc\r\n',
    BOM .. 'typed\r\nB é\r\nc\r\n',
    bomb = true,
    fileformat = 'dos',
  },
  ['Latin-1'] = { 'caf\233\nb\nc\n', 'caf\233\nB \233\nc\n', 'typed\nB \233\nc\n', fileencoding = 'latin1' },
  ['UTF-16 LE'] = {
    '\255\254' .. utf16('a\nb\nc\n', false),
    '\255\254' .. utf16('a\nB é\nc\n', false),
    '\255\254' .. utf16('typed\nB é\nc\n', false),
    fileencoding = 'utf-16le',
  },
  ['UTF-16 BE and CRLF'] = {
    '\254\255' .. utf16('a\r\nb\r\nc\r\n', true),
    '\254\255' .. utf16('a\r\nB é\r\nc\r\n', true),
    '\254\255' .. utf16('typed\r\nB é\r\nc\r\n', true),
    fileencoding = 'utf-16',
    fileformat = 'dos',
  },
}

local names = vim.tbl_keys(files)
table.sort(names)
for _, name in ipairs(names) do
  local file = files[name]
  local before, after, after_typing = file[1], file[2], file[3]

  ---Opens the file the way its own bytes call for.
  local function open(path)
    vim.o.fileencodings = 'ucs-bom,utf-8,latin1'
    local bufnr = T.open(path)
    vim.bo[bufnr].fixendofline = false
    for _, option in ipairs({ 'fileformat', 'fileencoding', 'bomb' }) do
      if file[option] ~= nil then
        T.eq(vim.bo[bufnr][option], file[option], option)
      end
    end
    return bufnr
  end

  T.case(name .. ': a clean buffer is edited and saved, every other byte stays', { ['a.txt'] = before }, function(root)
    local bufnr = open('a.txt')
    local result = T.good(T.edit('a.txt', 'replace 2:\n+B é\n'))
    if result.details.files[1].via == 'editor' then
      T.eq(T.bytes(root .. '/a.txt'), before)
      T.eq(T.good(pilcrow.flush_sync()), { saved = { 'a.txt' }, left = {} })
    end
    T.eq(T.bytes(root .. '/a.txt'), after)
    T.eq(T.lines(bufnr)[2]:gsub('\r$', ''), 'B é')
    T.eq(vim.bo[bufnr].modified, false)
  end)

  T.case(name .. ': a dirty buffer is edited, and the user saves it', { ['a.txt'] = before }, function(root)
    local bufnr = open('a.txt')
    T.types(bufnr, 1, 'typed')
    T.eq(T.good(T.edit('a.txt', 'replace 2:\n+B é\n')).details.files[1].via, 'editor')
    T.eq(T.bytes(root .. '/a.txt'), before)
    vim.cmd('silent write')
    T.eq(T.bytes(root .. '/a.txt'), after_typing)
    vim.cmd('silent undo')
    vim.cmd('silent undo')
    vim.cmd('silent write')
    T.eq(T.bytes(root .. '/a.txt'), before)
  end)
end

T.case('old Mac line ends stay', { ['a.txt'] = 'a\rb\rc\r' }, function(root)
  vim.o.fileformats = 'unix,dos,mac'
  local bufnr = T.open('a.txt')
  vim.o.fileformats = 'unix,dos'
  T.eq(vim.bo[bufnr].fileformat, 'mac')
  T.types(bufnr, 1, 'typed')
  T.good(T.edit('a.txt', 'replace 2:\n+B\n'))
  T.eq(T.lines(bufnr), { 'typed', 'B', 'c' })
  vim.cmd('silent write')
  T.eq(T.bytes(root .. '/a.txt'), 'typed\rB\rc\r')
end)

T.case('an edit with a character that the file cannot hold is refused', { ['a.txt'] = 'caf\233\nb\n' }, function(root)
  local bufnr = T.open('a.txt')
  local client = T.client(bufnr)
  local own, why = client.handlers['workspace/applyEdit'], nil
  client.handlers['workspace/applyEdit'] = function(...)
    local answer = own(...)
    why = answer.failureReason
    return answer
  end
  local result, failure = T.edit('a.txt', 'replace 2:\n+snow ☃\n')
  T.eq(result, nil)
  -- Either the daemon refuses it, or the buffer does.
  if failure.data.kind ~= 'encoding' then
    T.has(why, 'latin1 lacks')
  end
  T.eq({ T.lines(bufnr), vim.bo[bufnr].modified }, { { 'café', 'b' }, false })
  T.good(T.edit('a.txt', 'replace 2:\n+über\n'))
  T.eq(T.good(pilcrow.flush_sync()).saved, { 'a.txt' })
  T.eq(T.bytes(root .. '/a.txt'), 'caf\233\n\252ber\n')
end)

T.case('a read of a Latin-1 buffer is what the user sees', { ['a.txt'] = 'caf\233\n' }, function()
  T.open('a.txt')
  T.has(pilcrow.text(T.good(pilcrow.read_sync('a.txt'))), '1:café')
  T.types(0, 1, 'cafés')
  T.has(pilcrow.text(T.good(pilcrow.read_sync('a.txt'))), '1:cafés')
end)

T.finish()
