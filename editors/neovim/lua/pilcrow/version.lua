-- The version of the plugin, which dist/check holds equal to the daemon's, and which daemons fit it; nothing is started here.
local M = {}

M.own = '0.1.0'

---Why a daemon of that version is not to be used: it must have the same major number and at least the same minor one.
---@param daemon string
---@return string? why nil where it may be used
function M.mismatch(daemon)
  local major, minor = M.own:match('^(%d+)%.(%d+)')
  local its_major, its_minor = daemon:match('^(%d+)%.(%d+)')
  if its_major == major and tonumber(its_minor) >= tonumber(minor) then
    return nil
  end
  local is_newer = its_major and tonumber(its_major) > tonumber(major)
  local which = is_newer and 'Update this plugin'
    or ('Update pilcrow (npm i -g @pilcrow/pilcrow@%s, or as it was installed)'):format(major)
  return ('pilcrow %s does not fit the plugin, which needs %s.%s or a later %s.x. %s.'):format(daemon, major, minor, major, which)
end

return M
