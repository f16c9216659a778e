-- What Neovim gives to the daemon: texts of schemes of one's own, and artifacts. The daemon is the real one, never a stand-in.
local T = dofile(vim.fs.dirname(debug.getinfo(1, 'S').source:sub(2)) .. '/harness.lua')
local pilcrow = require('pilcrow')

local asked = {}

local resources = {
  jira = function(uri, session, done, context)
    asked[#asked + 1] = { uri, session }
    local key = uri:match('^jira://(.*)$')
    if key == 'A-1' then
      done('one\ntwo\nthree\n')
    elseif key == 'later' then
      vim.defer_fn(function()
        done({ contents = { { uri = uri, mimeType = 'text/plain', text = 'after a while\n' } }, title = 'Late' })
        done('twice')
      end, 20)
    elseif key == '' then
      done({ resources = { { uri = 'jira://A-1', name = 'A-1', description = 'The first.' } } })
    elseif key == 'fails' then
      done(nil, 'the tracker is down')
    elseif key == 'throws' then
      error('a fault of its own')
    elseif key == 'file' then
      pilcrow.read('a.txt', { resolving = context.resolving, session = session }, function(failure, result)
        done(result and pilcrow.text(result), failure and failure.message)
      end)
    elseif key == 'circle' then
      pilcrow.read('jira://circle', { resolving = context.resolving, session = session }, function(failure, result)
        done(result and pilcrow.text(result), failure and failure.message)
      end)
    else
      done()
    end
  end,
}

T.case('a function of one\'s own has what is behind its scheme', { ['a.txt'] = 'from a file\n' }, function()
  asked = {}
  local read = T.good(pilcrow.read_sync('jira://A-1:2-3'))
  T.has(pilcrow.text(read), '2:two\n3:three')
  T.eq(read.details.provider, 'client')
  T.eq(asked[1], { 'jira://A-1', 'default' })
  T.eq(pilcrow.text(T.good(pilcrow.read_sync('jira://later'))), '1:after a while')
  T.has(pilcrow.text(T.good(pilcrow.read_sync('jira://'))), 'The first.')
  T.has(pilcrow.text(T.good(pilcrow.read_sync('jira://file'))), 'from a file')
  local _, missing = pilcrow.read_sync('jira://none')
  T.eq(missing.data.kind, 'notFound')
  for path, word in pairs({
    ['jira://fails'] = 'the tracker is down',
    ['jira://throws'] = 'a fault of its own',
  }) do
    local _, failure = pilcrow.read_sync(path)
    T.eq(failure.data.kind, 'io')
    T.has(failure.message, word)
  end
  -- Who asks itself for its answer is told so at once.
  local _, circle = pilcrow.read_sync('jira://circle')
  T.ok(circle, 'a circle has no end')
  local _, unknown = pilcrow.read_sync('other://x')
  T.eq(unknown.data.kind, 'unsupported')
end, { resources = resources })

T.case('schemes that are the daemon\'s own, and what is no scheme, are refused', {}, function()
  for _, scheme in ipairs({ 'file', 'https', 'local', 'Jira', 'a b', '' }) do
    local is_set = pcall(pilcrow.setup, { resources = { [scheme] = function() end } })
    T.eq(is_set, false, scheme)
  end
end)

T.case('an artifact is put and read', { ['log.txt'] = 'from a file\n' }, function(root)
  local agent = pilcrow.session('putting')
  local put = T.good(agent:put_artifact_sync({ name = 'make', text = 'one\ntwo\nthree\n', read = { selector = '-1' } }))
  T.eq({ put.uri, put.lines }, { 'artifact://1', 3 })
  T.has(pilcrow.text(put.read), '3:three')
  T.good(agent:put_artifact_sync({ uri = put.uri, append = true, text = 'four\n' }))
  T.has(pilcrow.text(T.good(agent:read_sync('artifact://1:4-4'))), '4:four')
  local copied = T.good(agent:put_artifact_sync({ path = root .. '/log.txt' }))
  T.has(pilcrow.text(T.good(agent:read_sync(copied.uri))), '1:from a file')
  T.good(agent:put_artifact_sync({ uri = 'agent://reviewer', text = '{"findings": ["one"]}' }))
  T.has(pilcrow.text(T.good(agent:read_sync('agent://reviewer/findings/0'))), '1:one')
  local _, other = pilcrow.read_sync('artifact://1')
  T.eq(other.data.kind, 'notFound')
  local heard
  pilcrow.put_artifact({ text = 'x' }, function(failure, result)
    heard = failure or result
  end)
  T.wait(function()
    return heard
  end, 'the answer')
  T.eq(heard.uri, 'artifact://1')
end)

T.finish()
