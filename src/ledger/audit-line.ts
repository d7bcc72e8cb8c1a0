// The lines of an export: JSON, one object per line, in this order: export, then chain by chain a link followed by its
// records, then checkpoints, then end.
import { isUtf8 } from 'node:buffer'
import { isJsonObject, type JsonObject } from '../util/json.ts'
import { parseStrictJson } from '../util/strict-json.ts'
import { type CheckpointLine, isCount } from './checkpoint.ts'

export const EXPORT_VERSION = 1

export interface ExportLine {
  readonly kind: 'export'
  readonly version: typeof EXPORT_VERSION
  readonly exported_at: string
  /** Revision of the wire contract. */
  readonly contract: string
  /** Public keys of all who signed what is in it: DER (SPKI) in base64, by id. */
  readonly public_keys: Readonly<Record<string, string>>
}

export interface LinkLine {
  readonly kind: 'link'
  readonly epoch: string
  readonly batch: number
  readonly prev: string
  readonly root: string
  readonly hash: string
  readonly first_seq: number
  readonly last_seq: number
}

export interface RecordLine {
  readonly kind: 'record'
  readonly epoch: string
  readonly seq: number
  readonly namespace: string
  readonly call_id: string
  readonly type: string
  readonly at: number
  /** The very text that was hashed. */
  readonly body: string
  readonly hash: string
}

/** Says that the export was not cut short on its way. */
export interface EndLine {
  readonly kind: 'end'
  readonly chains: number
  readonly links: number
  readonly records: number
  readonly checkpoints: number
}

export type AuditLine = ExportLine | LinkLine | RecordLine | CheckpointLine | EndLine

type Shape = Readonly<Record<string, 'text' | 'number' | 'count' | 'map'>>

const SHAPES: Readonly<Record<AuditLine['kind'], Shape>> = Object.freeze({
  export: { exported_at: 'text', contract: 'text', public_keys: 'map' },
  link: {
    epoch: 'text',
    batch: 'count',
    prev: 'text',
    root: 'text',
    hash: 'text',
    first_seq: 'count',
    last_seq: 'count',
  },
  record: {
    epoch: 'text',
    seq: 'count',
    namespace: 'text',
    call_id: 'text',
    type: 'text',
    at: 'number',
    body: 'text',
    hash: 'text',
  },
  checkpoint: {
    number: 'count',
    at: 'number',
    hash: 'text',
    key_id: 'text',
    signature: 'text',
    body: 'text',
  },
  end: { chains: 'number', links: 'number', records: 'number', checkpoints: 'number' },
})

/** The line, or what is wrong with it. */
export function readAuditLine(line: string | Uint8Array): AuditLine | string {
  if (typeof line !== 'string' && !isUtf8(line)) return 'is not UTF-8'
  const text =
    typeof line === 'string'
      ? line
      : Buffer.from(line.buffer, line.byteOffset, line.byteLength).toString('utf8')
  const value = parse(text)
  if (typeof value === 'string') return value
  const { kind } = value
  const shape =
    typeof kind === 'string' && Object.hasOwn(SHAPES, kind) ? SHAPES[kind as AuditLine['kind']] : undefined
  if (shape === undefined) return 'is of no kind that an export has'
  const wrong = Object.entries(shape).find(([name, type]) => !fits(value[name], type))
  if (wrong !== undefined) return `a ${kind} without a proper ${wrong[0]}`
  const extra = Object.keys(value).find((name) => !(Object.hasOwn(shape, name) || isNamed(name, kind)))
  // No hash covers it, and whoever reads the line would take it for a part of the evidence.
  if (extra !== undefined)
    return `a ${kind} with ${JSON.stringify(extra.slice(0, 64))}, which it does not have`
  if (kind === 'export' && value.version !== EXPORT_VERSION) {
    return `an export of version ${JSON.stringify(value.version)}, and this Writ reads version ${EXPORT_VERSION}`
  }
  return value as unknown as AuditLine
}

/** What is checked beside the shape. */
function isNamed(name: string, kind: unknown): boolean {
  return name === 'kind' || (name === 'version' && kind === 'export')
}

/** One name given twice would mean one thing to this reader and another to the next. */
function parse(text: string): JsonObject | string {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    if (error instanceof SyntaxError) return 'is not JSON'
    throw error
  }
  if (!isJsonObject(value)) return 'is no JSON object'
  // As we write lines: then nothing is in them twice, and the slow look is spared.
  if (JSON.stringify(value) === text) return value
  const strict = parseStrictJson(text)
  return strict.ok ? value : `is not clean JSON: ${strict.violations[0]?.message}`
}

function fits(value: unknown, type: Shape[string]): boolean {
  if (type === 'text') return typeof value === 'string'
  if (type === 'number') return typeof value === 'number'
  if (type === 'count') return isCount(value, 1)
  return isJsonObject(value) && Object.values(value).every((one) => typeof one === 'string')
}

const NEWLINE = 0x0a
/** Far beyond what one record can be. */
const MAX_LINE_BYTES = 64 * 1024 * 1024

/** The lines of a stream of bytes, without their ends; empty ones are left out. */
export async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  let rest: Uint8Array[] = []
  let size = 0
  for await (const chunk of chunks) {
    let from = 0
    for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, from)) {
      const part = chunk.subarray(from, at)
      const line = size === 0 ? part : Buffer.concat([...rest, part])
      rest = []
      size = 0
      from = at + 1
      if (line.length > 0) yield line
    }
    if (from < chunk.length) {
      rest.push(chunk.subarray(from))
      size += chunk.length - from
      if (size > MAX_LINE_BYTES) throw new Error(`a line is longer than ${MAX_LINE_BYTES} bytes`)
    }
  }
  if (size > 0) yield Buffer.concat(rest)
}
