// What differs between two values, field by field, by JSON pointer.
import { isJsonObject, type Json } from './json.ts'

export interface JsonChange {
  readonly op: 'add' | 'remove' | 'change'
  readonly path: string
  readonly from?: Json
  readonly to?: Json
}

export function diffJson(from: Json | undefined, to: Json | undefined): readonly JsonChange[] {
  const changes: JsonChange[] = []
  compare(from, to, '', changes)
  return changes
}

function compare(from: Json | undefined, to: Json | undefined, path: string, changes: JsonChange[]): void {
  const before = childrenOf(from)
  const after = childrenOf(to)
  if (before !== undefined && after !== undefined && Array.isArray(from) === Array.isArray(to)) {
    for (const key of new Set([...before.keys(), ...after.keys()])) {
      compare(before.get(key), after.get(key), `${path}/${escaped(key)}`, changes)
    }
    return
  }
  if (from === to) return
  changes.push({
    op: from === undefined ? 'add' : to === undefined ? 'remove' : 'change',
    path,
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
  })
}

function childrenOf(value: Json | undefined): ReadonlyMap<string, Json> | undefined {
  if (Array.isArray(value)) return new Map(value.map((one, index) => [String(index), one as Json]))
  return isJsonObject(value) ? new Map(Object.entries(value)) : undefined
}

/** RFC 6901. */
function escaped(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1')
}
