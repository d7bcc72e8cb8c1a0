// Texts of an MCP server as they may be shown to people and models: what they read is all that there is.
import { isJsonObject, type Json, type JsonObject } from '../util/json.ts'

const DESCRIPTION_BYTES = 4096
const TITLE_BYTES = 256

/** Sequences that terminals obey, then every other control character but line break and tab. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is taken out
const ESCAPES = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[@-Z\\-_])/g
/**
 * Whatever shows nothing where it is not understood: marks of direction, joiners, selectors, fillers, tags. Each of them can
 * carry a message past the reader, so none is kept where it has a use: a joined emoji falls into its parts, and a script with
 * joiners loses some of its shapes; both stay readable.
 */
const CONTROLS = /[^\P{Cc}\n\t]|\p{Default_Ignorable_Code_Point}|[\u2028\u2029\ufff9-\ufffb]/gu

/** Nothing that moves a cursor, hides, or turns the direction of text. */
export function cleanText(text: string, bytes: number): string {
  const clean = text.replaceAll(ESCAPES, '').replaceAll(CONTROLS, '').trim()
  if (Buffer.byteLength(clean) <= bytes) return clean
  const cut = Buffer.from(clean).subarray(0, bytes)
  return new TextDecoder().decode(cut).replace(/\ufffd+$/, '')
}

interface Texts {
  readonly title?: string
  readonly description?: string
  readonly inputSchema: JsonObject
  readonly outputSchema?: JsonObject
  readonly annotations?: JsonObject
}

/** `bytes`: how long the text may be. */
type OfText = (text: string, bytes: number) => string

/** Its texts as they are shown. */
export function cleanDefinition<T extends Texts>(definition: T): T {
  return mapTexts(definition, cleanText)
}

/** The same, in full length. */
export function visibleDefinition<T extends Texts>(definition: T): T {
  return mapTexts(definition, (text) => cleanText(text, Number.POSITIVE_INFINITY))
}

/** Its texts as they were said; white space around them says nothing. */
export function saidDefinition<T extends Texts>(definition: T): T {
  return mapTexts(definition, (text) => text.replaceAll('\r\n', '\n').trim())
}

function mapTexts<T extends Texts>(definition: T, of: OfText): T {
  const { title, description, inputSchema, outputSchema, annotations } = definition
  return {
    ...definition,
    ...(title === undefined ? {} : { title: of(title, TITLE_BYTES) }),
    ...(description === undefined ? {} : { description: of(description, DESCRIPTION_BYTES) }),
    inputSchema: mapSchema(inputSchema, of),
    ...(outputSchema === undefined ? {} : { outputSchema: mapSchema(outputSchema, of) }),
    ...(annotations === undefined ? {} : { annotations: mapSchema(annotations, of) }),
  }
}

/** Words for the reader of a schema; they decide nothing. */
const TEXTS: ReadonlyMap<string, number> = new Map([
  ['description', DESCRIPTION_BYTES],
  ['$comment', DESCRIPTION_BYTES],
  ['title', TITLE_BYTES],
])
/** Values that inputs are compared with, or made from: another value would be another schema. */
const VALUES: ReadonlySet<string> = new Set(['const', 'enum', 'default', 'examples', 'required'])
/** Names of the author's choice, each with a schema. */
const NAMED: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  'dependentSchemas',
  '$defs',
  'definitions',
])

function mapSchema(schema: JsonObject, of: OfText): JsonObject {
  const each = (value: Json): Json => {
    if (Array.isArray(value)) return value.map(each)
    return isJsonObject(value) ? mapSchema(value, of) : value
  }
  const entries = Object.entries(schema).map(([key, value]): [string, Json] => {
    const bytes = TEXTS.get(key)
    if (bytes !== undefined && typeof value === 'string') return [key, of(value, bytes)]
    if (VALUES.has(key)) return [key, value]
    if (!NAMED.has(key) || !isJsonObject(value)) return [key, each(value)]
    return [key, Object.fromEntries(Object.entries(value).map(([name, one]) => [name, each(one)]))]
  })
  return Object.fromEntries(entries)
}
