-- The README's example, run as it stands there. What it prints is never written down anywhere else.
local T = dofile(vim.fs.dirname(debug.getinfo(1, 'S').source:sub(2)) .. '/harness.lua')

local readme = T.bytes(T.plugin .. '/README.md')

T.case('the example of the README prints what the README says', {
  ['src/shapes.ts'] = 'export class Circle {\n  constructor(readonly r: number) {}\n\n  area(): number {\n    return 3.14 * this.r * this.r;\n  }\n}\n',
}, function(root)
  local example = assert(readme:match('<!%-%- example %-%->\n```lua\n(.-)```'))
  local prints = assert(readme:match('<!%-%- prints %-%->\n```text\n(.-)```'))
  local bufnr = T.open('src/shapes.ts')
  T.types(bufnr, 2, '  constructor(readonly radius: number) {}')
  local printed = {}
  local chunk = assert(loadstring(example))
  setfenv(chunk, setmetatable({
    print = function(text)
      printed[#printed + 1] = text
    end,
  }, { __index = _G }))
  chunk()
  T.eq(table.concat(printed, '\n') .. '\n', prints)
  T.eq(T.lines(bufnr)[5], '    return Math.PI * this.radius ** 2;')
  T.eq(vim.bo[bufnr].modified, true)
  vim.cmd('silent undo')
  T.eq(T.lines(bufnr)[5], '    return 3.14 * this.r * this.r;')
  T.has(T.bytes(root .. '/src/shapes.ts'), 'readonly r: number')
end)

T.case("the README's settings are the defaults, and its commands are all", {}, function()
  local block = assert(readme:match("The defaults:\n\n```lua\n(.-)```"))
  local given
  local chunk = assert(loadstring(block))
  setfenv(chunk, {
    require = function()
      return {
        setup = function(options)
          given = options
        end,
      }
    end,
  })
  chunk()
  T.eq(given, require('pilcrow.config').defaults)
  for _, name in ipairs(require('pilcrow.commands').names()) do
    T.has(readme, '`:Pilcrow ' .. name)
  end
end)

T.finish()
