// Takes the values of secrets out of texts and JSON, in every form of theirs, also where it is escaped or comes in pieces.
import { isJsonObject, type Json } from '../util/json.ts'
import type { Redactor } from './credential.ts'
import { createPatternSet, type PatternSet, type Span } from './pattern-set.ts'
import { begunEscape, readEscapes, type Unescaped } from './read-escapes.ts'
import { createRedactStream, SHORTEST_CUT, SHORTEST_EDGE } from './redact-stream.ts'
import { formsOf, keyLinesOf } from './secret-form.ts'

export const REDACTED = '[redacted]'

/** Escapes inside escapes: JSON in a text of JSON in an address. */
const LEVELS = 3

export const NOTHING_TO_REDACT: Redactor = {
  empty: true,
  text: (text) => text,
  json: (value) => value,
  stream: () => ({ push: (part) => part, end: () => '' }),
}

export function createRedactor(values: Iterable<string>): Redactor {
  const forms = [...values].flatMap((value) => [...formsOf(value), ...keyLinesOf(value)])
  if (forms.length === 0) return NOTHING_TO_REDACT
  const patterns = createPatternSet(forms)
  const cutEdges = createCutEdges(forms, patterns)
  const text = (source: string): string => {
    if (source.length < patterns.shortest && source.length < SHORTEST_CUT) return source
    const { spans } = look(source, patterns)
    const edges = cutEdges(source)
    return without(source, edges.length === 0 ? spans : merged([...spans, ...edges]))
  }
  return {
    empty: false,
    text,
    json: <T extends Json>(value: T): T => redactJson(value, text, forms.some(isNumeric)) as T,
    stream: () => createRedactStream(patterns, LEVELS, REDACTED),
  }
}

/** What may be left of an escape, or of a character, in front. */
const LEFT_OF_ESCAPE = 5

/**
 * Whoever shortens a text, such as the errors of a program, may cut through a secret: a long text that begins with the end
 * of one, or ends with the beginning of one, holds it, too.
 */
function createCutEdges(forms: readonly string[], patterns: PatternSet): (source: string) => Span[] {
  const window = patterns.longest * 6
  let backwards: PatternSet | undefined
  return (source) => {
    if (source.length < SHORTEST_CUT) return []
    const spans: Span[] = []
    const from = Math.max(0, source.length - window)
    const begun = from + look(source.slice(from), patterns, true).open
    if (source.length - begun >= SHORTEST_EDGE) spans.push([begun, source.length])
    backwards ??= createPatternSet(forms.map(reversed))
    const ended = endOfCut(source.slice(0, window), backwards)
    if (ended >= SHORTEST_EDGE) spans.push([0, ended])
    return spans
  }
}

/** How much of the start is the end of a pattern. */
function endOfCut(head: string, backwards: PatternSet): number {
  let most = 0
  const levels: Unescaped[] = []
  let text = head
  for (let level = 0; level <= LEVELS; level++) {
    const skips = level > 0 || text.startsWith('\ufffd') ? LEFT_OF_ESCAPE : 0
    for (let skip = 0; skip <= skips; skip++) {
      const { open } = backwards.find(reversed(text.slice(skip)))
      if (open < SHORTEST_EDGE) continue
      most = Math.max(
        most,
        levels.reduceRight((at, one) => one.at(at), skip + open),
      )
    }
    const next = readEscapes(text)
    if (next === undefined) break
    levels.push(next)
    text = next.text
  }
  return most
}

function reversed(text: string): string {
  let made = ''
  for (let index = text.length - 1; index >= 0; index--) made += text[index]
  return made
}

interface Look {
  readonly spans: readonly Span[]
  /** From here on it may go on as a secret. */
  readonly open: number
}

/** The text itself, then with its escapes read, level by level. */
function look(source: string, patterns: PatternSet, partial = false): Look {
  const spans: Span[] = []
  const levels: Unescaped[] = []
  // From a place at this level to one in the source.
  const inSource = (place: number) => levels.reduceRight((at, level) => level.at(at), place)
  let open = source.length
  let text = source
  for (let level = 0; level <= LEVELS; level++) {
    if (partial) text = text.slice(0, text.length - begunEscape(text))
    const found = patterns.find(text)
    for (const [start, end] of found.spans) spans.push([inSource(start), inSource(end)])
    open = Math.min(open, inSource(text.length - found.open))
    const next = level < LEVELS ? readEscapes(text) : undefined
    if (next === undefined) break
    levels.push(next)
    text = next.text
  }
  return { spans: levels.length === 0 ? spans : merged(spans), open }
}

function merged(spans: readonly Span[]): readonly Span[] {
  const all: [number, number][] = []
  for (const [start, end] of spans.toSorted((one, other) => one[0] - other[0])) {
    const last = all.at(-1)
    if (last !== undefined && start <= last[1]) last[1] = Math.max(last[1], end)
    else all.push([start, end])
  }
  return all
}

function without(source: string, spans: readonly Span[]): string {
  if (spans.length === 0) return source
  const pieces: string[] = []
  let at = 0
  for (const [start, end] of spans) {
    pieces.push(source.slice(at, start), REDACTED)
    at = end
  }
  pieces.push(source.slice(at))
  return pieces.join('')
}

function isNumeric(form: string): boolean {
  return /^[-+.0-9eE]+$/.test(form)
}

/** The value itself where it is clean. */
function redactJson(value: Json, text: (source: string) => string, numbers: boolean): Json {
  if (typeof value === 'string') return text(value)
  if (typeof value === 'number') return numbers && text(String(value)) !== String(value) ? REDACTED : value
  if (Array.isArray(value)) {
    const items = value.map((item) => redactJson(item, text, numbers))
    return items.some((item, index) => item !== value[index]) ? items : value
  }
  if (!isJsonObject(value)) return value
  const keys = Object.keys(value)
  const items = keys.map((key) => redactJson(value[key] ?? null, text, numbers))
  const clean = keys.every((key, index) => items[index] === value[key] && text(key) === key)
  if (clean) return value
  const entries = new Map<string, Json>()
  const counts = new Map<string, number>()
  for (const [index, key] of keys.entries())
    entries.set(unlike(entries, counts, text(key)), items[index] ?? null)
  return Object.fromEntries(entries)
}

/** Two keys may have become the same. `counts` holds where to go on: thousands of them must not be tried in turn. */
function unlike(entries: ReadonlyMap<string, Json>, counts: Map<string, number>, name: string): string {
  let key = name
  for (let count = counts.get(name) ?? 2; entries.has(key); count++) {
    key = `${name} ${count}`
    counts.set(name, count + 1)
  }
  return key
}
