// Writes the pins of the public schemas and of the failure table. `node scripts/pins.ts`, after a bump of CONTRACT_REVISION.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { FAILURE_IDS, failureRow } from '../src/contract/failures.ts'
import { SCHEMAS } from '../src/contract/schema/registry.ts'
import { CONTRACT_REVISION } from '../src/contract/version.ts'
import { canonicalJson, sha256Hex } from '../src/util/canonical.ts'
import { isJsonObject, type Json, type JsonObject } from '../src/util/json.ts'
import { escapePointer } from '../src/util/pointer.ts'

export const PINS_ROOT = join(import.meta.dirname, '..', 'test', 'pins')

export interface Pin {
  readonly revision: string
  readonly digest: string
  readonly content: Json
}

/** What the sources say now, by the name of the pin. */
export function currentPins(): ReadonlyMap<string, Pin> {
  const pins = new Map<string, Pin>()
  for (const [name, schema] of Object.entries(SCHEMAS)) pins.set(name, pin(bare(schema)))
  pins.set('failures', pin(failureTable()))
  return pins
}

export function readPins(): ReadonlyMap<string, Pin> {
  const pins = new Map<string, Pin>()
  for (const file of readdirSync(PINS_ROOT).filter((one) => one.endsWith('.json'))) {
    pins.set(file.replace(/\.json$/, ''), JSON.parse(readFileSync(join(PINS_ROOT, file), 'utf8')) as Pin)
  }
  return pins
}

/** Everything that differs, one line each; empty when the wire is as it was pinned. */
export function diffPins(
  pinned: ReadonlyMap<string, Pin>,
  current: ReadonlyMap<string, Pin>,
): readonly string[] {
  const lines: string[] = []
  for (const name of new Set([...pinned.keys(), ...current.keys()])) {
    const before = pinned.get(name)
    const now = current.get(name)
    if (before === undefined) lines.push(`${name}: added, not pinned`)
    else if (now === undefined) lines.push(`${name}: removed, still pinned`)
    else lines.push(...diffJson(before.content, now.content, '').map((line) => `${name}${line}`))
  }
  return lines
}

function diffJson(before: Json | undefined, now: Json | undefined, path: string): readonly string[] {
  if (isJsonObject(before) && isJsonObject(now)) {
    const keys = new Set([...Object.keys(before), ...Object.keys(now)])
    return [...keys].flatMap((key) => diffJson(before[key], now[key], `${path}/${escapePointer(key)}`))
  }
  if (before !== undefined && now !== undefined && canonicalJson(before) === canonicalJson(now)) return []
  return before === now ? [] : [`${path}: was ${show(before)}, is ${show(now)}`]
}

function show(value: Json | undefined): string {
  return value === undefined ? 'absent' : JSON.stringify(value)
}

function pin(content: Json): Pin {
  return { revision: CONTRACT_REVISION, digest: `sha256:${sha256Hex(canonicalJson(content))}`, content }
}

/** A schema without its words for people: those may be improved at any time. */
function bare(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(bare)
  if (!isJsonObject(schema)) return schema
  const kept: Record<string, Json> = {}
  for (const [key, value] of Object.entries(schema)) {
    if ((key === 'description' || key === 'title') && typeof value === 'string') continue
    // The names below `properties` are fields, not keywords.
    kept[key] =
      key === 'properties' && isJsonObject(value)
        ? Object.fromEntries(Object.entries(value).map(([name, field]) => [name, bare(field)]))
        : bare(value)
  }
  return kept
}

function failureTable(): JsonObject {
  const rows = FAILURE_IDS.map((id) => {
    const { c1, state, v1, dotted, four, retry, http, grpc, jsonRpc, exit } = failureRow(id)
    return [
      id,
      { c1, state, v1: { ...v1 }, dotted, four: { ...four }, retry, http, grpc, jsonRpc, exit },
    ] as const
  })
  return Object.fromEntries(rows)
}

function main(): void {
  mkdirSync(PINS_ROOT, { recursive: true })
  const current = currentPins()
  const pinned = readPins()
  const changes = diffPins(pinned, current)
  const sameRevision = [...pinned.values()].some((one) => one.revision === CONTRACT_REVISION)
  if (changes.length > 0 && sameRevision) {
    console.error(`The wire changed, but CONTRACT_REVISION is still ${CONTRACT_REVISION}:`)
    for (const line of changes) console.error(`  ${line}`)
    console.error('Raise its minor in src/contract/version.ts, then run this again.')
    process.exitCode = 1
    return
  }
  for (const [name, one] of current) {
    const path = join(PINS_ROOT, `${name}.json`)
    const text = `${JSON.stringify(one, null, 2)}\n`
    if (
      existsSync(path) &&
      canonicalJson(JSON.parse(readFileSync(path, 'utf8'))) === canonicalJson(JSON.parse(text))
    )
      continue
    writeFileSync(path, text)
    console.log(`pinned ${name} at ${CONTRACT_REVISION}`)
  }
}

if (import.meta.main) main()
