// How a changed definition of a tool is shown to whoever has to decide about it.
import type { DefinitionChange, ToolDefinitionReply } from '../client/mcp.ts'
import type { Json } from '../util/json.ts'
import { clean, renderFields } from './print.ts'

const SIGNS: Readonly<Record<DefinitionChange['op'], string>> = { add: '+', remove: '-', change: '~' }

export function renderDefinition(reply: ToolDefinitionReply): string {
  const { tool, server, state, digest, offered } = reply
  const head = renderFields([
    ['Tool', tool],
    ['Server', server],
    ['State', state],
    ['Taken on', digest],
    ['Offered', offered?.digest],
    ['Problem', offered?.problem],
  ])
  if (offered === undefined) return head
  if (offered.changes.length === 0) return `${head}\nThe server has gone back to what was taken on.\n`
  const lines = offered.changes.flatMap(({ op, path, from, to }) => [
    `${SIGNS[op]} ${path === '' ? '/' : path}`,
    ...(from === undefined ? [] : [`    - ${show(from)}`]),
    ...(to === undefined ? [] : [`    + ${show(to)}`]),
  ])
  return `${head}\nChanges\n${lines.map((line) => `${clean(line)}\n`).join('')}`
}

/** On one line: what a server wrote must not look like a line of ours. */
function show(value: Json): string {
  return JSON.stringify(value)
}
