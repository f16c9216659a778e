---@meta
-- The types of the protocol, for the Lua language server; nothing here is ever run.

---A failure as the daemon tells it; `message` is fit to be shown to a model as it is.
---@class pilcrow.Error
---@field code integer
---@field message string
---@field data? { kind: string, retryable: boolean, path?: string, suggestions?: string[], files?: pilcrow.LiveFile[], [string]: any }

---@class pilcrow.LiveFile
---@field path string
---@field tag string
---@field lines { line: integer, text: string }[]

---@class pilcrow.Block
---@field type 'text'|'image'|'resource'
---@field text? string
---@field data? string base64
---@field mimeType? string
---@field resource? { uri: string, mimeType: string, blob: string }

---@class pilcrow.Span
---@field start integer
---@field end integer

---@class pilcrow.ReadResult
---@field content pilcrow.Block[] what a model is to see, in order
---@field details pilcrow.ReadDetails
---@field isError? true

---@class pilcrow.ReadDetails
---@field kind string
---@field resolvedPath? string
---@field hashline? { path: string, tag: string }
---@field origin? 'disk'|'editor'
---@field documentVersion? integer
---@field dirty? boolean
---@field encoding? string
---@field lineEnding? 'lf'|'crlf'|'cr'|'mixed'|'none'
---@field totalLines? integer
---@field shown? pilcrow.Span[]
---@field truncation? { reason: string, nextSelector: string }
---@field notices? string[]

---@class pilcrow.EditResult
---@field content pilcrow.Block[]
---@field details { dryRun: boolean, files: pilcrow.EditedFile[] }

---@class pilcrow.EditedFile
---@field path string
---@field resolvedPath string
---@field tag string
---@field changed pilcrow.Span[]
---@field via 'disk'|'editor'
---@field persisted boolean
---@field warnings { code: string, message: string }[]
---@field diff string

---@class pilcrow.FlushResult
---@field saved string[]
---@field left { path: string, reason: string }[]

---What `User PilcrowSnapshotChanged` carries as its `data`.
---@class pilcrow.SnapshotChanged
---@field session string
---@field path string
---@field tag string
---@field newTag? string
---@field changed pilcrow.Span[]
---@field actor string
---@field root string

---Options of every call.
---@class pilcrow.CallOpts
---@field root? string the workspace; else that of the working directory
---@field session? string who is reading; else `default`
---@field timeout? integer milliseconds; of the `_sync` forms 30000, of the others none

---@class pilcrow.ReadOpts: pilcrow.CallOpts
---@field resolving? string that of the context which a resolver was given: such a read never asks a resolver again
---@field selector? string given apart, `path` is taken literally
---@field dialect? string
---@field budget? { lines?: integer, bytes?: integer }
---@field encoding? string
---@field want? string[]

---@class pilcrow.SearchOpts: pilcrow.CallOpts
---@field path? string a file, a directory or an artifact; all folders, if it is not given
---@field glob? string|string[] only such files; `!` leaves out
---@field literal? boolean
---@field ignoreCase? boolean
---@field word? boolean
---@field multiline? boolean
---@field context? integer rows before and after each match
---@field count? boolean only how many there are in each file
---@field after? string `details.after` of the answer that it goes on from
---@field dialect? string
---@field budget? { lines?: integer, bytes?: integer }

---@class pilcrow.FoundFile
---@field path string
---@field resolvedPath? string
---@field hashline? { path: string, tag: string }
---@field matches integer
---@field lines? { start: integer, end: integer }[] of the matches
---@field shown? { start: integer, end: integer }[]

---@class pilcrow.SearchResult
---@field content pilcrow.Block[]
---@field details { matches: integer, complete: boolean, after?: string, searched: integer, files: pilcrow.FoundFile[], leftOut: table<string, integer>, notices?: string[] }

---@class pilcrow.EditOpts: pilcrow.CallOpts
---@field dryRun? boolean

---@class pilcrow.WriteOpts: pilcrow.EditOpts
---@field expect? string `absent`, or the tag of what is replaced

---What is put away: exactly one of `text`, `base64` and `path`.
---@class pilcrow.PutArtifact
---@field name? string its title
---@field mimeType? string
---@field text? string
---@field base64? string
---@field path? string a file that is copied
---@field uri? string `agent://ID` for an agent's answer, with `append` one that is there; else the next `artifact://N`
---@field append? boolean
---@field terminal? boolean shown without escape sequences
---@field read? { selector?: string, dialect?: string, budget?: table } and read it at once

---@class pilcrow.PutResult
---@field uri string
---@field path string
---@field bytes integer
---@field lines? integer
---@field dropped string[]
---@field read? pilcrow.ReadResult

---Who has what is behind addresses of a scheme. It calls `done` once, now or later: with a text, with an answer of
---`resources/read` or `resources/list` in the Model Context Protocol, with nothing for what it has not, or with nothing and why.
---@alias pilcrow.Resolver fun(uri: string, session: string, done: fun(answer?: string|table, why?: string), context: { resolving: string })

---Ends the request; its callback hears of it as an error.
---@alias pilcrow.Cancel fun()
